"""Memories in the formats of other libraries. Needs none of these libraries."""

from enum import StrEnum


class FileFormat(StrEnum):
    """A format of memories outside a store."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    BASIC_MEMORY = "basic-memory"

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files."""
        return self is FileFormat.BASIC_MEMORY

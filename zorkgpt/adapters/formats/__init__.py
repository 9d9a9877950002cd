"""Memories in the formats of other libraries, which don't have to be installed."""

from enum import StrEnum


class FileFormat(StrEnum):
    """A format for import and export."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    BASIC_MEMORY = "basic-memory"

    @property
    def is_folder(self) -> bool:
        """Whether the format is a folder of files."""
        return self is FileFormat.BASIC_MEMORY

"""Memories in the formats of other libraries, which don't have to be installed."""

from enum import StrEnum


class ImportFormat(StrEnum):
    """A format that can be imported."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    BASIC_MEMORY = "basic-memory"

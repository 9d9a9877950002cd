"""Memories in the formats of other libraries, which don't have to be installed."""

from enum import StrEnum
from typing import Any

from zorkgpt.memory.models import Category, Memory, Persistence


class ImportFormat(StrEnum):
    """A format that can be imported."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    BASIC_MEMORY = "basic-memory"


def permanent_note(title: str, text: str, *, category: str = Category.NOTE, **fields: Any) -> Memory:
    """Return a permanent memory from outside of any episode."""
    return Memory(category, title, 1, "0", None, text, Persistence.PERMANENT, **fields)

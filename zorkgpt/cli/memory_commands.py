"""All commands of `memories`, each group of which stands in a module of its own."""

from zorkgpt.cli import memories, memory_care, memory_edits, memory_past
from zorkgpt.cli.memory_file import app

__all__ = ["app", "memories", "memory_care", "memory_edits", "memory_past"]

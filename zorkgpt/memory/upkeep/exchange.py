"""Import and export: memories as rows of plain JSON, or from another memory file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zorkgpt.errors import MemoryStoreError, reason_of
from zorkgpt.memory.checks import check_types
from zorkgpt.memory.models import Memory, fields_of, memory_of
from zorkgpt.memory.places import checked_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument
from zorkgpt.memory.storage.document import Document, parse


def rows(memories: Iterable[LocatedMemory]) -> list[dict[str, Any]]:
    """Return a row for each memory: `location_id`, `location_name` and the fields of `Memory`."""
    return [
        {"location_id": located.location_id, "location_name": located.location_name, **fields_of(located.memory)}
        | {"id": located.id}
        for located in memories
    ]


def read_memories(path: Path) -> list[LocatedMemory]:
    """Read the memories of an exported JSON file or of another `Memories.md`.

    Raises:
        MemoryStoreError: it can't be read, or it is neither.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MemoryStoreError(f"Can't read {path}: {error.strerror}") from error
    if data.lstrip()[:1] in (b"[", b"{"):
        return _from_json(path, data)
    found = [
        LocatedMemory(section.location_id, section.name, memory)
        for section in parse(data).sections
        if section.location_id is not None
        for memory in section.memories
    ]
    if not found:
        raise MemoryStoreError(f"There is no memory in {path}. It must be a memory file, or what export --json wrote.")
    return found


def with_memories(document: Document, memories: Iterable[LocatedMemory]) -> ChangedDocument:
    """Add the memories that the document does not have; what it has is not counted as seen again."""
    made: tuple[changes.Change, ...] = ()
    for located in memories:
        known = document.memories(located.location_id)
        if not located.memory.persistence.outlives_episode or any(_same(memory, located.memory) for memory in known):
            continue
        outcome = changes.added(document, located.location_id, located.location_name, located.memory)
        document, made = outcome.document, made + outcome.changes
    return ChangedDocument(document, made)


def _same(one: Memory, other: Memory) -> bool:
    return changes.same_words(one, other) and one.status == other.status


def _from_json(path: Path, data: bytes) -> list[LocatedMemory]:
    try:
        given = json.loads(data)
        return [_located(row) for row in given]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise MemoryStoreError(f"{path} is not what export --json writes: {reason_of(error)}") from error


def _located(row: dict[str, Any]) -> LocatedMemory:
    location_id, name = row["location_id"], row.get("location_name", "")
    if not isinstance(name, str):
        raise TypeError(f"location {location_id!r} with the name {name!r}")
    memory = memory_of(row)
    check_types(memory)
    return LocatedMemory(checked_place(location_id), name, memory)

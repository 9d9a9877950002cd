"""Import and export: memories as rows of plain JSON, or from another memory file."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zorkgpt.errors import FileError, MemoryStoreError, reason_of
from zorkgpt.files import write_file
from zorkgpt.memory.checks import check_types
from zorkgpt.memory.models import Memory, SubjectKey, fields_of, memory_of
from zorkgpt.memory.places import place_from_json, place_order, place_to_json
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import differences
from zorkgpt.memory.storage.markdown import read_document
from zorkgpt.memory.storage.protocol import Store

_AT_ONCE = 500
"""How many memories are added in one write, and more only where they are of one place."""


def rows(memories: Iterable[LocatedMemory]) -> list[dict[str, Any]]:
    """Return a row for each memory: `location_id`, `location_name` and the fields of `Memory`."""
    return [
        {
            "location_id": place_to_json(located.location_id),
            "location_name": located.location_name,
            **fields_of(located.memory),
        }
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
    if _is_json(data):
        return _from_json(path, data)
    document = read_document(path)
    found = [
        LocatedMemory(section.location_id, section.name, memory)
        for section in document.sections
        if section.location_id is not None
        for memory in section.memories
    ]
    if not found:
        raise MemoryStoreError(f"There is no memory in {path}. It must be a memory file, or what export --json wrote.")
    return found


def write_memories(store: Store, path: Path) -> None:
    """Write all of the document as one Markdown file, in the place of what stands there.

    Raises:
        MemoryStoreError: it can't be read or written.
    """
    store.refresh()
    try:
        write_file(path, render(store.document))
    except FileError as error:
        raise MemoryStoreError(str(error)) from error


def import_memories(store: Store, path: Path) -> tuple[int, int]:
    """Add the memories of an exported JSON file or of another `Memories.md`.

    An empty store copies a Markdown file byte for byte, including all that a person wrote in it.

    Returns:
        The number of memories added, and the number in the file.

    Raises:
        MemoryStoreError: the file can't be read or is neither; or the store can't be written.
    """
    memories = read_memories(path)
    if store.lasting.is_empty and not _is_json(path.read_bytes()):
        document = read_document(path)
        changes = differences({}, document)
        with store.transaction() as draft:
            if draft.lasting.is_empty:
                draft.rewrite(document, changes)
                return len(changes), len(memories)
    return add_all(store, memories), len(memories)


def convert(source: Store, target: Store) -> int:
    """Copy all memories with their journal and trials to an empty store; return how many memories there are.

    Raises:
        MemoryStoreError: There is something in the target, or it can't be written.
    """
    document = parse(render(source.document))
    with target.transaction() as draft:
        if not draft.lasting.is_empty:
            raise MemoryStoreError(f"{target.name} is not empty. Name a file that does not exist yet.")
        draft.rewrite(document)
    target.journal.copy(source.journal)
    target.trials.append(source.trials.trials())
    return sum(map(len, document.all_memories().values()))


def add_all(store: Store, memories: Iterable[LocatedMemory]) -> int:
    """Add the memories that the store does not have, and return how many were added.

    Place by place and some hundreds at a time, so that others come to their turn meanwhile; what a kill leaves out is
    added by calling it again. What the store has is not counted as seen again.

    Raises:
        MemoryStoreError: it could not be locked, read or written; what was added before stays.
    """
    places: dict[SubjectKey, list[LocatedMemory]] = {}
    for located in memories:
        places.setdefault(located.location_id, []).append(located)
    added = 0
    for batch in _batches([places[place] for place in sorted(places, key=place_order)]):
        with store.transaction() as draft:
            added += add_missing(draft, batch)
    return added


def _batches(places: Iterable[list[LocatedMemory]]) -> Iterator[list[LocatedMemory]]:
    batch: list[LocatedMemory] = []
    for place in places:
        batch += place
        if len(batch) >= _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def add_missing(draft: Draft, memories: Iterable[LocatedMemory]) -> int:
    """Add the memories that the draft does not have, and return how many. Others are not counted as seen again."""
    new: dict[SubjectKey, list[LocatedMemory]] = {}
    known: dict[SubjectKey, set[tuple[str, str, str]]] = {}
    for located in memories:
        place, memory = located.location_id, located.memory
        if not memory.persistence.outlives_episode:
            continue
        if place not in known:
            known[place] = {_key(stored) for stored in draft.memories(place)}
        if _key(memory) not in known[place]:
            known[place].add(_key(memory))
            new.setdefault(place, []).append(located)
    for place, added in new.items():
        draft.add(place, added[0].location_name, *(each.memory for each in added))
    return sum(map(len, new.values()))


def _is_json(data: bytes) -> bool:
    return data.lstrip()[:1] in (b"[", b"{")


def _key(memory: Memory) -> tuple[str, str, str]:
    return folded(memory.title), folded(memory.text), memory.status


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
    return LocatedMemory(place_from_json(location_id), name, memory)

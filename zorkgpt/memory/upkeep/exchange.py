"""Import and export: memories as JSON lines, or from another memory file."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zorkgpt.bounded import IMPORTED_FILE, parse_json, read_file
from zorkgpt.errors import FileError, MemoryStoreError, OutOfBounds
from zorkgpt.files import write_file
from zorkgpt.memory.checks import check_name, check_text, normalized, title_of, utc_now
from zorkgpt.memory.models import MEMORY_FIELDS, Category, Memory, Persistence, SubjectKey, fields_of, memory_of
from zorkgpt.memory.places import UNSEARCHED, place_from_json, place_in_words, place_to_json
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.document import Document, ShownPlace, render
from zorkgpt.memory.storage.earlier import EarlierStore
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import dated, differences, with_history_of
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.storage.markdown import read_document
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.record.events import EventKind, Events
from zorkgpt.text import quoted

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLACE, _NAME, _TEXT = "place", "place_name", "text"
_DEFAULTS: dict[str, Any] = {
    "category": Category.NOTE,
    "episode": 1,
    "turns": "0",
    "score_change": None,
    "persistence": Persistence.PERMANENT,
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that was not imported."""

    where: str
    """Such as `notes/a.md, line 4`."""
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import."""

    added: int
    known: int
    """Number of memories in the file that the store already had. They are unchanged."""
    skipped: tuple[Skipped, ...] = ()


def json_lines(memories: Iterable[LocatedMemory]) -> str:
    """Return one JSON object per line for each memory: `place`, `place_name`, `id` and the other fields of `Memory`."""
    return "".join(f"{json_line(_row(located))}\n" for located in memories)


def json_line(value: object) -> str:
    """Return a value as JSON in one line that UTF-8 can encode."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def read_bytes(path: Path) -> bytes:
    """Return the content of a file to import.

    Raises:
        MemoryStoreError: If it can't be read, or is larger than 512 MB.
    """
    try:
        return read_file(path, IMPORTED_FILE)
    except OutOfBounds as error:
        raise MemoryStoreError(f"{path} {error.reason}. Split the file.") from None
    except OSError as error:
        raise MemoryStoreError(f"Can't read {path}: {error.strerror}") from error


def parsed_json(text: str | bytes, where: str) -> Any:
    """Return the value of a JSON text.

    Args:
        where: For the message, such as `all.jsonl, line 3`.

    Raises:
        MemoryStoreError: If it is not valid JSON, which excludes NaN and infinity.
    """
    try:
        return parse_json(text, IMPORTED_FILE, finite=True)
    except OutOfBounds as error:
        raise MemoryStoreError(f"{where} {error.reason}.") from None


def read_json_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location of each line in a JSON lines file, such as `all.jsonl, line 3`, and its object.

    Raises:
        MemoryStoreError: If the file can't be read, or a line is not a JSON object.
    """
    for number, line in enumerate(read_bytes(path).removeprefix(_BYTE_ORDER_MARK).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        value = parsed_json(line, where)
        if not isinstance(value, dict):
            raise MemoryStoreError(f"{where} is {quoted(value)}; each line must be a JSON object.")
        yield where, value


def read_memories(path: Path) -> list[LocatedMemory]:
    """Read the memories of a file of `json_lines` or of another `Memories.md`.

    Raises:
        MemoryStoreError: If it can't be read or has another format, or a memory in it is invalid.
    """
    if _is_json(read_bytes(path)):
        return [_located(row, where) for where, row in read_json_objects(path)]
    document = read_document(path)
    memories = [
        LocatedMemory(section.location_id, section.name, memory)
        for section in document.sections
        if section.location_id is not None
        for memory in section.memories
    ]
    if not memories:
        raise MemoryStoreError(
            f"There is no memory in {path}. It must be a memory file or JSON lines. Use --from for other formats."
        )
    return memories


def write_memories(store: Store, path: Path) -> None:
    """Write all lasting memories to a Markdown file and replace what it contained.

    The memories of a scope are written with relative places, without a person's text between them.

    Raises:
        MemoryStoreError: If the memories can't be read or the file can't be written.
    """
    store.refresh()
    try:
        with store.guard:
            data = render(_relative_document(store) if store.scope.path else store.document)
        write_file(path, data)
    except FileError as error:
        raise MemoryStoreError(str(error)) from error


def write_new(path: Path, data: bytes) -> None:
    """Write a new file.

    Raises:
        MemoryStoreError: If the file exists or can't be written.
    """
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise MemoryStoreError(f"{path} already exists. Name a new file.") from error
    except OSError as error:
        raise MemoryStoreError(f"Can't write {path}: {error.strerror}") from error


def import_memories(store: Store, path: Path) -> ImportReport:
    """Add the memories of a file of `json_lines` or of another `Memories.md` in one transaction.

    An empty store also takes over the visits, and a Markdown file everything that people wrote, byte for byte.

    Raises:
        MemoryStoreError: If the file can't be read or has another format, or the store can't be written. Nothing was
            stored.
    """
    memories = read_memories(path)
    if store.scope.path:
        memories = [_placed(store, located) for located in memories]
    elif _is_empty(store) and not _is_json(path.read_bytes()):
        document = read_document(path)
        with store.transaction() as draft:
            if _is_empty(store):
                draft.apply(*differences({}, document))
                draft.lay_out(document)
                return ImportReport(document.count(), 0)
    kept, skipped = lasting_only(memories)
    with store.transaction() as draft:
        added = add_missing(draft, kept)
    return ImportReport(added, len(kept) - added, tuple(skipped))


def _is_empty(store: Store) -> bool:
    return not store.lasting.places() and not store.document.sections


def _relative_document(store: Store) -> Document:
    lasting, shown = store.lasting, dict[SubjectKey, ShownPlace]()
    for place, memories in by_place(lasting.find(EVERY)).items():
        shown[store.scope.relative(place)] = lasting.heading(place), memories
    return Document().showing(shown)


def _placed(store: Store, located: LocatedMemory) -> LocatedMemory:
    try:
        return replace(located, location_id=store.scope.absolute(located.location_id))
    except TypeError as error:
        raise MemoryStoreError(f"{located.memory.title!r} can't be imported: {error}") from error


def lasting_only(memories: Iterable[LocatedMemory]) -> tuple[list[LocatedMemory], list[Skipped]]:
    """Return the memories that can be stored, and the skipped ones: ephemeral and expired memories."""
    kept: list[LocatedMemory] = []
    skipped: list[Skipped] = []
    now = utc_now()
    for located in memories:
        memory = located.memory
        where = f"{memory.title!r} at {place_in_words(located.location_id)}"
        if not memory.persistence.outlives_episode:
            skipped.append(Skipped(where, "it is ephemeral"))
        elif memory.expires_at is not None and memory.expires_at <= now and not memory.pinned:
            skipped.append(Skipped(where, f"it expired at {memory.expires_at}"))
        else:
            kept.append(located)
    return kept, skipped


def convert(source: Store | EarlierStore, target: Store) -> int:
    """Copy all memories to an empty store, with their journal and what the actions of episodes led to.

    Returns the number of memories.

    Only another Markdown file keeps the text between the memories.

    Raises:
        MemoryStoreError: If the target is not empty or can't be written.
    """
    document = source.document
    with target.transaction() as draft:
        if not _is_empty(target):
            raise MemoryStoreError(f"{target.name} is not empty. Name a file that does not exist yet.")
        # First, because records of earlier versions get whole ids.
        target.journal.add(source.records() if isinstance(source, EarlierStore) else source.journal.records(every=True))
        known = {
            (place, memory.id): memory for place, memories in target.journal.lasting().items() for memory in memories
        }
        for change in differences({}, document):
            version = known.get((change.location_id, change.memory.id))
            new = (
                dated(change, utc_now(), "agent").memory if version is None else with_history_of(change.memory, version)
            )
            draft.lasting.apply(replace(change, after=new))
        draft.lay_out(document)
        if not isinstance(source, EarlierStore):
            unsearched = ((subject, memory) for subject in UNSEARCHED for memory in source.lasting.memories(subject))
            for subject, memory in unsearched:
                draft.lasting.apply(Change("added", subject, "", None, memory))
            Events(target.database).copy(Events(source.database), EventKind.TRAIL)
    return document.count()


def add_missing(draft: Draft, memories: Iterable[LocatedMemory]) -> int:
    """Add the lasting memories that the draft does not have, and return how many. Known memories stay unchanged."""
    new: dict[SubjectKey, list[LocatedMemory]] = {}
    known: dict[SubjectKey, set[tuple[str, str, str]]] = {}
    for located in memories:
        place, memory = located.location_id, located.memory
        if place not in known:
            known[place] = {_key(stored) for stored in draft.lasting.memories(place)}
        if _key(memory) not in known[place]:
            known[place].add(_key(memory))
            new.setdefault(place, []).append(located)
    for place, added in new.items():
        draft.add(place, added[0].location_name, *(each.memory for each in added))
    return sum(map(len, new.values()))


def _is_json(data: bytes) -> bool:
    return data.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"[", b"{")


def _key(memory: Memory) -> tuple[str, str, str]:
    return folded(memory.title), folded(memory.text), memory.status


def _row(located: LocatedMemory) -> dict[str, Any]:
    row = {_PLACE: place_to_json(located.location_id), _NAME: located.location_name, "id": located.id}
    return {**row, **fields_of(located.memory), **row}


def _located(row: dict[str, Any], where: str) -> LocatedMemory:
    try:
        if missing := [name for name in (_PLACE, _TEXT) if name not in row]:
            raise ValueError(f"it has no {missing[0]}")
        if unknown := row.keys() - MEMORY_FIELDS - {_PLACE, _NAME}:
            raise ValueError(f"the field {min(unknown)!r} is unknown; put values of your own into metadata")
        name = row.get(_NAME, "")
        check_name(name)
        if "title" not in row:
            check_text(_TEXT, row[_TEXT])
            row = {**row, "title": title_of(row[_TEXT])}
        return LocatedMemory(place_from_json(row[_PLACE]), name, normalized(memory_of(_DEFAULTS | row)))
    except (ValueError, TypeError) as error:
        raise MemoryStoreError(f"{where} is not a memory: {error}") from error

"""Erasure of memories and texts, such as secrets, from every file that the memory has written."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import is_
from pathlib import Path
from typing import Any

from zorkgpt.bounded import RECORD, SAVED_FILE, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.files import write_file
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey, memory_of
from zorkgpt.memory.places import is_place, path_of, place_from_json, render_place
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.book import MemoryBook
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.entry import Entry, render_entry
from zorkgpt.memory.storage.escaping import decode, encode, single_spaced
from zorkgpt.memory.storage.lasting import EVERY
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.section import LocationSection, parse_section
from zorkgpt.text import indented

FORGOTTEN = "[forgotten]"
"""The replacement for an erased text."""
_KEPT = ("category", "title")
"""Fields that are not cleaned in other memories, which may have the same title or word."""


@dataclass(frozen=True, slots=True)
class Traces:
    """The memories, texts and places to erase."""

    removed: frozenset[tuple[SubjectKey, str]]
    """Place and id of each memory to erase."""
    texts: frozenset[str]
    """Texts to erase wherever they occur."""
    titles: frozenset[str]
    """Titles of the memories. They can be short, so they are erased only where they are a whole value."""

    gone: frozenset[SubjectKey] = frozenset()
    """Places of which everything is erased."""
    scope: PlaceScope = EVERYWHERE
    """Nothing outside it is changed."""

    def are_in(self, text: str) -> bool:
        return text in self.titles or any(trace in text for trace in (*self.texts, *self._shown()))

    def cleaned(self, text: str) -> str:
        """Return the text without the traces."""
        if text in self.titles:
            return FORGOTTEN
        for trace in (*self.texts, *self._shown()):
            text = text.replace(trace, FORGOTTEN)
        return text

    def _shown(self) -> tuple[str, ...]:
        return tuple(f"] {title}:" for title in self.titles)

    @property
    def places(self) -> frozenset[SubjectKey]:
        return frozenset(place for place, _ in self.removed)

    def is_removed(self, place: SubjectKey, memory: Memory) -> bool:
        return (place, memory_id(place, memory)) in self.removed


def traces_of_memory(store: Store, place: SubjectKey, memory: Memory) -> Traces:
    """Return the traces of one memory: every text and title that it ever had."""
    wanted = memory_id(place, memory)
    versions = [memory]
    for record in store.journal.records(place):
        for version in (record.change.before, record.change.after):
            if version is not None and memory_id(place, version) == wanted:
                versions.append(version)
    titles = frozenset(version.title for version in versions)
    return Traces(frozenset({(place, wanted)}), frozenset(_texts_of(versions)), titles, scope=store.scope)


def _texts_of(memories: Iterable[Memory]) -> set[str]:
    """Return the texts of memories in their two formats: plain and indented."""
    texts = [memory.text for memory in memories if memory.text.strip()]
    return {*texts, *map(indented, texts)}


def traces_of_places(store: Store, book: MemoryBook, is_wanted: Callable[[SubjectKey], bool]) -> Traces:
    """Return the traces of every memory that these places ever had.

    Texts and titles that also occur in a memory of another place are not erased anywhere.
    """
    lasting = set(store.lasting.places())
    places = {*lasting, *book.ephemeral, *store.journal.places()}
    gone = {place for place in places if is_wanted(place)}
    known = [(place, memory) for place in gone for memory in book.memories(place)]
    for place in gone:
        for record in store.journal.records(place):
            both = (record.change.before, record.change.after)
            known += [(place, memory) for memory in both if memory is not None]
    others = "\0".join(f"{memory.title}\0{memory.text}" for place, memory in book.find(EVERY) if place not in gone)
    texts = _texts_of(memory for _, memory in known)
    titles = {memory.title for _, memory in known}
    return Traces(
        frozenset((place, memory_id(place, memory)) for place, memory in known),
        frozenset(text for text in texts if text not in others),
        frozenset(title for title in titles if title not in others),
        frozenset(gone),
        store.scope,
    )


def traces_of_text(text: str, book: MemoryBook, scope: PlaceScope = EVERYWHERE) -> Traces:
    """Return the traces of a text: itself, and the memories that contain it or whose place contains it."""
    wanted = single_spaced(text)
    places = {place: scope.relative(place) for place in book.places()}
    gone = {
        place for place, path in places.items() if is_place(path) and any(wanted in str(part) for part in path_of(path))
    }
    removed = {
        (place, memory_id(place, memory))
        for place, memory in book.find(EVERY)
        if place in gone
        or any(isinstance(value, str) and wanted in single_spaced(value) for value in vars(memory).values())
    }
    return Traces(frozenset(removed), frozenset({wanted, text}), frozenset(), frozenset(gone), scope)


def forget(store: Store, traces: Traces, runs: Path) -> None:
    """Erase the traces from the memories, their backups and history, and the folders of the episodes.

    Raises:
        MemoryStoreError, FileError, OSError: If a file can't be read or written. Another call continues from there.
    """
    path = store.path
    with store.guard:
        with store.transaction() as draft:
            document = draft.lasting.document
            cleaned = _document(document, traces)
            if cleaned is not document:
                draft.rewrite(cleaned)
        for beside in sorted(path.parent.glob(f"{path.name}.*")):
            if beside.suffix == ".backup" or ".damaged-" in beside.name:
                _clean_markdown(beside, traces)
        store.erase(lambda text: _cleaned(text, traces))
        # Snapshots and runs belong to the whole memory.
        if not store.scope.path:
            _clean_runs(path, runs, traces)
    store.refresh()


def _clean_runs(path: Path, runs: Path, traces: Traces) -> None:
    for snapshot in path.parent.glob("*.json"):
        _clean_json(snapshot, traces)
    for file in sorted(runs.rglob("*")):
        if file.suffix in (".json", ".jsonl", ".journal"):
            _clean_json(file, traces)
        elif file.name.endswith(path.name):
            _clean_markdown(file, traces)


def _document(document: Document, traces: Traces) -> Document:
    sections = [_section(section, traces, document.eol) for section in document.dated.sections]
    if all(map(is_, sections, document.sections)):
        return document
    return replace(document, sections=tuple(section for section in sections if section is not None))


def _section(section: LocationSection, traces: Traces, eol: str) -> LocationSection | None:
    """Return the section without the traces, or the same object if it has none. None if its place is erased."""
    place = section.location_id
    if not traces.scope.contains(place):
        return section
    if place is None:
        text = decode(section.data)
        return parse_section(encode(traces.cleaned(text))) if traces.are_in(text) else section
    if place in traces.gone:
        return None
    parts = [new for part in section.parts if (new := _part(place, part, traces, eol)) is not None]
    # The key of another place is not a trace.
    key = render_place(place)
    before, _, after = section.heading.partition(key)
    heading = before + key + _cleaned_lines(after, traces) if after else _cleaned_lines(section.heading, traces)
    head = heading + section.visited
    raw = "".join(part.raw if isinstance(part, Entry) else part for part in parts)
    data = encode(head + raw)
    return section if data == section.data else parse_section(data)


def _part(place: SubjectKey, part: str | Entry, traces: Traces, eol: str) -> str | Entry | None:
    if isinstance(part, str):
        return _cleaned_lines(part, traces)
    if traces.is_removed(place, part.memory):
        return None
    fields: dict[str, Any] = {
        name: traces.cleaned(value)
        for name, value in vars(part.memory).items()
        if type(value) is str and name not in _KEPT and traces.are_in(value)
    }
    return render_entry(replace(part.memory, **fields), part.extras, eol) if fields else part


def _cleaned_lines(text: str, traces: Traces) -> str:
    for trace in traces.texts:
        text = text.replace(trace, FORGOTTEN)
    return text


def _clean_markdown(path: Path, traces: Traces) -> None:
    if path.is_file():
        data = path.read_bytes()
        cleaned = render(_document(parse(data), traces))
        if cleaned != data:
            write_file(path, cleaned)


def _cleaned(text: str, traces: Traces) -> str:
    """Return a stored JSON text without the traces; "" if it is about an erased memory."""

    def is_kept(row: Any) -> bool:
        if _subject_of(row) in traces.gone:
            return False
        try:
            place = place_from_json(row["location_id"])
            versions = [memory_of(row[name]) for name in ("before", "after") if row.get(name)]
        except (KeyError, TypeError, ValueError, AttributeError):
            return not _is_forgotten(row, traces)
        return not any(traces.is_removed(place, version) for version in versions)

    return decode(_line(encode(text), traces, is_kept)).rstrip("\n")


def _clean_json(path: Path, traces: Traces) -> None:
    """Clean a file with one JSON value, or one per line."""
    if not path.is_file():
        return
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    try:
        whole = parse_json(data, SAVED_FILE) if len(lines) != 1 else None
    except OutOfBounds:
        whole = None
    if whole is not None:
        cleaned = _value(whole, traces)
        new = data if cleaned == whole else json.dumps(cleaned, indent=1).encode()
    else:
        new = b"".join(_line(line, traces, lambda _: True) for line in lines)
    if new != data:
        write_file(path, new)


def _line(line: bytes, traces: Traces, is_kept: Callable[[Any], bool]) -> bytes:
    try:
        row = parse_json(line, RECORD)
    except OutOfBounds:
        # An incomplete line, or not JSON: clean it as text.
        return encode(_cleaned_lines(decode(line), traces))
    if not is_kept(row):
        return b""
    cleaned = _value(row, traces)
    return line if cleaned == row else json.dumps(cleaned).encode() + b"\n"


def _value(value: Any, traces: Traces) -> Any:
    if isinstance(value, str):
        return traces.cleaned(value)
    if isinstance(value, list):
        return [_value(entry, traces) for entry in value if not _is_forgotten(entry, traces)]
    if isinstance(value, dict):
        # A memory of another place may have the same title.
        is_elsewhere = _subject_of(value) not in traces.places if "location_id" in value else not traces.places
        keeps_title = is_elsewhere or "text" in value
        cleaned = {}
        for name, entry in value.items():
            if name == "title" and isinstance(entry, str) and keeps_title:
                entry = _cleaned_lines(entry, traces)
            elif name != "location_id":
                entry = _value(entry, traces)
            cleaned[_cleaned_lines(name, traces)] = entry
        return cleaned
    return value


def _subject_of(row: Any) -> SubjectKey | None:
    """Return the subject of a stored value. None if it has none."""
    try:
        return place_from_json(row["location_id"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_forgotten(row: Any, traces: Traces) -> bool:
    """Return whether a stored value is a memory or a trial to erase."""
    if _subject_of(row) in traces.gone:
        return True
    if not isinstance(row, dict) or not isinstance(title := row.get("title"), str):
        return False
    text = row.get("text")
    is_trial = "after" in row and _subject_of(row) in traces.places
    return (isinstance(text, str) and traces.are_in(text)) or (is_trial and title in traces.titles)

"""Takes a memory, or a text, out of everything that the memory has written: a secret can be taken back."""

import json
from collections.abc import Callable
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
from zorkgpt.memory.storage.escaping import decode, encode, one_line
from zorkgpt.memory.storage.lasting import EVERY
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.section import LocationSection, parse_section
from zorkgpt.text import indented

FORGOTTEN = "[forgotten]"
"""Stands where a text was that is forgotten."""
_KEPT = ("category", "title")
"""Fields of another memory that may have the same title or word."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What is to be forgotten, and how to know it."""

    removed: frozenset[tuple[SubjectKey, str]]
    """Place and id of the memories that go."""
    texts: frozenset[str]
    """What may stand nowhere."""
    titles: frozenset[str]
    """The titles of those memories; short as they may be, they are forgotten only where they stand alone."""

    gone: frozenset[SubjectKey] = frozenset()
    """Places of which nothing may stand anywhere."""
    scope: PlaceScope = EVERYWHERE
    """Nothing outside it is changed."""

    def are_in(self, text: str) -> bool:
        return text in self.titles or any(one in text for one in (*self.texts, *self._shown()))

    def cleaned(self, text: str) -> str:
        """Return the text without them."""
        if text in self.titles:
            return FORGOTTEN
        for one in (*self.texts, *self._shown()):
            text = text.replace(one, FORGOTTEN)
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
    known = [memory]
    for record in store.journal.records(place):
        both = (record.change.before, record.change.after)
        known += [one for one in both if one is not None and memory_id(place, one) == wanted]
    texts = frozenset(form for one in known if one.text.strip() for form in (one.text, indented(one.text)))
    return Traces(frozenset({(place, wanted)}), texts, frozenset(one.title for one in known), scope=store.scope)


def traces_of_places(store: Store, book: MemoryBook, is_wanted: Callable[[SubjectKey], bool]) -> Traces:
    """Return the traces of everything at these places: every memory that they ever had.

    Texts and titles that a memory of another place contains stay there, and so they stay elsewhere.
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
    texts = {form for _, memory in known if memory.text.strip() for form in (memory.text, indented(memory.text))}
    titles = {memory.title for _, memory in known}
    return Traces(
        frozenset((place, memory_id(place, memory)) for place, memory in known),
        frozenset(text for text in texts if text not in others),
        frozenset(title for title in titles if title not in others),
        frozenset(gone),
        store.scope,
    )


def traces_of_text(text: str, book: MemoryBook, scope: PlaceScope = EVERYWHERE) -> Traces:
    """Return the traces of a text: it, and the memories that hold it or are of a place that does."""
    wanted = one_line(text)
    places = {place: scope.relative(place) for place in book.places()}
    gone = {
        place for place, path in places.items() if is_place(path) and any(wanted in str(part) for part in path_of(path))
    }
    removed = {
        (place, memory_id(place, memory))
        for place, memory in book.find(EVERY)
        if place in gone or any(isinstance(said, str) and wanted in one_line(said) for said in vars(memory).values())
    }
    return Traces(frozenset(removed), frozenset({wanted, text}), frozenset(), frozenset(gone), scope)


def forget(store: Store, traces: Traces, runs: Path) -> None:
    """Take the traces out of the file and of everything that is kept beside it, in the folder of the episodes too.

    Raises:
        MemoryStoreError, FileError, OSError: something can't be read or written; calling again goes on from there.
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
        store.erase(lambda said: _cleaned(said, traces))
        # Snapshots and runs are those of the whole memory.
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
    sections = [_section(section, traces, document.eol) for section in document.sections]
    if all(map(is_, sections, document.sections)):
        return document
    return replace(document, sections=tuple(section for section in sections if section is not None))


def _section(section: LocationSection, traces: Traces, eol: str) -> LocationSection | None:
    """Return the section without the traces, itself if it has none; None: its very key is to be forgotten."""
    place = section.location_id
    if not traces.scope.contains(place):
        return section
    if place is None:
        text = decode(section.data)
        return parse_section(encode(traces.cleaned(text))) if traces.are_in(text) else section
    if place in traces.gone:
        return None
    parts = [new for part in section.parts if (new := _part(place, part, traces, eol)) is not None]
    # The key is what a place is, and not a trace of what was said elsewhere.
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
    for one in traces.texts:
        text = text.replace(one, FORGOTTEN)
    return text


def _clean_markdown(path: Path, traces: Traces) -> None:
    if path.is_file():
        data = path.read_bytes()
        cleaned = render(_document(parse(data), traces))
        if cleaned != data:
            write_file(path, cleaned)


def _cleaned(said: str, traces: Traces) -> str:
    """Return a stored JSON text without the traces, "" if it is about what is removed."""

    def is_kept(row: Any) -> bool:
        if _subject_of(row) in traces.gone:
            return False
        try:
            place = place_from_json(row["location_id"])
            both = [memory_of(row[name]) for name in ("before", "after") if row.get(name)]
        except (KeyError, TypeError, ValueError, AttributeError):
            return not _is_forgotten(row, traces)
        return not any(traces.is_removed(place, one) for one in both)

    return decode(_line(encode(said), traces, is_kept)).rstrip("\n")


def _clean_json(path: Path, traces: Traces) -> None:
    """Clean a file of JSON, or of one JSON value a line."""
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
        # Half a line, or something else: as text.
        return encode(_cleaned_lines(decode(line), traces))
    if not is_kept(row):
        return b""
    cleaned = _value(row, traces)
    return line if cleaned == row else json.dumps(cleaned).encode() + b"\n"


def _value(value: Any, traces: Traces) -> Any:
    if isinstance(value, str):
        return traces.cleaned(value)
    if isinstance(value, list):
        return [_value(one, traces) for one in value if not _is_forgotten(one, traces)]
    if isinstance(value, dict):
        # A memory of another place may have the same title.
        is_elsewhere = _subject_of(value) not in traces.places if "location_id" in value else not traces.places
        return {
            _cleaned_lines(name, traces): one
            if name == "location_id"
            else _cleaned_lines(one, traces)
            if name == "title" and isinstance(one, str) and (is_elsewhere or "text" in value)
            else _value(one, traces)
            for name, one in value.items()
        }
    return value


def _subject_of(row: Any) -> SubjectKey | None:
    """Return the subject of a stored value. None if it has none."""
    try:
        return place_from_json(row["location_id"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_forgotten(row: Any, traces: Traces) -> bool:
    """Return whether it is a stored memory or a trial of what is forgotten."""
    if _subject_of(row) in traces.gone:
        return True
    if not isinstance(row, dict) or not isinstance(title := row.get("title"), str):
        return False
    text = row.get("text")
    is_trial = "after" in row and _subject_of(row) in traces.places
    return (isinstance(text, str) and traces.are_in(text)) or (is_trial and title in traces.titles)

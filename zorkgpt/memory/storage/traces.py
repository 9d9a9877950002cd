"""The traces of memories to erase, and the texts without them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.memory.ids import written_id
from zorkgpt.memory.models import Memory, SubjectKey, fields_of, memory_of
from zorkgpt.memory.places import place_from_json, render_place
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.entry import Entry, render_entry
from zorkgpt.memory.storage.escaping import decode, encode, folded
from zorkgpt.memory.storage.history import DEFAULTS
from zorkgpt.memory.storage.section import LocationSection, parse_section, reparsed

FORGOTTEN = "[forgotten]"
"""The replacement for an erased text."""
_KEPT = ("category", "title")
"""Fields that are not cleaned in other memories, which may have the same title or word."""


@dataclass(frozen=True)
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
        if text in self.titles:
            return True
        # Most texts are shorter than every trace.
        return len(text) >= self._shortest and any(trace in text for trace in self._parts)

    def are_in_folded(self, text: str) -> bool:
        """Return whether a text in the form of `folded` has a trace in any case."""
        return any(folded(trace) in text for trace in self.texts)

    def cleaned(self, text: str) -> str:
        """Return the text without the traces."""
        if text in self.titles:
            return FORGOTTEN
        for trace in self._parts if len(text) >= self._shortest else ():
            text = text.replace(trace, FORGOTTEN)
        return text

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        """The traces that may be parts of a text."""
        return (*self.texts, *(f"] {title}:" for title in self.titles))

    @cached_property
    def _shortest(self) -> int:
        return min(map(len, self._parts), default=0)

    @cached_property
    def shortest_text(self) -> int:
        """The length of the shortest text. Shorter texts have no trace of them."""
        return min(map(len, self.texts), default=0)

    @cached_property
    def places(self) -> frozenset[SubjectKey]:
        return frozenset(place for place, _ in self.removed)

    def memory_without(self, memory: Memory) -> Memory:
        """Return the memory without the traces, or the same object if it has none."""
        fields: dict[str, Any] = {
            name: self.cleaned(value)
            for name, value in fields_of(memory).items()
            if type(value) is str and name not in _KEPT and self.are_in(value)
        }
        return replace(memory, **fields) if fields else memory

    def is_removed(self, place: SubjectKey, memory: Memory) -> bool:
        return (place, memory.id) in self.removed


def document_without(document: Document, traces: Traces) -> Document:
    sections = [_section(section, traces, document.eol) for section in document.completed.sections]
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
    heading = before + key + text_without(after, traces) if after else text_without(section.heading, traces)
    cleaned = replace(section, heading=heading, parts=tuple(parts))
    return section if cleaned.data == section.data else reparsed(cleaned, cleaned.data)


def _part(place: SubjectKey, part: str | Entry, traces: Traces, eol: str) -> str | Entry | None:
    if isinstance(part, str):
        return text_without(part, traces)
    if traces.is_removed(place, part.memory):
        return None
    memory = traces.memory_without(part.memory)
    return part if memory is part.memory else render_entry(memory, written_id(place, memory), part.extras, eol)


def text_without(text: str, traces: Traces) -> str:
    """Return the text without the texts of the traces."""
    for trace in traces.texts if len(text) >= traces.shortest_text else ():
        text = text.replace(trace, FORGOTTEN)
    return text


def record_without(place: SubjectKey, text: str, traces: Traces) -> str:
    """Return the JSON of a journal's record about a place without the traces; "" if it is about an erased memory."""
    if not traces.scope.contains(place):
        return text

    def is_kept(row: Any) -> bool:
        try:
            versions = [memory_of(DEFAULTS | row[name]) for name in ("before", "after") if row.get(name)]
        except (KeyError, TypeError, ValueError, AttributeError):
            return not _is_forgotten(row, traces)
        return place not in traces.gone and not any(traces.is_removed(place, version) for version in versions)

    return decode(line_without(encode(text), traces, is_kept)).rstrip("\n")


def event_without(text: str, traces: Traces) -> str:
    """Return the JSON text of an event without the traces."""
    return decode(line_without(encode(text), traces)).rstrip("\n")


def line_without(line: bytes, traces: Traces, is_kept: Callable[[Any], bool] = lambda _: True) -> bytes:
    try:
        row = parse_json(line, RECORD)
    except OutOfBounds:
        # An incomplete line, or not JSON: clean it as text.
        return encode(text_without(decode(line), traces))
    if not is_kept(row):
        return b""
    cleaned = value_without(row, traces)
    return line if cleaned == row else json.dumps(cleaned).encode() + b"\n"


def value_without(value: Any, traces: Traces) -> Any:
    if isinstance(value, str):
        return traces.cleaned(value)
    if isinstance(value, list):
        return [value_without(entry, traces) for entry in value if not _is_forgotten(entry, traces)]
    if isinstance(value, dict):
        # A memory of another place may have the same title.
        is_elsewhere = _subject_of(value) not in traces.places if "location_id" in value else not traces.places
        keeps_title = is_elsewhere or "text" in value
        cleaned = {}
        for name, entry in value.items():
            if name == "title" and isinstance(entry, str) and keeps_title:
                entry = text_without(entry, traces)
            elif name != "location_id":
                entry = value_without(entry, traces)
            cleaned[text_without(name, traces)] = entry
        return cleaned
    return value


def _subject_of(row: Any) -> SubjectKey | None:
    """Return the subject of a stored value. None if it has none."""
    try:
        return place_from_json(row["location_id"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_forgotten(row: Any, traces: Traces) -> bool:
    """Return whether a stored value is a memory to erase."""
    if _subject_of(row) in traces.gone:
        return True
    if not isinstance(row, dict) or not isinstance(row.get("title"), str):
        return False
    text = row.get("text")
    return isinstance(text, str) and traces.are_in(text)

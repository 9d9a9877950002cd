"""Parses the memory file into a document and renders it. Unchanged bytes are preserved."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from operator import attrgetter, is_, itemgetter

from zorkgpt.memory.ids import distinct_ids
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import place_order
from zorkgpt.memory.storage.entry import Entry
from zorkgpt.memory.storage.escaping import decode, encode
from zorkgpt.memory.storage.lasting import Heading
from zorkgpt.memory.storage.reprint import hidden_lines
from zorkgpt.memory.storage.section import (
    LocationSection,
    Problem,
    new_section,
    parse_section,
    reparsed,
    with_changes,
    with_key,
    with_visits,
)
from zorkgpt.memory.storage.versions import differing

ShownPlace = tuple[Heading | None, Sequence[Memory]]
"""What a document shows of a place. The heading is None if the place doesn't exist."""

TITLE = b"# Location Memories"

# A heading of the first or second level begins a section. Some programs underline it.
_SECTION = re.compile(
    rb"^ {0,3}##?[ \t]|^(?P<above>[^\s#*_<>=`~|+-][^\n]*)\n {0,3}(?P<line>=+|--+)[ \t\r]*$", re.MULTILINE
)
_SUBJECT = re.compile(rb"(?:Location|Thing) |Game\b|[^a-z\n]*location memories[^a-z\n]*$", re.IGNORECASE)
_CONFLICT = re.compile(rb"^<{7}", re.MULTILINE)
_data = attrgetter("data")


@dataclass(frozen=True)
class Document:
    """All lasting memories, in the order of the file. Never changed in place."""

    sections: tuple[LocationSection, ...] = ()
    eol: str = "\n"
    """The line ending."""

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file."""
        return b"".join(map(_data, self.sections))

    @cached_property
    def section_indexes(self) -> Mapping[SubjectKey, tuple[int, ...]]:
        """The indexes of the sections of each location. A person may have made several for one location."""
        indexes: dict[SubjectKey, tuple[int, ...]] = {}
        for index, section in enumerate(self.sections):
            if section.location_id is not None:
                indexes[section.location_id] = (*indexes.get(section.location_id, ()), index)
        return indexes

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place in the order of the file."""
        return [memory for index in self.section_indexes.get(place, ()) for memory in self.sections[index].memories]

    def by_place(self) -> dict[SubjectKey, list[Memory]]:
        """Return all memories by their places."""
        return {place: memories for place in self.section_indexes if (memories := self.memories(place))}

    def headings(self) -> dict[SubjectKey, Heading]:
        """Return the headings of all places. If a place has several sections, that of the first one counts."""
        first = {place: self.sections[indexes[0]] for place, indexes in self.section_indexes.items()}
        return {place: Heading(section.name, section.visits, section.episodes) for place, section in first.items()}

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place. "" if it is unknown."""
        indexes = self.section_indexes.get(place)
        return self.sections[indexes[0]].name if indexes else ""

    def count(self) -> int:
        """Return the number of memories."""
        return sum(len(section.memories) for section in self.sections)

    def problems(self) -> Iterator[Problem]:
        """Yield the parts of the file that were not understood, from top to bottom, with their lines in the file."""
        if not any(section.problems for section in self.sections):
            return
        line = 0
        for section in self.sections:
            for problem in section.problems:
                yield replace(problem, line=line + problem.line)
            line += section.data.count(b"\n")

    @property
    def completed(self) -> "Document":
        """This document with the episode of each memory in its header, and its id if that can't be derived.

        So neither later episodes nor changes of other memories change them.
        """
        sections = tuple(section.completed for section in self.sections)
        return self if all(map(is_, sections, self.sections)) else replace(self, sections=sections)

    def showing(
        self,
        wanted: Mapping[SubjectKey, ShownPlace],
        *,
        may_add: Callable[[SubjectKey, Memory], bool] = lambda *_: True,
    ) -> "Document":
        """Return the document with other memories and visits of some places. Everything else stays as it is.

        Args:
            wanted: The places. A section of a place whose heading is None is removed if it has no other text.
            may_add: Whether a memory that is not in the document is added to it.
        """
        document, changed, new = self.completed, dict[int, LocationSection](), list[LocationSection]()
        for place, (heading, memories) in wanted.items():
            differences = differing(document.memories(place), memories)
            values = {id(before): after for before, after in differences if before is not None}
            added = [after for before, after in differences if before is None and after and may_add(place, after)]
            indexes = document.section_indexes.get(place, ())
            for index in indexes:
                first = index == indexes[0]
                section = with_changes(document.sections[index], values, added if first else (), self.eol)
                if first and heading is not None:
                    section = with_visits(section, heading.visits, heading.episodes, self.eol)
                if section is not document.sections[index]:
                    changed[index] = section
            # The heading of a missing place may be a part of the file that was not understood.
            if not indexes and heading is not None and (added or not self.is_broken):
                section = new_section(place, heading.name, self.eol)
                section = with_visits(section, heading.visits, heading.episodes, self.eol)
                new.append(with_changes(section, {}, added, self.eol))
        if changed or new:
            sections = tuple(changed.get(index, section) for index, section in enumerate(document.sections))
            document = replace(document, sections=sections).with_sections(new)
        else:
            document = self
        return document._without_empty({place for place, (heading, _) in wanted.items() if heading is None})

    def with_sections(self, new: Sequence[LocationSection]) -> "Document":
        """Return the document with the sections of new places, each before the first one with a later key."""
        if not new:
            return self
        sections = [*(self.sections or [parse_section(TITLE + encode(self.eol + self.eol))]), *new]
        keys = [*accumulate(map(_order, sections[: -len(new)]), max), *map(_order, new)]
        ordered = [section for _, section in sorted(zip(keys, sections, strict=True), key=itemgetter(0))]
        is_new = set(map(id, new))
        spaced = (
            each if is_new.isdisjoint({id(each), id(following)}) else _ending_blank(each, self.eol)
            for each, following in pairwise(ordered)
        )
        return replace(self, sections=(*spaced, ordered[-1]))

    def _without_empty(self, places: Collection[SubjectKey]) -> "Document":
        """Return the document without those sections of places that have neither a memory nor other text."""
        sections = [
            section
            for section in self.sections
            if section.location_id not in places or section.memories or section.problems or section.has_text
        ]
        if len(sections) == len(self.sections):
            return self
        eol = encode(self.eol)
        if sections and sections[-1] is not self.sections[-1] and sections[-1].data.endswith(eol + eol):
            # The blank line stood between two sections.
            sections[-1] = reparsed(sections[-1], sections[-1].data.removesuffix(eol))
        return replace(self, sections=tuple(sections))

    @property
    def is_broken(self) -> bool:
        """Whether a part that looks like a memory or a location was not understood."""
        return any(problem.is_broken for section in self.sections for problem in section.problems)

    @property
    def undated(self) -> list[Memory]:
        """The memories without an episode in their header."""
        return [entry.memory for section in self.sections for entry in section.entries if entry.undated_at is not None]

    def moved(self, old: SubjectKey, new: SubjectKey) -> "Document":
        """Return the document with the sections of a place under another key. Their memories keep their ids."""
        sections = (
            with_key(section, new, self.eol) if section.location_id == old else section
            for section in self.completed.sections
        )
        return replace(self, sections=tuple(sections))


def parse(data: bytes, known: Mapping[bytes, LocationSection] | None = None) -> Document:
    """Parse a file into a document. Sections in `known`, which are keyed by their bytes, are not parsed again."""
    starts = sorted({0, *_section_starts(data)})
    pieces = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    known = known or {}
    sections = tuple(known.get(piece) or parse_section(piece) for piece in pieces if piece)
    return Document(_with_distinct_ids(_dated(sections, known)), line_end(data))


def _section_starts(data: bytes) -> Iterator[int]:
    matches = list(_SECTION.finditer(data))
    is_conflict = any(match["line"] == b"=======" for match in matches) and _CONFLICT.search(data) is not None
    hidden = _hidden_starts(data) if any(mark in data for mark in (b"<!--", b"```", b"~~~")) else frozenset()
    for match in matches:
        is_heading = match["above"] is None or _is_heading(data, match, is_conflict=is_conflict)
        if is_heading and match.start() not in hidden:
            yield match.start()


def _is_heading(data: bytes, match: re.Match[bytes], *, is_conflict: bool) -> bool:
    """Return whether an underlined line is a heading. Without an empty line above, it is a text above a rule."""
    above, line = match["above"].rstrip(), match["line"]
    before = data[data.rfind(b"\n", 0, max(match.start() - 1, 0)) + 1 : match.start()]
    if before.strip() or (is_conflict and line == b"======="):
        return False
    return line.startswith(b"=") or _SUBJECT.match(above) is not None or len(decode(above)) == len(line)


def _hidden_starts(data: bytes) -> frozenset[int]:
    """Return the positions at which the lines in code fences and comments begin."""
    lines = data.split(b"\n")
    hidden = hidden_lines([line.decode("latin-1") for line in lines])
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    return frozenset(start for number, start in enumerate(starts) if number in hidden)


def _dated(sections: tuple[LocationSection, ...], known: Collection[bytes]) -> tuple[LocationSection, ...]:
    """Give the new memories without an episode the last one of the file, because a person wrote them since it began."""
    episodes: list[int | str] = []
    for section in sections:
        dated = (entry.memory.episode for entry in section.entries if entry.undated_at is None)
        episodes += map(episode_key, (*section.episodes, *dated))
    numbers = [episode for episode in episodes if isinstance(episode, int)]
    last = max(numbers) if numbers else episodes[-1] if episodes else 1

    def with_episode(entry: Entry) -> Entry:
        return entry if entry.undated_at is None else replace(entry, memory=replace(entry.memory, episode=last))

    return tuple(section if section.data in known else section.mapped(with_episode) for section in sections)


def _with_distinct_ids(sections: tuple[LocationSection, ...]) -> tuple[LocationSection, ...]:
    """Return the sections with different ids for all memories. They depend only on the content of the file."""
    ids = iter(
        distinct_ids(
            [
                (section.location_id, replace(entry.memory, id=entry.written_id))
                for section in sections
                if section.location_id is not None
                for entry in section.entries
            ]
        )
    )

    def with_id(entry: Entry) -> Entry:
        id = next(ids)
        return entry if entry.memory.id == id else replace(entry, memory=replace(entry.memory, id=id))

    return tuple(section.mapped(with_id) for section in sections)


def line_end(data: bytes) -> str:
    """Return the line ending of a file: that of its first line."""
    first_line = data[: data.find(b"\n") + 1]
    return "\r\n" if first_line.endswith(b"\r\n") else "\n"


def render(document: Document) -> bytes:
    return document.data


def _order(section: LocationSection) -> str:
    return "" if section.location_id is None else place_order(section.location_id)


def _ending_blank(section: LocationSection, eol: str) -> LocationSection:
    data = ending_blank(section.data, encode(eol))
    if section.data.endswith(b"\n"):
        blank = decode(data[len(section.data) :])
        return replace(section, parts=(*section.parts, blank)) if blank else section
    return reparsed(section, data)


def ending_blank(data: bytes, eol: bytes) -> bytes:
    """Return the bytes of a section, ending with a blank line."""
    return data + eol * (0 if data.endswith(eol + eol) else 1 if data.endswith(b"\n") else 2)

"""Parses the memory file into a document and renders it. Unchanged bytes are preserved."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING

from zorkgpt.memory.ids import distinct_ids
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import has_prefix, place_order
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.entry import Entry
from zorkgpt.memory.storage.escaping import decode, encode
from zorkgpt.memory.storage.lasting import Filters, Heading, Prefix
from zorkgpt.memory.storage.reprint import hidden_lines
from zorkgpt.memory.storage.section import (
    LocationSection,
    Problem,
    after_step,
    new_section,
    parse_section,
    section_with,
    with_key,
    with_parts,
    with_visits,
)
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.text import key_of

if TYPE_CHECKING:
    from zorkgpt.memory.storage.traces import Traces

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

    def sections_of(self, place: SubjectKey) -> list[LocationSection]:
        return [self.sections[index] for index in self.section_indexes.get(place, ())]

    def memories(self, place: SubjectKey) -> list[Memory]:
        memories: list[Memory] = []
        for index in self.section_indexes.get(place, ()):
            memories += self.sections[index].memories
        return memories

    def places(self, prefix: Prefix | None = None, *, believed: bool = False) -> Collection[SubjectKey]:
        """Return the places that have a section. See `LastingMemories.places`."""
        return [
            place
            for place in self.section_indexes
            if (prefix is None or has_prefix(place, prefix))
            and (not believed or any(map(is_current, self.memories(place))))
        ]

    def headings(self, places: Iterable[SubjectKey]) -> dict[SubjectKey, Heading]:
        """Return the headings of the places that have a section."""
        headings = {}
        for place in places:
            if indexes := self.section_indexes.get(place):
                section = self.sections[indexes[0]]
                headings[place] = Heading(section.name, section.visits, section.episodes)
        return headings

    def count(self) -> int:
        """Return the number of memories."""
        return sum(len(section.memories) for section in self.sections)

    def find(self, wanted: Filters, *, limit: int | None = None, offset: int = 0) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place. See `LastingMemories.find`."""
        end = None if limit is None else offset + limit
        found: list[tuple[SubjectKey, Memory]] = []
        for place, memories in self._candidates(wanted):
            found += [(place, memory) for memory in memories if wanted.passes(place, memory)]
            if end is not None and len(found) >= end:
                break
        return found[offset:end]

    def _candidates(self, wanted: Filters) -> Iterable[tuple[SubjectKey, Iterable[Memory]]]:
        """Return a superset of the memories that pass the filters by place, ordered by place."""
        places: Collection[SubjectKey] = self.section_indexes
        if wanted.location_id is not None:
            places = [wanted.location_id]
        elif wanted.among is not None:
            places = {place for place, _ in wanted.among}
        ordered = sorted(places, key=place_order)
        return zip(ordered, map(self.memories, ordered), strict=True)

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        """Return the keys of all texts, and this document. See `LastingMemories.text_keys`."""
        return {key_of(memory.text) for section in self.sections for memory in section.memories}, self

    def read_ahead(self, places: Iterable[SubjectKey]) -> None:
        """Do nothing: all memories are here."""

    @property
    def document(self) -> "Document":
        return self

    def replaced(self, index: int, section: LocationSection) -> "Document":
        """Return the document with another section at this index."""
        return replace(self, sections=(*self.sections[:index], section, *self.sections[index + 1 :]))

    def with_memories(self, new: Mapping[int, Memory]) -> "Document":
        """Return the document with other values of some memories that are not in the file.

        Args:
            new: The memories by the `id()` of the old ones.
        """
        if not new:
            return self
        return replace(self, sections=tuple(section.with_memories(new) for section in self.sections))

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
        if all(section.is_complete for section in self.sections):
            return self
        return replace(self, sections=tuple(section.completed() for section in self.sections))

    def taken(self, ids: Set[str]) -> Set[str]:
        """Return the ids that a memory has, among these."""
        return {id for section in self.sections for id in ids & section.ids}

    def applied(self, step: Step) -> "Document":
        """Return the document after a step.

        Raises:
            KeyError: If the memory that is to be changed does not exist.
        """
        place, old, document = step.location_id, step.before, self.completed
        if place not in self.section_indexes and old is None:
            document = _with_section(document, new_section(place, step.location_name, self.eol))
        index = document.section_indexes[place][0] if old is None else _index_of(self, place, old)
        return document.replaced(index, after_step(document.sections[index], step, self.eol))

    def showing(self, step: Step) -> "Document":
        """Return the document after a step, even if the memory that is to be changed is missing or not understood."""
        try:
            return self.applied(step)
        except KeyError:
            if self.is_broken or step.after is None:
                return self
            return self.applied(replace(step, before=None))

    def headed(self, place: SubjectKey, heading: Heading | None) -> "Document":
        """Return the document with the visits of a place, and with its section if it is missing. None removes it."""
        if heading is None:
            return self.without_empty({place})
        document = self
        if place not in self.section_indexes:
            document = _with_section(self, new_section(place, heading.name, self.eol))
        index = document.section_indexes[place][0]
        visits, episodes = heading.visits, heading.episodes
        return document.replaced(index, with_visits(document.sections[index], visits, episodes, self.eol))

    def without_empty(self, places: Collection[SubjectKey]) -> "Document":
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
            sections[-1] = parse_section(sections[-1].data.removesuffix(eol))
        return replace(self, sections=tuple(sections))

    @property
    def is_broken(self) -> bool:
        """Whether a part that looks like a memory or a location was not understood."""
        return any(problem.is_broken for section in self.sections for problem in section.problems)

    @property
    def undated(self) -> list[Memory]:
        """The memories without an episode in their header."""
        return [memory for section in self.sections for memory in section.undated]

    def rewritten(self, document: "Document") -> "Document":
        """Return the other document."""
        return document.completed

    def erased(self, traces: "Traces") -> "Document":
        """Return the document without traces."""
        from zorkgpt.memory.storage.traces import document_without

        return document_without(self, traces)

    def moved(self, old: SubjectKey, new: SubjectKey) -> "Document":
        """Return the document with the sections of a place under another key. Their memories keep their ids."""
        document = self.completed
        for index in self.section_indexes.get(old, ()):
            document = document.replaced(index, with_key(document.sections[index], new, self.eol))
        return document


def document_of(places: Iterable[tuple[SubjectKey, Heading, Iterable[Memory]]]) -> Document:
    """Return a document with a section for each of these places, in this order, with its memories."""
    sections = [parse_section(TITLE + b"\n")]
    sections += [section_with(place, *heading, memories, "\n") for place, heading, memories in places]
    *before, last = sections
    return Document((*(with_parts(each, (*each.parts, "\n"), "\n") for each in before), last)) if before else Document()


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
    new = [section.undated if section.data not in known else () for section in sections]
    if not any(new):
        return sections
    episodes = [episode_key(episode) for section in sections for episode in section.known_episodes]
    numbers = [episode for episode in episodes if isinstance(episode, int)]
    last = max(numbers) if numbers else episodes[-1] if episodes else 1
    return tuple(
        section.with_memories({id(memory): replace(memory, episode=last) for memory in undated})
        for section, undated in zip(sections, new, strict=True)
    )


def _with_distinct_ids(sections: tuple[LocationSection, ...]) -> tuple[LocationSection, ...]:
    """Return the sections with different ids for all memories. They depend only on the content of the file."""
    located = [
        (section.location_id, part)
        for section in sections
        if section.location_id is not None
        for part in section.parts
        if isinstance(part, Entry)
    ]
    is_as_written = all(part.written_id is None for _, part in located)
    if is_as_written and len(set().union(*(section.ids for section in sections))) == len(located):
        return sections
    ids = iter(distinct_ids([(place, part.as_written) for place, part in located]))
    return tuple(section if section.location_id is None else section.with_ids(ids) for section in sections)


def line_end(data: bytes) -> str:
    """Return the line ending of a file: that of its first line."""
    first_line = data[: data.find(b"\n") + 1]
    return "\r\n" if first_line.endswith(b"\r\n") else "\n"


def render(document: Document) -> bytes:
    return document.data


def _index_of(document: Document, place: SubjectKey, memory: Memory) -> int:
    indexes = document.section_indexes[place]
    for index in indexes:
        if any(candidate is memory for candidate in document.sections[index].memories):
            return index
    for index in indexes:
        if memory in document.sections[index].memories:
            return index
    raise KeyError(memory.title)


def _with_section(document: Document, section: LocationSection) -> Document:
    """Insert the section of a new location before the first one with a later key."""
    assert section.location_id is not None
    order, eol = place_order(section.location_id), document.eol
    sections = list(document.sections) or [parse_section(TITLE + encode(eol + eol))]
    at = next(
        (i for i, s in enumerate(sections) if s.location_id is not None and place_order(s.location_id) > order),
        len(sections),
    )
    if at > 0:
        sections[at - 1] = _ending_blank(sections[at - 1], eol)
    sections.insert(at, _ending_blank(section, eol) if at < len(sections) else section)
    return replace(document, sections=tuple(sections))


def _ending_blank(section: LocationSection, eol: str) -> LocationSection:
    data = ending_blank(section.data, encode(eol))
    return section if data == section.data else parse_section(data)


def ending_blank(data: bytes, eol: bytes) -> bytes:
    """Return the bytes of a section, ending with a blank line."""
    return data + eol * (0 if data.endswith(eol + eol) else 1 if data.endswith(b"\n") else 2)

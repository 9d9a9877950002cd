"""The memory file as a whole: parsed into a document and rendered back, every unchanged byte kept."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain

from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import place_order, render_place
from zorkgpt.memory.storage.escaping import encode
from zorkgpt.memory.storage.section import LocationSection, Problem, parse_section

TITLE = b"# Location Memories"
INTRODUCTION = "What is remembered is in these files, in this order; what is not listed is not read:"
"""Stands above the list of shelves."""

# Where a heading of the first or second level begins: everything below it is its own.
_SECTION = re.compile(rb"^##? ", re.MULTILINE)

Index = tuple[int, int]
"""The number of a shelf, and of a section in it."""


@dataclass(frozen=True)
class Shelf:
    """The content of one file, in its order. Never changed in place."""

    sections: tuple[LocationSection, ...] = ()
    eol: str = "\n"
    name: str = ""
    """The name of its file in the folder; "": it is the memory file itself."""

    def render(self) -> bytes:
        return b"".join([section.data for section in self.sections])

    @cached_property
    def size(self) -> int:
        """In bytes."""
        return sum(len(section.data) for section in self.sections)

    @cached_property
    def last(self) -> tuple[bool, int, str] | None:
        """The last of its locations by their order; None if there is none."""
        return max((place_order(s.location_id) for s in self.sections if s.location_id is not None), default=None)

    @cached_property
    def content_sum(self) -> int:
        """The sum of the digests of the sections' content, in whatever order they stand."""
        digests = (blake2b(part, digest_size=16).digest() for part in self.content())
        return sum(int.from_bytes(digest, "big") for digest in digests)

    def content(self) -> Iterator[bytes]:
        """Yield what tells whether memories, or what stands between them, have changed; by section."""
        return (
            b"%s:%d;" % (render_place(s.location_id).encode(), s.checksum)
            for s in self.sections
            if s.location_id is not None
        )

    def replaced(self, index: int, section: LocationSection) -> "Shelf":
        return replace(self, sections=(*self.sections[:index], section, *self.sections[index + 1 :]))

    def problems(self) -> Iterator[Problem]:
        """Yield what was kept without being understood, from the top."""
        line = 0
        for section in self.sections:
            for problem in section.problems:
                if not (self.name == "" and problem.message.endswith(repr(INTRODUCTION[:60]))):
                    yield replace(problem, line=line + problem.line)
            line += section.data.count(b"\n")


@dataclass(frozen=True)
class Document:
    """All that is remembered, in its order: one shelf, or a first one that lists the others. Never changed in place."""

    shelves: tuple[Shelf, ...] = (Shelf(),)
    section_indexes: Mapping[PlaceKey, tuple[Index, ...]] = field(default_factory=dict, compare=False)
    """The indexes of the sections of each location; a person may have made two for one location."""

    @property
    def sections(self) -> tuple[LocationSection, ...]:
        return tuple(chain.from_iterable(shelf.sections for shelf in self.shelves))

    @property
    def is_empty(self) -> bool:
        return not any(shelf.sections for shelf in self.shelves)

    def section(self, index: Index) -> LocationSection:
        return self.shelves[index[0]].sections[index[1]]

    def eol(self, index: Index) -> str:
        """Return how lines end where this section stands."""
        return self.shelves[index[0]].eol

    def sections_of(self, location_id: PlaceKey) -> list[LocationSection]:
        return [self.section(index) for index in self.section_indexes.get(location_id, ())]

    def memories(self, location_id: PlaceKey) -> list[Memory]:
        return [
            memory
            for shelf, at in self.section_indexes.get(location_id, ())
            for memory in self.shelves[shelf].sections[at].memories
        ]

    def all_memories(self) -> dict[PlaceKey, list[Memory]]:
        """Return the memories of each location that has any."""
        found: dict[PlaceKey, list[Memory]] = {}
        for shelf in self.shelves:
            for section in shelf.sections:
                if section.location_id is not None and (memories := section.memories):
                    found.setdefault(section.location_id, []).extend(memories)
        return found

    def replaced(self, index: Index, section: LocationSection) -> "Document":
        """Return the document with another section of the same location in this place."""
        return replace(self, shelves=self._with_shelf(index[0], self.shelves[index[0]].replaced(index[1], section)))

    def with_sections(self, number: int, sections: Sequence[LocationSection]) -> "Document":
        """Return the document with other sections on this shelf."""
        shelf = replace(self.shelves[number], sections=tuple(sections))
        here: dict[PlaceKey, tuple[Index, ...]] = {}
        for at, section in enumerate(sections):
            if section.location_id is not None:
                here[section.location_id] = (*here.get(section.location_id, ()), (number, at))
        indexes = dict(self.section_indexes)
        for place in {s.location_id for s in self.shelves[number].sections if s.location_id is not None}:
            left = tuple(index for index in indexes.pop(place) if index[0] != number)
            if left:
                indexes[place] = left
        for place, its in here.items():
            indexes[place] = tuple(sorted((*indexes[place], *its))) if place in indexes else its
        return Document(self._with_shelf(number, shelf), indexes)

    def fingerprint(self) -> str:
        """Return a digest of all memories and what stands between them, without visits and names of locations.

        It does not depend on which of several shelves a section stands on.
        """
        if len(self.shelves) == 1:
            return blake2b(b"".join(self.shelves[0].content()), digest_size=16).hexdigest()
        return f"{sum(shelf.content_sum for shelf in self.shelves) % (1 << 128):032x}"

    def problems(self) -> Iterator[Problem]:
        """Yield what was kept without being understood, from the top, with the lines as if it were one file."""
        line = 0
        for shelf in self.shelves:
            for problem in shelf.problems():
                yield replace(problem, line=line + problem.line)
            line += sum(section.data.count(b"\n") for section in shelf.sections)

    def _with_shelf(self, number: int, shelf: Shelf) -> tuple[Shelf, ...]:
        return (*self.shelves[:number], shelf, *self.shelves[number + 1 :])


def parse_shelf(data: bytes, known: Mapping[bytes, LocationSection] | None = None, *, name: str = "") -> Shelf:
    """Parse any bytes into a shelf. `known` sections with the same bytes are not parsed again."""
    starts = [found.start() for found in _SECTION.finditer(data)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    pieces = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    known = known or {}
    sections = tuple(known.get(piece) or parse_section(piece) for piece in pieces if piece)
    return Shelf(sections, line_end(data), name)


def line_end(data: bytes) -> str:
    """Return how the first line ends, and so, it is taken, all of them."""
    newline = data.find(b"\n")
    return "\r\n" if newline > 0 and data[newline - 1] == 13 else "\n"


def parse(data: bytes, known: Mapping[bytes, LocationSection] | None = None) -> Document:
    """Parse any bytes into a document of one shelf."""
    return indexed((parse_shelf(data, known),))


def render(document: Document) -> bytes:
    return b"".join([shelf.render() for shelf in document.shelves])


def first_section(eol: str) -> LocationSection:
    """Return what stands at the top of a file."""
    return parse_section(TITLE + encode(eol + eol))


def indexed(shelves: tuple[Shelf, ...]) -> Document:
    indexes: dict[PlaceKey, tuple[Index, ...]] = {}
    for number, shelf in enumerate(shelves):
        for at, section in enumerate(shelf.sections):
            if section.location_id is not None:
                known = indexes.get(section.location_id)
                indexes[section.location_id] = ((number, at),) if known is None else (*known, (number, at))
    return Document(shelves, indexes)

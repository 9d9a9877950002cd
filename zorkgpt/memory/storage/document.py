"""The memory file as a whole: parsed into a document and rendered back, every unchanged byte kept."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import PlaceOrder, is_place, place_order
from zorkgpt.memory.storage.escaping import encode, folded
from zorkgpt.memory.storage.section import LocationSection, Problem, parse_section

TITLE = b"# Location Memories"

# Where a heading of the first or second level begins: everything below it is its own.
_SECTION = re.compile(rb"^##? ", re.MULTILINE)

Index = tuple[int, int]
"""The number of a chunk, and of a section in it."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive sections of a document. Never changed in place."""

    sections: tuple[LocationSection, ...] = ()
    eol: str = "\n"
    """How its lines end."""

    def render(self) -> bytes:
        return b"".join([section.data for section in self.sections])

    @cached_property
    def size(self) -> int:
        """In bytes."""
        return sum(len(section.data) for section in self.sections)

    @cached_property
    def last(self) -> PlaceOrder | None:
        """The last of its locations by their order; None if there is none."""
        return max((place_order(s.location_id) for s in self.sections if s.location_id is not None), default=None)

    @cached_property
    def subjects_by_id(self) -> Mapping[str, tuple[SubjectKey, ...]]:
        """The locations that have a memory with an id, by id; two locations may have the same."""
        found: dict[str, tuple[SubjectKey, ...]] = {}
        for section in self.sections:
            if (place := section.location_id) is not None:
                for memory in section.memories:
                    key = memory_id(place, memory)
                    found[key] = (*found.get(key, ()), place)
        return found

    @cached_property
    def expiring(self) -> tuple[tuple[SubjectKey, Memory], ...]:
        """The memories that expire some time, with their locations."""
        return tuple(
            (section.location_id, memory)
            for section in self.sections
            if section.location_id is not None
            for memory in section.memories
            if memory.expires_at is not None
        )

    def replaced(self, index: int, section: LocationSection) -> "Chunk":
        return replace(self, sections=(*self.sections[:index], section, *self.sections[index + 1 :]))

    def problems(self) -> Iterator[Problem]:
        """Yield the parts that were kept without being understood, with lines counted from its first one."""
        line = 0
        for section in self.sections:
            for problem in section.problems:
                yield replace(problem, line=line + problem.line)
            line += section.data.count(b"\n")


@dataclass(frozen=True)
class Document:
    """All lasting memories, in the order of the file. Never changed in place.

    Divided into chunks, so that a change of a large document copies little: a file is one chunk, a database cuts its
    documents.
    """

    chunks: tuple[Chunk, ...] = (Chunk(),)
    section_indexes: Mapping[SubjectKey, tuple[Index, ...]] = field(default_factory=dict, compare=False)
    """The indexes of the sections of each location; a person may have made two for one location."""

    @property
    def sections(self) -> tuple[LocationSection, ...]:
        return tuple(chain.from_iterable(chunk.sections for chunk in self.chunks))

    @property
    def is_empty(self) -> bool:
        return not any(chunk.sections for chunk in self.chunks)

    def section(self, index: Index) -> LocationSection:
        return self.chunks[index[0]].sections[index[1]]

    def eol(self, index: Index) -> str:
        """Return how lines end where this section stands."""
        return self.chunks[index[0]].eol

    def sections_of(self, location_id: SubjectKey) -> list[LocationSection]:
        return [self.section(index) for index in self.section_indexes.get(location_id, ())]

    def memories(self, location_id: SubjectKey) -> list[Memory]:
        return [
            memory
            for chunk, at in self.section_indexes.get(location_id, ())
            for memory in self.chunks[chunk].sections[at].memories
        ]

    def has(self, place: SubjectKey) -> bool:
        """Return whether there is a section of this place."""
        return place in self.section_indexes

    def places(self) -> Iterable[SubjectKey]:
        """Return the places that have a section."""
        return self.section_indexes.keys()

    def count(self) -> int:
        """Return the number of memories."""
        return sum(len(section.memories) for chunk in self.chunks for section in chunk.sections)

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place; "" if unknown."""
        return next((section.name for section in self.sections_of(place)), "")

    def visits(self, place: SubjectKey) -> int:
        """Return the number of visits of a place."""
        return next((section.visits for section in self.sections_of(place)), 0)

    def ids(self, place: SubjectKey) -> set[str]:
        """Return the ids of the memories of a place."""
        return {memory_id(place, memory) for memory in self.memories(place)}

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id, or else those with this title, ignoring case, with their places."""
        if place is None:
            having = {place for chunk in self.chunks for place in chunk.subjects_by_id.get(wanted, ())}
            found = [(each, memory) for each in having or self.places() for memory in self.memories(each)]
        else:
            found = [(place, memory) for memory in self.memories(place)]
        by_id = [(each, memory) for each, memory in found if memory_id(each, memory) == wanted]
        title = folded(wanted)
        return by_id or [(each, memory) for each, memory in found if folded(memory.title) == title]

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories whose `expires_at` is not after this time, with their places."""
        return [
            (place, memory)
            for chunk in self.chunks
            for place, memory in chunk.expiring
            if memory.expires_at is not None and memory.expires_at <= now
        ]

    def episodes(self, location_id: SubjectKey) -> tuple[int | str, ...]:
        """Return the episodes in which a place was visited, in order; those of the memories of another subject."""
        if is_place(location_id):
            return next((section.episodes for section in self.sections_of(location_id)), ())
        found: dict[int | str, int | str] = {}
        for memory in self.memories(location_id):
            for episode in (memory.first_episode, memory.episode):
                if episode is not None:
                    found.setdefault(episode_key(episode), episode)
        numbers = sorted(key for key in found if isinstance(key, int))
        return (*(found[key] for key in numbers), *(found[key] for key in found if not isinstance(key, int)))

    def all_memories(self) -> dict[SubjectKey, list[Memory]]:
        """Return the memories of each location that has any."""
        found: dict[SubjectKey, list[Memory]] = {}
        for chunk in self.chunks:
            for section in chunk.sections:
                if section.location_id is not None and (memories := section.memories):
                    found.setdefault(section.location_id, []).extend(memories)
        return found

    def replaced(self, index: Index, section: LocationSection) -> "Document":
        """Return the document with another section of the same location in this place."""
        return replace(self, chunks=self._with_chunk(index[0], self.chunks[index[0]].replaced(index[1], section)))

    def with_sections(self, number: int, sections: Sequence[LocationSection]) -> "Document":
        """Return the document with other sections on this chunk."""
        chunk = replace(self.chunks[number], sections=tuple(sections))
        here: dict[SubjectKey, tuple[Index, ...]] = {}
        for at, section in enumerate(sections):
            if section.location_id is not None:
                here[section.location_id] = (*here.get(section.location_id, ()), (number, at))
        indexes = dict(self.section_indexes)
        for place in {s.location_id for s in self.chunks[number].sections if s.location_id is not None}:
            left = tuple(index for index in indexes.pop(place) if index[0] != number)
            if left:
                indexes[place] = left
        for place, its in here.items():
            indexes[place] = tuple(sorted((*indexes[place], *its))) if place in indexes else its
        return Document(self._with_chunk(number, chunk), indexes)

    def problems(self) -> Iterator[Problem]:
        """Yield what was kept without being understood, from the top, with the lines as if it were one file."""
        line = 0
        for chunk in self.chunks:
            for problem in chunk.problems():
                yield replace(problem, line=line + problem.line)
            line += sum(section.data.count(b"\n") for section in chunk.sections)

    def _with_chunk(self, number: int, chunk: Chunk) -> tuple[Chunk, ...]:
        return (*self.chunks[:number], chunk, *self.chunks[number + 1 :])


def parse(data: bytes, known: Mapping[bytes, LocationSection] | None = None) -> Document:
    """Parse any bytes into a document of one chunk. `known` sections with the same bytes are not parsed again."""
    starts = [found.start() for found in _SECTION.finditer(data)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    pieces = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    known = known or {}
    sections = tuple(known.get(piece) or parse_section(piece) for piece in pieces if piece)
    return indexed((Chunk(sections, line_end(data)),))


def line_end(data: bytes) -> str:
    """Return how the first line ends, and so, it is taken, all of them."""
    newline = data.find(b"\n")
    return "\r\n" if newline > 0 and data[newline - 1] == 13 else "\n"


def render(document: Document) -> bytes:
    return b"".join([chunk.render() for chunk in document.chunks])


def first_section(eol: str) -> LocationSection:
    """Return what stands at the top of a file."""
    return parse_section(TITLE + encode(eol + eol))


def indexed(chunks: tuple[Chunk, ...]) -> Document:
    indexes: dict[SubjectKey, tuple[Index, ...]] = {}
    for number, chunk in enumerate(chunks):
        for at, section in enumerate(chunk.sections):
            if section.location_id is not None:
                known = indexes.get(section.location_id)
                indexes[section.location_id] = ((number, at),) if known is None else (*known, (number, at))
    return Document(chunks, indexes)

"""The memory file as a whole: parsed into a document and rendered back, every unchanged byte kept."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import render_place
from zorkgpt.memory.storage.section import LocationSection, Problem, parse_section

TITLE = b"# Location Memories"

# Where a heading of the first or second level begins: everything below it is its own.
_SECTION = re.compile(rb"^##? ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a memory file, in its order. Never changed in place."""

    sections: tuple[LocationSection, ...] = ()
    section_indexes: Mapping[PlaceKey, tuple[int, ...]] = field(default_factory=dict, compare=False)
    """The indexes of the sections of each location; a person may have made two for one location."""
    eol: str = "\n"

    def sections_of(self, location_id: PlaceKey) -> list[LocationSection]:
        return [self.sections[index] for index in self.section_indexes.get(location_id, ())]

    def memories(self, location_id: PlaceKey) -> list[Memory]:
        return [memory for section in self.sections_of(location_id) for memory in section.memories]

    def all_memories(self) -> dict[PlaceKey, list[Memory]]:
        """Return the memories of each location that has any."""
        found: dict[PlaceKey, list[Memory]] = {}
        for section in self.sections:
            if section.location_id is not None and (memories := section.memories):
                found.setdefault(section.location_id, []).extend(memories)
        return found

    def replaced(self, index: int, section: LocationSection) -> "Document":
        """Return the document with another section of the same location in this place."""
        return Document((*self.sections[:index], section, *self.sections[index + 1 :]), self.section_indexes, self.eol)

    def fingerprint(self) -> str:
        """Return a digest of all memories and what stands between them, without visits and names of locations."""
        parts = (
            b"%s:%d;" % (render_place(s.location_id).encode(), s.checksum)
            for s in self.sections
            if s.location_id is not None
        )
        return blake2b(b"".join(parts), digest_size=16).hexdigest()

    def problems(self) -> Iterator[Problem]:
        """Yield what was kept without being understood, from the top."""
        line = 0
        for section in self.sections:
            for problem in section.problems:
                yield replace(problem, line=line + problem.line)
            line += section.data.count(b"\n")


def parse(data: bytes, known: Mapping[bytes, LocationSection] | None = None) -> Document:
    """Parse any bytes into a document. `known` sections with the same bytes are not parsed again."""
    starts = [found.start() for found in _SECTION.finditer(data)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    pieces = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    known = known or {}
    sections = tuple(known.get(piece) or parse_section(piece) for piece in pieces if piece)
    newline = data.find(b"\n")
    return indexed(sections, "\r\n" if newline > 0 and data[newline - 1] == 13 else "\n")


def render(document: Document) -> bytes:
    return b"".join([section.data for section in document.sections])


def indexed(sections: tuple[LocationSection, ...], eol: str) -> Document:
    indexes: dict[PlaceKey, tuple[int, ...]] = {}
    for index, section in enumerate(sections):
        if section.location_id is not None:
            indexes[section.location_id] = (*indexes.get(section.location_id, ()), index)
    return Document(sections, indexes, eol)

"""The memory file as a whole: parsed into a document and rendered back, every unchanged byte kept."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import has_prefix, is_place, place_order
from zorkgpt.memory.storage.changes import Change, Step, VisitCount, is_addition, position_of
from zorkgpt.memory.storage.escaping import encode, folded
from zorkgpt.memory.storage.filters import Filters, Prefix
from zorkgpt.memory.storage.section import (
    LocationSection,
    Problem,
    episodes_of_memories,
    new_section,
    parse_section,
    with_all_changed,
    with_episode,
    with_key,
    with_memories,
    with_visits_counted,
    without,
)
from zorkgpt.memory.storage.versions import is_current, titled
from zorkgpt.text import key_of

TITLE = b"# Location Memories"

# Where a heading of the first or second level begins: everything below it is its own.
_SECTION = re.compile(rb"^##? ", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """All lasting memories, in the order of the file. Never changed in place."""

    sections: tuple[LocationSection, ...] = ()
    eol: str = "\n"
    """How its lines end."""

    @cached_property
    def section_indexes(self) -> Mapping[SubjectKey, tuple[int, ...]]:
        """The indexes of the sections of each location; a person may have made two for one location."""
        found: dict[SubjectKey, tuple[int, ...]] = {}
        for index, section in enumerate(self.sections):
            if section.location_id is not None:
                found[section.location_id] = (*found.get(section.location_id, ()), index)
        return found

    @cached_property
    def _expiring(self) -> tuple[tuple[SubjectKey, Memory], ...]:
        """The memories that expire some time, with their locations."""
        return tuple((place, memory) for place, memory in self._located() if memory.expires_at is not None)

    @property
    def is_empty(self) -> bool:
        return not self.sections

    def sections_of(self, location_id: SubjectKey) -> list[LocationSection]:
        return [self.sections[index] for index in self.section_indexes.get(location_id, ())]

    def memories(self, place: SubjectKey) -> list[Memory]:
        return [memory for section in self.sections_of(place) for memory in section.memories]

    def has(self, place: SubjectKey) -> bool:
        """Return whether there is a section of this place."""
        return place in self.section_indexes

    def places(self, prefix: Prefix | None = None) -> Collection[SubjectKey]:
        """Return the places that have a section; with a prefix, those that begin with it."""
        places = self.section_indexes.keys()
        return places if prefix is None else [place for place in places if has_prefix(place, prefix)]

    def believed_places(self) -> Iterable[SubjectKey]:
        """Return the places that have a current memory."""
        return [place for place in self.places() if any(map(is_current, self.memories(place)))]

    def count(self) -> int:
        """Return the number of memories."""
        return sum(len(section.memories) for section in self.sections)

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place; "" if unknown."""
        return next((section.name for section in self.sections_of(place)), "")

    def names(self, places: Iterable[SubjectKey]) -> dict[SubjectKey, str]:
        """Return the names of those of these places that have a section."""
        return {place: self.name(place) for place in places if self.has(place)}

    def visits(self, place: SubjectKey) -> int:
        """Return the number of visits of a place."""
        return next((section.visits for section in self.sections_of(place)), 0)

    def taken_ids(self, wanted: Collection[tuple[SubjectKey, str]]) -> set[tuple[SubjectKey, str]]:
        """Return those of these ids, each at its place, that a memory has."""
        places = {place for place, _ in wanted}
        taken = {(place, memory_id(place, memory)) for place in places for memory in self.memories(place)}
        return taken.intersection(wanted)

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id or, ignoring case, this title, with their places."""
        title = folded(wanted)
        places = self.places() if place is None else [place]
        return [
            (each, memory)
            for each in places
            for memory in self.memories(each)
            if folded(memory.title) == title or memory_id(each, memory) == wanted
        ]

    def titled(self, place: SubjectKey, title: str) -> Memory | None:
        """Return the first current memory of a place with exactly this title, white space aside."""
        return titled(self.memories(place), title)

    def titled_each(self, wanted: Sequence[tuple[SubjectKey, str]]) -> list[Memory | None]:
        """Return for each place and title what `titled` returns."""
        return [self.titled(place, title) for place, title in wanted]

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories whose `expires_at` is not after this time, with their places."""
        return [
            (place, memory)
            for place, memory in self._expiring
            if memory.expires_at is not None and memory.expires_at <= now
        ]

    def find(
        self, wanted: Filters, *, prefix: Prefix | None = None, limit: int, offset: int = 0
    ) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place."""
        places = [place for place in self.places() if wanted.location_id in (None, place)]
        if prefix is not None:
            places = [place for place in places if has_prefix(place, prefix)]
        found = (
            (place, memory)
            for place in sorted(places, key=place_order)
            for memory in self.memories(place)
            if wanted.passes(place, memory)
        )
        return list(islice(found, offset, offset + limit))

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        """Return the keys of all texts if this is not the document `since`, and this document."""
        return (set() if since is self else set(self._by_text)), self

    def text_keys_of(self, wanted: Filters) -> list[bytes]:
        """Return the keys of the texts of the memories that pass the filters."""
        return [key for key, located in self._by_text.items() if any(wanted.passes(*each) for each in located)]

    def with_texts(self, keys: Sequence[bytes]) -> list[tuple[bytes, SubjectKey, Memory]]:
        """Return the memories whose texts have these keys, each with its key and its place."""
        return [(key, place, memory) for key in keys for place, memory in self._by_text.get(key, ())]

    @cached_property
    def _by_text(self) -> Mapping[bytes, list[tuple[SubjectKey, Memory]]]:
        found: dict[bytes, list[tuple[SubjectKey, Memory]]] = {}
        for place, memory in self._located():
            found.setdefault(key_of(memory.text), []).append((place, memory))
        return found

    @property
    def document(self) -> "Document":
        return self

    def episodes(self, place: SubjectKey) -> tuple[int | str, ...]:
        """Return the episodes in which a place was visited, in order; those of the memories of another subject."""
        if is_place(place):
            return next((section.episodes for section in self.sections_of(place)), ())
        return episodes_of_memories(self.memories(place))

    def all_memories(self, prefix: Prefix | None = None) -> dict[SubjectKey, list[Memory]]:
        """Return the memories of each location that has any; with a prefix, of those that begin with it."""
        found: dict[SubjectKey, list[Memory]] = {}
        for place, memory in self._located():
            if prefix is None or has_prefix(place, prefix):
                found.setdefault(place, []).append(memory)
        return found

    def _located(self) -> Iterator[tuple[SubjectKey, Memory]]:
        for section in self.sections:
            if section.location_id is not None:
                for memory in section.memories:
                    yield section.location_id, memory

    def replaced(self, index: int, section: LocationSection) -> "Document":
        """Return the document with another section in this place."""
        return replace(self, sections=(*self.sections[:index], section, *self.sections[index + 1 :]))

    def problems(self) -> Iterator[Problem]:
        """Yield what was kept without being understood, from the top, with lines counted from the first one."""
        line = 0
        for section in self.sections:
            for problem in section.problems:
                yield replace(problem, line=line + problem.line)
            line += section.data.count(b"\n")

    def applied(self, steps: Iterable[Step]) -> "Document":
        """Return the document after these steps.

        Raises:
            KeyError: If a memory that is to be changed does not exist.
        """
        document = self
        for (place, is_new), group in groupby(steps, key=lambda step: (step.location_id, is_addition(step))):
            if is_new:
                document = _with_added(document, place, [step for step in group if isinstance(step, Change)])
                continue
            for step in group:
                if isinstance(step, VisitCount):
                    document = _with_visits(document, step)
                else:
                    document = _with_change(document, step)
        return document

    def rewritten(self, document: "Document") -> "Document":
        """Return the other document."""
        return document

    def moved(self, old: SubjectKey, new: SubjectKey) -> tuple["Document", list[tuple[str, Memory]]]:
        """Return the document with the sections of a place under another key, and their memories.

        Each memory comes with the name of its section, and with the id that it had as an explicit one.
        """
        document, moved = self, []
        for index in self.section_indexes.get(old, ()):
            section = with_key(self.sections[index], new, self.eol)
            moved += [(section.name, memory) for memory in section.memories]
            document = document.replaced(index, section)
        return document, moved


def parse(data: bytes, known: Mapping[bytes, LocationSection] | None = None) -> Document:
    """Parse any bytes into a document. `known` sections with the same bytes are not parsed again."""
    starts = [found.start() for found in _SECTION.finditer(data)]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    pieces = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    known = known or {}
    return Document(tuple(known.get(piece) or parse_section(piece) for piece in pieces if piece), line_end(data))


def line_end(data: bytes) -> str:
    """Return how the first line ends, and so, it is taken, all of them."""
    newline = data.find(b"\n")
    return "\r\n" if newline > 0 and data[newline - 1] == 13 else "\n"


def render(document: Document) -> bytes:
    return b"".join([section.data for section in document.sections])


def _with_added(document: Document, place: SubjectKey, additions: Sequence[Change]) -> Document:
    memories = [change.memory for change in additions]
    if not document.has(place):
        document = _with_location(document, place, additions[0].location_name, (memories[0].episode,))
    index = document.section_indexes[place][0]
    section = document.sections[index]
    for memory in memories:
        section = with_episode(section, memory.episode, document.eol)
    return document.replaced(index, with_memories(section, memories, document.eol))


def _with_change(document: Document, change: Change) -> Document:
    old, new, eol = change.before, change.after, document.eol
    assert old is not None
    index = _index_of(document, change.location_id, old)
    section = document.sections[index]
    kept = section.memories[position_of(section.memories, old)]
    if new is None:
        return document.replaced(index, without(section, kept, eol))
    if change.kind in ("seen again", "merged") and new.observation_count > kept.observation_count:
        section = with_episode(section, new.episode, eol)
    return document.replaced(index, with_all_changed(section, {id(kept): new}, eol))


def _with_visits(document: Document, visits: VisitCount) -> Document:
    place, episodes = visits.location_id, visits.episodes
    if not document.has(place):
        return _with_location(document, place, visits.location_name, episodes)
    index = document.section_indexes[place][0]
    return document.replaced(index, with_visits_counted(document.sections[index], episodes, document.eol))


def _index_of(document: Document, place: SubjectKey, memory: Memory) -> int:
    indexes = document.section_indexes[place]
    for index in indexes:
        if any(kept is memory for kept in document.sections[index].memories):
            return index
    for index in indexes:
        if memory in document.sections[index].memories:
            return index
    raise KeyError(memory.title)


def _with_location(document: Document, place: SubjectKey, name: str, visits: tuple[int | str, ...]) -> Document:
    """Insert a section for a new location before the first one with a later key."""
    order, eol = place_order(place), document.eol
    sections = list(document.sections) or [parse_section(TITLE + encode(eol + eol))]
    at = next(
        (i for i, s in enumerate(sections) if s.location_id is not None and place_order(s.location_id) > order),
        len(sections),
    )
    if at > 0:
        sections[at - 1] = _ending_blank(sections[at - 1], eol)
    section = new_section(place, name, visits, eol)
    sections.insert(at, _ending_blank(section, eol) if at < len(sections) else section)
    return replace(document, sections=tuple(sections))


def _ending_blank(section: LocationSection, eol: str) -> LocationSection:
    missing = 0 if section.data.endswith(encode(eol + eol)) else 1 if section.data.endswith(b"\n") else 2
    return parse_section(section.data + encode(eol * missing)) if missing and section.data else section

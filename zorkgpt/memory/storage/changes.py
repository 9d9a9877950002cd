"""Changes of the memories of a document: plain functions from one document to the next."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.log import get_logger
from zorkgpt.memory.ids import MemoryId, id_of_title, memory_id, with_id
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryStatus, PlaceKey, episode_key, same_episode
from zorkgpt.memory.places import place_order, render_place
from zorkgpt.memory.storage.document import Document, Index, first_section
from zorkgpt.memory.storage.escaping import encode, folded, one_line
from zorkgpt.memory.storage.section import (
    LocationSection,
    new_section,
    parse_section,
    with_all_changed,
    with_changed,
    with_memories,
    with_number,
    with_visits,
    without,
)
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.turn_span import TurnSpan, turn_number

log = get_logger(__name__)

# Asked of every memory of a place on every turn, and CPython 3.11 is slow to look up a member of an enum.
_SUPERSEDED = MemoryStatus.SUPERSEDED

Kind = Literal[
    "added",
    "seen again",
    "superseded",
    "invalidated",
    "merged",
    "edited",
    "removed",
    "moved",
    "contested",
    "qualified",
    "undone",
    "credited",
    "pinned",
    "unpinned",
    "vetoed",
    "unvetoed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one memory, as it is written to the history."""

    kind: Kind
    location_id: PlaceKey
    location_name: str
    before: Memory | None
    """None: it was not there."""
    after: Memory | None
    """None: it is no longer there."""
    reason: str | None = None
    other: Memory | None = None
    """The memory that it was compared with, where that led to the change."""

    @property
    def memory(self) -> Memory:
        """The memory after the change, or before it if it was removed."""
        memory = self.after or self.before
        assert memory is not None
        return memory

    @property
    def is_lasting(self) -> bool:
        """Whether the memory outlives its episode."""
        return self.memory.persistence.outlives_episode


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document after a change, and what was changed."""

    document: Document
    changes: tuple[Change, ...] = ()
    trials: tuple[Trial, ...] = ()
    """The trials that it counts."""


DocumentChange = Callable[[Document], ChangedDocument | None]
"""From a document to one that is changed; None: nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a memory was observed."""

    episode: int | str
    turn: str

    def is_at(self, other: "Sighting") -> bool:
        """Return whether both are the same turn of the same episode."""
        return self.turn == other.turn and same_episode(self.episode, other.episode)

    def is_earlier_turn_than(self, other: "Sighting") -> bool:
        """Return whether its turn has the lower number; False where one of them is no number."""
        own, others = turn_number(self.turn), turn_number(other.turn)
        return own is not None and others is not None and own < others


def same_words(one: Memory, other: Memory) -> bool:
    """Return whether title and text are the same but for case and white space."""
    return folded(one.title) == folded(other.title) and folded(one.text) == folded(other.text)


def is_current(memory: Memory) -> bool:
    """Return whether it is believed, for good or for now, and no person forbids it."""
    return memory.status != _SUPERSEDED and not memory.vetoed


def titled(memories: list[Memory], title: str, location_id: PlaceKey | None = None) -> Memory | None:
    """Return the first current memory with exactly this title, white space aside; or with this `MemoryId`.

    Args:
        location_id: where they are; needed for an id only.
    """
    if isinstance(title, MemoryId) and location_id is not None:
        return next((one for one in memories if is_current(one) and memory_id(location_id, one) == title), None)
    wanted = one_line(title)
    return next((memory for memory in memories if is_current(memory) and one_line(memory.title) == wanted), None)


def known_again(memories: Iterable[Memory], memory: Memory) -> Memory | None:
    """Return the current one of the same title and text."""
    return next((known for known in memories if is_current(known) and same_words(known, memory)), None)


def added(
    document: Document, location_id: PlaceKey, name: str, memory: Memory, *, visits: tuple[int | str, ...] = ()
) -> ChangedDocument:
    """Add a memory to the section of its location; a new section begins with these visits, given by their episodes."""
    return all_added(document, location_id, name, (memory,), visits=visits)


def all_added(
    document: Document,
    location_id: PlaceKey,
    name: str,
    memories: Sequence[Memory],
    *,
    visits: tuple[int | str, ...] = (),
) -> ChangedDocument:
    """Add memories to the section of their location, in their order."""
    lasting = [memory for memory in memories if memory.persistence.outlives_episode]
    if len(lasting) < len(memories):
        titles = [memory.title for memory in memories if not memory.persistence.outlives_episode]
        log.error("ephemeral memory kept out of the file", extra={"location_id": location_id, "title": titles[0]})
    if not lasting:
        return ChangedDocument(document)
    if location_id not in document.section_indexes:
        document = _with_location(document, location_id, name, visits or (lasting[0].episode,))
    index = document.section_indexes[location_id][0]
    section, eol = document.section(index), document.eol(index)
    for episode in _unique(memory.episode for memory in lasting):
        if not _includes(section.episodes, episode):
            section = _with_episode(section, episode, eol)
    section = with_memories(section, _with_ids(location_id, document.memories(location_id), lasting), eol)
    # The very ones that stand in the document now, last in their section, so that a further change finds them.
    made = tuple(Change("added", location_id, section.name, None, new) for new in section.memories[-len(lasting) :])
    return ChangedDocument(document.replaced(index, section), made)


def _with_ids(location_id: PlaceKey, kept: Sequence[Memory], new: Sequence[Memory]) -> list[Memory]:
    """Return the new memories, with an id of their own where the title does not tell them from others."""
    titles, taken = {one.title for one in kept}, {memory_id(location_id, one) for one in kept}
    has_ids = any(one.id for one in kept)
    found = []
    for memory in new:
        if memory.id or has_ids or one_line(memory.title) in titles:
            memory = replace(memory, id=with_id(location_id, memory, taken))
        has_ids = has_ids or bool(memory.id)
        titles.add(one_line(memory.title))
        taken.add(memory_id(location_id, memory))
        found.append(memory)
    return found


def seen_again(
    document: Document, location_id: PlaceKey, known: Memory, turn: int | str, episode: int | str
) -> ChangedDocument:
    """Count one more observation of a memory; the same turn of the same episode counts once."""
    section, index = _section_of(document, location_id, known)
    new = observed(known, turn, episode, section.episodes)
    if new is known:
        return ChangedDocument(document)
    if not _includes(section.episodes, episode):
        section = _with_episode(section, episode, document.eol(index))
    document = document.replaced(index, with_changed(section, known, new, document.eol(index)))
    return ChangedDocument(document, (Change("seen again", location_id, section.name, known, new),))


def superseded(
    document: Document, location_id: PlaceKey, old: Memory, new_title: str, turn: int | None, reason: str | None = None
) -> ChangedDocument:
    after = replace(
        old,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=one_line(new_title),
        superseded_at_turn=turn,
        invalidation_reason=None if reason is None else one_line(reason),
    )
    return changed(document, location_id, old, after, "superseded", reason)


def invalidated(
    document: Document, location_id: PlaceKey, old: Memory, reason: str, turn: int | None
) -> ChangedDocument:
    return changed(document, location_id, old, proven_wrong(old, reason, turn), "invalidated", one_line(reason))


def changed(
    document: Document, location_id: PlaceKey, old: Memory, new: Memory, kind: Kind, reason: str | None = None
) -> ChangedDocument:
    """Replace this very memory of the document (by identity), in its place and under its id."""
    kept_id = memory_id(location_id, old)
    new = replace(new, id="" if kept_id == id_of_title(location_id, new.title) else kept_id)
    section, index = _section_of(document, location_id, old)
    document = document.replaced(index, with_changed(section, old, new, document.eol(index)))
    return ChangedDocument(document, (Change(kind, location_id, section.name, old, new, reason),))


def all_replaced(document: Document, location_id: PlaceKey, pairs: Iterable[tuple[Memory, Memory]]) -> Document:
    """Replace these very memories of the document (by identity) by others of the same words, each under its id."""
    left = {id(old): replace(new, id=old.id) for old, new in pairs}
    for index in document.section_indexes.get(location_id, ()) if left else ():
        section = document.section(index)
        if any(id(memory) in left for memory in section.memories):
            document = document.replaced(index, with_all_changed(section, left, document.eol(index)))
    return document


def removed(document: Document, location_id: PlaceKey, old: Memory, reason: str | None = None) -> ChangedDocument:
    section, index = _section_of(document, location_id, old)
    document = document.replaced(index, without(section, old, document.eol(index)))
    return ChangedDocument(document, (Change("removed", location_id, section.name, old, None, reason),))


def visited(document: Document, location_id: PlaceKey, visits: tuple[int | str, ...]) -> ChangedDocument:
    """Count visits, given by their episodes; a location without a place in the file is left alone."""
    if location_id not in document.section_indexes or not visits:
        return ChangedDocument(document)
    index = document.section_indexes[location_id][0]
    section = document.section(index)
    episodes = _unique((*section.episodes, *visits))
    return ChangedDocument(
        document.replaced(index, with_visits(section, section.visits + len(visits), episodes, document.eol(index)))
    )


def moved(document: Document, old_id: PlaceKey, new_id: PlaceKey) -> ChangedDocument:
    """Give the sections of a location another key, where they stand."""
    changes = []
    for index in document.section_indexes.get(old_id, ()):
        eol = document.eol(index)
        section = with_number(document.section(index), new_id, eol)
        for memory in section.memories:
            section = with_changed(section, memory, replace(memory, id=memory_id(old_id, memory)), eol)
        sections = list(document.shelves[index[0]].sections)
        sections[index[1]] = section
        document = document.with_sections(index[0], sections)
        for memory in section.memories:
            changes.append(Change("moved", old_id, section.name, memory, None, f"now location {render_place(new_id)}"))
            changes.append(Change("moved", new_id, section.name, None, memory, f"was location {render_place(old_id)}"))
    return ChangedDocument(document, tuple(changes))


def observed(memory: Memory, turn: int | str, episode: int | str, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory with one more observation; itself if this one is counted already.

    One of an earlier turn or episode, from another process say, only counts.

    Args:
        turn: of several turns, or a range of them, the last.
        episodes: of the location, in the order in which they came; one that is not among them is the newest.
    """
    first, last = seen_first(memory), seen_last(memory)
    new = Sighting(episode, TurnSpan.parse(one_line(str(turn))).last)
    if new.is_at(first) or new.is_at(last):
        return memory
    if same_episode(episode, last.episode) and not new.is_earlier_turn_than(last):
        last = replace(last, turn=new.turn)
    elif not same_episode(episode, last.episode) and _is_later_episode(episode, last.episode, episodes):
        last = new
    return replace(seen_between(memory, first, last), observation_count=memory.observation_count + 1)


def taking_over(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory with the observations and trials of another one about the same fact."""
    return replace(
        _with_span_of(memory, other, episodes),
        observation_count=memory.observation_count + other.observation_count,
        tried=memory.tried + other.tried,
        worked=memory.worked + other.worked,
    )


def _with_span_of(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory as seen first and last when either was, by the order of episodes and the numbers of turns."""
    order = {episode_key(episode): rank for rank, episode in enumerate(episodes)}

    def when(seen: Sighting) -> tuple[int, int]:
        number = turn_number(seen.turn)
        return order.get(episode_key(seen.episode), len(order)), -1 if number is None else number

    seen = sorted((seen_first(memory), seen_last(memory), seen_first(other), seen_last(other)), key=when)
    return memory if seen[0].is_at(seen[-1]) else seen_between(memory, seen[0], seen[-1])


def seen_first(memory: Memory) -> Sighting:
    first = memory.episode if memory.first_episode is None else memory.first_episode
    return Sighting(first, TurnSpan.parse(memory.turns).first)


def seen_last(memory: Memory) -> Sighting:
    return Sighting(memory.episode, TurnSpan.parse(memory.turns).last)


def seen_between(memory: Memory, first: Sighting, last: Sighting) -> Memory:
    turns = str(TurnSpan(first.turn, last.turn))
    return replace(memory, turns=turns, episode=last.episode, first_episode=first.episode)


def proven_wrong(memory: Memory, reason: str, turn: int | None) -> Memory:
    return replace(
        memory,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=INVALIDATION_MARKER,
        superseded_at_turn=turn,
        invalidation_reason=one_line(reason),
    )


def _is_later_episode(episode: int | str, than: int | str, episodes: tuple[int | str, ...]) -> bool:
    order = [episode_key(one) for one in episodes]
    one, other = episode_key(episode), episode_key(than)
    return one not in order or other not in order or order.index(one) > order.index(other)


def _unique(episodes: Iterable[int | str]) -> tuple[int | str, ...]:
    """Return each episode once, as it was written first."""
    found: dict[int | str, int | str] = {}
    for episode in episodes:
        found.setdefault(episode_key(episode), episode)
    return tuple(found.values())


def _includes(episodes: tuple[int | str, ...], episode: int | str) -> bool:
    return any(same_episode(one, episode) for one in episodes)


def _section_of(document: Document, location_id: PlaceKey, memory: Memory) -> tuple[LocationSection, Index]:
    for index in document.section_indexes[location_id]:
        section = document.section(index)
        if any(kept is memory for kept in section.memories):
            return section, index
    raise KeyError(memory.title)


def _with_location(document: Document, location_id: PlaceKey, name: str, visits: tuple[int | str, ...]) -> Document:
    """Insert a section for a new location, before the first that comes after it by its key."""
    order = place_order(location_id)
    # Where there are several shelves, the first one only lists the others.
    shelves = range(min(1, len(document.shelves) - 1), len(document.shelves))
    number = next((i for i in shelves if (last := document.shelves[i].last) is not None and last > order), shelves[-1])
    shelf = document.shelves[number]
    eol = shelf.eol
    sections = list(shelf.sections) or [first_section(eol)]
    at = next(
        (i for i, s in enumerate(sections) if s.location_id is not None and place_order(s.location_id) > order),
        len(sections),
    )
    if at > 0:
        sections[at - 1] = _ending_blank(sections[at - 1], eol)
    section = new_section(location_id, name, len(visits), _unique(visits), eol)
    sections.insert(at, _ending_blank(section, eol) if at < len(sections) else section)
    return document.with_sections(number, sections)


def _with_episode(section: LocationSection, episode: int | str, eol: str) -> LocationSection:
    episodes = (*section.episodes, episode)
    return with_visits(section, max(section.visits, len(episodes)), episodes, eol)


def _ending_blank(section: LocationSection, eol: str) -> LocationSection:
    missing = 0 if section.data.endswith(encode(eol + eol)) else 1 if section.data.endswith(b"\n") else 2
    return parse_section(section.data + encode(eol * missing)) if missing and section.data else section

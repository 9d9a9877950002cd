"""What can be done to the memories of a document: plain functions from one document to the next."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from zorkgpt.log import get_logger
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryStatus, episode_key, same_episode
from zorkgpt.memory.storage.codec import TITLE, Document, indexed
from zorkgpt.memory.storage.escaping import encode, folded, one_line
from zorkgpt.memory.storage.section import (
    Section,
    new_section,
    parse_section,
    with_changed,
    with_memory,
    with_number,
    with_visits,
    without,
)

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
    """What happened to one memory; one line of the history."""

    kind: Kind
    location_id: int
    location_name: str
    before: Memory | None
    """None: it was not there."""
    after: Memory | None
    """None: it is there no more."""
    reason: str | None = None
    other: Memory | None = None
    """What it was compared with, where that led to the change."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The document after a change."""

    document: Document
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a memory was observed."""

    episode: int | str
    turn: str

    def is_at(self, other: "Sighting") -> bool:
        return self.turn == other.turn and same_episode(self.episode, other.episode)


def same_words(one: Memory, other: Memory) -> bool:
    """Title and text are the same but for case and white space."""
    return folded(one.title) == folded(other.title) and folded(one.text) == folded(other.text)


def is_current(memory: Memory) -> bool:
    """Whether it is believed, for good or for now, and no person forbids it."""
    return memory.status != _SUPERSEDED and not memory.vetoed


def titled(memories: list[Memory], title: str) -> Memory | None:
    """The first current memory of exactly this title, white space aside."""
    wanted = one_line(title)
    return next((memory for memory in memories if is_current(memory) and one_line(memory.title) == wanted), None)


def known_again(memories: Iterable[Memory], memory: Memory) -> Memory | None:
    """Return the current one of the same title and text."""
    return next((known for known in memories if is_current(known) and same_words(known, memory)), None)


def added(
    document: Document, location_id: int, name: str, memory: Memory, *, visits: tuple[int | str, ...] = ()
) -> Outcome:
    """The memory in its location's section; a new one begins with these visits, given by their episodes."""
    if not memory.persistence.outlives_episode:
        log.error("ephemeral memory kept out of the file", extra={"location_id": location_id, "title": memory.title})
        return Outcome(document)
    if location_id not in document.at:
        document = _with_location(document, location_id, name, visits or (memory.episode,))
    index = document.at[location_id][0]
    section = document.sections[index]
    if not _lists(section.episodes, memory.episode):
        section = _with_episode(section, memory.episode, document.eol)
    section = with_memory(section, memory, document.eol)
    # The very one that stands in the document now, last in its section, so that a further change finds it.
    new = section.memories[-1]
    return Outcome(document.replaced(index, section), (Change("added", location_id, section.name, None, new),))


def seen_again(document: Document, location_id: int, known: Memory, turn: int | str, episode: int | str) -> Outcome:
    """The memory was observed once more. The same turn of the same episode counts once."""
    section, index = _holding(document, location_id, known)
    new = observed(known, turn, episode, section.episodes)
    if new is known:
        return Outcome(document)
    if not _lists(section.episodes, episode):
        section = _with_episode(section, episode, document.eol)
    document = document.replaced(index, with_changed(section, known, new, document.eol))
    return Outcome(document, (Change("seen again", location_id, section.name, known, new),))


def superseded(
    document: Document, location_id: int, old: Memory, new_title: str, turn: int | None, reason: str | None = None
) -> Outcome:
    after = replace(
        old,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=one_line(new_title),
        superseded_at_turn=turn,
        invalidation_reason=None if reason is None else one_line(reason),
    )
    return changed(document, location_id, old, after, "superseded", reason)


def invalidated(document: Document, location_id: int, old: Memory, reason: str, turn: int | None) -> Outcome:
    return changed(document, location_id, old, proven_wrong(old, reason, turn), "invalidated", one_line(reason))


def changed(
    document: Document, location_id: int, old: Memory, new: Memory, kind: Kind, reason: str | None = None
) -> Outcome:
    """This very memory of the document (by identity) becomes another, in its place."""
    section, index = _holding(document, location_id, old)
    document = document.replaced(index, with_changed(section, old, new, document.eol))
    return Outcome(document, (Change(kind, location_id, section.name, old, new, reason),))


def removed(document: Document, location_id: int, old: Memory, reason: str | None = None) -> Outcome:
    section, index = _holding(document, location_id, old)
    document = document.replaced(index, without(section, old, document.eol))
    return Outcome(document, (Change("removed", location_id, section.name, old, None, reason),))


def visited(document: Document, location_id: int, visits: tuple[int | str, ...]) -> Outcome:
    """Count visits, given by their episodes; a location without a place in the file is left alone."""
    if location_id not in document.at or not visits:
        return Outcome(document)
    index = document.at[location_id][0]
    section = document.sections[index]
    episodes = _with_each((*section.episodes, *visits))
    return Outcome(document.replaced(index, with_visits(section, section.visits + len(visits), episodes, document.eol)))


def moved(document: Document, old_id: int, new_id: int) -> Outcome:
    """A location's number has changed: its sections get the new one, where they stand."""
    sections = list(document.sections)
    changes = []
    for index in document.at.get(old_id, ()):
        section = sections[index] = with_number(sections[index], new_id, document.eol)
        for memory in section.memories:
            changes.append(Change("moved", old_id, section.name, memory, None, f"now location {new_id}"))
            changes.append(Change("moved", new_id, section.name, None, memory, f"was location {old_id}"))
    return Outcome(indexed(tuple(sections), document.eol), tuple(changes))


def observed(memory: Memory, turn: int | str, episode: int | str, episodes: tuple[int | str, ...]) -> Memory:
    """The memory with one more observation; itself if this one is counted already.

    One of an earlier turn or episode, from another process say, only counts.

    Args:
        turn: of several turns, or a range of them, the last.
        episodes: of the location, in the order in which they came; one that is not among them is the newest.
    """
    first, last = seen_first(memory), seen_last(memory)
    new = Sighting(episode, _range(one_line(str(turn)))[1])
    if new.is_at(first) or new.is_at(last):
        return memory
    if same_episode(episode, last.episode) and not _before(new.turn, last.turn):
        last = replace(last, turn=new.turn)
    elif not same_episode(episode, last.episode) and _later(episode, last.episode, episodes):
        last = new
    return replace(seen_between(memory, first, last), observation_count=memory.observation_count + 1)


def taking_over(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """The memory with the observations and trials of another one of its place, which is about the same fact."""
    return replace(
        _spanning(memory, other, episodes),
        observation_count=memory.observation_count + other.observation_count,
        tried=memory.tried + other.tried,
        worked=memory.worked + other.worked,
    )


def _spanning(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """Seen first and last when either was, by the location's list of episodes and by the numbers of the turns."""
    order = {episode_key(episode): rank for rank, episode in enumerate(episodes)}

    def when(seen: Sighting) -> tuple[int, int]:
        return order.get(episode_key(seen.episode), len(order)), int(seen.turn) if seen.turn.isdecimal() else -1

    seen = sorted((seen_first(memory), seen_last(memory), seen_first(other), seen_last(other)), key=when)
    return memory if seen[0].is_at(seen[-1]) else seen_between(memory, seen[0], seen[-1])


def seen_first(memory: Memory) -> Sighting:
    first = memory.episode if memory.first_episode is None else memory.first_episode
    return Sighting(first, _range(memory.turns)[0])


def seen_last(memory: Memory) -> Sighting:
    return Sighting(memory.episode, _range(memory.turns)[1])


def seen_between(memory: Memory, first: Sighting, last: Sighting) -> Memory:
    return replace(memory, turns=f"{first.turn}→{last.turn}", episode=last.episode, first_episode=first.episode)


def proven_wrong(memory: Memory, reason: str, turn: int | None) -> Memory:
    return replace(
        memory,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=INVALIDATION_MARKER,
        superseded_at_turn=turn,
        invalidation_reason=one_line(reason),
    )


def _range(turns: str) -> tuple[str, str]:
    parts = re.split(r"→|->|-", turns)
    return parts[0].strip(), parts[-1].strip()


def _before(turn: str, other: str) -> bool:
    return turn.isdecimal() and other.isdecimal() and int(turn) < int(other)


def _later(episode: int | str, than: int | str, episodes: tuple[int | str, ...]) -> bool:
    order = [episode_key(one) for one in episodes]
    one, other = episode_key(episode), episode_key(than)
    return one not in order or other not in order or order.index(one) > order.index(other)


def _with_each(episodes: Iterable[int | str]) -> tuple[int | str, ...]:
    """Each episode once, as it was written first."""
    found: dict[int | str, int | str] = {}
    for episode in episodes:
        found.setdefault(episode_key(episode), episode)
    return tuple(found.values())


def _lists(episodes: tuple[int | str, ...], episode: int | str) -> bool:
    return any(same_episode(one, episode) for one in episodes)


def _holding(document: Document, location_id: int, memory: Memory) -> tuple[Section, int]:
    for index in document.at[location_id]:
        section = document.sections[index]
        if any(kept is memory for kept in section.memories):
            return section, index
    raise KeyError(memory.title)


def _with_location(document: Document, location_id: int, name: str, visits: tuple[int | str, ...]) -> Document:
    """A new location goes before the first with a higher number."""
    eol = document.eol
    sections = list(document.sections) or [parse_section(TITLE + encode(eol + eol))]
    at = next(
        (i for i, s in enumerate(sections) if s.location_id is not None and s.location_id > location_id), len(sections)
    )
    if at > 0:
        sections[at - 1] = _ending_blank(sections[at - 1], eol)
    section = new_section(location_id, name, len(visits), _with_each(visits), eol)
    sections.insert(at, _ending_blank(section, eol) if at < len(sections) else section)
    return indexed(tuple(sections), eol)


def _with_episode(section: Section, episode: int | str, eol: str) -> Section:
    episodes = (*section.episodes, episode)
    return with_visits(section, max(section.visits, len(episodes)), episodes, eol)


def _ending_blank(section: Section, eol: str) -> Section:
    missing = 0 if section.data.endswith(encode(eol + eol)) else 1 if section.data.endswith(b"\n") else 2
    return parse_section(section.data + encode(eol * missing)) if missing and section.data else section

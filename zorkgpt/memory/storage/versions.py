"""Finding a memory among others, and deriving the next version of a memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from zorkgpt.memory.ids import MemoryId
from zorkgpt.memory.models import (
    Memory,
    MemoryStatus,
    SubjectKey,
    episode_key,
    same_episode,
    turns_in,
)
from zorkgpt.memory.storage.escaping import folded, single_spaced

# `is_current` is called often, and looking up an enum member is slow in CPython 3.11.
_SUPERSEDED = MemoryStatus.SUPERSEDED
_title_of = attrgetter("title")


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a memory was observed."""

    episode: int | str
    turn: int | str
    """The text of a person if it is not a number."""

    def is_at(self, other: "Sighting") -> bool:
        """Return whether both are in the same turn of the same episode."""
        return self.turn == other.turn and same_episode(self.episode, other.episode)

    def is_earlier_turn_than(self, other: "Sighting") -> bool:
        """Return whether its turn is lower. False if one of the turns is not a number."""
        return isinstance(self.turn, int) and isinstance(other.turn, int) and self.turn < other.turn


def same_words(first: Memory, second: Memory) -> bool:
    """Return whether title and text are equal, ignoring case and white space."""
    return folded(first.title) == folded(second.title) and folded(first.text) == folded(second.text)


def is_current(memory: Memory) -> bool:
    """Return whether a memory is active or tentative, and no person hid it."""
    return memory.status != _SUPERSEDED and not memory.vetoed


def titled(memories: Sequence[Memory], title: str, location_id: SubjectKey | None = None) -> Memory | None:
    """Return the first current memory with this title or `MemoryId`. White space in titles is ignored, case is not.

    Args:
        location_id: The place of the memories. Only needed for an id.
    """
    current = filter(is_current, memories)
    if isinstance(title, MemoryId) and location_id is not None:
        return next((memory for memory in current if memory.id == title), None)
    wanted = single_spaced(title)
    return next((memory for memory in current if single_spaced(memory.title) == wanted), None)


def with_same_words(memories: Collection[Memory], memory: Memory) -> Memory | None:
    """Return the first current memory with the same words. None if there is none."""
    if folded(memory.title) not in map(folded, map(_title_of, memories)):
        return None
    return next((known for known in memories if is_current(known) and same_words(known, memory)), None)


def differing(
    old: Sequence[Memory], new: Sequence[Memory], *, by_title: bool = True
) -> list[tuple[Memory | None, Memory | None]]:
    """Return the differences between two lists of memories of a place, as pairs: the new ones, then the removed ones.

    The first of a pair is None if the memory is new, and the second one if it was removed. Memories are matched by
    their ids.

    Args:
        by_title: Whether memories without the same id are also matched if they are equal, or else by their titles.
    """
    missing = {memory.id: memory for memory in old}
    kept = {memory.id for memory in new if missing.get(memory.id) == memory}
    missing = {id: memory for id, memory in missing.items() if id not in kept}
    changed: list[Memory] = []
    for memory in new:
        if memory.id in kept:
            continue
        equal = next((known for known in missing.values() if known == memory), None) if by_title else None
        if equal is None:
            changed.append(memory)
        else:
            del missing[equal.id]
    pairs: list[tuple[Memory | None, Memory | None]] = []
    for memory in changed:
        before = missing.get(memory.id)
        if before is None and by_title:
            before = next((known for known in missing.values() if known.title == memory.title), None)
        if before is not None:
            del missing[before.id]
        pairs.append((before, memory))
    return [*pairs, *((memory, None) for memory in missing.values())]


def observed(memory: Memory, turn: int | str, episode: int | str, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory with another observation, or the same memory if the observation is already counted.

    An earlier observation, for instance from another process, is counted without changing the last turn.

    Args:
        turn: The last turn counts if there are several.
        episodes: The episodes of the location in order. An episode that is not among them is the newest.
    """
    first, last = seen_first(memory), seen_last(memory)
    new = Sighting(episode, turns_in(single_spaced(str(turn)))[1])
    if new.is_at(first) or new.is_at(last):
        return memory
    if same_episode(episode, last.episode) and not new.is_earlier_turn_than(last):
        last = replace(last, turn=new.turn)
    elif not same_episode(episode, last.episode) and _is_later_episode(episode, last.episode, episodes):
        last = new
    return replace(with_sightings(memory, first, last), observation_count=memory.observation_count + 1)


def with_observations_of(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory with the observations and trials of another one about the same fact."""
    return replace(
        _with_span_of(memory, other, episodes),
        observation_count=memory.observation_count + other.observation_count,
        tried=memory.tried + other.tried,
        worked=memory.worked + other.worked,
        died=memory.died + other.died,
    )


def _with_span_of(memory: Memory, other: Memory, episodes: tuple[int | str, ...]) -> Memory:
    """Return the memory with the first and the last sighting of both, ordered by episode and turn."""
    order = {episode_key(episode): rank for rank, episode in enumerate(episodes)}

    def when(seen: Sighting) -> tuple[int, int]:
        return order.get(episode_key(seen.episode), len(order)), seen.turn if isinstance(seen.turn, int) else -1

    seen = sorted((seen_first(memory), seen_last(memory), seen_first(other), seen_last(other)), key=when)
    return memory if seen[0].is_at(seen[-1]) else with_sightings(memory, seen[0], seen[-1])


def seen_first(memory: Memory) -> Sighting:
    return Sighting(memory.first_seen_in, turns_in(memory.turns)[0] if memory.first_turn is None else memory.first_turn)


def seen_last(memory: Memory) -> Sighting:
    return Sighting(memory.episode, turns_in(memory.turns)[1] if memory.last_turn is None else memory.last_turn)


def with_sightings(memory: Memory, first: Sighting, last: Sighting) -> Memory:
    turns = f"{first.turn}→{last.turn}"
    return replace(memory, turns=turns, episode=last.episode, first_episode=first.episode)


def superseded(
    memory: Memory, by: str, reason: str | None, turn: int | None = None, episode: int | str | None = None
) -> Memory:
    """Return the memory as superseded.

    Args:
        by: The title of the memory that replaces it. `INVALIDATION_MARKER` if it is wrong.
    """
    return replace(
        memory,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=single_spaced(by),
        superseded_at_turn=turn,
        superseded_in_episode=episode,
        invalidation_reason=None if reason is None else single_spaced(reason),
    )


def _is_later_episode(episode: int | str, than: int | str, episodes: tuple[int | str, ...]) -> bool:
    order = list(map(episode_key, episodes))
    first, second = episode_key(than), episode_key(episode)
    return first not in order or second not in order or order.index(second) > order.index(first)

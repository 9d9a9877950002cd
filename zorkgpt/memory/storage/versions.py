"""Finding a memory among others, and the next version of one: plain functions on single memories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zorkgpt.memory.ids import MemoryId, memory_id
from zorkgpt.memory.models import (
    Memory,
    MemoryStatus,
    SubjectKey,
    TurnSpan,
    episode_key,
    same_episode,
    turn_number,
)
from zorkgpt.memory.storage.escaping import folded, one_line

# Asked of every memory of a place on every turn, and CPython 3.11 is slow to look up a member of an enum.
_SUPERSEDED = MemoryStatus.SUPERSEDED


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


def titled(memories: Sequence[Memory], title: str, location_id: SubjectKey | None = None) -> Memory | None:
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
        died=memory.died + other.died,
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


def superseded(
    memory: Memory, by: str, reason: str | None, turn: int | None = None, episode: int | str | None = None
) -> Memory:
    """Return the memory as replaced by the one of this title; `INVALIDATION_MARKER` if it is wrong."""
    return replace(
        memory,
        status=MemoryStatus.SUPERSEDED,
        superseded_by=one_line(by),
        superseded_at_turn=turn,
        superseded_in_episode=episode,
        invalidation_reason=None if reason is None else one_line(reason),
    )


def _is_later_episode(episode: int | str, than: int | str, episodes: tuple[int | str, ...]) -> bool:
    order = [episode_key(one) for one in episodes]
    one, other = episode_key(episode), episode_key(than)
    return one not in order or other not in order or order.index(one) > order.index(other)

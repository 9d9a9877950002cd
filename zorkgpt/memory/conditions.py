"""Conditions: the observed states in which an action has one outcome and not another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from zorkgpt.memory.claims import State, holds, separating
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import DIED, NO_EFFECT, Memory, SubjectKey, destination_in
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import OBSERVATIONS, TurnStamp
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import same_words


class Observations:
    """The turns in which memories were observed, from the journal and from the changes of this process."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._turns: dict[tuple[SubjectKey, str, str], list[tuple[ChangeKind, TurnStamp]]] = {}
        """By place, title and text."""

    def note(self, change: Change, turn: TurnStamp | None) -> None:
        """Record a change by a turn in which the memory was observed."""
        if turn is None or change.kind not in OBSERVATIONS:
            return
        key = _key(change.location_id, change.memory)
        if change.kind == "added" or key in self._turns:
            self._turns.setdefault(key, []).append((change.kind, turn))

    def clear(self) -> None:
        """Clear the cache."""
        self._turns.clear()

    def turn_when_learned(self, place: SubjectKey, memory: Memory) -> TurnStamp | None:
        """Return the turn that taught it. None if unknown."""
        turns = self._turns.get(_key(place, memory))
        if turns is None:
            # Read only this kind: a memory can have thousands of further observations.
            turns = self._read(place, memory, ("added",))
        return next((turn for kind, turn in reversed(turns) if kind == "added"), None)

    def states(self, place: SubjectKey, memory: Memory) -> list[State]:
        """Return the known states in which its action had its outcome, oldest first."""
        key = _key(place, memory)
        if key not in self._turns:
            self._turns[key] = self._read(place, memory, OBSERVATIONS)
        return [turn.state for _, turn in self._turns[key] if turn.action or turn.state]

    def _read(
        self, place: SubjectKey, memory: Memory, kinds: Sequence[ChangeKind]
    ) -> list[tuple[ChangeKind, TurnStamp]]:
        return [
            (record.change.kind, record.turn_stamp)
            for record in self._journal.of_memory(place, memory_id(place, memory), kinds)
            if record.turn_stamp is not None and same_words(record.change.memory, memory)
        ]


def _key(place: SubjectKey, memory: Memory) -> tuple[SubjectKey, str, str]:
    return place, folded(memory.title), folded(memory.text)


@dataclass(frozen=True, slots=True)
class Rivals:
    """Memories of other outcomes of the same action."""

    separated: list[Memory]
    """Those that hold in other states."""
    contradicted: list[Memory]
    """Those that no known state separates, so that both can't be true."""


def rivals(
    observations: Observations,
    location_id: SubjectKey,
    memory: Memory,
    believed: Iterable[Memory],
    *,
    now: State | None = None,
) -> Rivals:
    """Return the memories that state another outcome of the same action.

    A loss and a success don't contradict each other in the same state, since the action can be risky. The counts of
    both say so.

    Args:
        believed: The memories of the place.
        now: The state in which the memory is observed on this turn. None if it isn't.
    """
    result = Rivals([], [])
    opposed = [known for known in believed if is_opposed(known, memory)]
    if not opposed:
        # The usual case. Skip reading the history, which can be long.
        return result
    own = [*observations.states(location_id, memory), *([] if now is None else [now])]
    for rival in opposed:
        # For a memory without observations, only its conditions are known.
        states = observations.states(location_id, rival) or [rival.when]
        if separating(states, own, memory.action):
            result.separated.append(rival)
        elif loss_in(memory.outcome) is None and loss_in(rival.outcome) is None:
            result.contradicted.append(rival)
    return result


def conditions(
    observations: Observations,
    location_id: SubjectKey,
    memory: Memory,
    believed: Iterable[Memory],
    *,
    now: State | None = None,
) -> State:
    """Return the conditions that separate a memory's outcome from those of other memories.

    Without other memories of the action, the memory keeps the conditions that no observation contradicts. A memory
    without an action keeps its conditions.

    Args:
        believed: The memories of the place.
        now: The state in which the memory is observed on this turn. None if it isn't.
    """
    if not memory.action:
        return memory.when
    opposed = [other for other in believed if is_opposed(memory, other)]
    if not memory.when and not opposed:
        # The usual case. Skip reading the history.
        return ()
    own = [*observations.states(location_id, memory), *([] if now is None else [now])]
    others = [states for other in opposed if (states := observations.states(location_id, other))]
    if not own or not others:
        return tuple(claim for claim in memory.when if all(holds(claim, state) is not False for state in own))
    # If no condition separates the memory from all others, try each of them alone.
    for states in (list(chain.from_iterable(others)), *others):
        if claims := separating(own, states, memory.action):
            return claims
    return ()


def is_opposed(one: Memory, other: Memory) -> bool:
    """Return whether two memories state outcomes of the same action that exclude each other."""
    outcomes = {one.outcome, other.outcome}
    if not one.action or folded(one.action) != folded(other.action) or len(outcomes) == 1 or "" in outcomes:
        return False
    return DIED in outcomes or NO_EFFECT in outcomes or None not in map(destination_in, outcomes)

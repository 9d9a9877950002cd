"""Conditions: the observed states in which an action has one outcome and not another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from zorkgpt.memory.claims import State, holds, separating
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import DIED, NO_EFFECT, Memory, SubjectKey, destination_in
from zorkgpt.memory.storage.changes import ChangeKind
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import OBSERVATIONS, TurnStamp
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import same_words


def turn_when_learned(journal: Journal, place: SubjectKey, memory: Memory) -> TurnStamp | None:
    """Return the turn that taught a memory. None if unknown."""
    # Read only this kind: a memory can have thousands of further observations.
    return next(reversed(_turns(journal, place, memory, ("added",))), None)


def observed_states(journal: Journal, place: SubjectKey, memory: Memory) -> list[State]:
    """Return the known states in which a memory's action had its outcome, oldest first."""
    turns = _turns(journal, place, memory, OBSERVATIONS)
    return [turn.state for turn in turns if turn.action or turn.state]


def _turns(journal: Journal, place: SubjectKey, memory: Memory, kinds: Sequence[ChangeKind]) -> list[TurnStamp]:
    return [
        record.turn_stamp
        for record in journal.of_memory(place, memory.id, kinds)
        if record.turn_stamp is not None and same_words(record.change.memory, memory)
    ]


@dataclass(frozen=True, slots=True)
class Rivals:
    """Memories of other outcomes of the same action."""

    separated: list[Memory]
    """Those that hold in other states."""
    contradicted: list[Memory]
    """Those that no known state separates, so that both can't be true."""


def rivals(
    journal: Journal,
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
    own = [*observed_states(journal, location_id, memory), *([] if now is None else [now])]
    for rival in opposed:
        # For a memory without observations, only its conditions are known.
        states = observed_states(journal, location_id, rival) or [rival.when]
        if separating(states, own, memory.action):
            result.separated.append(rival)
        elif loss_in(memory.outcome) is None and loss_in(rival.outcome) is None:
            result.contradicted.append(rival)
    return result


def conditions(
    journal: Journal,
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
    own = [*observed_states(journal, location_id, memory), *([] if now is None else [now])]
    others = [states for other in opposed if (states := observed_states(journal, location_id, other))]
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

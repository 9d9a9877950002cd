"""In which states an action has one outcome and not another, by what was observed."""

from collections.abc import Iterable
from itertools import chain
from typing import Protocol

from zorkgpt.memory.claims import State, holds, separating
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.escaping import folded


class Observations(Protocol):
    """Knows the states in which a memory was observed to be true."""

    def states_observed(self, location_id: SubjectKey, memory: Memory) -> list[State]: ...


def conditions(
    observations: Observations,
    location_id: SubjectKey,
    memory: Memory,
    believed: Iterable[Memory],
    *,
    now: State | None = None,
) -> State:
    """Return the states in which a memory holds, as far as they separate its outcome from those of other memories.

    Its own conditions that were true whenever they were known are kept if nothing else is believed of the action. A
    memory of no action keeps its conditions.

    Args:
        believed: The memories of the place.
        now: The state in which the memory is observed on this turn; None if it isn't.
    """
    if not memory.action:
        return memory.when
    rivals = [one for one in believed if _differ(memory, one)]
    if not memory.when and not rivals:
        # Most often. Then the history of the place, which grows with every episode, is not read.
        return ()
    own = [*observations.states_observed(location_id, memory), *([] if now is None else [now])]
    opposed = [observations.states_observed(location_id, one) for one in rivals]
    others = [states for states in opposed if states]
    if not own or not others:
        return tuple(claim for claim in memory.when if all(holds(claim, state) is not False for state in own))
    # What separates it from all of them may be missing where each has a condition of its own.
    for states in (list(chain.from_iterable(others)), *others):
        if found := separating(own, states, memory.action):
            return found
    return ()


def _differ(one: Memory, other: Memory) -> bool:
    return is_opposed(one, other) or is_opposed(other, one)


def is_opposed(known: Memory, new: Memory) -> bool:
    """Return whether both tell what came of the same action, and not the same; surviving once disproves no danger."""
    if not known.action or folded(known.action) != folded(new.action) or known.outcome == new.outcome:
        return False
    outcomes = {known.outcome, new.outcome}
    if "" in outcomes or loss_in(known.outcome) is not None:
        return False
    return new.outcome == "died" or "nothing" in outcomes or all(one.startswith("to ") for one in outcomes)

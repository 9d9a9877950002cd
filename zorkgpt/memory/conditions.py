"""In which states an action has one outcome and not another, by what was observed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from zorkgpt.memory.claims import State, holds, separating
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import OBSERVATIONS, TurnStamp
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import same_words


class ObservedStates(Protocol):
    """Knows the states in which a memory was observed to be true."""

    def states(self, place: SubjectKey, memory: Memory, /) -> list[State]: ...


class Observations:
    """Knows the turns in which memories were true, from the journal and from the changes of this process."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._turns: dict[tuple[SubjectKey, str, str], list[tuple[ChangeKind, TurnStamp]]] = {}
        """By place, title and text."""

    def note(self, change: Change, turn: TurnStamp | None) -> None:
        """Take in a change by a turn in which the memory was true."""
        if turn is None or change.kind not in OBSERVATIONS:
            return
        key = _key(change.location_id, change.memory)
        if change.kind == "added" or key in self._turns:
            self._turns.setdefault(key, []).append((change.kind, turn))

    def clear(self) -> None:
        """Drop what was read: it is read again when it is needed."""
        self._turns.clear()

    def turn_when_learned(self, place: SubjectKey, memory: Memory) -> TurnStamp | None:
        """Return the turn that taught it. None if unknown."""
        turns = self._turns.get(_key(place, memory))
        if turns is None:
            # The history of a memory that was seen again a thousand times is long.
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
    """Other memories of an action that contradict one about it."""

    separated: list[Memory]
    """Both are true, each in states in which the other was not observed."""
    contradicted: list[Memory]
    """No known state separates them: both can't be true."""


def rivals(
    observations: ObservedStates,
    location_id: SubjectKey,
    memory: Memory,
    believed: Iterable[Memory],
    *,
    now: State | None = None,
) -> Rivals:
    """Return the memories that say another outcome of the same action.

    A loss contradicts nothing that worked in the same state: the counts of both describe the risk.

    Args:
        believed: The memories of the place.
        now: The state in which the memory is observed on this turn; None if it isn't.
    """
    found = Rivals([], [])
    opposed = [one for one in believed if is_opposed(one, memory)]
    if not opposed:
        # Most often. Then the history of the place, which grows with every episode, is not read.
        return found
    own = [*observations.states(location_id, memory), *([] if now is None else [now])]
    for rival in opposed:
        # Of one that was not observed here, its conditions are all that is known.
        states = observations.states(location_id, rival) or [rival.when]
        if separating(states, own, memory.action):
            found.separated.append(rival)
        elif loss_in(memory.outcome) is None:
            found.contradicted.append(rival)
    return found


def conditions(
    observations: ObservedStates,
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
    differing = [one for one in believed if is_opposed(memory, one) or is_opposed(one, memory)]
    if not memory.when and not differing:
        # Most often. Then the history of the place is not read.
        return ()
    own = [*observations.states(location_id, memory), *([] if now is None else [now])]
    opposed = [observations.states(location_id, one) for one in differing]
    others = [states for states in opposed if states]
    if not own or not others:
        return tuple(claim for claim in memory.when if all(holds(claim, state) is not False for state in own))
    # What separates it from all of them may be missing where each has a condition of its own.
    for states in (list(chain.from_iterable(others)), *others):
        if found := separating(own, states, memory.action):
            return found
    return ()


def is_opposed(known: Memory, new: Memory) -> bool:
    """Return whether both tell what came of the same action, and not the same; surviving once disproves no danger."""
    if not known.action or folded(known.action) != folded(new.action) or known.outcome == new.outcome:
        return False
    outcomes = {known.outcome, new.outcome}
    if "" in outcomes or loss_in(known.outcome) is not None:
        return False
    return new.outcome == "died" or "nothing" in outcomes or all(one.startswith("to ") for one in outcomes)

"""In which turns, and in which states of the game, memories were learned and observed again."""

from collections.abc import Sequence

from zorkgpt.memory.claims import State
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.changes import Change, ChangeKind
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import OBSERVATIONS, TurnStamp
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import same_words


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

"""The record of each turn, and the recent turns of the running episode."""

from collections import deque
from dataclasses import dataclass

from game_interface.models import Transition
from session.extraction import Extraction
from zorkgpt.memory.models import MemoryEvent


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proposed action that was rejected before it could cost a turn."""

    action: str
    reason: str
    judge: str
    """Who rejected it: "story" (by its grammar and objects) or "model"."""
    score: float | None = None
    """The model's score, -1 to 1; None: the model was not asked."""
    obeyed: bool = True
    """False: the judge had been wrong too often, so the action was played all the same."""


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """The tokens and cost of a run's models so far."""

    tokens: int
    """Prompt and completion tokens."""
    cost: float
    """The cost of those models whose prices are known."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn: what managers learn from, the event log stores, the viewer shows and the evaluation measures."""

    episode: int
    turn: int
    """From 1 in each episode."""
    transition: Transition
    reasoning: str
    player: str
    """Who chose the action: "model", "offline", "walkthrough", "human", "given", or "return" for a repeated command of
    an earlier episode."""
    memory_shown: str
    """The memories of the location, as the player saw them before choosing."""
    memory_events: tuple[MemoryEvent, ...] = ()
    """What changed in memory because of the turn."""
    duration_s: float = 0.0
    rejections: tuple[Rejection, ...] = ()
    """The rejected proposals for this turn, oldest first."""
    critic_score: float | None = None
    """The critic's score of the action that was played, -1 to 1; None: the critic's model did not judge it."""
    spent: UsageTotals | None = None
    """The usage of the run up to and including this turn; None: no configured model is asked."""
    extraction: Extraction | None = None
    """What was extracted from the response; None: nothing tried to."""
    notices: tuple[str, ...] = ()
    """What the player was told about its own progress before it chose."""


class History:
    """The last `capacity` turns of the running episode."""

    def __init__(self, capacity: int = 1000) -> None:
        self._turns: deque[TurnRecord] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, record: TurnRecord) -> None:
        """Append a turn."""
        self._turns.append(record)

    def recent(self, count: int) -> tuple[TurnRecord, ...]:
        """Return the last `count` turns, oldest first."""
        return tuple(self._turns)[-count:] if count > 0 else ()

    def clear(self) -> None:
        """Forget all turns."""
        self._turns.clear()

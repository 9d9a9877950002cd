"""What happened, turn by turn."""

from collections import deque
from dataclasses import dataclass

from game_interface.models import Transition
from session.extraction import Extraction
from zorkgpt.memory.models import MemoryEvent


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proposed action that was turned down before it could cost a turn."""

    action: str
    reason: str
    judge: str
    """Who turned it down: "story" (its grammar and objects) or "model"."""
    score: float | None = None
    """The model's, -1 to 1."""
    obeyed: bool = True
    """Off: the judge had been wrong too often, so the action was played all the same."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the models of a run have taken so far."""

    tokens: int
    """Read and written."""
    cost: float
    """Of the models whose prices are known."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, as everything that learns, shows or measures gets to see it."""

    episode: int
    turn: int
    """From 1 in each episode."""
    transition: Transition
    reasoning: str
    player: str
    """Who chose the action: "model", "offline", "walkthrough", "human", "given", or "return" where the commands of an
    earlier episode were repeated."""
    memory_shown: str
    """What was known of the place, as the player saw it before choosing."""
    memory_events: tuple[MemoryEvent, ...] = ()
    """What memory made of the turn."""
    duration_s: float = 0.0
    rejections: tuple[Rejection, ...] = ()
    """What was proposed for this turn and turned down, oldest first."""
    critic_score: float | None = None
    """Of the action that was played, -1 to 1; None: the critic's model did not judge it."""
    spent: Spent | None = None
    """By the run, this turn included; None: no model is asked through the configuration."""
    extraction: Extraction | None = None
    """What was read in the response; None: nobody read it."""
    notices: tuple[str, ...] = ()
    """What the player was told about its own play before it chose."""


class History:
    """The turns of the running episode, the last `capacity` of them."""

    def __init__(self, capacity: int = 1000) -> None:
        self._turns: deque[TurnRecord] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, record: TurnRecord) -> None:
        self._turns.append(record)

    def recent(self, count: int) -> tuple[TurnRecord, ...]:
        """The last `count` turns, oldest first."""
        return tuple(self._turns)[-count:] if count > 0 else ()

    def clear(self) -> None:
        self._turns.clear()

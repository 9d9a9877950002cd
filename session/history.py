"""The record of each turn, and the history of the running episode."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from game_interface.models import Location, Observation, Transition
from zorkgpt.memory.models import MemoryEvent

ExtractedBy = Literal["rules", "nobody"]
_MOST_TURNS = 1000


@dataclass(frozen=True, slots=True)
class Extraction:
    """The facts extracted from a text."""

    is_room_description: bool = False
    """Whether it describes the player's location."""
    exits: tuple[str, ...] = ()
    """The full names of the directions in which it mentions an exit."""
    combat: bool = False
    """Whether the player is in a fight."""
    enemies: tuple[str, ...] = ()
    """Names of the opponents."""
    by: ExtractedBy = "nobody"
    """Who extracted it. "nobody" if there was clearly nothing to extract."""


NOTHING = Extraction()


@dataclass(frozen=True, slots=True)
class NamedExits:
    """Exits of a location that a model found in a text."""

    location: Location
    exits: tuple[str, ...]
    """Full names of directions."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proposed action that was rejected before it could cost a turn."""

    action: str
    reason: str
    judge: str
    """Who rejected it: "story" (by its grammar and objects) or "model"."""
    score: float | None = None
    """The model's score, -1 to 1."""
    obeyed: bool = True
    """Whether the player had to respond. False if the judge was wrong too often."""


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """The usage of all models of a run so far."""

    tokens: int
    """Input and output tokens."""
    cost: float
    """The cost of the models whose prices are known."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """Everything about one turn."""

    kind: ClassVar[str] = "turn_played"
    episode: int
    turn: int
    """The number of the turn, from 1 in each episode."""
    transition: Transition
    reasoning: str
    player: str
    """Who chose the action: the run's player ("model", "rules", "walkthrough", "human"), "rules" if the model gave no
    usable answer, "best line" for commands that `FOLLOW` plays, or "given"."""
    memory_shown: str
    """The memories of the location in the player's context."""
    memory_events: tuple[MemoryEvent, ...] = ()
    """The changes of the memory."""
    duration_s: float = 0.0
    parts_s: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds by part of the loop, since the record of the last turn."""
    rejections: tuple[Rejection, ...] = ()
    """The rejected proposals for this turn, oldest first."""
    critic_score: float | None = None
    """The score of the played action, -1 to 1. None if the critic's model did not judge it."""
    spent: UsageTotals | None = None
    """The usage of the run, including this turn. None without configured models."""
    extraction: Extraction | None = None
    """The facts extracted from the response. None if it was not read."""
    named_exits: tuple[NamedExits, ...] = ()
    """The exits that the memory's model found in this response or in earlier ones."""
    notices: tuple[str, ...] = ()
    """The notices about its own play that the player got."""
    answers: tuple[str, ...] = ()
    """The background questions whose answers were applied after the action: kind and turn of each, in order."""
    follow: int = 0
    """The number of commands of the best line that the player asked to follow from this one on. 0 if none."""

    @property
    def action(self) -> str:
        """The command as the player gave it."""
        return self.transition.action

    @property
    def response(self) -> str:
        """The game's text."""
        return self.transition.response

    @property
    def before(self) -> Observation:
        """The state before the action."""
        return self.transition.before

    @property
    def after(self) -> Observation:
        """The state after the action."""
        return self.transition.after


class TurnHistory:
    """The last turns of the running episode."""

    def __init__(self) -> None:
        self._turns: deque[TurnRecord] = deque(maxlen=_MOST_TURNS)

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, record: TurnRecord) -> None:
        """Append a turn."""
        self._turns.append(record)

    def recent(self, count: int) -> tuple[TurnRecord, ...]:
        """Return the last `count` turns, oldest first."""
        return tuple(self._turns)[-count:] if count > 0 else ()

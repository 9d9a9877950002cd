"""The record of each turn, and the history of the running episode."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import is_passive, world_changed
from zorkgpt.memory.models import MemoryEvent

ExtractedBy = Literal["rules", "nobody"]
_MOST_TURNS = 1000


@dataclass(frozen=True, slots=True)
class GameText:
    """A text that the game printed, and what is certain of the state in which it was printed."""

    response: str
    location: Location | None = None
    """The player's location after it was printed."""
    action: str = ""
    """The action that it answers; "" for the opening."""
    arrived: bool = False
    """The player was at another location before."""
    dark: bool = False
    """It is too dark to see; False also if the story does not tell."""
    things: tuple[str, ...] = ()
    """Names of the visible objects."""
    creatures: tuple[str, ...] | None = None
    """Names of those that are alive; None if unknown."""
    described: str = ""
    """The last text in this episode that described this location."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was extracted from a text."""

    is_room_description: bool = False
    """It describes the player's location."""
    exits: tuple[str, ...] = ()
    """Directions, under their full names, in which it names an exit."""
    combat: bool = False
    """A fight with the player is going on."""
    enemies: tuple[str, ...] = ()
    """Names of whom the player fights."""
    by: ExtractedBy = "nobody"
    """Who extracted it; "nobody" if there was clearly nothing to extract."""


NOTHING = Extraction()


@dataclass(frozen=True, slots=True)
class NamedExits:
    """Exits of a location that a model found named in a text."""

    location: Location
    exits: tuple[str, ...]
    """Directions, under their full names."""


def text_of_turn(step: Transition, *, described: str = "") -> GameText:
    """Return the text that a turn printed."""
    return GameText(
        response=step.response,
        location=step.after.location,
        action=step.action,
        arrived=step.before.location != step.after.location,
        dark=step.after.dark,
        things=_names(step.after.visible or ()),
        creatures=_creatures(step.after),
        described=described,
    )


def text_of_opening(text: str, now: Observation) -> GameText:
    """Return the text that the game begins with."""
    things = _names(now.visible or ())
    return GameText(text, now.location, arrived=True, dark=now.dark, things=things, creatures=_creatures(now))


def _names(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(item.name for item in items)


def _creatures(now: Observation) -> tuple[str, ...] | None:
    return None if now.creatures is None else _names(now.creatures)


def has_nothing_to_extract(step: Transition) -> bool:
    """Return whether it is clear without reading that a turn's text tells nothing of the room or of a fight.

    That holds for commands that never reached the game, for the end of the game, and for answers that took no game
    time: the parser did not understand.
    """
    if step.refused or step.fault or step.finished or not step.response.strip():
        return True
    no_time_passed = step.before.moves is not None and step.before.moves == step.after.moves
    return no_time_passed and not is_passive(step.action) and not world_changed(step)


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
    """False if the judge had been wrong too often, so that the action was played all the same."""


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """What the models of a run have used so far."""

    tokens: int
    """Tokens read and written."""
    cost: float
    """The cost of the models whose prices are known."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn, as seen by everything that learns from it, logs it, shows it or measures it."""

    kind: ClassVar[str] = "turn_played"
    episode: int
    turn: int
    """The number of the turn, from 1 in each episode."""
    transition: Transition
    reasoning: str
    player: str
    """Who chose the action: the run's player ("model", "rules", "walkthrough", "human"), "rules" if the model gave no
    usable answer, "search" for one that a search has found, "best line" for one that `FOLLOW` asked for,
    or "given"."""
    memory_shown: str
    """The memories of the location before the turn; the prompt leaves out where things are that the player sees."""
    memory_events: tuple[MemoryEvent, ...] = ()
    """What the memory recorded of the turn."""
    duration_s: float = 0.0
    parts_s: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds by part of the loop, from the end of the last turn's record to that of this one."""
    rejections: tuple[Rejection, ...] = ()
    """The proposals for this turn that were turned down, oldest first."""
    critic_score: float | None = None
    """The score of the action that was played, -1 to 1; None if the critic's model did not judge it."""
    spent: UsageTotals | None = None
    """What the run has spent, this turn included; None if no model is asked through the configuration."""
    extraction: Extraction | None = None
    """What the rules read in the response; None if nothing read it."""
    named_exits: tuple[NamedExits, ...] = ()
    """What the memory's model read in this response or in earlier ones."""
    notices: tuple[str, ...] = ()
    """The notices about its own progress that the player got."""
    answers: tuple[str, ...] = ()
    """The background questions whose answers were applied after the action, in order: kind of question, and the turn
    that it is about."""

    @property
    def action(self) -> str:
        """The command as the player gave it."""
        return self.transition.action

    @property
    def response(self) -> str:
        """The text that the game printed."""
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

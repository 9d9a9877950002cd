"""An episode as a trail that can be replayed: its commands, and the state after each."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from game_interface.models import Observation
from session.history import TurnRecord
from session.outcome import effective, refused_by_parser
from zorkgpt.runlog.events import Event, LeftToTry


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The state of a game as a player can observe it: the key of a cell in the archive."""

    place: int | None
    """Number of the room; None if unknown."""
    inventory: tuple[str, ...]
    """Names of what is held, in alphabetical order."""
    score: int | None
    """None if unknown or irrelevant."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A command, and the state after it."""

    action: str
    standing: ObservedState
    place_name: str
    effective: bool
    """Whether the action itself changed something; True if that was not logged."""


@dataclass(frozen=True, eq=False)
class Trail:
    """The steps of one episode, up to its first death."""

    episode: int
    seed: int
    start: int | None
    """Number of the room where the episode began."""
    steps: tuple[TrailStep, ...]
    deadly: bool
    """Whether the player died after the last step."""
    left: dict[int, list[str]] = field(default_factory=dict)
    """Location → what the rules left untried there when the episode ended; see `LeftToTry`."""
    refused: tuple[str, ...] = ()
    """Commands that the parser did not accept."""
    winning: TrailStep | None = None
    """The step after which the game was won; None if it was not."""
    score: int = 0
    """The score at the beginning."""


def observed_state(now: Observation) -> ObservedState:
    """Return the part of an observation that the archive distinguishes."""
    return ObservedState(now.location_id, tuple(sorted(item.name for item in now.inventory or ())), now.score)


def trail_of(events: Iterable[Event], episode: int, seed: int, start: int | None, score: int = 0) -> Trail:
    """Return the trail of the turns among these events, without commands that never reached the game.

    Args:
        start: Number of the room where they begin.
        score: The score when they begin.
    """
    events = list(events)
    left = next((event.places for event in events if isinstance(event, LeftToTry)), {})
    steps: list[TrailStep] = []
    refused: dict[str, None] = {}
    deadly, winning = False, None
    for turn in events:
        if not isinstance(turn, TurnRecord) or turn.transition.refused or turn.transition.fault:
            continue
        step, after = turn.transition, turn.after
        if step.died or (step.finished and not step.victory):
            deadly = True
            break
        steps.append(TrailStep(step.action, observed_state(after), after.location_name, effective(step)))
        if refused_by_parser(step):
            refused[step.action] = None
        if step.finished:
            # Nothing can be done after the end.
            last = steps.pop()
            winning = last if step.victory else None
            break
    untried = {int(place): action for place, action in left.items()}
    return Trail(episode, seed, start, tuple(steps), deadly, untried, tuple(refused), winning, score)

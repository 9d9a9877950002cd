"""An episode as a trail: its commands and the state after each, for replay."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from game_interface.models import Observation
from session.history import TurnRecord
from session.outcome import affected_objects, effective, refused_by_parser
from zorkgpt.runlog.events import Event, LeftToTry


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The part of a game state that identifies a cell in the archive."""

    place: int | None
    """Number of the room; None if unknown."""
    inventory: tuple[str, ...]
    """Names of the carried things, in alphabetical order."""
    score: int | None
    """None if unknown or irrelevant."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A command, and the state after it."""

    action: str
    standing: ObservedState
    place_name: str
    effective: bool
    """Whether the action itself changed something; True if unknown."""
    changed_objects: bool = False
    """Whether the action itself moved or changed an object."""


@dataclass(frozen=True, eq=False)
class Trail:
    """The steps of one episode, up to its first death."""

    episode: int
    seed: int
    start: int | None
    """Number of the first room."""
    steps: tuple[TrailStep, ...]
    deadly: bool
    """Whether the player died after the last step."""
    left: dict[int, list[str]] = field(default_factory=dict)
    """Location → actions that the rules left untried at the end of the episode. See `LeftToTry`."""
    refused: tuple[str, ...] = ()
    """Commands that the parser rejected."""
    winning: TrailStep | None = None
    """The step that won the game; None if it was not won."""


def observed_state(now: Observation) -> ObservedState:
    """Return the part of an observation that the archive distinguishes."""
    return ObservedState(now.location_id, tuple(sorted(item.name for item in now.inventory or ())), now.score)


def trail_of(events: Iterable[Event], episode: int, seed: int, start: int | None) -> Trail:
    """Return the trail of the turns among these events, without commands that did not reach the game.

    Args:
        start: Number of the first room.
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
        changed = bool(affected_objects(step))
        steps.append(TrailStep(step.action, observed_state(after), after.location_name, effective(step), changed))
        if refused_by_parser(step):
            refused[step.action] = None
        if step.finished:
            # The last command ends the game, so the trail stops before it.
            last = steps.pop()
            winning = last if step.victory else None
            break
    untried = {int(place): action for place, action in left.items()}
    return Trail(episode, seed, start, tuple(steps), deadly, untried, tuple(refused), winning)

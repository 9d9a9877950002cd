"""The best line: the commands to the highest score so far without detours, verified by playing them in a new game."""

import logging
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from game_interface.game import Game
from game_interface.models import Observation
from session.outcome import effective
from zorkgpt.errors import FileError
from zorkgpt.explore.archive import Archive, Cell
from zorkgpt.explore.replay import FindWay, Journey, ReplayFailures, ReplayRoute, route_along
from zorkgpt.explore.trail import ObservedState, TrailStep, observed_state
from zorkgpt.files import write_file
from zorkgpt.world.progress import RecurrenceDetector

log = logging.getLogger("zorkgpt.explore")

VERSION = 1
_MAX_SHORTENED = 4
"""How often a line without detours is tried before the commands are taken word for word."""


@dataclass(frozen=True, slots=True)
class LineStep:
    """A command of the best line."""

    action: str
    place: str
    """The name of the place where the player is after it."""
    points: int = 0
    """The points that it scored."""


@dataclass(frozen=True, slots=True)
class LineAhead:
    """The rest of the best line so far: commands that were verified by replay from the beginning."""

    score: int
    """The score at the end of the line."""
    episode: int
    """The episode that found it."""
    steps: tuple[LineStep, ...]
    """The commands from the present state on, at least one.

    They end before a command that the player is known to have died of, unless the episode has played nothing but the
    line: then chance decides as it did when the line was verified.
    """


def state_digest(now: Observation) -> str:
    """Return a digest of the state in sight: place, score, things, darkness, creatures, question."""
    creatures = sorted(creature.num for creature in now.creatures or ())
    state = (now.location_id, now.score, now.circumstances, creatures, now.question)
    return blake2b(repr(state).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class BestLine:
    """Commands that were played in a new game of a story and seed, and the state before and after each."""

    story_sha256: str
    seed: int
    route: ReplayRoute
    """The commands as they were verified; `episode` and `turn` say what they repeat."""
    start: ObservedState
    """The state before the first command."""
    digests: tuple[str, ...]
    """The state before the first command and after each; see `state_digest`."""
    version: int = VERSION

    @property
    def score(self) -> int:
        return self.route.goal.score or 0

    @property
    def worth(self) -> tuple[int, int]:
        """What the better of two lines has more of: points, then fewer commands."""
        return self.score, -len(self.route.steps)

    def position(self, now: Observation, reached: int = 0) -> int | None:
        """Return how many steps of the line lead to this state; None if none at `reached` or later does."""
        digest = state_digest(now)
        return next((at for at in range(reached, len(self.digests)) if self.digests[at] == digest), None)

    def ahead(self, position: int, end: int) -> LineAhead | None:
        """Return the steps from one position to another as a player is shown them; None if there are none."""
        scores = [self.start.score or 0, *(step.standing.score or 0 for step in self.route.steps)]
        steps = enumerate(self.route.steps[position:end], position)
        shown = (LineStep(step.action, step.place_name, scores[at + 1] - scores[at]) for at, step in steps)
        return LineAhead(self.score, self.route.episode, tuple(shown)) if position < end else None


def improved_line(
    archive: Archive, known: BestLine | None, game: Game, seed: int, find_way: FindWay = lambda here, there: None
) -> BestLine | None:
    """Return the line to the highest score in the archive, verified in the game, or the known one if it is as good.

    The game is reset and played; it is left somewhere. A line that is as high but shorter is better.

    Raises:
        ZorkGPTError: If the game can't be played.
    """
    best = max(archive.cells.values(), key=lambda cell: _worth(cell, archive), default=None)
    if best is None or not best.standing.score:
        return known
    candidate = best.trail.episode, best.end
    if candidate in archive.verified or (known is not None and known.worth >= _worth(best, archive)):
        return known
    archive.verified.add(candidate)
    line = _verified(best, game, seed, find_way)
    if line is None or (known is not None and known.worth >= line.worth):
        return known
    extra = {"score": line.score, "commands": len(line.route.steps), "episode": line.route.episode}
    log.info("the best line was verified", extra=extra | {"turns": line.route.turn})
    return line


def load_line(path: Path, story_sha256: str, seed: int) -> BestLine | None:
    """Return the line of this story and seed; None if the file holds none."""
    try:
        line = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # It is made again from the logs.
        return None
    return line if (line.version, line.story_sha256, line.seed) == (VERSION, story_sha256, seed) else None


def save_line(path: Path, line: BestLine) -> None:
    """Write the line; if that is not possible, log it, since the line can be made again."""
    try:
        write_file(path, _FORMAT.dump_json(line), durable=False)
    except FileError as error:
        log.warning("the best line could not be saved", extra={"path": str(path), "reason": str(error)})


_FORMAT = TypeAdapter(BestLine)


def _worth(cell: Cell, archive: Archive) -> tuple[int, int]:
    return cell.standing.score or 0, -archive.length(cell)


def _verified(cell: Cell, game: Game, seed: int, find_way: FindWay) -> BestLine | None:
    """Return the line to a cell as it was played in a new game; None if not even its own commands lead there."""
    failures = ReplayFailures()
    for attempt in range(_MAX_SHORTENED + 1):
        verbatim_turns = 0 if attempt < _MAX_SHORTENED else cell.end
        played = _LineReplay(route_along(cell.trail, cell.end, failures, verbatim_turns), game, seed, find_way)
        if played.line is not None:
            return _without_detours(played, played.line)
        failures.failed_at(played.turn_of_difference)
    return None


def _without_detours(played: "_LineReplay", line: BestLine) -> BestLine:
    """Return the line without the steps between two equal states of the world, if it still leads to its end."""
    kept, at = list[TrailStep](), 0
    while (at := played.last_equal.get(at, at)) < len(line.route.steps):
        kept.append(line.route.steps[at])
        at += 1
    if len(kept) == len(line.route.steps):
        return line
    shorter = replace(line.route, steps=tuple(kept), turns=(0,) * len(kept), shortened=True)
    again = _LineReplay(shorter, played.game, line.seed, played.find_way).line
    return again if again is not None and again.worth > line.worth else line


class _LineReplay:
    """Plays a route in a new game, and notes what came of it."""

    def __init__(self, route: ReplayRoute, game: Game, seed: int, find_way: FindWay) -> None:
        self.game, self.find_way = game, find_way
        self.last_equal: dict[int, int] = {}
        """Number of steps → the highest number of steps after which the world was in the same state."""
        game.reset()
        journey = Journey(route, find_way)
        recurrences = RecurrenceDetector(2 * len(route.steps), new_places_count=False)
        start = game.observe()
        steps, digests = list[TrailStep](), [state_digest(start)]
        while (action := journey.next) is not None:
            step = game.act(action)
            steps.append(TrailStep(action, observed_state(step.after), step.after.location_name, effective(step)))
            digests.append(state_digest(step.after))
            journey.follow(action, steps[-1].standing)
            for earlier in recurrences.equal_turns(len(steps), step):
                self.last_equal[earlier] = len(steps)
            if step.died or step.finished:
                break
        self.turn_of_difference = journey.turn_of_difference or route.turn
        """The turn of the earlier episode that led elsewhere this time."""
        self.line: BestLine | None = None
        """What was played; None if it did not lead to the score of the route."""
        if journey.arrived and steps and (steps[-1].standing.score or 0) >= (route.goal.score or 0):
            kept = replace(route, goal=steps[-1].standing, steps=tuple(steps), turns=(0,) * len(steps))
            self.line = BestLine(game.story.sha256, seed, kept, observed_state(start), tuple(digests))

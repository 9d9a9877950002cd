"""The best line: the commands to the highest score so far, without detours, verified by replay in a new game."""

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
"""Maximum tries of a line without detours. After that, the commands are replayed verbatim."""


@dataclass(frozen=True, slots=True)
class LineStep:
    """A command of the best line."""

    action: str
    place: str
    """The name of the place after it."""
    points: int = 0
    """The points that it scores."""


@dataclass(frozen=True, slots=True)
class LineAhead:
    """The rest of the best line from the present state on."""

    score: int
    """The score at the end of the line."""
    episode: int
    """The episode that found it."""
    steps: tuple[LineStep, ...]
    """At least one command. They end before a command that has killed the player.

    If the episode has played only the line, they don't: random events are then the same as in the verification.
    """


def state_digest(now: Observation) -> str:
    """Return a digest of the observable state: place, score, things, darkness, creatures, question."""
    creatures = sorted(creature.num for creature in now.creatures or ())
    state = (now.location_id, now.score, now.circumstances, creatures, now.question)
    return blake2b(repr(state).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class BestLine:
    """Commands that were verified in a new game with this story and seed, and the states before and after each."""

    story_sha256: str
    seed: int
    route: ReplayRoute
    """The verified commands. `episode` and `turn` name their origin."""
    start: ObservedState
    """The state before the first command."""
    digests: tuple[str, ...]
    """The digests of the state before the first command and after each. See `state_digest`."""
    version: int = VERSION

    @property
    def score(self) -> int:
        return self.route.goal.score or 0

    @property
    def worth(self) -> tuple[int, int]:
        """The value by which lines are compared: more points, then fewer commands."""
        return self.score, -len(self.route.steps)

    def position(self, now: Observation, reached: int = 0) -> int | None:
        """Return the number of steps after which the line is in this state, at least `reached`; None if it never is."""
        digest = state_digest(now)
        return next((at for at in range(reached, len(self.digests)) if self.digests[at] == digest), None)

    def ahead(self, position: int, end: int) -> LineAhead | None:
        """Return the steps from one position to another; None if there are none."""
        if position >= end:
            return None
        scores = [self.start.score or 0, *(step.standing.score or 0 for step in self.route.steps)]
        steps = [
            LineStep(step.action, step.place_name, scores[at + 1] - scores[at])
            for at, step in enumerate(self.route.steps[position:end], position)
        ]
        return LineAhead(self.score, self.route.episode, tuple(steps))


def improved_line(
    archive: Archive, known: BestLine | None, game: Game, seed: int, find_way: FindWay = lambda here, there: None
) -> BestLine | None:
    """Return the verified line to the highest score in the archive, or the known line if it is at least as good.

    Of two lines with the same score, the shorter one is better. The game is reset, and left in any state.

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
    """Return the saved line of this story and seed; None if there is none."""
    try:
        line = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return line if (line.version, line.story_sha256, line.seed) == (VERSION, story_sha256, seed) else None


def save_line(path: Path, line: BestLine) -> None:
    """Save the line. Errors are logged, because the line can be computed again."""
    try:
        write_file(path, _FORMAT.dump_json(line), durable=False)
    except FileError as error:
        log.warning("the best line could not be saved", extra={"path": str(path), "reason": str(error)})


_FORMAT = TypeAdapter(BestLine)


def _worth(cell: Cell, archive: Archive) -> tuple[int, int]:
    return cell.standing.score or 0, -archive.length(cell)


def _verified(cell: Cell, game: Game, seed: int, find_way: FindWay) -> BestLine | None:
    """Return the line to a cell, verified in a new game; None if not even its original commands lead there."""
    failures = ReplayFailures()
    for attempt in range(_MAX_SHORTENED + 1):
        verbatim_turns = 0 if attempt < _MAX_SHORTENED else cell.end
        played = _LineReplay(route_along(cell.trail, cell.end, failures, verbatim_turns), game, seed, find_way)
        if played.line is not None:
            return _without_detours(played, played.line)
        failures.failed_at(played.turn_of_difference)
    return None


def _without_detours(played: "_LineReplay", line: BestLine) -> BestLine:
    """Return the line without the steps between equal states of the world, if it still reaches its score."""
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
    """Plays a route in a new game and records the result."""

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
        """The first turn of the earlier episode with another result in this replay."""
        self.line: BestLine | None = None
        """The played line; None if it did not reach the score of the route."""
        if journey.arrived and steps and (steps[-1].standing.score or 0) >= (route.goal.score or 0):
            kept = replace(route, goal=steps[-1].standing, steps=tuple(steps), turns=(0,) * len(steps))
            self.line = BestLine(game.story.sha256, seed, kept, observed_state(start), tuple(digests))

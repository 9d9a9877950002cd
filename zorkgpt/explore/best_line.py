"""The best line: the commands to the highest score so far, without detours, verified by replay in a new game."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from game_interface.game import Game
from game_interface.models import Observation
from zorkgpt.errors import FileError
from zorkgpt.explore.trail import Trail
from zorkgpt.files import write_file
from zorkgpt.record.experience import ActionResult
from zorkgpt.world.progress import RecurrenceDetector

log = logging.getLogger("zorkgpt.explore")

VERSION = 3
_SAFE_TURNS = 5
"""A line doesn't end within this many turns before a death."""


@dataclass(frozen=True, slots=True)
class LineStep:
    """A command of the best line."""

    action: str
    place: str
    """The name of the place after it."""
    points: int = 0
    """The points that it scores."""
    location_id: int | None = None
    """The number of this place. None if unknown."""


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


@dataclass
class FollowedPart:
    """The part of the best line that is followed, with its progress."""

    actions: tuple[str, ...]
    done: int = 0
    """The number of played commands."""
    difference: str = ""
    """Why following stopped early. "" if it did not."""

    @property
    def next(self) -> str | None:
        """The next command. None if nothing is left, or following has stopped."""
        return self.actions[self.done] if not self.difference and self.done < len(self.actions) else None


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
    episode: int
    """The episode that found them."""
    turn: int
    """The number of commands that led to the score in that episode."""
    score: int
    """The score after the last command."""
    start: int | None
    """The number of the first place. None if unknown."""
    steps: tuple[LineStep, ...]
    """The commands. There is at least one."""
    digests: tuple[str, ...]
    """The digests of the state before the first command and after each. See `state_digest`."""
    version: int = VERSION

    @property
    def worth(self) -> tuple[int, int]:
        """The value by which lines are compared: more points, then fewer commands."""
        return self.score, -len(self.steps)

    def position(self, now: Observation, reached: int = 0) -> int | None:
        """Return the number of steps after which the line is in this state, at least `reached`; None if it never is."""
        digest = state_digest(now)
        return next((at for at in range(reached, len(self.digests)) if self.digests[at] == digest), None)

    def ahead(self, position: int, end: int) -> LineAhead | None:
        """Return the steps from one position to another; None if there are none."""
        return LineAhead(self.score, self.episode, self.steps[position:end]) if position < end else None


def improved_line(trails: Iterable[Trail], known: BestLine | None, game: Game, seed: int) -> BestLine | None:
    """Return the verified line to the highest score of these episodes, or the known line if it is at least as good.

    Of two lines with the same score, the shorter one is better. The game is reset, and left in any state.

    Raises:
        ZorkGPTError: If the game can't be played.
    """
    best = max((_best_end(trail) for trail in trails), key=lambda end: end.worth, default=None)
    if best is None or best.worth <= (known.worth if known else (0, 0)):
        return known
    line = _verified(best, game, seed)
    if line is None:
        log.warning("the best commands had another result", extra={"episode": best.trail.episode, "turn": best.turn})
        return known
    extra = {"score": line.score, "commands": len(line.steps), "episode": line.episode, "turns": line.turn}
    log.info("the best line was verified", extra=extra)
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


@dataclass(frozen=True, slots=True)
class _End:
    """The turn in which an episode reached its highest score."""

    trail: Trail
    turn: int
    """From 1; 0 if nothing was played."""
    score: int

    @property
    def worth(self) -> tuple[int, int]:
        return self.score, -self.turn


def _best_end(trail: Trail) -> _End:
    # The command that wins ends the game, so a line stops before it.
    steps = [row for row in trail.steps if not row.shows(ActionResult.WON)]
    last = max(0, len(steps) - (_SAFE_TURNS if trail.deadly else 0))
    scores = [row.score or 0 for row in steps[:last]]
    score = max(scores, default=0)
    return _End(trail, scores.index(score) + 1 if scores else 0, score)


def _verified(end: _End, game: Game, seed: int) -> BestLine | None:
    """Return the line to the end, without detours if that has the same score. None if the score is not reached."""
    whole = _Replay(game, seed, [row.command for row in end.trail.steps[: end.turn]])
    if whole.score < end.score:
        return None
    commands = whole.without_detours()
    if len(commands) < end.turn and (shorter := _Replay(game, seed, commands)).score >= end.score:
        return shorter.line(end)
    return whole.line(end)


class _Replay:
    """Plays commands in a new game and records the results."""

    def __init__(self, game: Game, seed: int, actions: Sequence[str]) -> None:
        game.reset()
        start = now = game.observe()
        self._story_sha256, self._seed, self._start = game.story.sha256, seed, start.location_id
        self._steps, self._digests = list[LineStep](), [state_digest(start)]
        self._last_equal: dict[int, int] = {}
        """Number of steps → the highest number of steps after which the world was in the same state."""
        self.score = 0
        """The score at the end. 0 if the game ended before."""
        recurrences = RecurrenceDetector(2 * len(actions), new_places_count=False)
        for action in actions:
            step = game.act(action)
            if step.died or step.finished:
                return
            now = step.after
            self._steps.append(LineStep(action, now.location_name, step.points, now.location_id))
            self._digests.append(state_digest(now))
            for earlier in recurrences.equal_turns(len(self._steps), step):
                self._last_equal[earlier] = len(self._steps)
        self.score = now.score or 0

    def without_detours(self) -> list[str]:
        """Return the commands without those between equal states of the world."""
        kept, at = list[str](), 0
        while (at := self._last_equal.get(at, at)) < len(self._steps):
            kept.append(self._steps[at].action)
            at += 1
        return kept

    def line(self, end: _End) -> BestLine:
        """Return the commands as a line."""
        return BestLine(
            self._story_sha256,
            self._seed,
            end.trail.episode,
            end.turn,
            self.score,
            self._start,
            tuple(self._steps),
            tuple(self._digests),
        )

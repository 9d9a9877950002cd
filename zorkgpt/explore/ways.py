"""The commands that lead along an earlier episode: as few as are likely to do, all of them where that is needed."""

from dataclasses import dataclass, field
from functools import lru_cache

from zorkgpt.explore.shortening import shortenings
from zorkgpt.explore.trail import Standing, Step, Trail

MOST_DRAWS = 1
"""So often a shortened way that led elsewhere is tried with other luck, before its commands are taken word for word."""
_IDLE = "look"


@dataclass(frozen=True, slots=True)
class Way:
    """Commands that lead to a cell, with what each of them should lead to."""

    goal: Standing
    place_name: str
    episode: int
    """Whose way it is."""
    turn: int
    """How many of that episode's commands lead there."""
    steps: tuple[Step, ...]
    turns: tuple[int, ...]
    """Which turn of that episode each step was, from 1; 0: it was put before."""
    shortened: bool


@dataclass
class Attempts:
    """How walking one episode's way again went, where it was shortened and led elsewhere."""

    failures: list[int] = field(default_factory=list)
    """After which of its turns, from 1."""

    def failed_at(self, turn: int) -> None:
        self.failures.append(turn)

    def before(self, end: int) -> int:
        """How many failed on the way to step `end`."""
        return sum(turn <= end for turn in self.failures)

    def word_for_word(self, end: int) -> int:
        """How many steps, from the first on, are not to be shortened any more on the way to step `end`."""
        return max((turn for turn in self.failures if turn <= end), default=0) if self.before(end) > MOST_DRAWS else 0


def way_along(trail: Trail, end: int, attempts: Attempts) -> Way:
    """The way to the standing after `end` steps of a trail.

    Same commands, same chance: word for word, a way always leads where it led. A shortened one draws anew, and so does
    the same with an idle command before it.
    """
    kept = _kept(trail, end, attempts)
    idle = () if attempts.word_for_word(end) else (_idle_step(trail),) * attempts.before(end)
    steps = (*idle, *(trail.steps[index] for index in kept))
    turns = (*(0 for _ in idle), *(index + 1 for index in kept))
    last = trail.steps[end - 1]
    shortened = turns != tuple(range(1, end + 1))
    return Way(last.standing, last.place_name, trail.episode, end, steps, turns, shortened)


def length_of_way(trail: Trail, end: int, attempts: Attempts) -> int:
    return len(_kept(trail, end, attempts)) + (0 if attempts.word_for_word(end) else attempts.before(end))


def _kept(trail: Trail, end: int, attempts: Attempts) -> tuple[int, ...]:
    exact = attempts.word_for_word(end)
    if not exact:
        return _short_ways(trail)[end - 1]
    rest = trail.steps[exact:end]
    *_, kept = [(), *shortenings(trail.steps[exact - 1].standing.place, rest)]
    return (*range(exact), *(exact + index for index in kept))


@lru_cache(maxsize=1024)
def _short_ways(trail: Trail) -> tuple[tuple[int, ...], ...]:
    return tuple(shortenings(trail.start, trail.steps))


def _idle_step(trail: Trail) -> Step:
    return Step(_IDLE, Standing(trail.start, (), None), "the beginning", 0, effective=False)

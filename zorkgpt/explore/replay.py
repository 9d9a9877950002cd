"""Replay the commands of an earlier episode: without detours where possible, checked at each step."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from zorkgpt.explore.trail import ObservedState, Trail, TrailStep, checksum


def shortenings(start: int | None, steps: Sequence[TrailStep]) -> Iterator[tuple[int, ...]]:
    """For each step the indices of the steps that should lead to the same standing, in order.

    Kept is what itself changed something, and the shortest part of the walk between two such steps. That it leads to
    the same is an assumption: clocks and the random generator have advanced less, and a change that no object shows is
    taken for none. Whoever plays a shortened way compares.

    Args:
        start: number of the room before the first step.
    """
    kept: list[int] = []
    passed: list[int | None] = [start]
    """The places on the walk since the last effective step, the one where it was taken first."""
    before = start
    for index, step in enumerate(steps):
        place = step.standing.place
        if step.effective:
            kept.append(index)
            passed = [place]
        elif place != before:
            if place in passed:
                back = len(passed) - 1 - passed.index(place)
                del kept[len(kept) - back :]
                del passed[len(passed) - back :]
            else:
                kept.append(index)
                passed.append(place)
        before = place
        yield tuple(kept)


MOST_DRAWS = 1
"""So often a shortened way that led elsewhere is tried with other luck, before its commands are taken word for word."""
_IDLE = "look"


@dataclass(frozen=True, slots=True)
class ReplayRoute:
    """Commands that lead to a cell, with what each of them should lead to."""

    goal: ObservedState
    place_name: str
    episode: int
    """Whose way it is."""
    turn: int
    """How many of that episode's commands lead there."""
    steps: tuple[TrailStep, ...]
    turns: tuple[int, ...]
    """Which turn of that episode each step was, from 1; 0: it was put before."""
    shortened: bool


@dataclass
class ReplayFailures:
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


def route_along(trail: Trail, end: int, failures: ReplayFailures) -> ReplayRoute:
    """The way to the standing after `end` steps of a trail.

    Same commands, same chance: word for word, a way always leads where it led. A shortened one draws anew, and so does
    the same with an idle command before it.
    """
    kept = _kept(trail, end, failures)
    idle = () if failures.word_for_word(end) else (_idle_step(trail),) * failures.before(end)
    steps = (*idle, *(trail.steps[index] for index in kept))
    turns = (*(0 for _ in idle), *(index + 1 for index in kept))
    last = trail.steps[end - 1]
    shortened = turns != tuple(range(1, end + 1))
    return ReplayRoute(last.standing, last.place_name, trail.episode, end, steps, turns, shortened)


def route_length(trail: Trail, end: int, failures: ReplayFailures) -> int:
    return len(_kept(trail, end, failures)) + (0 if failures.word_for_word(end) else failures.before(end))


def _kept(trail: Trail, end: int, failures: ReplayFailures) -> tuple[int, ...]:
    exact = failures.word_for_word(end)
    if not exact:
        return _short_ways(trail)[end - 1]
    rest = trail.steps[exact:end]
    *_, kept = [(), *shortenings(trail.steps[exact - 1].standing.place, rest)]
    return (*range(exact), *(exact + index for index in kept))


@lru_cache(maxsize=1024)
def _short_ways(trail: Trail) -> tuple[tuple[int, ...], ...]:
    return tuple(shortenings(trail.start, trail.steps))


def _idle_step(trail: Trail) -> TrailStep:
    return TrailStep(_IDLE, ObservedState(trail.start, (), None), "the beginning", 0, effective=False)


@dataclass
class Journey:
    """The commands of a way, one after the other, for as long as they lead where they should."""

    route: ReplayRoute
    done: int = 0
    """How many of its commands were played."""
    difference: str = ""
    """Why it broke off; "" if it did not."""

    @property
    def next(self) -> TrailStep | None:
        """The step that is to be played now; None if the journey is over."""
        if self.difference or self.done >= len(self.route.steps):
            return None
        return self.route.steps[self.done]

    @property
    def arrived(self) -> bool:
        return not self.difference and self.done == len(self.route.steps)

    @property
    def turn_of_difference(self) -> int:
        """Which turn of the earlier episode led elsewhere this time; 0: none did."""
        return self.route.turns[self.done - 1] if self.difference else 0

    def follow(self, action: str, now: ObservedState, response: str) -> None:
        """A turn was played: go on with the next step, or break off if this one did not lead where it did before."""
        expected = self.next
        if expected is None:
            return
        self.done += 1
        if action != expected.action:
            self.difference = f"{action!r} was played instead of {expected.action!r}"
        else:
            self.difference = self._difference(expected, now, response)

    def _difference(self, expected: TrailStep, now: ObservedState, response: str) -> str:
        then = expected.standing
        if now.place != then.place:
            return f"after {expected.action!r} the player was not at {expected.place_name}"
        if then.score is not None and now.score != then.score:
            return f"after {expected.action!r} the score was {now.score} instead of {then.score}"
        # Whoever has more than was carried then has lost nothing.
        if missing := Counter(then.inventory) - Counter(now.inventory):
            return f"after {expected.action!r} there was no {', '.join(sorted(missing))} in hand"
        # On a shortened way the clocks have advanced less, and so the game may say something else.
        if not self.route.shortened and checksum(response) != expected.said:
            return f"after {expected.action!r} the game said something else"
        return ""

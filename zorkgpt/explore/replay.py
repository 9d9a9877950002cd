"""Replay the commands of an earlier episode: without detours where possible, checked at each step."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from zorkgpt.explore.trail import ObservedState, Trail, TrailStep, checksum


def shortenings(start: int | None, steps: Sequence[TrailStep]) -> Iterator[tuple[int, ...]]:
    """Yield for each step the indices of the steps that should lead to the same state, in order.

    Steps that changed something are kept, and the shortest part of the walk between two of them. That this leads to the
    same state is an assumption: clocks and the random generator have advanced less, and changes that no object shows
    are not noticed. So a replay compares each step with the original.

    Args:
        start: number of the room before the first step.
    """
    kept: list[int] = []
    passed: list[int | None] = [start]
    """The places on the walk since the last effective step, beginning with the place of that step."""
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


MAX_SHORTENED_RETRIES = 1
"""So often a shortened route that failed is tried again with other random numbers, before it is replayed verbatim."""
_IDLE = "look"


@dataclass(frozen=True, slots=True)
class ReplayRoute:
    """The commands that lead to a cell, with the expected state after each."""

    goal: ObservedState
    place_name: str
    episode: int
    """The episode that it repeats."""
    turn: int
    """The number of that episode's commands that lead there."""
    steps: tuple[TrailStep, ...]
    turns: tuple[int, ...]
    """The turn of that episode for each step, from 1; 0 for an idle step put before."""
    shortened: bool


@dataclass
class ReplayFailures:
    """The failures of replaying one episode by a shortened route."""

    failures: list[int] = field(default_factory=list)
    """The turns of that episode, from 1, after which the replay differed."""

    def failed_at(self, turn: int) -> None:
        self.failures.append(turn)

    def before(self, end: int) -> int:
        """Return the number of failures up to step `end`."""
        return sum(turn <= end for turn in self.failures)

    def verbatim_steps(self, end: int) -> int:
        """Return the number of first steps that must be replayed verbatim on the way to step `end`."""
        return (
            max((turn for turn in self.failures if turn <= end), default=0)
            if self.before(end) > MAX_SHORTENED_RETRIES
            else 0
        )


def route_along(trail: Trail, end: int, failures: ReplayFailures) -> ReplayRoute:
    """Return the route to the state after `end` steps of a trail.

    The same commands give the same random numbers, so a verbatim route always leads to the same state. A shortened
    route gets other random numbers, and so does the same route with an idle command before it.
    """
    kept = _kept_indices(trail, end, failures)
    idle = () if failures.verbatim_steps(end) else (_idle_step(trail),) * failures.before(end)
    steps = (*idle, *(trail.steps[index] for index in kept))
    turns = (*(0 for _ in idle), *(index + 1 for index in kept))
    last = trail.steps[end - 1]
    shortened = turns != tuple(range(1, end + 1))
    return ReplayRoute(last.standing, last.place_name, trail.episode, end, steps, turns, shortened)


def route_length(trail: Trail, end: int, failures: ReplayFailures) -> int:
    return len(_kept_indices(trail, end, failures)) + (0 if failures.verbatim_steps(end) else failures.before(end))


def _kept_indices(trail: Trail, end: int, failures: ReplayFailures) -> tuple[int, ...]:
    verbatim = failures.verbatim_steps(end)
    if not verbatim:
        return _shortened_indices(trail)[end - 1]
    rest = trail.steps[verbatim:end]
    *_, kept = [(), *shortenings(trail.steps[verbatim - 1].standing.place, rest)]
    return (*range(verbatim), *(verbatim + index for index in kept))


@lru_cache(maxsize=1024)
def _shortened_indices(trail: Trail) -> tuple[tuple[int, ...], ...]:
    return tuple(shortenings(trail.start, trail.steps))


def _idle_step(trail: Trail) -> TrailStep:
    return TrailStep(_IDLE, ObservedState(trail.start, (), None), "the beginning", 0, effective=False)


@dataclass
class Journey:
    """A replay of a route, which stops at the first step that does not lead to the expected state."""

    route: ReplayRoute
    done: int = 0
    """The number of commands that were played."""
    difference: str = ""
    """Why the replay stopped early; "" if it did not."""

    @property
    def next(self) -> TrailStep | None:
        """The next step; None if the journey is over."""
        if self.difference or self.done >= len(self.route.steps):
            return None
        return self.route.steps[self.done]

    @property
    def arrived(self) -> bool:
        return not self.difference and self.done == len(self.route.steps)

    @property
    def turn_of_difference(self) -> int:
        """The turn of the earlier episode that led elsewhere this time; 0: none did."""
        return self.route.turns[self.done - 1] if self.difference else 0

    def follow(self, action: str, now: ObservedState, response: str) -> None:
        """Process a turn: go on with the next step, or stop if this one did not lead to the expected state."""
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
        # Carrying more than then is fine; only missing things count.
        if missing := Counter(then.inventory) - Counter(now.inventory):
            return f"after {expected.action!r} there was no {', '.join(sorted(missing))} in hand"
        # On a shortened route the clocks have advanced less, so the response may differ.
        if not self.route.shortened and checksum(response) != expected.said:
            return f"after {expected.action!r} the game said something else"
        return ""

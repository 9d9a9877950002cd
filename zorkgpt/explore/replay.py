"""Replay the commands of an earlier episode: without detours where possible, checked at each step."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

from pydantic import TypeAdapter

from zorkgpt.explore.trail import ObservedState, Trail, TrailStep


def shortenings(start: int | None, steps: Sequence[TrailStep]) -> Iterator[tuple[int, ...]]:
    """Yield for each step the indices of the steps that should lead to the same state, in order.

    Steps that changed something are kept, what was repeated, since chance decides it, and the shortest part of the walk
    between two of them. That this leads to the same state is an assumption: clocks and the random generator have
    advanced less, and changes that no object shows are not noticed. So a replay compares each step with the original.

    Args:
        start: Number of the room before the first step.
    """
    kept: list[int] = []
    passed: list[int | None] = [start]
    """The places on the walk since the last effective step, beginning with the place of that step."""
    before = start
    for index, step in enumerate(steps):
        place = step.standing.place
        if step.effective or _is_repeated(steps, index):
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


def _is_repeated(steps: Sequence[TrailStep], index: int) -> bool:
    """Return whether the same command, which is no walk, comes right before or after and changes something."""
    around = (steps[near] for near in (index - 1, index + 1) if 0 <= near < len(steps))
    same = (near for near in around if near.action == steps[index].action)
    return any(near.effective and near.standing.place == steps[index].standing.place for near in same)


MAX_SHORTENED_RETRIES = 1
"""How often a shortened route that failed is tried with other random numbers before it is replayed verbatim."""
_IDLE = "look"


@dataclass(frozen=True, slots=True)
class ReplayRoute:
    """The commands that lead to a cell, with the expected state after each."""

    goal: ObservedState
    place_name: str
    episode: int
    """The episode that it repeats; 0 if a search has found it."""
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


def route_along(trail: Trail, end: int, failures: ReplayFailures, verbatim_turns: int = 0) -> ReplayRoute:
    """Return the route to the state after `end` steps of a trail.

    The same commands give the same random numbers, so a verbatim route always leads to the same state. A shortened
    route gets other random numbers, and so does the same route with an idle command before it.

    Args:
        verbatim_turns: Nothing is left out up to this many turns.
    """
    kept = _kept_indices(trail, end, failures, verbatim_turns)
    verbatim = end <= verbatim_turns or failures.verbatim_steps(end)
    idle = () if verbatim else (_idle_step(trail),) * failures.before(end)
    steps = (*idle, *(trail.steps[index] for index in kept))
    turns = (*(0 for _ in idle), *(index + 1 for index in kept))
    last = trail.steps[end - 1]
    shortened = turns != tuple(range(1, end + 1))
    return ReplayRoute(last.standing, last.place_name, trail.episode, end, steps, turns, shortened)


def route_length(trail: Trail, end: int) -> int:
    """Return the number of commands of the shortened route to the state after `end` steps of a trail."""
    return len(_shortened_indices(trail)[end - 1])


def _kept_indices(trail: Trail, end: int, failures: ReplayFailures, verbatim_turns: int = 0) -> tuple[int, ...]:
    if end <= verbatim_turns:
        return tuple(range(end))
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
    return TrailStep(_IDLE, ObservedState(trail.start, (), None), "the beginning", effective=False)


_ROUTE = TypeAdapter(ReplayRoute)
FindWay = Callable[[int, int], Sequence[str] | None]
"""Two rooms → the actions that lead from the first to the second by the map; None if no route is known."""
MAX_REPAIRS = 8
"""How often a journey is mended before it is given up."""


@dataclass
class Journey:
    """A replay of a route. A step that does not lead to the expected state is mended where that is possible.

    A later step whose state is reached is gone on from. Who stands in the way or strikes back may need the same command
    once more; where the player was led astray, the map leads to the place of the step.
    """

    route: ReplayRoute
    find_way: FindWay = lambda here, there: None
    done: int = 0
    """The number of steps that are over."""
    difference: str = ""
    """Why the replay stopped early; "" if it did not."""
    detour: list[str] = field(default_factory=list)
    """The commands that lead back to the route, before its next step."""
    repairs: int = 0
    """How often the journey was mended."""
    score: int | None = None
    """The score after the last step; None if there was none."""

    @property
    def next(self) -> str | None:
        """The next command; None if the journey is over."""
        if self.detour:
            return self.detour[0]
        if self.difference or self.done >= len(self.route.steps):
            return None
        return self.route.steps[self.done].action

    @property
    def arrived(self) -> bool:
        return not self.difference and not self.detour and self.done == len(self.route.steps)

    @property
    def turn_of_difference(self) -> int:
        """The turn of the earlier episode that led elsewhere this time; 0 if none did."""
        return self.route.turns[self.done - 1] if self.difference else 0

    def snapshot(self) -> dict[str, Any]:
        """Return the journey as plain values, for JSON."""
        return {
            "way": self._plain_route,
            "done": self.done,
            "difference": self.difference,
            "detour": list(self.detour),
            "repairs": self.repairs,
            "score": self.score,
        }

    @classmethod
    def restored(cls, state: dict[str, Any], find_way: FindWay = lambda here, there: None) -> Self:
        """Return the journey of a snapshot."""
        route = _ROUTE.validate_python(state["way"])
        mended = list(state["detour"]), state["repairs"], state["score"]
        return cls(route, find_way, state["done"], state["difference"], *mended)

    @cached_property
    def _plain_route(self) -> dict[str, Any]:
        # Made once: a checkpoint asks for it after every turn.
        plain: dict[str, Any] = _ROUTE.dump_python(self.route)
        return plain

    def follow(self, action: str, now: ObservedState) -> None:
        """Process a turn: go on with the next step, mend the journey, or stop it."""
        planned = self.next
        if planned is None:
            return
        if action != planned:
            self.difference, self.detour = f"{action!r} was played instead of {planned!r}", []
            self.done += not self.done
            return
        if self.detour:
            self.detour.pop(0)
            if self.detour:
                return
        else:
            self.done += 1
        if difference := self._difference(self.route.steps[self.done - 1], now):
            self._mend(now, difference)
        else:
            self.score = now.score

    def _mend(self, now: ObservedState, difference: str) -> None:
        """Plan how to go on after a step that led elsewhere, or stop."""
        steps = self.route.steps
        for number in range(len(steps), self.done, -1):
            if not self._difference(steps[number - 1], now):
                self.done, self.score = number, now.score
                self.repairs += 1
                return
        expected = steps[self.done - 1]
        before = steps[self.done - 2].standing.place if self.done > 1 else None
        died = self.score is not None and now.score is not None and now.score < self.score
        if not died and self.repairs < MAX_REPAIRS:
            self.repairs += 1
            self.detour = self._way_back(now.place, before, expected)
        if not self.detour:
            self.difference = difference

    def _way_back(self, here: int | None, before: int | None, expected: TrailStep) -> list[str]:
        there = expected.standing.place
        if here in (before, there):
            return [expected.action]
        return list(self.find_way(here, there) or ()) if here is not None and there is not None else []

    def _difference(self, expected: TrailStep, now: ObservedState) -> str:
        then = expected.standing
        if now.place != then.place:
            return f"after {expected.action!r} the player was not at {expected.place_name}"
        if then.score is not None and now.score != then.score:
            return f"after {expected.action!r} the score was {now.score} instead of {then.score}"
        # Carrying more than then is fine; only missing things count.
        if missing := Counter(then.inventory) - Counter(now.inventory):
            return f"after {expected.action!r} there was no {', '.join(sorted(missing))} in hand"
        return ""

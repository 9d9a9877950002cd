"""Replay the commands of an earlier episode, without detours if possible, and check each step."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

from pydantic import TypeAdapter

from zorkgpt.explore.trail import ObservedState, Trail, TrailStep


def shortenings(start: int | None, steps: Sequence[TrailStep]) -> Iterator[tuple[int, ...]]:
    """Yield, for each step, the indices of a shorter sequence of steps that should lead to the same state.

    It keeps steps that changed something, repeated steps (because their result is random), and the walk between them
    without loops. The result may differ: clocks and the random generator have advanced less, and some changes are in no
    object. A replay therefore compares each step with the original.

    Args:
        start: Number of the room before the first step.
    """
    kept: list[int] = []
    passed: list[int | None] = [start]
    """The places on the walk since the last effective step, starting with the place of that step."""
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
    """Return whether the previous or next step is the same command at the same place, and changed something."""
    step = steps[index]
    neighbors = [steps[near] for near in (index - 1, index + 1) if 0 <= near < len(steps)]
    return any(
        near.action == step.action and near.effective and near.standing.place == step.standing.place
        for near in neighbors
    )


MAX_SHORTENED_RETRIES = 1
"""Maximum retries of a failed shortened route with other random numbers. After that, it is replayed verbatim."""
_IDLE = "look"


@dataclass(frozen=True, slots=True)
class ReplayRoute:
    """The commands that lead to a cell, with the expected state after each."""

    goal: ObservedState
    place_name: str
    episode: int
    """The episode that it repeats; 0 if a search found it."""
    turn: int
    """The number of commands that led there in that episode."""
    steps: tuple[TrailStep, ...]
    turns: tuple[int, ...]
    """The turn of that episode for each step, from 1; 0 for an idle step at the start."""
    shortened: bool


@dataclass
class ReplayFailures:
    """The failed replays of one episode by a shortened route."""

    failures: list[int] = field(default_factory=list)
    """The turn of that episode, from 1, after which each replay differed."""

    def failed_at(self, turn: int) -> None:
        self.failures.append(turn)

    def before(self, end: int) -> int:
        """Return the number of failures up to step `end`."""
        return sum(turn <= end for turn in self.failures)

    def verbatim_steps(self, end: int) -> int:
        """Return the number of steps to replay verbatim, from the start, on the way to step `end`."""
        if self.before(end) <= MAX_SHORTENED_RETRIES:
            return 0
        return max(turn for turn in self.failures if turn <= end)


def route_along(trail: Trail, end: int, failures: ReplayFailures, verbatim_turns: int = 0) -> ReplayRoute:
    """Return the route to the state after `end` steps of a trail.

    A verbatim route always leads to the same state, because the same commands get the same random numbers. A shortened
    route gets other random numbers. An idle command at the start changes them again.

    Args:
        verbatim_turns: A route of at most this many turns is not shortened.
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
"""Two rooms → the actions that lead from the first to the second on the map; None if no route is known."""
MAX_REPAIRS = 8
"""Maximum repairs of a journey."""


@dataclass
class Journey:
    """A replay of a route, which repairs unexpected results if possible.

    If the state is that of a later step, the replay continues from there. If the player is at the place of the step or
    of the one before, the command is repeated. Otherwise the map leads to the place of the step.
    """

    route: ReplayRoute
    find_way: FindWay = lambda here, there: None
    done: int = 0
    """The number of finished steps."""
    difference: str = ""
    """Why the replay stopped early; "" if it did not."""
    detour: list[str] = field(default_factory=list)
    """The commands that lead back to the route, before its next step."""
    repairs: int = 0
    """The number of repairs so far."""
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
        """The first turn of the earlier episode with another result in this replay; 0 if there is none."""
        return self.route.turns[self.done - 1] if self.difference else 0

    def snapshot(self) -> dict[str, Any]:
        """Return the journey as JSON values."""
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
        """Return the journey from the result of `snapshot`."""
        return cls(
            _ROUTE.validate_python(state["way"]),
            find_way,
            done=state["done"],
            difference=state["difference"],
            detour=list(state["detour"]),
            repairs=state["repairs"],
            score=state["score"],
        )

    @cached_property
    def _plain_route(self) -> dict[str, Any]:
        # Cached, because every turn saves a checkpoint.
        plain: dict[str, Any] = _ROUTE.dump_python(self.route)
        return plain

    def follow(self, action: str, now: ObservedState) -> None:
        """Process a turn: continue with the next step, repair the journey, or stop."""
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
            self._repair(now, difference)
        else:
            self.score = now.score

    def _repair(self, now: ObservedState, difference: str) -> None:
        """Continue from another step or plan a detour after an unexpected result, or else stop."""
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
        state = expected.standing
        if now.place != state.place:
            return f"after {expected.action!r} the player was not at {expected.place_name}"
        if state.score is not None and now.score != state.score:
            return f"after {expected.action!r} the score was {now.score} instead of {state.score}"
        # Additional things are fine.
        if missing := Counter(state.inventory) - Counter(now.inventory):
            return f"after {expected.action!r} the player did not carry {', '.join(sorted(missing))}"
        return ""

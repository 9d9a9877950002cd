"""A plan in progress: which of its steps comes next, and which have to wait."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from zorkgpt.offline.proven import Need, ProvenStep

_MOST_FAILURES = 3
_MOST_WALKS = 40
"""Turns of walking towards one step."""


class Plan:
    """The steps of one episode, in their order; what can't be done now is passed over until something has changed."""

    def __init__(self, steps: Iterable[ProvenStep] = ()) -> None:
        self._steps = list(steps)
        self._done: set[int] = set()
        self._failures: Counter[int] = Counter()
        self._failed_at: dict[int, int] = {}
        """Step → how much had been brought about when it failed last."""
        self._walks: Counter[int] = Counter()
        self._progress = 0
        self._stuck = False
        """Steps that scored can't be done: what else was done before them is now worth a detour."""
        self._is_told = False

    def next(
        self,
        here: int,
        held: Collection[str],
        routes: Mapping[int, list[str]],
        is_safe: Callable[[ProvenStep], bool],
    ) -> tuple[ProvenStep, list[str]] | None:
        """The step to take, and the way to its place; None: there is nothing that can be done now.

        Args:
            held: names of what is in hand.
            routes: place → the way there, of those that can be reached.
        """
        last = self._last_needed(held)
        if last < 0:
            return None
        for stuck in (False, True)[self._stuck :]:
            self._stuck = stuck
            for number, step in enumerate(self._steps[: last + 1]):
                wanted = stuck or step.need is Need.ALWAYS or (step.need is Need.IN_PASSING and step.place == here)
                if wanted and self._can_do(number, held, routes) and is_safe(step):
                    self._walks[number] += step.place != here
                    return step, routes.get(step.place, []) if step.place != here else []
        return None

    def holds(self, place: int, action: str) -> bool:
        """Whether this is one of the steps."""
        return any(step.key == (place, action) for step in self._steps)

    def times(self, place: int, action: str | None = None) -> int:
        """In how many episodes something that scored at a place was done.

        Args:
            action: only this one counts.
        """
        scored = (step for step in self._steps if step.gain and step.place == place and action in (None, step.action))
        return max((step.times for step in scored), default=0)

    def note(self, place: int, action: str, *, failed: bool, changed: bool = False) -> None:
        """An action was taken, by whomever and for whatever reason; or is known to lead to nothing now."""
        self._progress += changed
        for number, step in enumerate(self._steps):
            if step.key == (place, action) and number not in self._done:
                break
        else:
            return
        if failed:
            self._failures[number] += 1
            self._failed_at[number] = self._progress
        else:
            self._done.add(number)
            self._progress += 1
            self._stuck = False

    def changes(self) -> dict[str, Any]:
        """How it stands, as plain values for JSON; the steps themselves only the first time."""
        told = {
            "steps": None if self._is_told else [asdict(step) for step in self._steps],
            "done": sorted(self._done),
            "failures": [[number, count] for number, count in self._failures.items()],
            "failed_at": [[number, progress] for number, progress in self._failed_at.items()],
            "walks": [[number, count] for number, count in self._walks.items()],
            "progress": self._progress,
            "stuck": self._stuck,
        }
        self._is_told = True
        return told

    def take_over(self, changes: dict[str, Any]) -> None:
        """Be as the one was that gave these; the first of an episode first."""
        if changes["steps"] is not None:
            self._steps = [_step(told) for told in changes["steps"]]
        self._done = set(changes["done"])
        self._failures = Counter(dict(changes["failures"]))
        self._failed_at = dict(changes["failed_at"])
        self._walks = Counter(dict(changes["walks"]))
        self._progress, self._stuck, self._is_told = changes["progress"], changes["stuck"], True

    def _last_needed(self, held: Collection[str]) -> int:
        """Number of the last step that is still to be done for its own sake; -1: none."""
        for number, step in enumerate(self._steps):
            if step.yields and not step.gain and set(step.yields) <= set(held):
                self._done.add(number)
        pending = (number for number, step in enumerate(self._steps) if step.gain and self._is_open(number))
        return max(pending, default=-1)

    def _is_open(self, number: int) -> bool:
        return (
            number not in self._done and self._failures[number] < _MOST_FAILURES and self._walks[number] < _MOST_WALKS
        )

    def _can_do(self, number: int, held: Collection[str], routes: Mapping[int, list[str]]) -> bool:
        step = self._steps[number]
        waits = self._failed_at.get(number) == self._progress
        return self._is_open(number) and not waits and step.place in routes and set(step.held) <= set(held)


def _step(told: dict[str, Any]) -> ProvenStep:
    return ProvenStep(
        **told | {"held": tuple(told["held"]), "yields": tuple(told["yields"]), "need": Need(told["need"])}
    )

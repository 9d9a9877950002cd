"""A plan of what scored in earlier episodes with what was done for it, and which of its steps comes next."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any

from zorkgpt.explore.trail import Trail
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import canonical_direction, exit_name

_LIGHTING = ("turn on ", "switch on ", "light ")
_FIGHTING_WORDS = 3
"""So many words beside the name of what is held: the action is about something else too."""


class Need(IntEnum):
    """When a step of a plan is taken."""

    ALWAYS = 0
    IN_PASSING = 1
    """If it costs no detour; and where the steps before it led to nothing."""
    WHEN_STUCK = 2
    """Only where the steps after it lead to nothing."""


@dataclass(frozen=True, slots=True)
class ScoringStep:
    """One command that did something in an episode that scored after it."""

    place: int
    action: str
    """In its normal form."""
    gain: int
    """Points that it brought."""
    held: tuple[str, ...] = ()
    """Names of things that the action speaks of and that were held before it."""
    yields: tuple[str, ...] = ()
    """Names of what is held since."""
    need: Need = Need.ALWAYS
    times: int = 1
    """In how many episodes it was done."""

    @property
    def key(self) -> tuple[int, str]:
        return self.place, self.action


def scoring_steps(trails: Iterable[Trail]) -> tuple[ScoringStep, ...]:
    """The steps of the episode that scored highest, in its order, and what other episodes scored beside it.

    Of several that scored as high, the one that took the fewest turns to it.
    """
    best = sorted(trails, key=_highest)
    times: Counter[tuple[int, str]] = Counter()
    plan: list[ScoringStep] = []
    for trail in best:
        steps = _steps_of(trail)
        times.update(step.key for step in steps)
        known = {step.key for step in plan}
        scoring = [number for number, step in enumerate(steps) if step.gain > 0 and step.key not in known]
        if scoring:
            plan = _merged(plan, _rated(steps[: scoring[-1] + 1], known))
    return tuple(replace(step, times=times[step.key]) for step in plan)


def _highest(trail: Trail) -> tuple[int, int]:
    """For sorting: minus the highest score, and the step that reached it first."""
    scores = [step.standing.score or 0 for step in trail.steps]
    highest = max(scores, default=0)
    return -highest, scores.index(highest) if scores else 0


def _steps_of(trail: Trail) -> list[ScoringStep]:
    """What did something, in order; of what was done again the first time."""
    steps: dict[tuple[int, str], ScoringStep] = {}
    place, held, score = trail.start, (), 0
    for step in trail.steps:
        now = step.standing
        gain = max(0, (now.score or 0) - (score or 0))
        action = exit_name(normalized_action(step.action))
        # A way that changed something without leading anywhere is a warning, if anything.
        warned = now.place == place and canonical_direction(action) is not None
        if place is not None and (gain or (step.effective and not warned)):
            yields = tuple((Counter(now.inventory) - Counter(held)).keys())
            spoken_of = tuple(name for name in held if _is_named(name, action))
            need = Need.IN_PASSING if now.inventory == held else Need.WHEN_STUCK
            done = ScoringStep(place, action, gain, spoken_of, yields, need)
            known = steps.get(done.key)
            if known is None or gain > known.gain:
                # Later in order: what was done before it again may have been what it needed.
                steps.pop(done.key, None)
                steps[done.key] = done
        place, held, score = now.place, now.inventory, now.score
    return list(steps.values())


def _rated(steps: Sequence[ScoringStep], known: Iterable[tuple[int, str]]) -> list[ScoringStep]:
    """The same steps, each with whether it is needed for what scores, as far as that can be told beforehand."""
    wanted: set[str] = set()
    rated: list[ScoringStep] = []
    for step in reversed(steps):
        scores = step.gain > 0 and step.key not in known
        if scores or step.action.startswith(_LIGHTING) or wanted.intersection(step.yields):
            step = replace(step, need=Need.ALWAYS)
        elif step.need is Need.IN_PASSING and step.held and not _is_about_more(step):
            step = replace(step, need=Need.WHEN_STUCK)
        if step.need is not Need.WHEN_STUCK:
            wanted |= set(step.held)
        rated.append(step)
    return rated[::-1]


def _is_about_more(step: ScoringStep) -> bool:
    """It names something beside what is held: whom to strike, what to unlock."""
    own = {word for name in step.held for word in _words(name)}
    return len([word for word in _words(step.action) if word not in own]) >= _FIGHTING_WORDS


def _merged(plan: list[ScoringStep], steps: Sequence[ScoringStep]) -> list[ScoringStep]:
    """Both in one order: what only the second has comes before whatever followed it there and is in the first too."""
    merged, waiting = list(plan), []
    for step in steps:
        at = next((number for number, known in enumerate(merged) if known.key == step.key), None)
        if at is None:
            waiting.append(step)
        else:
            if step.need < merged[at].need:
                merged[at] = replace(merged[at], need=step.need)
            merged[at:at] = waiting
            waiting = []
    return merged + waiting


def _is_named(name: str, action: str) -> bool:
    """By its last word, which names it in most stories."""
    return bool(words := _words(name)) and words[-1] in _words(action)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


_MOST_FAILURES = 3
_MOST_WALKS = 40
"""Turns of walking towards one step."""


class ScoringPlan:
    """The steps of one episode, in their order; what can't be done now is passed over until something has changed."""

    def __init__(self, steps: Iterable[ScoringStep] = ()) -> None:
        self._steps = list(steps)
        self._done: set[int] = set()
        self._failures: Counter[int] = Counter()
        self._failed_at: dict[int, int] = {}
        """TrailStep → how much had been brought about when it failed last."""
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
        is_safe: Callable[[ScoringStep], bool],
    ) -> tuple[ScoringStep, list[str]] | None:
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

    def apply_changes(self, changes: dict[str, Any]) -> None:
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


def _step(told: dict[str, Any]) -> ScoringStep:
    return ScoringStep(
        **told | {"held": tuple(told["held"]), "yields": tuple(told["yields"]), "need": Need(told["need"])}
    )

"""The plan: the scoring actions of the best episode so far with their preparations, and the next step."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import PlainSerializer

from session.experience import ActionResult
from zorkgpt.directions import canonical_direction
from zorkgpt.explore.trail import Trail
from zorkgpt.offline.candidates import WAIT, words_of
from zorkgpt.record.experience import Place

_LIGHTING = ("turn on ", "switch on ", "light ")
_IDLE = frozenset({WAIT, "look around"})
"""Actions without an effect of their own."""
_MAX_WAITS = 10
"""Maximum turns of waiting for what happened at a place in an earlier episode."""
_FIGHTING_WORDS = 3
"""Minimum words besides the names of held things in an action that involves something else."""


@dataclass(frozen=True, slots=True)
class ScoringStep:
    """A command that had an effect in an episode that scored after it."""

    place: int
    action: str
    """The normalized action."""
    gain: int
    """Points that it scored."""
    held: tuple[str, ...] = ()
    """Names of held things that the action mentions."""
    yields: tuple[str, ...] = ()
    """Names of the things that it yielded."""
    needed: bool = True
    """Whether it is needed. Other steps are taken in passing, or if the plan is stuck."""
    wins: bool = False
    """Whether it won the game, after which nothing else can score."""
    times: int = 1
    """The turns to wait until it scores or leads elsewhere; 1 for other actions."""


def best_trail(trails: Iterable[Trail]) -> Trail:
    """Return the trail with the highest score. Of several, return the one that reached it in the fewest steps."""
    return min(trails, key=_score_order)


def scoring_steps(trail: Trail) -> tuple[ScoringStep, ...]:
    """Return the steps that led to the points of an episode, in order."""
    steps = _steps_of(trail)
    scoring = [number for number, (step, _) in enumerate(steps) if step.gain > 0]
    return tuple(_worthwhile(steps[: scoring[-1] + 1])) if scoring else ()


def _score_order(trail: Trail) -> tuple[int, int]:
    """Return a sort key: the highest score, negated, and the step that first reached it."""
    scores = [row.score or 0 for row in trail.steps]
    highest = max(scores, default=0)
    return -highest, scores.index(highest) if scores else 0


def _steps_of(trail: Trail) -> list[tuple[ScoringStep, bool]]:
    """Return the distinct steps of a trail that had an effect, in order.

    Each comes with whether the inventory stayed the same, so that something else changed.
    """
    steps: dict[tuple[int, str], tuple[ScoringStep, bool]] = {}
    held: tuple[str, ...] = ()
    stays: Counter[Place] = Counter()
    for row in trail.steps:
        place, action, gain = row.place, row.action, max(0, row.points)
        stays[place] += 1
        # An exit that changed something without leading anywhere is at most a warning. If it scored, time did it.
        warned = row.reached == place and canonical_direction(action) is not None
        if warned and gain:
            action = WAIT
        carried_off = action == WAIT and row.reached != place
        has_effect = row.shows(ActionResult.EFFECTIVE) and not warned and action not in _IDLE
        if isinstance(place, int) and (gain or carried_off or has_effect):
            yields = tuple((Counter(row.held) - Counter(held)).keys())
            mentioned = tuple(name for name in held if _is_named(name, action))
            known = steps.get((place, action))
            if known is None or gain > known[0].gain:
                # Use the latest position, because steps repeated before it may have been preconditions.
                steps.pop((place, action), None)
                times = min(stays[place], _MAX_WAITS) if action == WAIT else 1
                wins = row.shows(ActionResult.WON)
                done = ScoringStep(place, action, gain, mentioned, yields, wins=wins, times=times)
                steps[place, action] = done, row.held == held
        held = row.held
    return list(steps.values())


def _worthwhile(steps: Sequence[tuple[ScoringStep, bool]]) -> list[ScoringStep]:
    """Return the steps that scored, those that yielded what such a step needs, and those that changed the world."""
    wanted: set[str] = set()
    kept: list[ScoringStep] = []
    for step, changes_world in reversed(steps):
        needed = step.gain > 0 or step.action.startswith(_LIGHTING) or bool(wanted.intersection(step.yields))
        if needed or (changes_world and (not step.held or _is_about_more(step))):
            wanted |= set(step.held)
            kept.append(replace(step, needed=needed))
    return kept[::-1]


def _is_about_more(step: ScoringStep) -> bool:
    """Return whether an action involves something besides held things, such as an enemy or a lock."""
    own = {word for name in step.held for word in words_of(name)}
    return len([word for word in words_of(step.action) if word not in own]) >= _FIGHTING_WORDS


def _is_named(name: str, action: str) -> bool:
    """Return whether the action mentions a thing by the last word of its name."""
    return bool(words := words_of(name)) and words[-1] in words_of(action)


_MAX_FAILURES = 3
_MAX_WALKS = 40
"""Turns of walking towards one step."""


@dataclass
class PlanProgress:
    """The progress of a plan in this episode. Steps are identified by their numbers."""

    done: Annotated[set[int], PlainSerializer(sorted)] = field(default_factory=set)
    failures: Counter[int] = field(default_factory=Counter)
    failed_at: dict[int, int] = field(default_factory=dict)
    """Step → the number of changes when it last failed."""
    walks: Counter[int] = field(default_factory=Counter)
    waits: Counter[int] = field(default_factory=Counter)
    changes: int = 0
    """The number of changes of the world. After a change, a failed step may succeed."""
    stuck: bool = False
    """Whether no needed step can be done now, so that optional ones are worth a detour."""


class ScoringPlan:
    """The steps of one episode in order. A step that can't be done now is skipped until something has changed."""

    def __init__(self, steps: Iterable[ScoringStep] = ()) -> None:
        self.steps = tuple(steps)
        self.progress = PlanProgress()

    def next(
        self,
        here: int,
        held: Collection[str],
        routes: Mapping[int, list[str]],
        is_safe: Callable[[ScoringStep], bool],
    ) -> tuple[ScoringStep, list[str]] | None:
        """Return the next step and the route to its place; None if no step can be done now.

        Args:
            held: Names of the carried things.
            routes: Reachable place → the route there.
        """
        last = self._last_needed(held)
        if last < 0:
            return None
        for stuck in (False, True)[self.progress.stuck :]:
            self.progress.stuck = stuck
            for number, step in enumerate(self.steps[: last + 1]):
                wanted = step.needed or stuck or step.place == here
                if wanted and self._can_do(number, held, routes) and is_safe(step):
                    self.progress.walks[number] += step.place != here
                    return step, routes.get(step.place, []) if step.place != here else []
        return None

    def scores_at(self, place: int, action: str | None = None) -> bool:
        """Return whether anything scores at a place, or whether this action does."""
        return any(step.gain and step.place == place and action in (None, step.action) for step in self.steps)

    def note(self, place: Place, action: str, *, failed: bool, changed: bool = False, is_over: bool = False) -> None:
        """Record that an action was taken, by any player, or is known to fail now.

        Args:
            is_over: Whether it scored or led elsewhere, so that it need not be repeated.
        """
        progress = self.progress
        progress.changes += changed
        taken = (number for number, step in enumerate(self.steps) if (step.place, step.action) == (place, action))
        number = next((number for number in taken if number not in progress.done), None)
        if number is None:
            return
        if not is_over and progress.waits[number] + 1 < self.steps[number].times:
            progress.waits[number] += 1
        elif failed:
            progress.failures[number] += 1
            progress.failed_at[number] = progress.changes
        else:
            progress.done.add(number)
            progress.changes += 1
            progress.stuck = False

    def _last_needed(self, held: Collection[str]) -> int:
        """Return the number of the last open step that scores; -1 if there is none."""
        for number, step in enumerate(self.steps):
            if step.yields and not step.gain and set(step.yields) <= set(held):
                self.progress.done.add(number)
        pending = (number for number, step in enumerate(self.steps) if step.gain and self._is_open(number))
        return max(pending, default=-1)

    def _is_open(self, number: int) -> bool:
        done, failures, walks = self.progress.done, self.progress.failures, self.progress.walks
        return number not in done and failures[number] < _MAX_FAILURES and walks[number] < _MAX_WALKS

    def _can_do(self, number: int, held: Collection[str], routes: Mapping[int, list[str]]) -> bool:
        step, progress = self.steps[number], self.progress
        waits = progress.failed_at.get(number) == progress.changes
        return self._is_open(number) and not waits and step.place in routes and set(step.held) <= set(held)

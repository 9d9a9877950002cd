"""A plan of what scored in earlier episodes with what was done for it, and which of its steps comes next."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Annotated

from pydantic import PlainSerializer

from zorkgpt.explore.trail import Trail
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import canonical_direction, exit_name

_LIGHTING = ("turn on ", "switch on ", "light ")
_IDLE = frozenset({"wait", "look around"})
"""Actions after which something happens by itself."""
_FIGHTING_WORDS = 3
"""An action with so many words besides the names of held things involves something else too."""


class Need(IntEnum):
    """When a step of a plan is taken."""

    ALWAYS = 0
    IN_PASSING = 1
    """If it needs no detour, or if the plan is stuck."""
    WHEN_STUCK = 2
    """Only if the plan is stuck."""


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
    """Names of the things that were held after it and not before."""
    need: Need = Need.ALWAYS
    times: int = 1
    """The number of episodes in which it was done."""
    leads_to: int | None = None
    """The place that it led to; None if the player stayed."""

    @property
    def key(self) -> tuple[int, str]:
        return self.place, self.action

    @property
    def achievement(self) -> tuple[int, int | str]:
        """What the points are for, as far as can be told: coming to a place, or doing something, wherever."""
        return self.gain, self.action if self.leads_to is None else self.leads_to


def scoring_steps(trails: Iterable[Trail]) -> tuple[ScoringStep, ...]:
    """Return the steps of the highest-scoring episode in their order, merged with what only other episodes scored.

    Of several episodes with the highest score, the one that reached it first counts.
    """
    best = sorted(trails, key=_score_order)
    times: Counter[tuple[int, str]] = Counter()
    plan: list[ScoringStep] = []
    for trail in best:
        steps = _without_made(_steps_of(trail), plan)
        times.update(step.key for step in steps)
        known = {step.key for step in plan}
        scoring = [number for number, step in enumerate(steps) if step.gain > 0 and step.key not in known]
        if scoring:
            plan = _merged(plan, _with_needs(steps[: scoring[-1] + 1], known))
    return tuple(replace(step, times=times[step.key]) for step in plan)


def _without_made(steps: Sequence[ScoringStep], plan: Sequence[ScoringStep]) -> list[ScoringStep]:
    """Return the steps without the points that a step of the plan makes in another way, in this episode left out."""
    own = {step.key for step in steps if step.gain}
    made = {step.achievement for step in plan if step.gain and step.key not in own}
    return [replace(step, gain=0) if step.gain and step.achievement in made else step for step in steps]


def _score_order(trail: Trail) -> tuple[int, int]:
    """Return a sort key: the highest score, negated, and the step that first reached it."""
    scores = [step.standing.score or 0 for step in trail.steps]
    highest = max(scores, default=0)
    return -highest, scores.index(highest) if scores else 0


def _steps_of(trail: Trail) -> list[ScoringStep]:
    """Return the steps of a trail that had an effect, in order; repeated ones once."""
    steps: dict[tuple[int, str], ScoringStep] = {}
    place, score = trail.start, 0
    held: tuple[str, ...] = ()
    for step in trail.steps:
        now = step.standing
        gain = max(0, (now.score or 0) - score)
        action = exit_name(normalized_action(step.action))
        # An exit that changed something without leading anywhere is at most a warning.
        warned = now.place == place and canonical_direction(action) is not None
        idle = action in _IDLE
        if place is not None and (gain or (step.effective and not warned and not idle)):
            yields = tuple((Counter(now.inventory) - Counter(held)).keys())
            spoken_of = tuple(name for name in held if _is_named(name, action))
            need = Need.IN_PASSING if now.inventory == held else Need.WHEN_STUCK
            leads_to = now.place if now.place != place else None
            done = ScoringStep(place, action, gain, spoken_of, yields, need, leads_to=leads_to)
            known = steps.get(done.key)
            if known is None or gain > known.gain:
                # Moved to its latest position: what was repeated before it may have been a precondition.
                steps.pop(done.key, None)
                steps[done.key] = done
        place, held, score = now.place, now.inventory, now.score or 0
    return list(steps.values())


def _with_needs(steps: Sequence[ScoringStep], known: Iterable[tuple[int, str]]) -> list[ScoringStep]:
    """Return the steps with their needs: whether each is needed to score, as far as can be determined."""
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
    """Return whether an action names something besides held things: whom to strike, what to unlock."""
    own = {word for name in step.held for word in _words_of(name)}
    return len([word for word in _words_of(step.action) if word not in own]) >= _FIGHTING_WORDS


def _merged(plan: list[ScoringStep], steps: Sequence[ScoringStep]) -> list[ScoringStep]:
    """Merge two plans: a step that only the second has comes before the next step that both have.

    What follows the last step of both comes once nothing more is done at its place: the player is still near.
    """
    merged, waiting, end = list(plan), [], len(plan)
    for step in steps:
        at = next((number for number, known in enumerate(merged) if known.key == step.key), None)
        if at is None:
            waiting.append(step)
        else:
            if step.need < merged[at].need:
                merged[at] = replace(merged[at], need=step.need)
            merged[at:at] = waiting
            end = at + len(waiting) + 1
            waiting = []
    while 0 < end < len(merged) and merged[end].place == merged[end - 1].place:
        end += 1
    return merged[:end] + waiting + merged[end:]


def _is_named(name: str, action: str) -> bool:
    """Return whether the action mentions a thing by the last word of its name."""
    return bool(words := _words_of(name)) and words[-1] in _words_of(action)


def _words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


_MAX_FAILURES = 3
_MAX_WALKS = 40
"""Turns of walking towards one step."""


@dataclass
class PlanProgress:
    """What was done of a plan in this episode. Steps are identified by their numbers."""

    done: Annotated[set[int], PlainSerializer(sorted)] = field(default_factory=set)
    failures: Counter[int] = field(default_factory=Counter)
    failed_at: dict[int, int] = field(default_factory=dict)
    """Step → the number of changes when it last failed."""
    walks: Counter[int] = field(default_factory=Counter)
    changes: int = 0
    """How often something has changed, so that a step which failed may succeed."""
    stuck: bool = False
    """Whether no needed step can be done now, so that optional ones are worth a detour."""


class ScoringPlan:
    """The steps of one episode in their order; a step that can't be done now is skipped until something has changed."""

    def __init__(self, steps: Iterable[ScoringStep] = ()) -> None:
        self.steps = tuple(steps)
        self.progress = PlanProgress()

    def next(
        self,
        here: int,
        held: Collection[str],
        routes: Mapping[int, list[str]],
        is_safe: Callable[[ScoringStep], bool],
        *,
        at_any_price: bool = True,
    ) -> tuple[ScoringStep, list[str]] | None:
        """Return the next step and the route to its place; None if no step can be done now.

        Args:
            held: names of the things in hand.
            routes: place → the route there, for reachable places.
            at_any_price: whether a plan that is stuck turns to all that was done in the earlier episode.
        """
        last = self._last_needed(held)
        if last < 0:
            return None
        for stuck in (False, True)[self.progress.stuck :]:
            self.progress.stuck = stuck
            for number, step in enumerate(self.steps[: last + 1]):
                may_help = stuck and (at_any_price or step.need is not Need.WHEN_STUCK)
                wanted = may_help or step.need is Need.ALWAYS or (step.need is Need.IN_PASSING and step.place == here)
                if wanted and self._can_do(number, held, routes) and is_safe(step):
                    self.progress.walks[number] += step.place != here
                    return step, routes.get(step.place, []) if step.place != here else []
        return None

    def times(self, place: int, action: str | None = None) -> int:
        """Return the number of episodes in which a scoring action was taken at a place.

        Args:
            action: only this action counts; None: any.
        """
        scored = (step for step in self.steps if step.gain and step.place == place and action in (None, step.action))
        return max((step.times for step in scored), default=0)

    def note(self, place: int, action: str, *, failed: bool, changed: bool = False) -> None:
        """Note that an action was taken, by any player, or that it is known to fail now."""
        progress = self.progress
        progress.changes += changed
        open_steps = (number for number, step in enumerate(self.steps) if number not in progress.done)
        number = next((number for number in open_steps if self.steps[number].key == (place, action)), None)
        if number is None:
            return
        if failed:
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

"""Find objectives by rules: exits not tried, things not taken or opened, places that scored before."""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from game_interface.models import Item, Transition
from session.outcome import failed
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import Recall
from zorkgpt.objectives.finder import Findings, Situation, new_objective
from zorkgpt.objectives.models import Condition, ConditionKind, Objective, ObjectiveStatus, normalized_text
from zorkgpt.offline.outcomes import ActionOutcome, remembered_outcome

_MAX_PER_RULE = 2
_OPENING = frozenset({"open", "unlock"})
_TAKING = frozenset({"take", "get"})
_PRIORITIES = (
    ConditionKind.SCORE,
    ConditionKind.SCORED_AT,
    ConditionKind.HOLDS,
    ConditionKind.OPENED,
    ConditionKind.WAY_TRIED,
)

AttributesOf = Callable[[int], Mapping[str, bool]]
"""A thing's number → its attributes, as far as their meaning in this story is known."""
_Goal = tuple[ConditionKind, int | None, int | None, str]
"""Kind, thing, place and exit of a condition."""
_KnownGoals = Collection[_Goal]
"""The goals of all known objectives, whatever their status."""
_Found = Iterator[tuple[str, Condition, Collection[int]]]
"""Text, condition and places of new objectives."""


class RuleObjectiveFinder:
    """An `ObjectiveFinder` without a model. It never reports an objective in words as reached."""

    asks_a_model = False

    def __init__(self, recall: Recall = lambda place: (), attributes_of: AttributesOf = lambda thing: {}) -> None:
        self._recall = recall
        self._attributes_of = attributes_of

    def discover(self, situation: Situation) -> Findings:
        """Return a few new objectives of each kind. Those kept are not stale: points first, then things, then exits."""
        rules = (self._scored_before, self._untaken, self._closed, _untried)
        listed = {_goal(known.condition) for known in (*situation.objectives, *situation.settled)}
        found = (each for rule in rules for each in islice(rule(situation, listed), _MAX_PER_RULE))
        new = (
            new_objective(text, situation.known, situation.origin, condition, places=places)
            for text, condition, places in found
        )
        fresh = [known for known in situation.objectives if known.status is not ObjectiveStatus.STALE]
        kept = [known.key for known in sorted(fresh, key=_priority)][: situation.most or 0]
        return Findings(tuple(filter(None, new)), kept=tuple(kept))

    def _scored_before(self, situation: Situation, listed: _KnownGoals) -> _Found:
        """Yield scoring where earlier episodes scored but this one has not."""
        for room, name in situation.known.rooms.items():
            if room in situation.scored or any(goal[::2] == (ConditionKind.SCORED_AT, room) for goal in listed):
                continue
            earlier = (memory for memory in self._recall(room) if memory.episode != situation.episode)
            if action := next(filter(None, map(_scoring_action, earlier)), None):
                text = f"Score at {name} again with “{action}”"
                yield text, Condition(ConditionKind.SCORED_AT, place=room, way=" ".join(action.split())), ()

    def _untaken(self, situation: Situation, listed: _KnownGoals) -> _Found:
        """Yield taking things that were seen and may be portable, unless an attempt failed."""
        not_again = {*_tried_in_vain(situation, _TAKING), *situation.carried}
        for item, place in _seen(situation):
            takeable = self._attributes_of(item.num).get("takeable", True)
            if takeable and item.num not in not_again and (ConditionKind.HOLDS, item.num, None, "") not in listed:
                yield f"Take {item.name}", Condition(ConditionKind.HOLDS, thing=item.num), place

    def _closed(self, situation: Situation, listed: _KnownGoals) -> _Found:
        """Yield opening closed things."""
        refused = set(_tried_in_vain(situation, _OPENING))
        for item, place in _seen(situation):
            attributes = self._attributes_of(item.num)
            openable = attributes.get("openable", item.num in refused)
            if openable and not attributes.get("open") and (ConditionKind.OPENED, item.num, None, "") not in listed:
                yield f"Open {item.name}", Condition(ConditionKind.OPENED, thing=item.num), place


def _scoring_action(memory: Memory) -> str | None:
    """Return the scoring action of a memory; None if there is none."""
    known = remembered_outcome(memory)
    return known[0] if known is not None and known[1] is ActionOutcome.SCORES else None


def _priority(objective: Objective) -> int:
    kind = objective.condition.kind
    return _PRIORITIES.index(kind) if kind in _PRIORITIES else len(_PRIORITIES)


def _seen(situation: Situation) -> Iterator[tuple[Item, tuple[int, ...]]]:
    """Yield the things that were visible in these turns with their places, the last seen first."""
    seen: set[int] = set()
    for step in reversed(_steps(situation)):
        place = (step.after.location.num,) if step.after.location else ()
        for item in step.after.visible or ():
            if item.num not in seen:
                seen.add(item.num)
                yield item, place


def _tried_in_vain(situation: Situation, verbs: frozenset[str]) -> Iterator[int]:
    """Yield the visible things that an action with one of these verbs named, alone and without effect."""
    for step in _steps(situation):
        verb, *words = [*normalized_text(step.action).split(), ""]
        if verb not in verbs or not failed(step):
            continue
        here = step.before.visible or ()
        named = [item.num for item in here if set(normalized_text(item.name).split()) & set(words)]
        if len(named) == 1:
            yield named[0]


def _untried(situation: Situation, listed: _KnownGoals) -> _Found:
    for room, ways in situation.untried.items():
        for way in ways[:1]:
            if (ConditionKind.WAY_TRIED, None, room, normalized_text(way)) not in listed:
                name = situation.known.rooms.get(room, str(room))
                yield f"Try {way} from {name}", Condition(ConditionKind.WAY_TRIED, place=room, way=way), ()


def _goal(condition: Condition) -> _Goal:
    return condition.kind, condition.thing, condition.place, normalized_text(condition.way)


def _steps(situation: Situation) -> list[Transition]:
    return [turn.transition for turn in situation.turns if not turn.transition.refused]

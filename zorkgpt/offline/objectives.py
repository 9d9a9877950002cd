"""What is worth pursuing, by rules: what is untried, untaken, shut, or scored once. No language model."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from game_interface.models import Item, Transition
from session.outcome import failed
from zorkgpt.memory.models import Memory
from zorkgpt.objectives.conditions import Condition, ConditionKind, normalized_text
from zorkgpt.objectives.finder import Findings, ObjectiveProposal, Situation
from zorkgpt.objectives.models import Objective, ObjectiveStatus, Scope
from zorkgpt.offline.phrases import ActionOutcome, parse_title

_MOST_OF_A_RULE = 2
_OPENING = frozenset({"open", "unlock"})
_TAKING = frozenset({"take", "get"})
_PROMISE = (
    ConditionKind.SCORE,
    ConditionKind.SCORED_AT,
    ConditionKind.HOLDS,
    ConditionKind.OPENED,
    ConditionKind.WAY_TRIED,
)

Recall = Callable[[int], Iterable[Memory]]
"""Location → what is remembered of it and still believed."""
AttributesOf = Callable[[int], Mapping[str, bool]]
"""A thing's number → its attributes, as far as the story's numbering of them is known."""
_Aim = tuple[ConditionKind, int | None, int | None, str]
"""ConditionKind, thing, place and way of a condition."""
_Aims = Collection[_Aim]
"""Of what is on the list, whatever became of it."""


class RuleObjectiveFinder:
    """An `ObjectiveFinder` that asks nobody. What is in words it never judges."""

    def __init__(self, recall: Recall = lambda place: (), attributes_of: AttributesOf = lambda thing: {}) -> None:
        self._recall = recall
        self._attributes_of = attributes_of

    def discover(self, situation: Situation) -> Findings:
        """A few of each kind that are not on the list, whatever became of them."""
        rules = (self._once_scored, self._untaken, self._shut, _untried)
        listed = {_aim(one.condition) for one in (*situation.objectives, *situation.settled)}
        found = (proposal for rule in rules for proposal in islice(rule(situation, listed), _MOST_OF_A_RULE))
        return Findings(tuple(found))

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """Those that are not stale; points first, then things, then ways."""
        fresh = [one for one in situation.objectives if one.status is not ObjectiveStatus.STALE]
        return [one.key for one in sorted(fresh, key=_promise)][:most]

    def _once_scored(self, situation: Situation, listed: _Aims) -> Iterator[ObjectiveProposal]:
        """Where earlier episodes scored, and this one has not."""
        for room, name in situation.known.rooms.items():
            if room in situation.scored or (ConditionKind.SCORED_AT, None, room, "") in listed:
                continue
            told = ((parse_title(memory), memory.episode) for memory in self._recall(room))
            scored = (title[0] for title, episode in told if _has_scored(title) and episode != situation.episode)
            if action := next(scored, None):
                text = f"Score again at {name}, where “{action}” did"
                yield ObjectiveProposal(text, ConditionKind.SCORED_AT, place=room, scope=Scope.WORLD)

    def _untaken(self, situation: Situation, listed: _Aims) -> Iterator[ObjectiveProposal]:
        """What was seen, can be taken as far as is known, and was neither taken nor refused."""
        not_again = {*_in_vain(situation, _TAKING), *situation.carried}
        for item, place in _seen(situation):
            takeable = self._attributes_of(item.num).get("takeable", True)
            if takeable and item.num not in not_again and (ConditionKind.HOLDS, item.num, None, "") not in listed:
                yield ObjectiveProposal(
                    f"Take {item.name}", ConditionKind.HOLDS, item.num, places=place, scope=Scope.WORLD
                )

    def _shut(self, situation: Situation, listed: _Aims) -> Iterator[ObjectiveProposal]:
        """What is known to be shut, and what could not be opened."""
        refused = set(_in_vain(situation, _OPENING))
        for item, place in _seen(situation):
            attributes = self._attributes_of(item.num)
            openable = attributes.get("openable", item.num in refused)
            if openable and not attributes.get("open") and (ConditionKind.OPENED, item.num, None, "") not in listed:
                yield ObjectiveProposal(
                    f"Get {item.name} open", ConditionKind.OPENED, item.num, places=place, scope=Scope.WORLD
                )


def _has_scored(title: tuple[str, ActionOutcome] | None) -> bool:
    return title is not None and title[1] is ActionOutcome.SCORES


def _promise(one: Objective) -> int:
    kind = one.condition.kind
    return _PROMISE.index(kind) if kind in _PROMISE else len(_PROMISE)


def _seen(situation: Situation) -> Iterator[tuple[Item, tuple[int, ...]]]:
    """Things that were in sight in these turns, the last seen first, and where."""
    seen: set[int] = set()
    for step in reversed(_steps(situation)):
        place = (step.after.location.num,) if step.after.location else ()
        for item in step.after.visible or ():
            if item.num not in seen:
                seen.add(item.num)
                yield item, place


def _in_vain(situation: Situation, verbs: frozenset[str]) -> Iterator[int]:
    """The things in sight that such an action named, each alone, and changed nothing."""
    for step in _steps(situation):
        verb, *words = [*normalized_text(step.action).split(), ""]
        if verb not in verbs or not failed(step):
            continue
        here = step.before.visible or ()
        named = [item.num for item in here if set(normalized_text(item.name).split()) & set(words)]
        if len(named) == 1:
            yield named[0]


def _untried(situation: Situation, listed: _Aims) -> Iterator[ObjectiveProposal]:
    for room, ways in situation.untried.items():
        for way in ways[:1]:
            if (ConditionKind.WAY_TRIED, None, room, normalized_text(way)) not in listed:
                name = situation.known.rooms.get(room, str(room))
                text = f"Find out where {way} of {name} leads"
                yield ObjectiveProposal(text, ConditionKind.WAY_TRIED, place=room, way=way, scope=Scope.WORLD)


def _aim(condition: Condition) -> _Aim:
    return condition.kind, condition.thing, condition.place, normalized_text(condition.way)


def _steps(situation: Situation) -> list[Transition]:
    return [turn.transition for turn in situation.turns if not turn.transition.refused]

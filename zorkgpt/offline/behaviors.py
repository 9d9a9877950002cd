"""The behaviors of the rules player. On each turn, the first one of `BEHAVIORS` that has an action decides."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, takewhile
from math import inf
from operator import itemgetter
from typing import NamedTuple, Protocol

from game_interface.models import InputMode, Question
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.offline.offers import GRAMMAR_COST, directions, grammar
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.view import SOMEWHERE, Offer, OfferSource, PlaceView, TurnView
from zorkgpt.player import FOLLOW, AgentDecision
from zorkgpt.record.experience import ActionResult, ExperienceRow

_PATIENCE = 8
"""The number of turns without effect at one place after which the player moves on."""
_MAX_VAIN = 3
"""Maximum number of times that the best line is taken up again at a command that has no effect."""
_RETRY_COST = 25.0
"""The cost of each earlier try of an action that failed in another state of the world."""
_TURN_COST = 0.5
"""The cost of each turn of this episode at another place, because what is left there may be impossible."""
_KNOWN_STEP_COST = 0.25
"""The cost of a step after the first episode, when most actions near the start have been tried."""
_REPEATED_COST = 15.0
"""The cost of each earlier episode in which an action did not score here."""
_ELSEWHERE_COST, _MAX_ELSEWHERE_COST = 4.0, 24.0
"""The cost of each try of a command at another place."""
_NOT_AGAIN = ("drop ", "put ", "attack ")
"""Actions that are not repeated although they changed something, because they undo others or fit only one moment."""
_REWARDING = frozenset({ActionOutcome.SCORES, ActionOutcome.TAKES})
_WHICH = re.compile(r"\bwhich\b[^,?]*,\s*(?:either\s+)?(?:the|an?|your)?\s*([^,?]+?)\s*(?:,|\bor\b|\?)", re.IGNORECASE)
"""The first thing that a question names, as in "Which do you mean, the red one or ...?"."""
_NUMBER = re.compile(r"\b\d\b")
_ANSWERS = ("yes", "no", "1", "2", "enter", "space", "q", "escape")
"""The answers to try on any question."""


class Behavior(Protocol):
    """A function that may choose the action of a turn. The first sentence of its docstring says why it exists."""

    __name__: str

    def __call__(self, turn: TurnView, /) -> AgentDecision | None:
        """Return an action with its reason; None to leave the turn to the next behavior."""
        ...


def answer_question(turn: TurnView) -> AgentDecision | None:
    """While a story asks a question, it reads no commands, so give the answer that was given least often."""
    question = turn.context.observation.question
    if question is None:
        return None
    answered = takewhile(lambda row: row.shows(ActionResult.ANSWERED), reversed(turn.experience.rows))
    given = Counter(row.command for row in answered)
    answer = min((each for each in answers_to(question)), key=lambda each: given[each])
    return AgentDecision(answer, "The game asks a question instead of reading a command.")


def answers_to(question: Question) -> tuple[str, ...]:
    """Return the answers to try, the most promising first.

    At a pause or in a menu, the way back to commands comes first. Otherwise it is the first thing that the question
    names, then its numbers, yes and no.
    """
    back = question.way_back[:1]
    named = [match[1].lower() for match in _WHICH.finditer(question.text)][:1]
    first = back if question.mode is not InputMode.LINE else ()
    return tuple(dict.fromkeys((*first, *named, *_NUMBER.findall(question.text), *back, *_ANSWERS)))


def follow_line(turn: TurnView) -> AgentDecision | None:
    """The commands that led to the most points so far do so again, so play them as long as they work."""
    line = turn.context.best_line
    if line is None:
        return None
    places = [turn.here, *(step.location_id or SOMEWHERE for step in line.steps)]
    actions = [exit_name(step.action) for step in line.steps]
    most = sum(1 for _ in takewhile(lambda step: not turn.is_hidden(*step), zip(places, actions, strict=False)))
    vain = takewhile(lambda row: row.stayed and (row.place, row.action) == (turn.here, actions[0]), _latest(turn))
    if most == 0 or len(list(vain)) >= _MAX_VAIN:
        return None
    return AgentDecision(f"{FOLLOW} {most}", f"In episode {line.episode}, these commands led to {line.score} points.")


class _Choice(NamedTuple):
    """An action to try, here or at another place."""

    cost: float
    """In steps, with the walk."""
    action: str
    room: int
    reason: str


def explore(turn: TurnView) -> AgentDecision | None:
    """Try what the memories recommend and untried actions, the most promising and nearest first."""
    sources = [source for source in turn.offers if source is not grammar]
    step = _KNOWN_STEP_COST if turn.earlier.rows else 1.0
    best: _Choice | None = None
    for room, route in turn.routes.items():
        if best is None or step * len(route) < best.cost:
            best = _cheaper(turn, turn.place_at(room), sources, best, step * len(route))
    if (best is None or best.cost > GRAMMAR_COST) and grammar in turn.offers and _has_patience(turn):
        best = _cheaper(turn, turn.place, [grammar], best)
    if best is None:
        return None
    if best.room == turn.here:
        return AgentDecision(best.action, best.reason)
    where = turn.graph.label(best.room)
    return AgentDecision(turn.routes[best.room][0], f"On the way to {where}. {best.action!r} there: {best.reason}")


def _cheaper(
    turn: TurnView, place: PlaceView, sources: Iterable[OfferSource], best: _Choice | None, walk: float = 0.0
) -> _Choice | None:
    """Return the cheapest action at a place, if it is cheaper than the best one so far. Otherwise return that one."""
    if place.room != turn.here:
        walk += _TURN_COST * sum(map(len, place.now.values()))
    most = best.cost - walk if best else inf
    if most <= 0:
        return best
    for action, outcome in _remembered(turn, place):
        if turn.is_open(action, place):
            return _Choice(walk, action, place.room, f"Memory says that it {outcome}.")
    for cost, offer in _cheapest_first(turn, _untried(turn, place, sources, most)):
        if cost >= most:
            break
        if turn.is_open(offer.action, place):
            return _Choice(cost + walk, offer.action, place.room, _reason(place, offer))
    return best


def _remembered(turn: TurnView, place: PlaceView) -> Iterator[tuple[str, ActionOutcome]]:
    """Yield what scored or changed something according to the memories, in the order of learning."""
    for action, outcome in place.remembered.items():
        # An exit that changed something without leading anywhere is at most a warning.
        prepares = outcome is ActionOutcome.WORKS and place.room == turn.here and canonical_direction(action) is None
        is_useful = outcome in _REWARDING or (prepares and not action.startswith(_NOT_AGAIN))
        if is_useful and action not in place.now:
            yield action, outcome


def _cheapest_first(turn: TurnView, offers: Iterable[tuple[float, Offer]]) -> Iterator[tuple[float, Offer]]:
    """Yield offers with their costs, those of the same cost in the order of the seed."""
    for _, same in groupby(sorted(offers, key=itemgetter(0)), key=itemgetter(0)):
        yield from sorted(same, key=lambda each: turn.rank(each[1].action))


def _untried(
    turn: TurnView, place: PlaceView, sources: Iterable[OfferSource], most: float
) -> Iterator[tuple[float, Offer]]:
    """Yield what is left to try at a place with its cost: new actions, and failed ones if something has changed since.

    Args:
        most: Those that cost more may be left out.
    """
    for offer in chain.from_iterable(source(turn, place) for source in sources):
        cost, action = offer.cost, offer.action
        if cost >= most or action in place.remembered or not _may_work(turn, place, action):
            continue
        rows = place.before.get(action, ())
        if canonical_direction(action) is None:
            elsewhere = turn.experience.count(action) - len(rows)
            cost += min(_ELSEWHERE_COST * elsewhere, _MAX_ELSEWHERE_COST)
        if _has_failed(place, action):
            cost += offer.cost * _episodes(rows) + _RETRY_COST * (1 + len(place.now.get(action, ())))
        elif rows:
            cost += _REPEATED_COST * _episodes(rows)
        yield cost, offer


def _has_failed(place: PlaceView, action: str) -> bool:
    return action in place.now or action in place.failed_before


def _episodes(rows: Iterable[ExperienceRow]) -> int:
    return len({row.episode for row in rows})


def _reason(place: PlaceView, offer: Offer) -> str:
    if _has_failed(place, offer.action):
        return "It failed before, in another state of the world."
    return "It did not score in earlier episodes." if offer.action in place.before else f"It is untried, {offer.kind}."


def _may_work(turn: TurnView, place: PlaceView, action: str) -> bool:
    """Return whether an action was not tried in this episode, or failed before something was moved."""
    tries = place.now.get(action)
    return not tries or (tries[-1].shows(ActionResult.FAILED) and (place.room, action) not in turn.since_change)


def wander(turn: TurnView) -> AgentDecision:
    """The world may change by itself, so take the least-used exit, or wait."""
    ways = turn.open_exits()
    if turn.here == SOMEWHERE or turn.is_dark(turn.here):
        ways += [offer.action for offer in directions(turn, turn.place) if turn.is_open(offer.action)]
    if ways:
        way = min(ways, key=lambda way: (turn.experience.times(turn.here, way), _walks_before(turn, way)))
        return AgentDecision(way, "Nothing is left to try here, so this takes the least-used exit.")
    return AgentDecision("out" if turn.context.observation.vehicle else "wait", "Nothing is left to try.")


BEHAVIORS: tuple[Behavior, ...] = (answer_question, follow_line, explore, wander)


def _latest(turn: TurnView) -> Iterator[ExperienceRow]:
    return reversed(turn.experience.rows)


def _has_patience(turn: TurnView) -> bool:
    """Return whether one of the last turns had an effect, or the player has just arrived."""
    idle = takewhile(
        lambda row: row.stayed and row.place == turn.here and not row.shows(ActionResult.WORKED), _latest(turn)
    )
    return len(list(idle)) < _PATIENCE


def _walks_before(turn: TurnView, way: str) -> int:
    """Return how often an exit was walked in all episodes."""
    connection = turn.graph.connections.get(turn.here, way)
    return connection.walks if connection else 0

"""The behaviors of the rules player. On each turn, the first one of `BEHAVIORS` that has an action decides."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from game_interface.models import InputMode, Question
from session.experience import ActionResult
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.offline import dangers
from zorkgpt.offline.candidates import exit_candidates, words_of
from zorkgpt.offline.exploring import explore
from zorkgpt.offline.offers import remedies
from zorkgpt.offline.phrases import is_hostile
from zorkgpt.offline.scoring_plan import ScoringStep
from zorkgpt.offline.view import SOMEWHERE, TurnView
from zorkgpt.player import AgentDecision
from zorkgpt.text import normalized_action

_WORTHWHILE_RATE = 0.02
"""The least rate of successful blows for which a fight is worth its turns."""
_MAX_OPENED = 3
"""Maximum number of times per episode that an action is repeated to open an exit."""
_NEED_MARGIN = 10
"""The moves before a deadline in which a need is met."""
_MAX_UNBLOCKED = 3
"""Maximum number of times per episode that all closed exits are tried again."""
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
    """While a story asks a question, it reads no commands, so give a few answers, each once."""
    question, notes = turn.context.observation.question, turn.notes
    if question is None:
        notes.answered.clear()
        return None
    notes.walking = None
    given, answers = notes.answered.get(question.text, 0), answers_to(question)
    if given >= len(answers):
        return None
    notes.answered[question.text] = given + 1
    return AgentDecision(answers[given], "The game asks a question instead of reading a command.")


def answers_to(question: Question) -> tuple[str, ...]:
    """Return the answers to try, the most promising first.

    At a pause or in a menu, the way back to commands comes first. Otherwise it is the first thing that the question
    names, then its numbers, yes and no.
    """
    back = question.way_back[:1]
    named = [match[1].lower() for match in _WHICH.finditer(question.text)][:1]
    first = back if question.mode is not InputMode.LINE else ()
    return tuple(dict.fromkeys((*first, *named, *_NUMBER.findall(question.text), *back, *_ANSWERS)))


def fight(turn: TurnView) -> AgentDecision | None:
    """Hostile creatures keep attacking, so fight them as long as the record of earlier blows is promising."""
    weapons, lost = _weapons_held(turn), dangers.fights_lost(turn.graph)
    useless = set(map(normalized_action, turn.context.failed_here))
    for enemy in _enemies(turn):
        # A creature that has killed at another place roams, so it guards no exit.
        if lost.get(enemy, set()) - {turn.here}:
            continue
        for weapon in weapons:
            strike = f"attack {enemy} with {weapon}"
            if strike not in useless and turn.episode.record.success_rate(strike) >= _WORTHWHILE_RATE:
                return AgentDecision(strike, "A hostile creature is here, and the player has a weapon.")
    return None


def open_again(turn: TurnView) -> AgentDecision | None:
    """A closed exit may need something opened that was opened before, so open it again."""
    notes, last = turn.notes, turn.episode.last
    if last is None or not last.stayed or (turn.here, last.action) not in notes.blocked:
        return None
    for action in turn.place.openers(turn.context.response):
        if action not in turn.place.refusals and notes.may_repeat(action, _MAX_OPENED) and turn.is_valid(action):
            notes.count(action)
            turn.unblock()
            turn.mark_done(action)
            return AgentDecision(action, "This has opened the closed exit before.")
    return None


def take_back(turn: TurnView) -> AgentDecision | None:
    """A thing that did not score where it was put may score somewhere else, so take it back."""
    thing = turn.notes.take_back
    return AgentDecision(f"take {thing}", "It did not score there.") if thing is not None else None


def leave_vehicle(turn: TurnView) -> AgentDecision | None:
    """Vehicles can't go everywhere, so leave the vehicle where a direction led nowhere."""
    last = turn.episode.last
    if last is None or turn.context.observation.vehicle is None or "out" in turn.context.failed_here:
        return None
    is_walk = canonical_direction(last.action) not in (None, "out")
    if not is_walk or not last.stayed or last.shows(ActionResult.WORKED):
        return None
    turn.unblock()
    turn.place.unmark(last.action)
    return AgentDecision("out", "The vehicle can't go there.")


def make_room(turn: TurnView) -> AgentDecision | None:
    """The player can't carry everything, so drop something that has had no use yet."""
    notes, wanted = turn.notes, turn.notes.wanted
    if wanted is None or (thing := _useless(turn, wanted)) is None:
        return None
    notes.given_up.add(thing)
    notes.blocked.discard((turn.here, exit_name(wanted)))
    turn.place.unmark(wanted, reopened=True)
    notes.target = turn.here, wanted
    return AgentDecision(f"drop {thing}", "The player carries too much, and this has had no use yet.")


def leave_the_dark(turn: TurnView) -> AgentDecision | None:
    """The dark is useless and may be deadly, so turn on a light or leave."""
    notes, place = turn.notes, turn.place
    if not turn.is_dark or notes.lit or notes.dares_dark:
        return None
    for noun in notes.held:
        action = f"turn on {noun}"
        worth_it = action in place.offered or noun in notes.useful
        if worth_it and action not in place.done and turn.is_valid(action):
            turn.mark_done(action)
            return AgentDecision(action, "It is dark here.")
    for way in turn.open_exits():
        return AgentDecision(way, "It is dark here, and there is no light: on to another place.")
    for way in turn.graph.ways_back(turn.here):
        if way not in place.done and way not in place.refusals:
            place.mark(way)
            return AgentDecision(way, "It is dark here, and there is no light: back.")
    return None


def meet_need(turn: TurnView) -> AgentDecision | None:
    """An earlier death may show when hunger or thirst kills, so eat and drink before then."""
    deadline, moves = turn.episode.past.deadline, turn.context.observation.moves
    if deadline is None or moves is None:
        return None
    margin = min(_NEED_MARGIN, deadline // 2)
    times, since_due = divmod(moves, deadline - margin)
    if not times or since_due >= margin:
        return None
    action = next((action for action in remedies(turn) if turn.notes.may_repeat(action, times)), None)
    if action is None:
        return None
    turn.notes.count(action)
    return AgentDecision(
        action, f"At move {deadline} of an earlier episode, the player died, perhaps of hunger or thirst."
    )


def follow_plan(turn: TurnView) -> AgentDecision | None:
    """Actions that scored in an earlier episode score again, so repeat them and what they need, except in danger."""
    plan, graph, here = turn.episode.plan, turn.graph, turn.here
    shut = turn.episode.closed() | dangers.dangerous_rooms(graph, plan) | turn.postponed

    def is_safe(step: ScoringStep) -> bool:
        return (step.place, step.action) not in shut and graph.leads_to(step.place, step.action) not in shut

    routes = graph.routes(here, dangers=shut)
    held = frozenset(item.name for item in turn.context.observation.inventory or ())
    while found := plan.next(here, held, routes, is_safe):
        step, route = found
        scored = f"{step.action!r} scored {step.gain}" if step.gain else f"{step.action!r} led to points"
        if route:
            turn.notes.walking = here, route[0]
            name = graph.rooms[step.place].name
            return AgentDecision(route[0], f"On the way to {name}, where {scored} in an earlier episode.")
        turn.mark_done(step.action)
        if turn.is_valid(step.action):
            return AgentDecision(step.action, f"In an earlier episode {scored} here.")
        plan.note(here, step.action, failed=True)
    return None


def retry(turn: TurnView) -> AgentDecision | None:
    """Failed actions may work after a change of the world, so try them again when nothing else is left."""
    notes = turn.notes
    failed = frozenset(map(normalized_action, turn.context.failed_here))
    if turn.place.retry(failed):
        return explore(turn)
    darkness = not notes.lit and any(place.dark for place in turn.episode.places.values())
    if darkness and not notes.dares_dark:
        notes.dares_dark = True
    elif notes.blocked and notes.unblocked < _MAX_UNBLOCKED:
        notes.unblocked += 1
        notes.blocked.clear()
    else:
        return None
    return follow_plan(turn) or explore(turn)


def start_over(turn: TurnView) -> AgentDecision | None:
    """Actions tried in another state of the world may have an effect now, so try all again when nothing is left."""
    episode, changes = turn.episode, turn.episode.plan.progress.changes
    if turn.notes.started_over == changes:
        return None
    turn.notes.started_over = changes
    for place in episode.places.values():
        place.start_over()
    episode.touched.update(episode.places)
    episode.done_everywhere.clear()
    return explore(turn)


def wander(turn: TurnView) -> AgentDecision | None:
    """The world may change by itself, so take the least-used exit, or wait."""
    ways, here = turn.open_exits(), turn.here
    if not ways and here == SOMEWHERE:
        failed = set(map(normalized_action, turn.context.failed_here))
        ways = [way.action for way in exit_candidates(turn.episode.nouns, ()) if way.action not in failed]
    if ways:
        way = min(ways, key=lambda way: (turn.place.tries.times(way), _walks_before(turn, way)))
        turn.notes.walking = here, way
        return AgentDecision(normalized_action(way), "Nothing is left to try, so this takes the least-used exit.")
    aboard = turn.context.observation.vehicle is not None
    return AgentDecision("out" if aboard else "wait", "Nothing is left to try.")


BEHAVIORS: tuple[Behavior, ...] = (
    answer_question,
    fight,
    open_again,
    take_back,
    leave_vehicle,
    make_room,
    leave_the_dark,
    meet_need,
    follow_plan,
    explore,
    retry,
    start_over,
    wander,
)


def _weapons_held(turn: TurnView) -> list[str]:
    held = turn.context.observation.inventory or ()
    return turn.names(item for item in held if turn.attributes(item).get("weapon"))


def _enemies(turn: TurnView) -> Iterator[str]:
    """Yield the creatures here that are or were hostile, were attacked last, or have killed the player."""
    response, notes = turn.context.response, turn.notes
    said = words_of(response) if is_hostile(response) else []
    struck = turn.episode.last.action if turn.episode.last else ""
    killers = dangers.fights_lost(turn.graph)
    for being in turn.context.observation.visible or ():
        name = turn.episode.nouns.name(being)
        if not name or not turn.attributes(being).get("animate"):
            continue
        known = notes.foes.get(turn.here, [])
        is_hostile_now = name.split()[-1] in said or struck.startswith(f"attack {name} ")
        if name in known or name in killers or is_hostile_now:
            if name not in known:
                notes.foes[turn.here] = [*known, name]
            yield name


def _useless(turn: TurnView, wanted: str) -> str | None:
    """Return a carried thing that was of no use so far.

    To pass an exit, a tool may be dropped too, or one of several things that scored, but no light.
    """
    notes = turn.notes
    tools: list[str] = []
    valued: list[str] = []
    for item in turn.context.observation.inventory or ():
        name, attributes = turn.episode.nouns.name(item), turn.attributes(item)
        if not name or name in notes.useful | notes.given_up or attributes.get("light"):
            continue
        if name in notes.valued:
            valued.append(name)
        elif not (attributes.get("weapon") or attributes.get("tool")):
            return name
        else:
            tools.append(name)
    if wanted.startswith("take "):
        return None
    return next(chain(tools, valued[1:]), None)


def _walks_before(turn: TurnView, way: str) -> int:
    """Return how often an exit was walked in all episodes."""
    connection = turn.graph.connections.get(turn.here, way)
    return connection.walks if connection else 0

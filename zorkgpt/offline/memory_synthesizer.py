"""Make memories from the Z-machine's ground truth about a turn, by rules, without a language model.

Remembered is what opened, unlocked, lit, moved, scored or killed, where things are when an episode begins, and exits
that led nowhere before. What the parser refuses and exits that don't exist are counted elsewhere, never remembered.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import AttributeChanged, Category, ObjectMoved, Persistence, ThingAtHand
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.offline.phrases import ActionOutcome, is_dark, title_of, whole_sentences
from zorkgpt.text import sentence_case, with_article

_TEXT_LIMIT = 200
_MAX_THINGS = 10
"""The most things named in a memory of a first sight."""
FIRST_SIGHT = "At first sight"
_REMARK = re.compile(r"\[[^\]]*\]")
"""Remarks of the game's library in brackets, which are no part of the story."""
_TELLING_WORDS = 4
"""A shorter response ("Taken.") adds nothing to the facts."""
_DARK_PLACE = "Dark at first sight"
_GAINED = {("open", True): "open", ("locked", False): "unlocked", ("on", True): "lit"} | {
    ("concealed", False): "in sight"
}
"""Attribute and value → the new state in words; the opposite changes teach nothing."""

NOTHING = MemorySynthesisResponse(should_remember=False, reasoning="rule: nothing new")


class RuleSynthesizer:
    """A `MemorySynthesizer` without a model."""

    asks_a_model = False

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        return _memory_of_arrival(request) if request.arrival else _memory_of_action(request)


def _memory_of_action(request: SynthesisRequest) -> MemorySynthesisResponse:
    truth = request.context
    if truth.died_anyway:
        # The player dies there whatever they do, so nothing is learned about this action.
        return NOTHING
    if truth.died:
        unlit = is_dark(request.response) or any(is_dark(turn.response) for turn in request.history)
        outcome = ActionOutcome.KILLS_UNLIT if unlit else ActionOutcome.KILLS
        return _fact(request, Category.DANGER, outcome, "Doing this here is deadly.")
    if truth.score_delta > 0:
        text = f"{_points(truth.score_delta)} {_effects(request)}"
        return _fact(request, Category.SUCCESS, ActionOutcome.SCORES, text)
    if truth.location_changed:
        # Ordinary connections are on the map.
        return _conditional_way(request) if truth.failed_before else NOTHING
    if gained := _gained(request):
        return _memory_of_finding(request, gained)
    if lost := _lost(request):
        claims = tuple(claim for thing in lost for claim in thing.claims()[:1])
        text = _sentence(claim.in_words() for claim in claims)
        episode = Persistence.EPHEMERAL
        return _fact(request, Category.NOTE, ActionOutcome.WORKS, text, persistence=episode, claims=claims)
    if effects := _effects(request):
        return _fact(request, Category.SUCCESS, ActionOutcome.WORKS, effects)
    return NOTHING


def _points(count: int) -> str:
    return f"Scores {count} point{'' if count == 1 else 's'}."


def _conditional_way(request: SynthesisRequest) -> MemorySynthesisResponse:
    """Remember an exit that led nowhere before."""
    truth = request.context
    place = truth.destination_name or "another place"
    states = [claim.in_words() for claim in truth.state if claim.relation in (Relation.OPEN, Relation.UNLOCKED)]
    when = f" It did in this state: {', '.join(states)}." if states else ""
    text = f"Leads to {place}, though not always.{when}"
    number = truth.location_after
    claims = (Claim(Relation.LEADS, None, request.action, number, place),) if isinstance(number, int) else ()
    return _fact(request, Category.SUCCESS, ActionOutcome.LEADS, text, claims=claims)


def _gained(request: SynthesisRequest) -> list[ObjectMoved]:
    truth = request.context
    new = set(truth.inventory_after) - set(truth.inventory_before)
    return [move for move in truth.moved if move.name in new]


def _lost(request: SynthesisRequest) -> list[ThingAtHand]:
    """Return what was carried before and is at hand now."""
    truth = request.context
    gone = set(truth.inventory_before) - set(truth.inventory_after)
    moved = {move.number for move in truth.moved if move.name in gone}
    return [thing for thing in truth.things if thing.number in moved and not thing.carried]


def _memory_of_finding(request: SynthesisRequest, gained: Sequence[ObjectMoved]) -> MemorySynthesisResponse:
    """Remember where a thing was that the player had not moved before, unless that is known."""
    known = {claim.number for one in request.memories if one.persistence.outlives_episode for claim in one.claims}
    found = [
        move
        for move in gained
        if {move.number, move.origin_number}.isdisjoint(request.moved) and move.number not in known
    ]
    if not found:
        return NOTHING
    claims = tuple(_lay(request, move) for move in found)
    text = _sentence(claim.in_words() for claim in claims)
    return _fact(request, Category.SUCCESS, ActionOutcome.TAKES, f"{text} It can be taken.", claims=claims)


def _lay(request: SynthesisRequest, move: ObjectMoved) -> Claim:
    if move.origin_number is None or move.origin_number == request.location_id:
        return Claim(Relation.HERE, move.number, move.name)
    holder = next((thing for thing in request.context.things if thing.number == move.origin_number), None)
    relation = Relation.IN if holder is None or "open" in holder.states else Relation.ON
    return Claim(relation, move.number, move.name, move.origin_number, move.origin)


def _effects(request: SynthesisRequest) -> str:
    """Return in sentences what the action itself opened, unlocked, lit or moved; "" if nothing."""
    truth = request.context
    near = {thing.number for thing in truth.things}
    said = [_changed(one) for one in truth.changed if not one.by_itself and one.number in near]
    alive = {thing.number for thing in truth.things if thing.alive}
    moves = [one for one in truth.moved if not one.by_itself and _is_in_sight(one, request)]
    said += [_moved(one, alive=one.number in alive) for one in moves]
    return " ".join(dict.fromkeys(filter(None, said)))


def _changed(change: AttributeChanged) -> str:
    state = _GAINED.get((change.attribute, change.value))
    return f"{sentence_case(with_article(change.name))} is then {state}." if state else ""


def _moved(move: ObjectMoved, *, alive: bool) -> str:
    if alive and move.destination_number is not None:
        # Creatures move by themselves.
        return ""
    name = sentence_case(with_article(move.name))
    if move.origin_number is None:
        return f"{name} appears."
    if move.destination_number is None:
        return f"{name} is then gone."
    return f"{name} moves from {with_article(move.origin)} to {with_article(move.destination)}."


def _is_in_sight(move: ObjectMoved, request: SynthesisRequest) -> bool:
    truth = request.context
    places = {request.location_id, truth.location_after, *(thing.number for thing in truth.things)}
    held = move.name in truth.inventory_before or move.name in truth.inventory_after
    return not held and bool({move.number, move.origin_number, move.destination_number} & places)


def _memory_of_arrival(request: SynthesisRequest) -> MemorySynthesisResponse:
    """Remember what is at a place when it is first seen in an episode, except what the player has moved."""
    if is_dark(request.response):
        return _sight(_DARK_PLACE, "It is dark here without a light.", (Claim(Relation.DARK),))
    # A thing that has just arrived does not belong to the place's initial state.
    elsewhere = request.handled | {move.number for move in request.context.moved}
    things = [
        thing
        for thing in request.context.things
        if not thing.carried
        and thing.number not in elsewhere
        and thing.holder_number not in request.moved
        and (not thing.fixed or thing.states or thing.alive)
    ]
    things = sorted(things, key=lambda thing: thing.fixed)[:_MAX_THINGS]
    standing = next((memory for memory in request.memories if memory.title == FIRST_SIGHT), None)
    if standing is not None and {thing.number for thing in things} <= {claim.number for claim in standing.claims}:
        return _sight(FIRST_SIGHT, standing.text, standing.claims)
    if not things:
        return NOTHING
    claims = tuple(claim for thing in things for claim in thing.claims())
    replaced = (FIRST_SIGHT,) if standing is not None else ()
    return _sight(FIRST_SIGHT, _described(things), claims, replaced)


def _described(things: Sequence[ThingAtHand]) -> str:
    """Return sentences that list the things by where they are."""
    groups: dict[str, list[str]] = {}
    alive = {thing.number for thing in things if thing.alive}
    for thing in things:
        held = "On" if thing.on_top else "With" if thing.holder_number in alive else "In"
        where = f"{held} {with_article(thing.holder)}" if thing.holder_number is not None else "Here"
        states = f" ({', '.join(thing.states)})" if thing.states else ""
        groups.setdefault(where, []).append(f"{with_article(thing.name)}{states}")
    groups = dict(sorted(groups.items(), key=lambda group: group[0] != "Here"))
    return " ".join(
        f"{where} {'is' if len(names) == 1 else 'are'} {_listed(names)}." for where, names in groups.items()
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sight(title: str, text: str, claims: tuple[Claim, ...], replaced: Collection[str] = ()) -> MemorySynthesisResponse:
    return MemorySynthesisResponse(
        should_remember=True,
        category=Category.DISCOVERY,
        memory_title=title,
        memory_text=text,
        persistence=Persistence.CORE,
        action="",
        claims=claims,
        supersedes_memory_titles=set(replaced),
        reasoning="rule: the first look at a place",
    )


def _fact(
    request: SynthesisRequest,
    category: Category,
    outcome: ActionOutcome,
    text: str,
    *,
    persistence: Persistence = Persistence.PERMANENT,
    claims: tuple[Claim, ...] = (),
) -> MemorySynthesisResponse:
    title = title_of(request.action, outcome)
    standing = {memory.title: memory for memory in request.memories}
    known = standing.get(title)
    overcome = title_of(request.action, ActionOutcome.FAILS)
    return MemorySynthesisResponse(
        should_remember=True,
        category=category,
        memory_title=title,
        memory_text=known.text if known is not None else _with_what_was_said(text, request),
        persistence=persistence,
        action=request.action,
        claims=claims,
        supersedes_memory_titles={overcome} if outcome is not ActionOutcome.KILLS and overcome in standing else set(),
        reasoning=f"rule: the action {outcome}",
    )


def _with_what_was_said(text: str, request: SynthesisRequest) -> str:
    """Return the facts, with as many whole sentences of the response as fit unless the player left the place."""
    walked = request.context.location_changed and not request.context.died
    answer = _REMARK.sub("", request.response)
    said = "" if walked or len(answer.split()) < _TELLING_WORDS else whole_sentences(answer, _TEXT_LIMIT - len(text))
    return " ".join(filter(None, (text.strip(), said)))


def _sentence(parts: Iterator[str]) -> str:
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."

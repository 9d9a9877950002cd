"""Make memories from the Z-machine's ground truth about a turn, by rules, without a language model.

The rules remember actions that opened, unlocked, lit, moved, scored or killed something, exits that had failed before,
and texts. The ledger of things records where things are. Refused commands and missing exits are only counted.
"""

import re
from collections.abc import Sequence

from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.models import Category, Effect, MemoryKind, Persistence, Thing, outcome_of
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.synthesis import SynthesisRequest, change_in_words, listed, move_in_words
from zorkgpt.offline.phrases import is_dark
from zorkgpt.text import before_stars, normalized_action, number_of, whole_sentences, with_article

_TEXT_LIMIT = 200
_READING = frozenset({"read", "consult", "ask", "tell", "talk", "say", "answer"})
"""Verbs whose response is a text that is remembered as a whole."""
_READ_WORDS = 15
"""Minimum words of such a text. A shorter response counts as a refusal."""
_READ_LIMIT = 2000
"""Maximum characters of such a text."""
_DARK_PLACE = "Dark without a light"
_REMARK = re.compile(r"\[[^\]]*\]")
"""Remarks of the game's library in brackets, which are not part of the story."""
_TELLING_WORDS = 4
"""A shorter response ("Taken.") adds nothing to the facts."""
_GAINED = {("open", True), ("locked", False), ("on", True), ("concealed", False)}
"""Attributes and values that an action gives to a thing. The opposite changes teach nothing."""


class RuleSynthesizer:
    """A `MemorySynthesizer` without a model."""

    asks_a_model = False

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        facts = (None if request.arrival else _effect(request), _text_read(request), _darkness(request))
        taught = [fact for fact in facts if fact is not None]
        if not taught:
            return MemorySynthesisResponse(should_remember=False)
        return MemorySynthesisResponse(should_remember=True, **dict(taught[0]), also=tuple(taught[1:]))


def _text_read(request: SynthesisRequest) -> FurtherFact | None:
    """Return the text that the action has shown, as a fact about the thing or creature that it comes from."""
    words = normalized_action(request.action).split()
    text = _REMARK.sub("", request.response).strip()
    if not words or words[0] not in _READING or request.context.effect is Effect.REFUSED:
        return None
    if request.context.died or request.context.location_changed or len(text.split()) < _READ_WORDS:
        return None
    things = (thing for thing in request.context.things if not thing.out_of_sight)
    source = next((thing for thing in things if folded(thing.name).split()[-1] in words), None)
    if source is None and _effects(request):
        return None
    text = text if len(text) <= _READ_LIMIT else f"{text[: _READ_LIMIT - 1].rstrip()}…"
    near = [entry.memory for entry in request.elsewhere if source and entry.location_id == Thing(source.number)]
    texts = [memory for memory in (near if source else request.memories) if memory.kind is MemoryKind.TEXT]
    title = normalized_action(request.action)
    known = next((memory for memory in texts if memory.title == title), None)
    if known is not None and known.is_settled_by_person:
        return None
    if known is not None:
        text = _lines_in_both(known.text, text) or text
    repeated = next((memory for memory in texts if folded(memory.text) == folded(text)), None)
    replaced = {known.title} if known is not None and repeated is None else set()
    return FurtherFact(
        category=Category.DISCOVERY,
        memory_title=repeated.title if repeated else title,
        memory_text=repeated.text if repeated else text,
        persistence=Persistence.PERMANENT,
        kind=MemoryKind.TEXT,
        action=repeated.action if repeated else request.action,
        place=None if source is None else source.number,
        supersedes_memory_titles=replaced,
    )


def _lines_in_both(older: str, newer: str) -> str:
    """Return the lines that two versions of a text share; "" if they are too short."""
    lines = older.splitlines()
    both = re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in newer.splitlines() if line in lines)).strip()
    return both if len(both.split()) >= _READ_WORDS else ""


def _effect(request: SynthesisRequest) -> FurtherFact | None:
    """Return what the action did, as a danger or a success. None if it teaches nothing."""
    truth = request.context
    if truth.died or (truth.loss is not None and truth.score_delta <= 0):
        return _danger(request, truth.loss or Loss(LossKind.DEATH))
    way = f"Leads to {truth.destination_name or 'another place'}."
    if truth.score_delta > 0:
        points = number_of(truth.score_delta, "point", "points")
        effects = [*([way] if truth.location_changed else []), *_effects(request, also_held=True)]
        return _success(request, f"+{points}", effects)
    if truth.location_changed:
        # Ordinary connections are on the map.
        return _success(request, "leads on", [way, _blocked_before(request)]) if truth.failed_before else None
    effects = _effects(request)
    return _success(request, "works", effects) if effects else None


def _danger(request: SynthesisRequest, loss: Loss) -> FurtherFact:
    """Return the cause of a death, or of lost points or things, as a danger."""
    is_by_clock = loss.cause is LossCause.CLOCK
    dark = (Claim(Relation.DARK),) if Claim(Relation.DARK) in request.context.state and not is_by_clock else ()
    lost = number_of(loss.points, "point", "points") if loss.kind is LossKind.POINTS else listed(loss.things)
    action = normalized_action(request.action)
    causes: dict[LossCause | None, str] = {
        LossCause.PLACE: "here",
        LossCause.CREATURE: loss.creature_name,
        LossCause.CLOCK: "time" if loss.clock is None else f"time, at turn {loss.clock}",
    }
    what = "you died" if loss.kind is LossKind.DEATH else f"you lost {lost}"
    title = f"{causes.get(loss.cause, action)}: {what}{' in the dark' if dark else ''}"
    title += ", cause unknown" if loss.cause is None else ""
    said = loss.sentence or whole_sentences(_REMARK.sub("", before_stars(request.response)), _TEXT_LIMIT)
    return FurtherFact(
        category=Category.DANGER,
        memory_title=title,
        memory_text=said or f"{title}.",
        persistence=Persistence.PERMANENT,
        action=request.action if loss.cause in (LossCause.ACTION, None) else "",
        claims=dark,
    )


def _success(request: SynthesisRequest, outcome: str, effects: Sequence[str]) -> FurtherFact:
    """Return the outcome of an action and its effects, in sentences. A known memory is repeated unchanged."""
    truth, action = request.context, normalized_action(request.action)
    title, details = f"{action}: {outcome}", " ".join(effects)
    answer = _REMARK.sub("", request.response)
    # After a change of place, the response describes another place.
    if not truth.location_changed and len(answer.split()) >= _TELLING_WORDS and _text_read(request) is None:
        details = f"{details} {whole_sentences(answer, _TEXT_LIMIT - len(details))}".strip()
    for memory in request.memories:
        is_same = normalized_action(memory.action) == action and memory.outcome in ("", outcome_of(truth))
        if is_same and memory.category == Category.SUCCESS and memory.scored == (truth.score_delta > 0):
            title, details = memory.title, memory.text
            break
    claims: tuple[Claim, ...] = ()
    if truth.failed_before and truth.location_changed and isinstance(truth.location_after, int):
        claims = (Claim(Relation.LEADS, None, request.action, truth.location_after, truth.destination_name),)
    return FurtherFact(
        category=Category.SUCCESS,
        memory_title=title,
        memory_text=details or f"{title}.",
        persistence=Persistence.PERMANENT,
        action=request.action,
        claims=claims,
    )


def _blocked_before(request: SynthesisRequest) -> str:
    """Return that the exit led nowhere before, and what at the place is open now."""
    state = request.context.state
    carried = {claim.number for claim in state if claim.relation is Relation.CARRIED}
    ways = [claim for claim in state if claim.relation in (Relation.OPEN, Relation.UNLOCKED)]
    opened = " and ".join(claim.in_words() for claim in ways if claim.number not in carried)
    return f"It was blocked on an earlier try{f', and is passable when {opened}' if opened else ''}."


def _effects(request: SynthesisRequest, *, also_held: bool = False) -> list[str]:
    """Return sentences about the things in sight that the action itself opened, unlocked, lit, revealed or moved.

    Args:
        also_held: Whether to include those that were carried before or are carried now.
    """
    truth = request.context
    near = {thing.number for thing in truth.things}
    alive = {thing.number for thing in truth.things if thing.alive}
    held = set() if also_held else {*truth.inventory_before, *truth.inventory_after}

    def is_in_sight(move: ObjectMove) -> bool:
        places = {request.location_id, truth.location_after, *near}
        return bool({move.number, move.origin_number, move.destination_number} & places)

    changes = [each for each in truth.changed if not each.by_itself and each.number in near]
    # Creatures move by themselves.
    moves = [each for each in truth.moved if not each.by_itself and each.number not in alive and is_in_sight(each)]
    sentences = [change_in_words(each) for each in changes if (each.attribute, each.value) in _GAINED]
    gained = {*truth.inventory_after} - {*truth.inventory_before}
    for move in moves:
        if move.name not in held:
            is_taken = move.name in gained
            sentences.append(f"You get {with_article(move.name)}." if is_taken else move_in_words(move, request))
    return list(dict.fromkeys(sentences))


def _darkness(request: SynthesisRequest) -> FurtherFact | None:
    """Return that nothing can be seen without a light at the place that the player sees for the first time."""
    seen = request.context.all_in_sight
    if not (request.arrival or request.reached) or seen or not is_dark(request.response):
        return None
    return FurtherFact(
        category=Category.DISCOVERY,
        memory_title=_DARK_PLACE,
        memory_text="You can't see anything here without a light.",
        persistence=Persistence.CORE,
        action="",
        claims=(Claim(Relation.DARK),),
        place="arrival",
    )

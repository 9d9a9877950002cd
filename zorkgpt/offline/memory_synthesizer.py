"""Make memories from the Z-machine's ground truth about a turn, by rules, without a language model.

The rules remember actions that opened, unlocked, lit, moved, scored or killed something, exits that had failed before,
and texts. The ledger of things records where things are. Refused commands and missing exits are only counted.
"""

import re
from collections.abc import Sequence

from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.models import Category, Effect, Memory, MemoryKind, Persistence, Thing, outcome_of
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.offline.outcomes import ActionOutcome, remembered_outcome
from zorkgpt.offline.phrases import is_dark, whole_sentences
from zorkgpt.text import before_stars, normalized_action, number_of, sentence_case, with_article

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
_GAINED = {("open", True): "opens", ("locked", False): "unlocks", ("on", True): "turns on"} | {
    ("concealed", False): "reveals"
}
"""Attribute and value → what the action does to the thing; the opposite changes teach nothing."""

NOTHING = MemorySynthesisResponse(should_remember=False, reasoning="rule: nothing new")


class RuleSynthesizer:
    """A `MemorySynthesizer` without a model."""

    asks_a_model = False

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse:
        memory = NOTHING if request.arrival else _memory_of_effects(request)
        further = [fact for fact in (_text_read(request), _darkness(request)) if fact is not None]
        if memory.should_remember:
            return memory.model_copy(update={"also": tuple(further)})
        if not further:
            return NOTHING
        return MemorySynthesisResponse(
            should_remember=True, **further[0].model_dump(), also=tuple(further[1:]), reasoning="rule: a text"
        )


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


def _memory_of_effects(request: SynthesisRequest) -> MemorySynthesisResponse:
    truth = request.context
    if truth.died:
        return _memory_of_loss(request, truth.loss or Loss(LossKind.DEATH))
    if truth.score_delta > 0:
        return _memory_of_points(request)
    if truth.loss is not None:
        return _memory_of_loss(request, truth.loss)
    if truth.location_changed:
        # Ordinary connections are on the map.
        return _conditional_exit(request) if truth.failed_before else NOTHING
    if effects := _effects(request):
        summary = "works" if _is_expected(effects[0], request.action) else effects[0]
        return _fact(request, Category.SUCCESS, ActionOutcome.WORKS, [summary, *effects[1:]], otherwise=effects[0])
    return NOTHING


def _memory_of_loss(request: SynthesisRequest, loss: Loss) -> MemorySynthesisResponse:
    """Remember the cause of a death, or of lost points or things, as a danger."""
    unlit = Claim(Relation.DARK) in request.context.state
    action = request.action if loss.cause in (LossCause.ACTION, None) else ""
    title = _title_of_loss(request, loss) + (" in the dark" if unlit and loss.cause is not LossCause.CLOCK else "")
    said = loss.sentence or whole_sentences(_REMARK.sub("", before_stars(request.response)), _TEXT_LIMIT)
    clock = _sentence(f"a clock: it {_ended(loss)} at turn {loss.clock} wherever you were") if loss.clock else ""
    return MemorySynthesisResponse(
        should_remember=True,
        category=Category.DANGER,
        memory_title=title,
        memory_text=" ".join(filter(None, (said, clock))) or _sentence(title),
        persistence=Persistence.PERMANENT,
        action=action,
        claims=(Claim(Relation.DARK),) if unlit and loss.cause is not LossCause.CLOCK else (),
        reasoning=f"rule: a loss by {loss.cause or 'an unknown cause'}",
    )


def _title_of_loss(request: SynthesisRequest, loss: Loss) -> str:
    points, things = number_of(loss.points, "point", "points"), _listed([with_article(name) for name in loss.things])
    does = {LossKind.DEATH: "kills you", LossKind.POINTS: f"costs {points}", LossKind.THINGS: f"takes {things}"}
    did = {LossKind.DEATH: "you died", LossKind.POINTS: f"you lost {points}", LossKind.THINGS: f"you lost {things}"}
    action = normalized_action(request.action)
    match loss.cause:
        case LossCause.ACTION:
            return f"{action}: {does[loss.kind]}"
        case LossCause.PLACE:
            return f"being here {does[loss.kind]}"
        case LossCause.CREATURE:
            return f"{loss.creature_name}: {does[loss.kind]}"
        case LossCause.CLOCK:
            ends = "time runs out" if loss.kind is LossKind.DEATH else f"time {does[loss.kind]}"
            return ends if loss.clock is None else f"{ends} at turn {loss.clock}"
    return f"{action}: {did[loss.kind]}, cause unknown"


def _ended(loss: Loss) -> str:
    return "ended the game" if loss.kind is LossKind.DEATH else "came"


def _memory_of_points(request: SynthesisRequest) -> MemorySynthesisResponse:
    truth = request.context
    way = [f"leads to {_destination(request)}"] if truth.location_changed else []
    effects = [f"+{number_of(truth.score_delta, 'point', 'points')}", *way, *_effects(request)]
    done = [*_taken(_gained(request)), *_left(request, _lost(request))]
    done += ["shows a text that is remembered separately"] * (_text_read(request) is not None)
    return _fact(request, Category.SUCCESS, ActionOutcome.SCORES, effects, otherwise=_listed(done))


def _destination(request: SynthesisRequest) -> str:
    return request.context.destination_name or "another place"


def _conditional_exit(request: SynthesisRequest) -> MemorySynthesisResponse:
    """Remember an exit that led nowhere before, and what at the place is open now."""
    truth = request.context
    carried = {claim.number for claim in truth.state if claim.relation is Relation.CARRIED}
    states: dict[str, list[str]] = {}
    for claim in truth.state:
        if claim.relation in (Relation.OPEN, Relation.UNLOCKED) and claim.number not in carried:
            states.setdefault(claim.name, []).append(claim.relation.value)
    opened = [f"{with_article(name)} {_listed(values)}" for name, values in states.items()]
    detail = "was blocked on an earlier try" + (f", and worked with {_listed(opened)}" if opened else "")
    place, number = _destination(request), truth.location_after
    claims = (Claim(Relation.LEADS, None, request.action, number, place),) if isinstance(number, int) else ()
    title = f"{normalized_action(request.action)} → {place}"
    return _fact(
        request, Category.SUCCESS, ActionOutcome.LEADS, [f"leads to {place}", detail], title=title, claims=claims
    )


def _gained(request: SynthesisRequest) -> list[ObjectMove]:
    truth = request.context
    new = set(truth.inventory_after) - set(truth.inventory_before)
    return [move for move in truth.moved if move.name in new]


def _taken(gained: Sequence[ObjectMove]) -> list[str]:
    return [f"you get {_listed([with_article(move.name) for move in gained])}"] if gained else []


def _lost(request: SynthesisRequest) -> list[ThingState]:
    """Return the things that were carried before and are at hand now."""
    truth = request.context
    gone = set(truth.inventory_before) - set(truth.inventory_after)
    moved = {move.number for move in truth.moved if move.name in gone}
    return [thing for thing in truth.things if thing.number in moved and not thing.carried]


def _left(request: SynthesisRequest, lost: Sequence[ThingState]) -> list[str]:
    """Return where each thing is that was carried before."""
    alive = {thing.number for thing in request.context.things if thing.alive}
    return [
        f"gives {with_article(thing.name)} to {with_article(thing.holder)}"
        if thing.holder_number in alive
        else f"leaves {with_article(thing.name)} {_where(thing.claims()[0])}"
        for thing in lost
    ]


def _where(claim: Claim) -> str:
    return f"{claim.relation} {with_article(claim.other_name)}" if claim.other_name else "here"


def _effects(request: SynthesisRequest) -> list[str]:
    """Return descriptions of the things that the action itself opened, unlocked, lit or moved."""
    truth = request.context
    near = {thing.number for thing in truth.things}
    effects = [_changed(change) for change in truth.changed if not change.by_itself and change.number in near]
    moves = [move for move in truth.moved if not move.by_itself and _is_in_sight(move, request)]
    by_name: dict[str, set[str]] = {}
    for move in moves:
        by_name.setdefault(move.name, set()).add(_moved(move, request))
    # "Makes the flowers disappear, makes the flowers appear" says nothing about two things with one name.
    effects += [text for texts in by_name.values() if len(texts) == 1 for text in texts]
    return list(dict.fromkeys(filter(None, effects)))


def _changed(change: AttributeChange) -> str:
    effect = _GAINED.get((change.attribute, change.value))
    return f"{effect} {with_article(change.name)}" if effect else ""


def _moved(move: ObjectMove, request: SynthesisRequest) -> str:
    things = {thing.number: thing for thing in request.context.things}
    moved = things.get(move.number)
    if moved is not None and moved.alive and move.destination_number is not None:
        # Creatures move by themselves.
        return ""
    name = with_article(move.name)
    if move.origin_number is None:
        return f"makes {name} appear"
    if move.destination_number is None or request.context.loses_sight_of(move):
        return f"makes {name} disappear"
    if move.destination_number == request.location_id:
        return f"brings {name} here"
    return f"moves {name} to {with_article(move.destination)}"


def _is_in_sight(move: ObjectMove, request: SynthesisRequest) -> bool:
    truth = request.context
    places = {request.location_id, truth.location_after, *(thing.number for thing in truth.things)}
    held = move.name in truth.inventory_before or move.name in truth.inventory_after
    return not held and bool({move.number, move.origin_number, move.destination_number} & places)


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


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _fact(
    request: SynthesisRequest,
    category: Category,
    outcome: ActionOutcome,
    effects: Sequence[str],
    *,
    title: str = "",
    otherwise: str = "",
    claims: tuple[Claim, ...] = (),
) -> MemorySynthesisResponse:
    """Return the memory of an action. A known memory is repeated unchanged.

    Args:
        effects: The title contains the first one, the text the others.
        otherwise: The text if it would be empty. Defaults to the first effect.
    """
    known = _known(request, category, outcome)
    return MemorySynthesisResponse(
        should_remember=True,
        category=category,
        memory_title=known.title if known else title or f"{normalized_action(request.action)}: {effects[0]}",
        memory_text=known.text if known else _text(request, effects[1:]) or _sentence(otherwise or effects[0]),
        persistence=Persistence.PERMANENT,
        action=request.action,
        claims=claims,
        reasoning=f"rule: the action {outcome}",
    )


def _known(request: SynthesisRequest, category: Category, outcome: ActionOutcome) -> Memory | None:
    """Return the memory of this action with this outcome, if there is one."""
    wanted, observed = (normalized_action(request.action), outcome), outcome_of(request.context)
    return next(
        (
            memory
            for memory in request.memories
            if memory.category == category and memory.outcome in ("", observed) and remembered_outcome(memory) == wanted
        ),
        None,
    )


def _text(request: SynthesisRequest, effects: Sequence[str]) -> str:
    """Return sentences about the effects, then the response unless it is short or describes another place."""
    details = " ".join(map(_sentence, effects))
    walked = request.context.location_changed and not request.context.died
    answer = _REMARK.sub("", request.response)
    is_telling = not walked and len(answer.split()) >= _TELLING_WORDS and _text_read(request) is None
    said = whole_sentences(answer, _TEXT_LIMIT - len(details)) if is_telling else ""
    return " ".join(filter(None, (details, said)))


def _is_expected(effect: str, action: str) -> bool:
    """Return whether an effect says no more than the action: "open box" opens the box."""
    words = normalized_action(action).split()
    verb, *_, noun = effect.split()
    return verb.removesuffix("s") in words and noun in words


def _sentence(text: str) -> str:
    return f"{sentence_case(text)}."

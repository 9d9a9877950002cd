"""What a model's answer says, as memories: what each fact is about, and which memories its titles mean."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zorkgpt.memory.claims import ABOUT_THINGS, Claim, Relation
from zorkgpt.memory.credit import tells_of_loss
from zorkgpt.memory.entailment.comparison import compared
from zorkgpt.memory.losses import Loss, LossCause
from zorkgpt.memory.models import (
    GAME,
    Category,
    Memory,
    MemoryKind,
    MemoryStatus,
    Persistence,
    PlaceKey,
    SubjectKey,
    Thing,
    ZMachineContext,
    outcome_of,
)
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.storage.versions import same_words
from zorkgpt.memory.synthesis import SynthesisRequest, noticed_moves
from zorkgpt.text import normalized_action

if TYPE_CHECKING:
    from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse

    Fact = MemorySynthesisResponse | FurtherFact

_ABOUT_AN_ACTION = (Category.SUCCESS, Category.FAILURE)
"""Categories that by their definition tell what came of an action."""
_AROUND_A_TITLE = " \t\"'`*.!…“”‘’«»[]"
_QUOTES = {ord(quote): None for quote in "\"'`“”‘’«»"}


def subject_of(
    request: SynthesisRequest, fact: "Fact", name_of: Callable[[PlaceKey], str]
) -> tuple[SubjectKey, str] | None:
    """Return what the fact is about: the place or thing that the model says, if the question names it.

    A loss is about its cause. If the model doesn't say, a fact is about the same as the memory that it replaces.

    Args:
        name_of: Returns what a place is called.

    Returns:
        The subject and its name; None if the model gives a number that the question does not name.
    """
    turn = request.context
    here = request.location_id, request.location_name
    loss = _loss_told(request, fact, _command_of(request, fact))
    if loss is not None and loss.creature is not None:
        return Thing(loss.creature), loss.creature_name
    if loss is not None and loss.cause is LossCause.CLOCK:
        return GAME, ""
    if fact.place == "everywhere":
        return GAME, ""
    if fact.place is None:
        old = (titled(title, request.of_places, request.elsewhere) for title in sorted(fact.supersedes_memory_titles))
        return next(((one.location_id, one.location_name) for one in old if one is not None), here)
    if isinstance(fact.place, int):
        return _subjects(request, name_of).get(fact.place)
    if request.arrival and fact.place == "action" and turn.location_before is not None:
        return turn.location_before, name_of(turn.location_before)
    led_on = not request.arrival and turn.location_changed and (turn.first_look or not turn.died)
    if led_on and fact.place == "arrival" and turn.location_after is not None:
        return turn.location_after, turn.destination_name
    return here


def _subjects(request: SynthesisRequest, name_of: Callable[[PlaceKey], str]) -> dict[PlaceKey, tuple[SubjectKey, str]]:
    """Return the places and things that the question names, by number."""
    turn = request.context
    found: dict[PlaceKey, tuple[SubjectKey, str]] = {}
    for move in noticed_moves(request):
        found[move.number] = Thing(move.number), move.name
    for one in turn.things:
        found[one.number] = Thing(one.number), one.name
    for located in request.elsewhere:
        key = located.location_id
        if key is not GAME:
            found[key.number if isinstance(key, Thing) else key] = key, located.location_name
    for place in (turn.location_before, turn.location_after):
        if place is not None:
            found[place] = place, name_of(place)
    if turn.location_after is not None and turn.destination_name:
        found[turn.location_after] = turn.location_after, turn.destination_name
    found[request.location_id] = request.location_id, request.location_name
    return found


def memory_of_fact(request: SynthesisRequest, fact: "Fact", location_id: SubjectKey, episode: int | str) -> Memory:
    """Return a fact as the memory of a subject, with what the ground truth says of its action and claims."""
    turn = request.context
    action = _command_of(request, fact)
    is_this_one = bool(action) and folded(action) == folded(request.action) and not request.arrival
    outcome = outcome_of(turn) if is_this_one and location_id == request.location_id else ""
    if loss := _loss_told(request, fact, action):
        outcome = loss.outcome
        if loss.cause not in (LossCause.ACTION, None):
            action = ""
    return Memory(
        fact.category or Category.NOTE,
        fact.memory_title or "",
        episode,
        str(turn.turn),
        turn.score_delta if location_id == request.location_id and not request.arrival else 0,
        fact.memory_text or "",
        fact.persistence or Persistence.PERMANENT,
        fact.status if fact.status != MemoryStatus.SUPERSEDED else MemoryStatus.ACTIVE,
        action=action,
        outcome=outcome,
        claims=_known_claims(fact.claims, turn),
        kind=fact.kind,
    )


def _action_of(request: SynthesisRequest, fact: "Fact") -> str | None:
    """Return the command that the fact is about; a success or failure that names none is about this turn's action."""
    of_arrival = request.arrival or fact.place == "arrival"
    if fact.action is None and fact.category in _ABOUT_AN_ACTION and not of_arrival:
        return request.action
    return fact.action


def _command_of(request: SynthesisRequest, fact: "Fact") -> str:
    return " ".join((_action_of(request, fact) or "").split())


def _loss_told(request: SynthesisRequest, fact: "Fact", action: str) -> Loss | None:
    """Return the loss of the turn if the fact is a danger that tells of it."""
    loss = request.context.loss
    if loss is None or fact.category != Category.DANGER or request.arrival:
        return None
    by_action = loss.cause in (LossCause.ACTION, None)
    return loss if folded(action) == folded(request.action) or not (by_action or action) else None


def refuted_by_turn(request: SynthesisRequest, fact: "Fact", location_id: SubjectKey, memory: Memory) -> str:
    """Return in words what the turn itself shows to be wrong in a memory; "" if nothing.

    That is another destination of the way that the player took, or a start of nothing that is at hand.
    """
    turn, outcome = request.context, outcome_of(request.context)
    took = normalized_action(request.action) if location_id == request.location_id and not request.arrival else ""
    for claim in memory.claims:
        is_taken = claim.relation is Relation.LEADS and normalized_action(claim.name) == took
        if is_taken and outcome.startswith("to ") and outcome != f"to {claim.other}":
            return f"{took} leads to {turn.destination_name or turn.location_after}"
    numbers = [claim.number for claim in fact.claims if claim.number is not None]
    is_start = memory.persistence is Persistence.CORE and bool(numbers)
    return (
        f"object {numbers[0]} is not at hand" if is_start and _names_of_things(turn).keys().isdisjoint(numbers) else ""
    )


def as_known(memory: Memory, known: Sequence[Memory]) -> Memory:
    """Return a danger in the words of the known one with the same action and title, if there is one."""
    if not tells_of_loss(memory):
        return memory
    same = (one for one in known if (one.category, one.action) == (memory.category, memory.action))
    told = next((one for one in same if folded(one.title) == folded(memory.title)), memory)
    return replace(memory, title=told.title, text=told.text)


def moved_thing_named_in(memory: Memory, request: SynthesisRequest) -> ObjectMove | None:
    """Return a thing that this turn's action has moved, if a lasting memory without kind and claims names it."""
    if memory.kind is not None or memory.claims or not memory.persistence.outlives_episode:
        return None
    words = set(folded(f"{memory.title} {memory.text}").replace(".", " ").replace(",", " ").split())
    moved = (move for move in request.context.moved if not move.by_itself and not request.arrival)
    return next((move for move in moved if move.name and folded(move.name).split()[-1] in words), None)


def is_location(memory: Memory) -> bool:
    """Return whether a memory says no more than where something is or in which state.

    Without a kind, what isn't about an action and has claims says that.
    """
    if memory.kind is not None:
        return memory.kind is MemoryKind.LOCATION
    return bool(memory.claims) and not memory.action and all(claim.relation in ABOUT_THINGS for claim in memory.claims)


def _names_of_things(turn: ZMachineContext) -> dict[int, str]:
    """Return the things that the Z-machine listed with the turn."""
    names = {thing.number: thing.name for thing in turn.things}
    names |= {move.number: move.name for move in turn.moved}
    return names | {change.number: change.name for change in turn.changed}


def _known_claims(claims: Sequence[Claim], turn: ZMachineContext) -> tuple[Claim, ...]:
    """Return the claims about things that the Z-machine listed, with their names; ways and darkness need none."""
    names = _names_of_things(turn)
    found = []
    for claim in claims:
        if claim.relation in (Relation.DARK, Relation.LIGHT):
            found.append(Claim(claim.relation))
        elif claim.relation is Relation.LEADS:
            if claim.name.strip() and claim.other is not None:
                found.append(Claim(Relation.LEADS, None, one_line(claim.name), claim.other, one_line(claim.other_name)))
        elif claim.number is None or claim.number not in names:
            continue
        elif claim.other is not None:
            found.append(replace(claim, name=names[claim.number], other_name=names.get(claim.other, "")))
        elif claim.relation not in (Relation.IN, Relation.ON):
            found.append(replace(claim, name=names[claim.number], other_name=""))
    return tuple(dict.fromkeys(found))


def named_apart(memory: Memory, others: Sequence[Memory]) -> Memory:
    """Return the memory with a title of its own, where another fact of the place has the same one."""
    taken = {folded(one.title): one for one in others}
    number, apart = 1, memory
    while (known := taken.get(folded(apart.title))) is not None:
        if same_words(known, apart) or compared(known, apart, None).relation in ("same", "adds"):
            break
        number += 1
        apart = replace(memory, title=f"{memory.title} ({number})")
    return apart


def resolve_title(title: str, memories: Sequence[Memory]) -> Memory | None:
    """Return the memory that a model means by a title that it may not have copied exactly.

    That is the one of exactly this title; else the only one that differs in case, quotes, ending dots or white space.
    """
    for memory in memories:
        if memory.title == title:
            return memory
    wanted = _bare_title(title)
    near = [memory for memory in memories if wanted and _bare_title(memory.title) == wanted]
    return near[0] if len({memory.title for memory in near}) == 1 else None


def titled(title: str, *groups: Sequence[LocatedMemory]) -> LocatedMemory | None:
    """Return the memory that a model means by a title, from the first group that has it."""
    for group in groups:
        memory = resolve_title(title, [one.memory for one in group])
        if memory is not None:
            return next(one for one in group if one.memory is memory)
    return None


def _bare_title(title: str) -> str:
    return " ".join(title.translate(_QUOTES).casefold().split()).strip(_AROUND_A_TITLE)

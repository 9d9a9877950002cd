"""Conversion of a model's answer: the subject of each fact, the memory made from it, and the memories it names."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zorkgpt.memory.claims import ABOUT_THINGS, Claim, Relation
from zorkgpt.memory.credit import is_observed_loss
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
    destination_in,
    outcome_of,
)
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.memory.places import is_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import folded, single_spaced
from zorkgpt.memory.storage.versions import same_words
from zorkgpt.memory.synthesis import SynthesisRequest, noticed_moves
from zorkgpt.text import normalized_action

if TYPE_CHECKING:
    from zorkgpt.memory.answers import FurtherFact, MemorySynthesisResponse

    Fact = MemorySynthesisResponse | FurtherFact

_ABOUT_AN_ACTION = (Category.SUCCESS, Category.FAILURE)
"""Categories that by definition describe the outcome of an action."""
_AROUND_A_TITLE = " \t\"'`*.!…“”‘’«»[]"
_QUOTES = {ord(quote): None for quote in "\"'`“”‘’«»"}


def subject_of(
    request: SynthesisRequest, fact: "Fact", name_of: Callable[[PlaceKey], str]
) -> tuple[SubjectKey, str] | None:
    """Return the subject of a fact, as given by the model.

    The subject of a loss is its cause. If the model gives no subject, it is that of the memory that the fact replaces.

    Args:
        name_of: Returns the name of a place.

    Returns:
        The subject and its name. None if the model gives a number that isn't in the question.
    """
    turn = request.context
    here = request.location_id, request.location_name
    loss = _described_loss(request, fact, _command_of(request, fact))
    if loss is not None and loss.creature is not None:
        return Thing(loss.creature), loss.creature_name
    if loss is not None and loss.cause is LossCause.CLOCK:
        return GAME, ""
    if fact.place == "everywhere":
        return GAME, ""
    if fact.place is None:
        for title in sorted(fact.supersedes_memory_titles):
            if old := match_by_title(title, request.of_places, request.elsewhere):
                return old.location_id, old.location_name
        return here
    if isinstance(fact.place, int):
        return _subjects(request, name_of).get(fact.place)
    if request.arrival and fact.place == "action" and turn.location_before is not None:
        return turn.location_before, name_of(turn.location_before)
    moved_on = not request.arrival and turn.location_changed and (turn.first_look or not turn.died)
    if moved_on and fact.place == "arrival" and turn.location_after is not None:
        return turn.location_after, turn.destination_name
    return here


def _subjects(request: SynthesisRequest, name_of: Callable[[PlaceKey], str]) -> dict[PlaceKey, tuple[SubjectKey, str]]:
    """Return the places and things in the question, by number."""
    turn = request.context
    subjects: dict[PlaceKey, tuple[SubjectKey, str]] = {}
    for move in noticed_moves(request):
        subjects[move.number] = Thing(move.number), move.name
    for thing in turn.things:
        subjects[thing.number] = Thing(thing.number), thing.name
    for located in request.elsewhere:
        key = located.location_id
        if isinstance(key, Thing) or is_place(key):
            subjects[key.number if isinstance(key, Thing) else key] = key, located.location_name
    for place in (turn.location_before, turn.location_after):
        if place is not None:
            subjects[place] = place, name_of(place)
    if turn.location_after is not None and turn.destination_name:
        subjects[turn.location_after] = turn.location_after, turn.destination_name
    subjects[request.location_id] = request.location_id, request.location_name
    return subjects


def memory_of_fact(request: SynthesisRequest, fact: "Fact", location_id: SubjectKey, episode: int | str) -> Memory:
    """Return a fact as a memory of a subject, with the outcome and score from the ground truth."""
    turn = request.context
    action = _command_of(request, fact)
    is_this_action = bool(action) and folded(action) == folded(request.action) and not request.arrival
    outcome = outcome_of(turn) if is_this_action and location_id == request.location_id else ""
    if loss := _described_loss(request, fact, action):
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


def _command_of(request: SynthesisRequest, fact: "Fact") -> str:
    """Return the command that the fact is about. Successes and failures default to this turn's action."""
    action = fact.action
    is_of_arrival = request.arrival or fact.place == "arrival"
    if action is None and fact.category in _ABOUT_AN_ACTION and not is_of_arrival:
        action = request.action
    return " ".join((action or "").split())


def _described_loss(request: SynthesisRequest, fact: "Fact", action: str) -> Loss | None:
    """Return the loss of the turn if the fact is a danger that describes it, otherwise None."""
    loss = request.context.loss
    if loss is None or fact.category != Category.DANGER or request.arrival:
        return None
    if folded(action) == folded(request.action):
        return loss
    is_by_action = loss.cause in (LossCause.ACTION, None)
    return None if is_by_action or action else loss


def refuted_by_turn(request: SynthesisRequest, fact: "Fact", location_id: SubjectKey, memory: Memory) -> str:
    """Return a correction if the turn itself contradicts a memory; "" if not.

    The turn contradicts another destination of the exit that was taken, and a core memory about absent things.
    """
    turn, destination = request.context, destination_in(outcome_of(request.context))
    exit_taken = normalized_action(request.action) if location_id == request.location_id and not request.arrival else ""
    for claim in memory.claims:
        is_taken = claim.relation is Relation.LEADS and normalized_action(claim.name) == exit_taken
        if is_taken and destination not in (None, str(claim.other)):
            return f"{exit_taken} leads to {turn.destination_name or turn.location_after}"
    numbers = [claim.number for claim in fact.claims if claim.number is not None]
    is_about_things = memory.persistence is Persistence.CORE and bool(numbers)
    if is_about_things and _names_of_things(turn).keys().isdisjoint(numbers):
        return f"object {numbers[0]} is not present"
    return ""


def with_known_wording(memory: Memory, known: Sequence[Memory]) -> Memory:
    """Return a loss in the words of the known memory with the same category, action and title, if there is one."""
    if not is_observed_loss(memory):
        return memory
    for old in known:
        is_same_loss = (old.category, old.action) == (memory.category, memory.action)
        if is_same_loss and folded(old.title) == folded(memory.title):
            return replace(memory, title=old.title, text=old.text)
    return memory


def moved_thing_in(memory: Memory, request: SynthesisRequest) -> ObjectMove | None:
    """Return a thing that the action moved and that a lasting memory without kind and claims mentions, if any."""
    if request.arrival or memory.kind is not None or memory.claims or not memory.persistence.outlives_episode:
        return None
    words = set(folded(f"{memory.title} {memory.text}").replace(".", " ").replace(",", " ").split())
    for move in request.context.moved:
        if not move.by_itself and move.name and folded(move.name).split()[-1] in words:
            return move
    return None


def is_location(memory: Memory) -> bool:
    """Return whether a memory only says where something is, or in which state.

    Without a kind, this is a memory of no action whose claims are all about things.
    """
    if memory.kind is not None:
        return memory.kind is MemoryKind.LOCATION
    return bool(memory.claims) and not memory.action and all(claim.relation in ABOUT_THINGS for claim in memory.claims)


def _names_of_things(turn: ZMachineContext) -> dict[int, str]:
    """Return number → name of the things in the ground truth of the turn."""
    names = {thing.number: thing.name for thing in turn.things}
    names |= {move.number: move.name for move in turn.moved}
    return names | {change.number: change.name for change in turn.changed}


def _known_claims(claims: Sequence[Claim], turn: ZMachineContext) -> tuple[Claim, ...]:
    """Return the exits, the light, and the claims about things in the ground truth, with the names of these things."""
    names = _names_of_things(turn)
    named_claims = []
    for claim in claims:
        if claim.relation in (Relation.DARK, Relation.LIGHT):
            named_claims.append(Claim(claim.relation))
        elif claim.relation is Relation.LEADS:
            if claim.name.strip() and claim.other is not None:
                exit_name, destination = single_spaced(claim.name), single_spaced(claim.other_name)
                named_claims.append(Claim(Relation.LEADS, None, exit_name, claim.other, destination))
        elif claim.number is None or claim.number not in names:
            continue
        elif claim.other is not None:
            named_claims.append(replace(claim, name=names[claim.number], other_name=names.get(claim.other, "")))
        elif claim.relation not in (Relation.IN, Relation.ON):
            named_claims.append(replace(claim, name=names[claim.number], other_name=""))
    return tuple(dict.fromkeys(named_claims))


def with_unique_title(memory: Memory, others: Sequence[Memory]) -> Memory:
    """Return the memory with a number in its title if another fact has the same title."""
    taken = {folded(other.title): other for other in others}
    number, renamed = 1, memory
    while (known := taken.get(folded(renamed.title))) is not None:
        if same_words(known, renamed) or compared(known, renamed).merges:
            break
        number += 1
        renamed = replace(memory, title=f"{memory.title} ({number})")
    return renamed


def match_by_title(title: str, *groups: Sequence[LocatedMemory]) -> LocatedMemory | None:
    """Return the memory that a model means by a title, from the first group that has it. None if there is none.

    If no title of a group matches exactly, differences in case, quotes, ending dots and white space are ignored, unless
    several titles match then.
    """
    wanted = _bare_title(title)
    for group in groups:
        exact = [located for located in group if located.memory.title == title]
        near = exact or [located for located in group if wanted and _bare_title(located.memory.title) == wanted]
        if len({located.memory.title for located in near}) == 1:
            return near[0]
    return None


def _bare_title(title: str) -> str:
    return " ".join(title.translate(_QUOTES).casefold().split()).strip(_AROUND_A_TITLE)

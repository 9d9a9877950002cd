"""The question what a turn teaches: its data and its prompt."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from zorkgpt.llm.messages import Message
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.models import GAME, Effect, Memory, MemoryStatus, PlaceKey, Thing, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.places import place_label, place_text
from zorkgpt.memory.retrieval import LocatedMemory, estimated_tokens, shortened
from zorkgpt.memory.things import is_ledger_entry
from zorkgpt.memory.world import TEXT_ADVENTURE, World
from zorkgpt.prompts.render import cut, one_line, render
from zorkgpt.text import number_of, sentence_case, with_article

if TYPE_CHECKING:
    from zorkgpt.memory.answers import MemorySynthesisResponse

LONG_RESPONSE = 100
"""Characters; a longer response usually describes something."""

_MOST_MEMORY_TOKENS = 1200
"""Budget for the memories of a place: four times the player's, so that known facts are not learned again."""
_LONGEST_PAST_RESPONSE = 300
_LONGEST_PAST_REASONING = 120

_PLACING = {"drop", "give", "hang", "hide", "insert", "lay", "leave", "place", "pour", "put", "set", "throw"}
_LONGEST_NAME = 60
_PUNCTUATION = ".,;:!?\"'()"


@dataclass(frozen=True, slots=True)
class RecentTurn:
    """An earlier turn."""

    turn: int
    location_name: str
    action: str
    response: str
    reasoning: str = ""
    outcome: tuple[str, ...] = ()
    """The visible changes, in short phrases."""
    arrived: str = ""
    """The name of the destination; "" if the player stayed."""


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """Everything the model sees when it is asked what to remember of a turn."""

    location_id: PlaceKey
    """The default subject of the answer: where the action was taken or, for an arrival, where the player is."""
    location_name: str
    action: str
    response: str
    context: ZMachineContext
    memories: tuple[Memory, ...] = ()
    """The current memories of the location, lasting ones first."""
    now: Mapping[str, str] = field(default_factory=dict)
    """Title → the state after the turn that contradicts the memory's claims."""
    responses: Mapping[str, str] = field(default_factory=dict)
    """Title → the response in the journal from which a memory about this action was learned."""
    elsewhere: tuple[LocatedMemory, ...] = ()
    """The memories of the game and of present things that the player sees. Then unconfirmed memories of other subjects,
    if they are recent or about a thing that the action handled."""
    history: tuple[RecentTurn, ...] = ()
    """Oldest first."""
    triggers: tuple[str, ...] = ()
    """The reasons to ask about the turn."""
    arrival: bool = False
    """The response has the first look at the location in this episode. The action was taken elsewhere."""
    reached: "SynthesisRequest | None" = None
    """The request for the action's destination, if the response has the first look at it."""
    visits: tuple[int, int] | None = None
    """The number of visits, including this one, and of episodes with a visit. None if unknown."""
    first_stay: bool = False
    """The player has not left the location since the first arrival in this episode."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Further facts about the outcome, by name."""
    doubts: tuple[str, ...] = ()
    """Likely mistakes in the first answer. The second answer is final."""

    @property
    def believed(self) -> tuple[Memory, ...]:
        """The memories on which an answer depends: those of the places and of present things."""
        of_things = (located.memory for located in self.elsewhere if isinstance(located.location_id, Thing))
        return *(located.memory for located in self.of_places), *of_things

    @property
    def places(self) -> "tuple[SynthesisRequest, ...]":
        """This request, and the one for the destination, if any."""
        return (self,) if self.reached is None else (self, self.reached)

    @property
    def of_places(self) -> tuple[LocatedMemory, ...]:
        """The memories of the location, then those of the destination."""
        return tuple(
            LocatedMemory(each.location_id, each.location_name, memory)
            for each in self.places
            for memory in each.memories
        )


def request_from(saved: object) -> SynthesisRequest:
    """Return the request from its JSON value.

    Raises:
        ValueError: If the value is not a request.
    """
    # pydantic is slow to load, and is needed only here.
    from pydantic import TypeAdapter

    request = TypeAdapter(SynthesisRequest).validate_python(saved)
    # In JSON, GAME is a string like the name of a place. Places in text adventures are numbers.
    elsewhere = tuple(
        replace(located, location_id=GAME) if located.location_id == GAME.value else located
        for located in request.elsewhere
    )
    return replace(request, elsewhere=elsewhere)


class MemorySynthesizer(Protocol):
    """Decides what, if anything, a turn teaches."""

    @property
    def asks_a_model(self) -> bool:
        """Whether answers cost something, so that they are cached and checked for mistakes."""
        ...

    def synthesize(self, request: SynthesisRequest) -> "MemorySynthesisResponse | None":
        """Return the answer. None if there is no valid one, which the caller counts.

        Raises:
            LLMError: If the model could not be asked.
        """
        ...


def prompt_for(
    request: SynthesisRequest, *, history_window: int, world: World = TEXT_ADVENTURE, asks_for_exits: bool = False
) -> list[Message]:
    """Return the question to the model.

    Args:
        asks_for_exits: Whether to ask also for the exits in the text.
    """
    past = request.history[-history_window:] if history_window > 0 else ()
    prompt = render(
        world.template,
        world=world,
        request=request,
        asks_for_exits=asks_for_exits,
        certain=_facts_as_json(request, lambda name: world.certain is None or name in world.certain),
        reported=_facts_as_json(request, lambda name: world.certain is not None and name not in world.certain),
        facts=[*facts_in_words(request), *circumstances_in_words(request)],
        things=things_in_words(request),
        signals=signals(request),
        memories=_memories(request),
        memories_reached=_memories(request.reached) if request.reached else "",
        elsewhere="\n".join(map(_elsewhere, request.elsewhere)),
        history="\n".join(_past(turn, world) for turn in past),
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _facts_as_json(request: SynthesisRequest, is_included: Callable[[str], bool]) -> str:
    """Return a line of JSON for each included fact."""
    return "\n".join(
        json.dumps({name: value}, ensure_ascii=False, default=str)
        for name, value in request.facts.items()
        if is_included(name)
    )


def _memories(request: SynthesisRequest) -> str:
    """Return a line for each of the newest memories that fit, oldest first, and the number of omitted ones."""
    # The prompt lists the whereabouts of things separately.
    memories = [memory for memory in request.memories if not is_ledger_entry(memory)]
    lines: list[str] = []
    spare = _MOST_MEMORY_TOKENS
    for memory in reversed(memories):
        line = _memory(memory, request.now.get(memory.title, ""))
        spare -= estimated_tokens(f"{line}\n")
        if spare < 0:
            lines.append(f"({len(memories) - len(lines)} older ones left out)")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _memory(memory: Memory, now: str) -> str:
    # JSON shows exactly where the title ends, so that the model can repeat it.
    return _line(
        title=memory.title,
        text=memory.text,
        category=memory.category,
        persistence=memory.persistence,
        status=_status(memory),
        action=memory.action,
        holds_when="; ".join(claim.in_words() for claim in memory.when),
        now=now,
    )


def _elsewhere(located: LocatedMemory) -> str:
    key, memory = located.location_id, located.memory
    about = "everywhere" if key is GAME else place_label(key, located.location_name)
    return _line(about=about, title=memory.title, text=shortened(memory), status=_status(memory))


def _status(memory: Memory) -> str:
    return memory.status if memory.status == MemoryStatus.TENTATIVE else ""


def _past(turn: RecentTurn, world: World) -> str:
    return _line(
        turn=turn.turn,
        place=turn.location_name,
        action=turn.action,
        **{world.outcome: cut(turn.response, _LONGEST_PAST_RESPONSE)},
        reasoning=cut(turn.reasoning, _LONGEST_PAST_REASONING),
    )


def _line(**values: Any) -> str:
    return json.dumps({name: value for name, value in values.items() if value not in ("", 0)}, ensure_ascii=False)


_WITHOUT_EFFECT: dict[Effect | None, str] = {
    Effect.REFUSED: "The parser refused the command, which took no time.",
    Effect.ANSWERED: "The game understood the command and answered in words.",
    Effect.NONE: "The same command had the same response here before, in the same state.",
}


def facts_in_words(request: SynthesisRequest) -> list[str]:
    """Return the ground truth of the turn, one sentence per fact.

    Changes of the object tree that the player can't have noticed are omitted, such as creatures that move elsewhere.
    """
    turn = request.context
    # Score and inventory belong to the place where the action was taken.
    moved, changed = noticed_moves(request), noticed_changes(request)
    facts = [_place(request)] if request.arrival else [_score(turn), _place(request), *_inventory(turn, moved)]
    facts += [move_in_words(move, request) for move in moved]
    facts += dict.fromkeys(change_in_words(change) for change in changed)
    if turn.nothing_changed and (moved or changed):
        facts.append("The command itself changed nothing.")
    elif turn.nothing_changed:
        facts.append("Nothing in the world changed: not the place, the score, what you carry, nor anything else.")
    elif turn.unnamed_change and not (moved or changed):
        facts.append("No named object changed, but something else may have happened.")
    elif turn.fell_short and not request.arrival:
        facts.append("What the command means was not done: nothing was opened, taken or the like.")
    if not request.arrival and turn.effect in _WITHOUT_EFFECT:
        facts.append(_WITHOUT_EFFECT[turn.effect])
    if turn.died and not request.arrival:
        facts.append("You died on this turn.")
    if turn.loss is not None and not request.arrival:
        facts.append(_cause(turn.loss))
    return facts


def _cause(loss: Loss) -> str:
    """Return a sentence about the cause of a loss, as found by counterfactuals."""
    effect = {
        LossKind.DEATH: "killed you",
        LossKind.POINTS: f"cost you {number_of(loss.points, 'point', 'points')}",
        LossKind.THINGS: f"cost you {listed(loss.things)}",
    }[loss.kind]
    elsewhere = {None: "", True: " At the place before this one it did no such thing."}.get(
        loss.harmless_elsewhere, " It does so at the place before this one too."
    )
    creature = f"{_name(loss.creature_name)} (number {loss.creature})"
    when = "" if loss.clock is None else f", when the story had counted {number_of(loss.clock, 'move', 'moves')}"
    cause = {
        LossCause.ACTION: f"Waiting instead would not have {effect}: the command did.{elsewhere}",
        LossCause.PLACE: f"Waiting would have {effect} too: being at this place did it, not the command.",
        LossCause.CREATURE: f"It was {with_article(creature)} that {effect}, not the command or the place.",
        LossCause.CLOCK: f"Waiting elsewhere would have {effect} at the same time{when}: a clock or a need did it.",
        None: f"They do not show what {effect}: the command, the place, a creature or a clock.",
    }[loss.cause]
    return f"From counterfactuals, played from saved states after the turn: {cause}"


def things_in_words(request: SynthesisRequest) -> list[str]:
    """Return a line for each thing that is present after the turn, and for each that the turn took away."""
    things = request.context.things
    present = {thing.number for thing in things}
    gone = {move.number: move.name for move in noticed_moves(request) if move.number not in present}
    return [*map(_thing, things), *(f'{number} "{_name(name)}": gone' for number, name in gone.items())]


def _thing(thing: ThingState) -> str:
    words = [
        f'{claim.relation.value} {claim.other} "{_name(claim.other_name)}"' if claim.other else claim.relation.value
        for claim in thing.claims()
        if claim.relation is not Relation.HERE
    ]
    if thing.out_of_sight:
        words.append("out of sight")
    return f'{thing.number} "{_name(thing.name)}"' + (f": {', '.join(words)}" if words else "")


def noticed_moves(request: SynthesisRequest) -> list[ObjectMove]:
    """Return the moves of objects that the player saw or carries, or that the text mentions."""
    turn = request.context
    carried = {*turn.inventory_before, *turn.inventory_after}
    present = {thing.number for thing in turn.things} | {None, turn.location_before, turn.location_after}

    def is_near(move: ObjectMove) -> bool:
        return move.origin_number in present or move.destination_number in present

    return [
        move
        for move in turn.moved
        if _is_seen(move, request) or move.name in carried or (_is_mentioned(move.name, request) and is_near(move))
    ]


def _is_seen(move: ObjectMove, request: SynthesisRequest) -> bool:
    turn = request.context
    # After a change of place, the player only sees what has moved to the new place.
    if turn.location_changed:
        return move.destination_number is not None and move.destination_number == turn.location_after
    places = {turn.location_before, request.location_id} - {None}
    return not places.isdisjoint((move.origin_number, move.destination_number))


def noticed_changes(request: SynthesisRequest) -> list[AttributeChange]:
    """Return the changes of objects that the player carries or that the text mentions."""
    turn = request.context
    carried = {*turn.inventory_before, *turn.inventory_after}
    return [change for change in turn.changed if change.name in carried or _is_mentioned(change.name, request)]


def _is_mentioned(name: str, request: SynthesisRequest) -> bool:
    words = name.lower().split()
    return bool(words) and words[-1].strip(_PUNCTUATION) in _words_of_turn(request.action, request.response)


# Called several times for the same turn.
@lru_cache(maxsize=16)
def _words_of_turn(action: str, response: str) -> frozenset[str]:
    return frozenset(word.strip(_PUNCTUATION) for word in f"{action} {response}".lower().split())


def signals(request: SynthesisRequest) -> list[str]:
    """Return hints about the persistence of what this turn teaches."""
    turn = request.context
    verb = (request.action.lower().split() or [""])[0]
    long = (turn.response_length or len(request.response)) > LONG_RESPONSE
    moved = noticed_moves(request)
    names = listed([move.name for move in moved])
    where = "where they are" if len(moved) > 1 else "where it is"
    here = _numbered(request.location_name, request.location_id)
    # The outcome of an action belongs to its source, not its destination.
    acted = not request.arrival
    hints = {
        # The text after a change of place is about the destination.
        "The first turn at this place in this episode, and much to read: what is simply there is likely core.": (
            turn.first_visit and long and (request.arrival or not turn.location_changed)
        ),
        "The first look at the place of arrival, and much to read: what is simply there is likely core.": (
            turn.first_look and long
        ),
        f"Not the first look at {here} in this episode: core is ruled out there.": not turn.first_visit,
        f"By the object tree, this moved: {names}; {where} now is ephemeral.": bool(moved),
        "What you carry changed without a change of place: what you did to it is likely ephemeral.": (
            acted and turn.inventory_changed and not turn.location_changed and not moved
        ),
        "The command puts something somewhere: where it lies now is likely ephemeral.": (
            acted and verb in _PLACING and not moved
        ),
        "The score rose: how that was done is permanent, whatever things it names.": acted and turn.score_delta > 0,
        "The parser refused the command: as a rule, that says nothing about the place.": acted
        and turn.effect is Effect.REFUSED,
        "Nothing changed. The answer may be worth keeping; in another state the command may do something.": (
            acted and turn.effect is Effect.ANSWERED
        ),
        "Nothing changed again: that this does not work here in this state is likely permanent.": (
            acted and turn.effect is Effect.NONE
        ),
        "You died: the danger is permanent, and memories that promised safety here are disproved.": (
            acted and turn.died and (turn.loss is None or turn.loss.cause is not LossCause.CLOCK)
        ),
    }
    return [hint for hint, holds in hints.items() if holds]


def _score(turn: ZMachineContext) -> str:
    if not turn.score_delta:
        return "The score did not change."
    change = f"The score {'rose' if turn.score_delta > 0 else 'fell'} by {abs(turn.score_delta)}"
    known = turn.score_before is not None and turn.score_after is not None
    return f"{change}, from {turn.score_before} to {turn.score_after}." if known else f"{change}."


def _place(request: SynthesisRequest) -> str:
    turn = request.context
    here = _numbered(request.location_name, request.location_id)
    if request.arrival and not request.action:
        return f"You are at {here}."
    if request.arrival and turn.died:
        return f"The command killed you elsewhere, and the story goes on here, at {here}."
    if request.arrival:
        return f"The command was given elsewhere and brought you here, to {here}."
    if not turn.location_changed:
        return f"You stayed at {here}."
    there = _numbered(turn.destination_name, turn.location_after)
    if turn.died:
        return f"You were at {here}; the story goes on at {there}."
    return f"You went from {here} to {there}."


def _numbered(place: str, number: PlaceKey | None) -> str:
    name = one_line(_name(place)) if place else "another place"
    return name if number is None else f"{name} (location {place_text(number)})"


def _inventory(turn: ZMachineContext, moved: list[ObjectMove]) -> list[str]:
    """Return sentences about gained and lost things that have no move."""
    moved_names = {move.name for move in moved}
    before, after = Counter(turn.inventory_before), Counter(turn.inventory_after)
    gained = [name for name in (after - before).elements() if name not in moved_names]
    lost = [name for name in (before - after).elements() if name not in moved_names]
    facts = []
    if gained:
        facts.append(f"You now carry {listed(gained)}.")
    if lost:
        facts.append(f"You no longer carry {listed(lost)}.")
    return facts


def circumstances_in_words(request: SynthesisRequest) -> list[str]:
    """Return sentences about the carried things that `things_in_words` doesn't list, and about the visits."""
    context = request.context
    at_hand = {thing.name for thing in context.things if thing.carried}
    carried = listed(name for name in context.inventory_after if name not in at_hand)
    sentences = [f"You carry {carried or 'nothing'}."] if carried or not at_hand else []
    return [*sentences, *map(_visit, request.places)]


def _visit(request: SynthesisRequest) -> str:
    place = _numbered(request.location_name, request.location_id)
    times, episodes = request.visits or (0, 0)
    known = f" You've been there {_times(times, episodes)}." if times > 1 else ""
    since = "any" if times == 1 else "this"
    if request.context.first_visit:
        return f"This is the first visit to {place} in {since} episode.{known}"
    if request.first_stay:
        return f"This is still the first visit to {place} in {since} episode, and not the first turn of it.{known}"
    return f"{place} was visited before in this episode.{known}"


def visits_in_words(times: int, episodes: int) -> str:
    """Return a sentence about the number of visits to a place, including this one."""
    if times <= 1:
        return "This is your first visit here, in any episode."
    return f"You've been here {_times(times, episodes)}."


def _times(times: int, episodes: int) -> str:
    return f"{times} times{f' across {episodes} episodes' if episodes > 1 else ', all in this episode'}"


def move_in_words(move: ObjectMove, request: SynthesisRequest) -> str:
    """Return a sentence about the move of a thing on this turn."""
    turn = request.context
    # In the object tree, the player has the story's name for it ("cretin", "yourself").
    taken = move.name in turn.inventory_after and move.name not in turn.inventory_before
    dropped = move.name in turn.inventory_before and move.name not in turn.inventory_after
    origin = "you" if dropped else _holder(move.origin, move.origin_number, request)
    if (move.destination_number is None or turn.loses_sight_of(move)) and not taken:
        return f"{sentence_case(with_article(_name(move.name)))} disappeared from {origin}."
    destination = "you" if taken else _holder(move.destination, move.destination_number, request)
    return f"{sentence_case(with_article(_name(move.name)))} moved from {origin} to {destination}."


def _holder(name: str, number: int | None, request: SynthesisRequest) -> str:
    if number is None:
        return "nowhere"
    places = (request.location_id, request.context.location_before, request.context.location_after)
    return one_line(_name(name)) if number in places else with_article(_name(name))


def change_in_words(change: AttributeChange) -> str:
    """Return a sentence about the change of a thing."""
    if change.attribute.startswith("attribute "):
        return f"Something about {with_article(_name(change.name))} changed."
    name = sentence_case(with_article(_name(change.name)))
    return f"{name} is {'now' if change.value else 'no longer'} {change.attribute}."


def listed(names: Iterable[str]) -> str:
    """Return the names with articles, separated by commas."""
    return ", ".join(with_article(_name(name)) for name in names)


def _name(name: str) -> str:
    return " ".join(name.replace("`", "'").split())[:_LONGEST_NAME]

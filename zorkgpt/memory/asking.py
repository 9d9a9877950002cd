"""Decide whether the model is asked what a turn teaches, and recognize a question that was answered before."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.models import Memory, MemoryStatus, ZMachineContext, outcome_of
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import recorded_response
from zorkgpt.memory.storage.tables import JudgmentTable
from zorkgpt.memory.synthesis import LONG_RESPONSE, SynthesisRequest, noticed_changes, noticed_moves
from zorkgpt.memory.things import is_ledger_entry

if TYPE_CHECKING:
    from zorkgpt.memory.answers import MemorySynthesisResponse

_HASH_LENGTH = 32
_SHOWN_OF_A_MEMORY = ("title", "text", "category", "persistence", "status", "action", "outcome")


class Trigger(StrEnum):
    """A reason to ask, and the setting that switches it off."""

    SCORE = "score changed", "ask_on_score_change"
    LOCATION = "location changed", "ask_on_move"
    INVENTORY = "inventory changed", "ask_on_inventory_change"
    DEATH = "died", "ask_on_death"
    FIRST_VISIT = "first visit", "ask_on_first_visit"
    LONG_RESPONSE = "long response", "ask_on_long_response"
    OBJECTS = "objects changed", "ask_on_object_change"
    """The action moved, opened, lit or otherwise changed something, be it something without a name; or something was
    lost or moved by itself, and the player could notice."""
    NOTHING_CHANGED = "nothing changed", "ask_on_refusal"
    """The game understood the action, which was meant to do something: a refusal, a dead end, an answer in words."""

    setting: str
    """A key of `[tool.zorkgpt.memory_triggers]`."""

    def __new__(cls, value: str, setting: str) -> "Trigger":
        trigger = str.__new__(cls, value)
        trigger._value_ = value
        trigger.setting = setting
        return trigger


ALL = frozenset(Trigger)

_RULES: dict[Trigger, Callable[[SynthesisRequest, ZMachineContext], bool]] = {
    Trigger.SCORE: lambda turn, truth: bool(truth.score_delta),
    Trigger.LOCATION: lambda turn, truth: truth.location_changed,
    Trigger.INVENTORY: lambda turn, truth: truth.inventory_changed,
    Trigger.DEATH: lambda turn, truth: truth.died,
    Trigger.FIRST_VISIT: lambda turn, truth: truth.first_visit or truth.first_look,
    Trigger.LONG_RESPONSE: lambda turn, truth: (truth.response_length or len(turn.response)) > LONG_RESPONSE,
    Trigger.OBJECTS: lambda turn, truth: truth.acted or truth.unnamed_change or _is_thing_moved_by_itself(turn),
    Trigger.NOTHING_CHANGED: lambda turn, truth: truth.nothing_changed and not truth.refused_by_parser,
}
"""When each holds, given the turn and its ground truth."""

_KNOWN = frozenset({Trigger.LOCATION, Trigger.FIRST_VISIT, Trigger.LONG_RESPONSE, Trigger.NOTHING_CHANGED})
"""Reasons that don't count if the outcome was known: what a walk prints is about the place that it leads to."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """An answer, and the memories that it depends on."""

    answer: "MemorySynthesisResponse"
    memories: frozenset[str]
    """The `fingerprints` of the memories that the model saw and of the lasting ones after the answer."""

    @classmethod
    def of(
        cls, answer: "MemorySynthesisResponse", before: Iterable[Memory], after: Iterable[Memory]
    ) -> "AnsweredQuestion":
        """Return the answer with the memories of the place before and after it was applied."""
        return cls(answer, fingerprints((*before, *(one for one in after if one.persistence.outlives_episode))))

    def holds(self, memories: Iterable[Memory]) -> bool:
        """Return whether everything that was seen or learned with the answer is still believed.

        What the place has learned since doesn't matter.
        """
        return self.memories <= fingerprints(memories)


def should_ask(
    turn: SynthesisRequest,
    *,
    answered: AnsweredQuestion | None = None,
    is_routine: bool = False,
    enabled: frozenset[Trigger] = ALL,
) -> tuple[Trigger, ...]:
    """Return the reasons to ask what a turn teaches, or none if it isn't asked about.

    A death, a change of score and a turn that may settle an unconfirmed memory are asked about each time.

    Args:
        turn: the turn with everything the model would see.
        answered: the same turn, if it was answered before, see `turn_key`.
        is_routine: whether the like of it taught nothing before, see `routine_key` and `look_key`.
        enabled: the reasons that count.
    """
    context = turn.context
    reasons = tuple(trigger for trigger, applies in _RULES.items() if trigger in enabled and applies(turn, context))
    if context.died or context.score_delta or may_settle(turn):
        return reasons
    if is_routine or (answered is not None and answered.holds(turn.believed)):
        return ()
    return tuple(one for one in reasons if one not in _KNOWN) if is_known(turn) else reasons


def may_settle(turn: SynthesisRequest) -> bool:
    """Return whether a memory of the places, or one about a thing that was handled, is unconfirmed."""
    handled = handled_numbers(turn.context)
    return any(one.memory.status == MemoryStatus.TENTATIVE for one in turn.of_places) or any(
        one.memory.status == MemoryStatus.TENTATIVE
        and not handled.isdisjoint(claim.number for claim in one.memory.claims)
        for one in turn.elsewhere
    )


def handled_numbers(context: ZMachineContext) -> set[int]:
    """Return the object numbers of what the action itself moved or changed."""
    moved = {move.number for move in context.moved if not move.by_itself}
    return moved | {change.number for change in context.changed if not change.by_itself}


def _is_thing_moved_by_itself(turn: SynthesisRequest) -> bool:
    """Return whether the player could notice that something moved without its doing, such as a thing that was stolen.

    Creatures come and go by themselves, and don't count.
    """
    context = turn.context
    creatures = {thing.number for thing in context.things if thing.alive}
    creatures |= {claim.number for claim in context.state if claim.relation is Relation.HERE and claim.number}
    return any(move.by_itself and move.number not in creatures for move in noticed_moves(turn))


def is_known(turn: SynthesisRequest) -> bool:
    """Return whether the map or a memory says what came of the action: where a walk leads, or that nothing happens.

    The first look at a place is not known.
    """
    if turn.arrival or turn.context.first_look:
        return False
    return turn.context.known_way or confirmed_memory(turn) is not None


def confirmed_memory(turn: SynthesisRequest) -> Memory | None:
    """Return the memory of this place that says that the action leads where it led, or does nothing, as it did.

    An action that does nothing must have had the same response too, if it is known.
    """
    outcome = outcome_of(turn.context)
    if turn.arrival or not (outcome == "nothing" or outcome.startswith("to ")):
        return None
    response = recorded_response(turn.response)
    for memory in turn.memories:
        is_usual = outcome != "nothing" or turn.responses.get(memory.title, response) == response
        if states_outcome(memory, turn.action, outcome) and is_usual:
            return memory
    return None


def states_outcome(memory: Memory, action: str, outcome: str) -> bool:
    """Return whether a memory says that the action has this outcome."""
    return bool(outcome) and memory.outcome == outcome and folded(memory.action) == folded(action)


def attempt_key(turn: SynthesisRequest) -> str:
    """Return a key that two turns share only if the same action had the same response in the same state."""
    context = turn.context
    state = sorted(claim.short for claim in context.state)
    return _hash([turn.location_id, folded(turn.action), turn.response, state, sorted(context.inventory_before)])


def changes_anything(turn: SynthesisRequest) -> bool:
    """Return whether the turn changed anything that an action's outcome may depend on, beside the player's place."""
    context = turn.context
    changed = context.acted or context.unnamed_change or context.inventory_changed or context.score_delta
    return bool(changed or context.died or noticed_moves(turn) or noticed_changes(turn))


def turn_key(turn: SynthesisRequest, judge: str) -> str:
    """Return a key that two turns share only if `judge` would see the same happen.

    Memories are compared by `AnsweredQuestion`. Turn numbers, counts of visits, what the map knew and the player's
    reasons don't matter.
    """
    context = asdict(turn.context)
    for unseen in ("turn", "moves_before", "moves_after", "known_way"):
        context.pop(unseen)
    seen = {
        "judge": judge,
        "place": turn.location_id,
        "arrival": turn.arrival,
        "action": folded(turn.action),
        "response": turn.response,
        "turn": context,
        "history": [[past.location_name, past.action, past.response] for past in turn.history],
        "first_stay": turn.first_stay,
        "now": [dict(each.now) for each in turn.places],
        "facts": dict(turn.facts),
    }
    return _hash(seen)


def routine_key(turn: SynthesisRequest, judge: str) -> str:
    """Return a key that two turns share only if the same words answered the same kind of change to a thing.

    Taking one thing or another is the same kind of change, and so is putting one or another somewhere. "" if the turn
    may teach more: a walk, a change of score, a death, a change that is not fully known, a long response, or a memory
    about the action or the thing.
    """
    context = turn.context
    handled = handled_numbers(context)
    changes_more = context.location_changed or context.score_delta or context.died or context.unnamed_change
    by_itself = any(move.by_itself for move in noticed_moves(turn)) or any(
        change.by_itself for change in noticed_changes(turn)
    )
    is_remembered = any(
        (memory.action and folded(memory.action) == folded(turn.action))
        or not handled.isdisjoint(claim.number for claim in memory.claims)
        for memory in turn.believed
        if not is_ledger_entry(memory)
    )
    is_long = (context.response_length or len(turn.response)) > LONG_RESPONSE
    if turn.arrival or not context.acted or changes_more or by_itself or is_remembered or is_long:
        return ""
    carried = {thing.number for thing in context.things if thing.carried}
    moves = sorted(
        "taken" if move.number in carried else f"put in {move.destination_number}"
        for move in context.moved
        if not move.by_itself
    )
    changes = sorted((change.attribute, change.value) for change in context.changed if not change.by_itself)
    return _hash(["routine", judge, turn.response, moves, changes])


def look_key(turn: SynthesisRequest, judge: str) -> str:
    """Return a key that two first looks share only if the same words described the same place.

    "" unless the turn is nothing but a first look: an arrival, or a walk along a known way that changed nothing else.
    """
    context = turn.context
    is_walk = context.first_look and context.known_way
    if not (turn.arrival or is_walk) or changes_anything(turn):
        return ""
    return _hash(["look", judge, turn.places[-1].location_id, turn.response])


def fingerprints(memories: Iterable[Memory]) -> frozenset[str]:
    """Return a hash for each memory of what a model sees of it. The ledger of things is part of the turn instead."""
    return frozenset(
        _hash([*(getattr(memory, name) for name in _SHOWN_OF_A_MEMORY), *map(str, memory.when)])
        for memory in memories
        if not is_ledger_entry(memory)
    )


def _hash(seen: object) -> str:
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=str).encode()).hexdigest()[:_HASH_LENGTH]


class Judgments:
    """Answers by the keys of their turns. What one process has asked, no other asks again.

    A failure costs a question.
    """

    def __init__(self, table: JudgmentTable, log: logging.Logger) -> None:
        self._table = table
        self._log = log
        self._failures = 0

    def answer(self, key: str) -> AnsweredQuestion | None:
        """Return the last answer for a turn, or None if there is none or it can't be read."""
        try:
            return _answered(self._table.get(key))
        except MemoryStoreError as error:
            self._fail("judgments not read", error)
            return None

    def keep(self, key: str, answered: AnsweredQuestion) -> None:
        """Remember an answer."""
        answer = answered.answer.model_dump(mode="json", exclude={"reasoning"}, exclude_defaults=True)
        try:
            self._table.put(key, {"answer": answer, "memories": sorted(answered.memories)})
        except MemoryStoreError as error:
            self._fail("judgment not written", error)

    def _fail(self, message: str, error: MemoryStoreError) -> None:
        self._log.log(logging.DEBUG if self._failures else logging.WARNING, message, extra={"reason": str(error)})
        self._failures += 1


def _answered(kept: Any) -> AnsweredQuestion | None:
    from pydantic import ValidationError

    from zorkgpt.memory.answers import MemorySynthesisResponse

    match kept:
        case {"answer": answer, "memories": [*memories]}:
            try:
                return AnsweredQuestion(MemorySynthesisResponse.model_validate(answer), frozenset(map(str, memories)))
            except ValidationError:
                return None
    return None

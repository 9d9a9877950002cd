"""Whether to ask what a turn teaches, and reuse of earlier answers."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.models import NO_EFFECT, Memory, MemoryStatus, ZMachineContext, destination_in, outcome_of
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import recorded_response
from zorkgpt.memory.storage.tables import AnswerTable
from zorkgpt.memory.synthesis import LONG_RESPONSE, SynthesisRequest, noticed_changes, noticed_moves
from zorkgpt.memory.things import is_ledger_entry

if TYPE_CHECKING:
    from zorkgpt.memory.answers import MemorySynthesisResponse

_HASH_LENGTH = 32
_SHOWN_OF_A_MEMORY = ("title", "text", "category", "persistence", "status", "action", "outcome")


class Trigger(StrEnum):
    """A reason to ask."""

    SCORE = "score changed"
    LOCATION = "location changed"
    INVENTORY = "inventory changed"
    DEATH = "died"
    FIRST_VISIT = "first visit"
    LONG_RESPONSE = "long response"
    OBJECTS = "objects changed"
    """The action changed an object, with or without a name, or a thing visibly moved by itself."""
    NOTHING_CHANGED = "nothing changed"
    """The game understood the action, but nothing changed: a refusal, a dead end, an answer in words."""


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
"""The condition of each trigger, given the turn and its ground truth."""

_NOT_IF_KNOWN = frozenset({Trigger.LOCATION, Trigger.FIRST_VISIT, Trigger.LONG_RESPONSE, Trigger.NOTHING_CHANGED})
"""Reasons that don't count if the outcome was already known."""


def should_ask(turn: SynthesisRequest, *, is_answered: bool = False) -> tuple[Trigger, ...]:
    """Return the reasons to ask what a turn teaches. Empty if there is no need to ask.

    Deaths, score changes and turns that may settle an unconfirmed memory always need a question.

    Args:
        turn: The turn with everything the model would see.
        is_answered: Whether an earlier answer applies. See `AnswerCache`.
    """
    context = turn.context
    reasons = tuple(trigger for trigger, applies in _RULES.items() if applies(turn, context))
    if context.died or context.score_delta or may_settle(turn):
        return reasons
    if is_answered:
        return ()
    if is_known(turn):
        return tuple(reason for reason in reasons if reason not in _NOT_IF_KNOWN)
    return reasons


def may_settle(turn: SynthesisRequest) -> bool:
    """Return whether a memory of the places, or one about a thing that was handled, is unconfirmed."""
    handled = handled_numbers(turn.context)
    return any(located.memory.status == MemoryStatus.TENTATIVE for located in turn.of_places) or any(
        located.memory.status == MemoryStatus.TENTATIVE
        and not handled.isdisjoint(claim.number for claim in located.memory.claims)
        for located in turn.elsewhere
    )


def handled_numbers(context: ZMachineContext) -> set[int]:
    """Return the numbers of the objects that the action itself moved or changed."""
    moved = {move.number for move in context.moved if not move.by_itself}
    return moved | {change.number for change in context.changed if not change.by_itself}


def _is_thing_moved_by_itself(turn: SynthesisRequest) -> bool:
    """Return whether a thing visibly moved by itself, such as a stolen one. Creatures don't count."""
    context = turn.context
    creatures = {thing.number for thing in context.things if thing.alive}
    creatures |= {claim.number for claim in context.state if claim.relation is Relation.HERE and claim.number}
    return any(move.by_itself and move.number not in creatures for move in noticed_moves(turn))


def is_known(turn: SynthesisRequest) -> bool:
    """Return whether the map or a memory already states the outcome: the destination of a walk, or no effect.

    The first look at a place is never known.
    """
    if turn.arrival or turn.context.first_look:
        return False
    return turn.context.known_way or confirmed_memory(turn) is not None


def confirmed_memory(turn: SynthesisRequest) -> Memory | None:
    """Return the memory of this place that states the turn's destination, or that the action has no effect.

    For an action without effect, the response must be the same too, if it is known. None if there is no such memory.
    """
    outcome = outcome_of(turn.context)
    if turn.arrival or (outcome != NO_EFFECT and destination_in(outcome) is None):
        return None
    response = recorded_response(turn.response)
    for memory in turn.memories:
        is_usual = outcome != NO_EFFECT or turn.responses.get(memory.title, response) == response
        if states_outcome(memory, turn.action, outcome) and is_usual:
            return memory
    return None


def states_outcome(memory: Memory, action: str, outcome: str) -> bool:
    """Return whether a memory states that the action has this outcome."""
    return bool(outcome) and memory.outcome == outcome and folded(memory.action) == folded(action)


def state_key(turn: SynthesisRequest) -> str:
    """Return a key that is equal only for turns with the same state before the action."""
    context = turn.context
    return _hash([sorted(claim.short for claim in context.state), sorted(context.inventory_before)])


def changes_anything(turn: SynthesisRequest) -> bool:
    """Return whether the turn changed anything except the player's location."""
    return turn.context.had_effect or bool(noticed_moves(turn) or noticed_changes(turn))


def turn_key(turn: SynthesisRequest, judge: str) -> str:
    """Return a key that is equal only for turns that look the same to `judge`.

    Memories are compared by `AnswerCache`. Turn numbers, visit counts, the map and the player's reasoning are
    ignored.
    """
    context = _fields(turn.context)
    for ignored in ("turn", "moves_before", "moves_after", "known_way"):
        del context[ignored]
    values = {
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
    return _hash(values)


def routine_key(turn: SynthesisRequest, judge: str) -> str:
    """Return a key that is equal only for turns with the same response to the same kind of change to a thing.

    Taking two different things is the same kind of change, and so is putting them somewhere. Returns "" if the turn may
    teach more: a walk, a score change, a death, an incompletely known change, a long response, or a memory about the
    action or the thing.
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
    """Return a key that is equal only for first looks with the same description of the same place.

    Returns "" unless the turn is only a first look: an arrival, or a walk along a known way that changed nothing else.
    """
    context = turn.context
    is_walk = context.first_look and context.known_way
    if not (turn.arrival or is_walk) or changes_anything(turn):
        return ""
    return _hash(["look", judge, turn.places[-1].location_id, turn.response])


def fingerprints(memories: Iterable[Memory]) -> frozenset[str]:
    """Return a hash of the fields that the model sees for each memory. Entries of the ledger are omitted."""
    return frozenset(
        _hash([*(getattr(memory, name) for name in _SHOWN_OF_A_MEMORY), *map(str, memory.when)])
        for memory in memories
        if not is_ledger_entry(memory)
    )


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=lambda each: _fields(each) if is_dataclass(each) else str(each))
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, which `asdict` would also copy."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


class AnswerCache:
    """Answers by the keys of their turns, shared by all processes. Read and write errors are logged and ignored.

    An answer applies as long as all memories that it depends on are believed. Further memories don't matter.

    Args:
        judge: The name of what answers.
    """

    def __init__(self, table: AnswerTable, judge: str, log: logging.Logger) -> None:
        self._table = table
        self._judge = judge
        self._log = log
        self._has_failed = False

    def same(self, turn: SynthesisRequest) -> "MemorySynthesisResponse | None":
        """Return the last answer for the same turn. None if none applies or it can't be read."""
        return self._read(turn_key(turn, self._judge), turn)

    def similar(self, turn: SynthesisRequest) -> "MemorySynthesisResponse | None":
        """Return the last answer for a similar turn, which taught nothing else. None as for `same`."""
        key = routine_key(turn, self._judge) or look_key(turn, self._judge)
        return self._read(key, turn) if key else None

    def keep(
        self, turn: SynthesisRequest, answer: "MemorySynthesisResponse", after: Sequence[Sequence[Memory]]
    ) -> None:
        """Store an answer for the same turn and for similar ones.

        Args:
            after: The current memories of each of the turn's places after the answer was applied.
        """
        self._write(turn_key(turn, self._judge), answer, (*turn.believed, *filter(_is_lasting, chain(*after))))
        taught = answer.facts() or answer.confirm_memory_titles or answer.invalidate_memory_titles
        if (key := routine_key(turn, self._judge)) and not taught:
            self._write(key, answer, ())
        if key := look_key(turn, self._judge):
            self._write(key, answer, filter(_is_lasting, after[-1]))

    def _read(self, key: str, turn: SynthesisRequest) -> "MemorySynthesisResponse | None":
        from zorkgpt.memory.answers import MemorySynthesisResponse

        try:
            stored: Any = self._table.get(key)
            answer = MemorySynthesisResponse.model_validate(stored["answer"])
            return answer if fingerprints(turn.believed).issuperset(stored["memories"]) else None
        except MemoryStoreError as error:
            self._fail("answers not read", error)
        except (KeyError, TypeError, ValueError):
            # There is none, or it is not valid.
            pass
        return None

    def _write(self, key: str, answer: "MemorySynthesisResponse", memories: Iterable[Memory]) -> None:
        content = answer.model_dump(mode="json", exclude={"reasoning"}, exclude_defaults=True)
        try:
            self._table.put(key, {"answer": content, "memories": sorted(fingerprints(memories))})
        except MemoryStoreError as error:
            self._fail("answer not written", error)

    def _fail(self, message: str, error: MemoryStoreError) -> None:
        self._log.log(logging.DEBUG if self._has_failed else logging.WARNING, message, extra={"reason": str(error)})
        self._has_failed = True


def _is_lasting(memory: Memory) -> bool:
    return memory.persistence.outlives_episode

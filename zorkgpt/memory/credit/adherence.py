"""Adherence: whether an action followed a memory, and whether its outcome bears the memory out; decided strictly.

A memory is credited or blamed for an outcome only if its field `action` is the action taken, and the Z-machine's facts
leave no doubt about the outcome. In all other cases nothing is counted.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from zorkgpt.memory.claims import Relation, holds
from zorkgpt.memory.entailment import lexicon
from zorkgpt.memory.losses import LossCause, LossKind, loss_in
from zorkgpt.memory.models import Category, Memory, SubjectKey, Thing, ZMachineContext, outcome_of
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.text import SHORT_DIRECTIONS


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DIRECTIONS = frozenset(SHORT_DIRECTIONS.values()) | {"in", "out"}
_GOING = _words("go goes going went walk walks walking head heads heading travel run climb climbs climbing")
_SAME_VERB = {"get": "take", "grab": "take", "x": "examine", "l": "look", "shut": "close"}
# With these the verb means another action: "turn on" and "turn off", "look under".
_PARTICLES = _words("on off up down in out into under behind through over inside around across")
_DROPPED = lexicon.ARTICLES | _words("this that these those my your it them to with from at of and then")
PROMISING = ("SUCCESS", "DISCOVERY")
"""Categories that promise that an action does something."""
GO = "go"
"""The verb of a plain direction."""


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action in normal form."""

    verb: str
    """`GO` for a plain direction."""
    nouns: tuple[str, ...] = ()
    particles: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def parse_action(action: str) -> ParsedAction | None:
    """Parse a command; None where it has neither a noun nor a direction, as "wait" or "look"."""
    words = [word for word in words_of(action) if word not in _DROPPED]
    if not words:
        return None
    verb, rest = words[0], words[1:]
    verb = SHORT_DIRECTIONS.get(verb, verb)
    if verb in _DIRECTIONS and not rest:
        return ParsedAction(GO, (verb,))
    if verb in _GOING and len(rest) == 1 and SHORT_DIRECTIONS.get(rest[0], rest[0]) in _DIRECTIONS:
        return ParsedAction(GO, (SHORT_DIRECTIONS.get(rest[0], rest[0]),))
    if verb == "pick" and "up" in rest:
        verb, rest = "take", [word for word in rest if word != "up"]
    nouns = tuple(word for word in rest if word not in _PARTICLES)
    if not nouns:
        return None
    return ParsedAction(_SAME_VERB.get(verb, verb), nouns, frozenset(rest) & _PARTICLES)


def outcome_matches(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome of an action matches a memory. None if the outcome says nothing about the memory.

    A memory is about the command in its field `action`. It promises the outcome in its field `outcome`. Without one,
    its category decides: SUCCESS and DISCOVERY promise an effect, FAILURE no effect or death, DANGER death, and NOTE
    nothing. A memory with conditions (`when`) promises nothing for other states.
    """
    if not memory.action or not is_same_action(memory.action, action):
        return None
    if any(holds(claim, turn.state) is not True for claim in memory.when):
        return None
    if turn.died and turn.loss is not None and turn.loss.cause in (LossCause.PLACE, LossCause.CLOCK):
        return None
    return _as_kept(memory.outcome, turn) if memory.outcome else _as_category(memory.category, action, turn)


def is_same_action(one: str, other: str) -> bool:
    """Return whether two commands are the same action."""
    parsed = parse_action(one)
    return folded(one) == folded(other) or (parsed is not None and parsed == parse_action(other))


def _as_kept(outcome: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome is the same as before. None if it is unknown."""
    now = outcome_of(turn)
    if outcome == "died" or outcome.startswith("to "):
        return now == outcome
    if now == "died":
        # Unless it is known, the player may have died before the action had any effect.
        return None if turn.loss is None or turn.loss.cause is None else False
    if not now:
        return None
    return (now == "nothing") == (outcome == "nothing")


def recurred(subject: SubjectKey, memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the loss that a memory tells of came again. None if the turn was no occasion for it.

    The occasion is the same action at the place; the turn that a clock ends at; a turn with the creature; for a danger
    of the place, leaving it.
    """
    known = loss_in(memory.outcome)
    if known is None:
        return None
    kind, clock = known
    loss = turn.loss
    lost = turn.died if kind is LossKind.DEATH else loss is not None and loss.kind is kind
    cause = loss.cause if loss is not None else None
    conditions = (*memory.when, *(claim for claim in memory.claims if claim.relation is Relation.DARK))
    if any(holds(claim, turn.state) is not True for claim in conditions):
        return None
    if memory.action:
        is_cause = cause not in (LossCause.PLACE, LossCause.CLOCK)
        is_occasion = is_same_action(memory.action, action)
    elif clock is not None:
        is_cause = cause is LossCause.CLOCK
        began, ended = turn.moves_before, turn.moves_after
        is_occasion = began is not None and ended is not None and began < clock <= ended
        is_occasion = is_occasion or (lost and loss is not None and loss.clock == clock)
    elif isinstance(subject, Thing):
        is_cause = cause is LossCause.CREATURE and loss is not None and loss.creature == subject.number
        is_occasion = subject in things_met(turn)
    else:
        is_cause = cause is LossCause.PLACE
        is_occasion = turn.location_changed or lost
    if not is_occasion:
        return None
    if lost:
        return True if is_cause else None
    return None if turn.died else False


def things_met(turn: ZMachineContext) -> tuple[Thing, ...]:
    """Return the creatures that were there when the action was taken, and the one that caused a loss."""
    there = [claim.number for claim in turn.state if claim.relation is Relation.HERE]
    cause = turn.loss.creature if turn.loss is not None else None
    return tuple(Thing(number) for number in dict.fromkeys((*there, cause)) if number is not None)


def outcome_in_words(turn: ZMachineContext) -> str:
    """Describe what came of an action, by the ground truth."""
    found = ["died"] if turn.died else []
    if turn.location_changed:
        found.append(f"came to {turn.destination_name or turn.location_after}")
    if turn.score_delta:
        found.append(f"score {turn.score_delta:+d}")
    moved = [move for move in turn.moved if not move.by_itself][:3]
    changed = [change for change in turn.changed if not change.by_itself][:3]
    found += [f"{move.name}: {move.origin} → {move.destination}" for move in moved]
    found += [f"{change.name}: {'' if change.value else 'not '}{change.attribute}" for change in changed]
    if turn.inventory_changed and not moved:
        found.append("inventory changed")
    return "; ".join(found) or ("nothing changed" if turn.nothing_changed else "nothing to see")


def _as_category(category: str, action: str, turn: ZMachineContext) -> bool | None:
    did = _did_something(action, turn)
    if category in PROMISING:
        return False if turn.died else did
    if category == Category.FAILURE:
        return True if turn.died else None if did is None else not did
    if category == Category.DANGER:
        return True if turn.died else None if did is None else False
    return None


def _did_something(action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the action had an effect, other than what happens by itself; None: nobody can tell."""
    parsed = parse_action(action)
    if parsed is not None and parsed.verb == GO:
        return turn.location_changed
    outcome = outcome_of(turn)
    return None if not outcome else outcome != "nothing"

"""The Z-machine's account of a turn in words, and what it hints at."""

from collections import Counter
from functools import lru_cache

from zorkgpt.memory.claims import Relation
from zorkgpt.memory.learning.synthesis import SynthesisRequest
from zorkgpt.memory.learning.triggers import LONG_RESPONSE
from zorkgpt.memory.models import AttributeChanged, ObjectMoved, ThingAtHand, ZMachineContext

_PLACING = {"drop", "give", "hang", "hide", "insert", "lay", "leave", "place", "pour", "put", "set", "throw"}
_LONGEST_NAME = 60
_PUNCTUATION = ".,;:!?\"'()"
_BOOKKEEPING = {"visited", "moved", "workflag"}
"""Attributes that games keep for themselves: that they were set says nothing about the world."""


def facts_in_words(request: SynthesisRequest) -> list[str]:
    """What the Z-machine says of the turn, a sentence each. Object names are the story's, cut to one short line.

    Of the object tree only what the player can have noticed: creatures wander about in other rooms too.
    """
    turn = request.context
    # What an action scored and brought belongs to the place where it was taken.
    facts = [_place(request)] if request.arrival else [_score(turn), _place(request), *_inventory(turn)]
    moved, changed = noticed_moves(request), noticed_changes(request)
    facts += [_moved(move, turn) for move in moved]
    facts += dict.fromkeys(_changed(change) for change in changed)
    if turn.nothing_changed:
        facts.append("Nothing in the world changed: not the place, the score, what you carry, nor anything else.")
    elif turn.unnamed_change and not (moved or changed):
        facts.append("No object that can be named changed; that does not mean that nothing happened.")
    if turn.died:
        facts.append("You died on this turn.")
    if turn.died_anyway:
        facts.append("Doing nothing would have come to the same end: it was not the command that killed you.")
    return facts


def things_in_words(request: SynthesisRequest) -> list[str]:
    """What is at hand after the turn, a line each: number, name, where it is and in which state."""
    return [_thing(thing) for thing in request.context.things]


def _thing(thing: ThingAtHand) -> str:
    told = [claim for claim in thing.claims() if claim.relation is not Relation.HERE]
    words = [
        f'{claim.relation.value} {claim.other} "{_name(claim.other_name)}"' if claim.other else claim.relation.value
        for claim in told
    ]
    if thing.left_behind:
        words.append("left behind")
    return f'{thing.number} "{_name(thing.name)}"' + (f": {', '.join(words)}" if words else "")


def noticed_moves(request: SynthesisRequest) -> list[ObjectMoved]:
    """The objects that came or went at the player's place or hands, or that the text speaks of."""
    turn = request.context
    held = {*turn.inventory_before, *turn.inventory_after}
    return [
        move for move in turn.moved if _in_sight(move, request) or move.name in held or _spoken_of(move.name, request)
    ]


def _in_sight(move: ObjectMoved, request: SynthesisRequest) -> bool:
    turn = request.context
    # A player that has left a place sees no more of it, and of the next one not what was gone when it came.
    if turn.location_changed:
        return move.destination_number is not None and move.destination_number == turn.location_after
    places = {turn.location_before, request.location_id} - {None}
    return not places.isdisjoint((move.origin_number, move.destination_number))


def noticed_changes(request: SynthesisRequest) -> list[AttributeChanged]:
    """The changes of what the player holds, or that the text speaks of."""
    turn = request.context
    held = {*turn.inventory_before, *turn.inventory_after}
    return [
        change
        for change in turn.changed
        if change.attribute not in _BOOKKEEPING and (change.name in held or _spoken_of(change.name, request))
    ]


def _spoken_of(name: str, request: SynthesisRequest) -> bool:
    words = name.lower().split()
    return bool(words) and words[-1].strip(_PUNCTUATION) in _said(request.action, request.response)


# A turn moves and changes several things, and is looked at more than once.
@lru_cache(maxsize=16)
def _said(action: str, response: str) -> frozenset[str]:
    return frozenset(word.strip(_PUNCTUATION) for word in f"{action} {response}".lower().split())


def signals(request: SynthesisRequest) -> list[str]:
    """Hints at how long what this turn teaches stays true."""
    turn = request.context
    verb, *_ = [*request.action.lower().split(), ""]
    long = (turn.response_length or len(request.response)) > LONG_RESPONSE
    moved = noticed_moves(request)
    names = _listed([move.name for move in moved])
    # The outcome of an action is judged at its source, not where it led to.
    acted = not request.arrival
    hints = {
        # What an action prints that leads elsewhere is about the place it leads to.
        "The first look at this place in this episode, and much to read: what is simply there is likely core.": (
            turn.first_visit and long and (request.arrival or not turn.location_changed)
        ),
        "Not the first look at this place in this episode: core is ruled out.": not turn.first_visit,
        f"The object tree says that {names} moved: where that is now is ephemeral.": bool(moved),
        "What you carry changed without a change of place: what you did to it is likely ephemeral.": (
            acted and turn.inventory_changed and not turn.location_changed
        ),
        "The command puts something somewhere: where it lies now is likely ephemeral.": acted and verb in _PLACING,
        "The score rose: how that was done is permanent, whatever things it names.": acted and turn.score_delta > 0,
        "The game did not do it: that this does not work here is likely permanent.": acted and turn.nothing_changed,
        "You died: the danger is permanent, and memories that promised safety here are disproved.": turn.died,
    }
    return [hint for hint, holds in hints.items() if holds]


def _score(turn: ZMachineContext) -> str:
    if not turn.score_delta:
        return "The score did not change."
    change = f"The score {'rose' if turn.score_delta > 0 else 'fell'} by {abs(turn.score_delta)}"
    known = turn.score_before is not None and turn.score_after is not None
    return f"{change}, from {turn.score_before} to {turn.score_after}." if known else f"{change}."


def _place(request: SynthesisRequest) -> str:
    turn, here = request.context, _name(request.location_name)
    if request.arrival and not request.action:
        return f"The game begins here, in the {here} (location {request.location_id})."
    if request.arrival:
        return f"The command was given elsewhere and brought you here, to the {here} (location {request.location_id})."
    if not turn.location_changed:
        return f"You were in the {here} (location {request.location_id}) and stayed there."
    there = f"the {_name(turn.destination_name)}" if turn.destination_name else "another place"
    number = f" (location {turn.location_after})" if turn.location_after is not None else ""
    return f"You went from the {here} (location {request.location_id}) to {there}{number}."


def _inventory(turn: ZMachineContext) -> list[str]:
    before, after = Counter(turn.inventory_before), Counter(turn.inventory_after)
    gained, lost = list((after - before).elements()), list((before - after).elements())
    facts = []
    if gained:
        facts.append(f"You now carry {_listed(gained)}.")
    if lost:
        facts.append(f"You no longer carry {_listed(lost)}.")
    return facts


def _moved(move: ObjectMoved, turn: ZMachineContext) -> str:
    # The tree names the player by the story's own word for it ("cretin", "yourself").
    taken = move.name in turn.inventory_after and move.name not in turn.inventory_before
    dropped = move.name in turn.inventory_before and move.name not in turn.inventory_after
    origin = "you" if dropped else _holder(move.origin, move.origin_number)
    destination = "you" if taken else _holder(move.destination, move.destination_number)
    return f"The {_name(move.name)} moved from {origin} to {destination}."


def _holder(name: str, number: int | None) -> str:
    return "nowhere" if number is None else f"the {_name(name)}"


def _changed(change: AttributeChanged) -> str:
    if change.attribute.startswith("attribute "):
        return f"Something about the {_name(change.name)} changed."
    return f"The {_name(change.name)} is {'now' if change.value else 'no longer'} {change.attribute}."


def _listed(names: list[str]) -> str:
    return ", ".join(f"the {_name(name)}" for name in names)


def _name(name: str) -> str:
    return " ".join(name.replace("`", "'").split())[:_LONGEST_NAME]

"""Translate what the game tells of a turn, or of the whole world, into the values that the memory takes."""

from collections.abc import Sequence
from dataclasses import replace

from game_interface.game import Game
from game_interface.models import AttributeChange, Item, ObjectMove, Observation, ThingState, Transition
from session.outcome import failed, is_passive
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import AttributeChanged, ObjectMoved, ThingAtHand, ZMachineContext
from zorkgpt.memory.upkeep.audit import Thing

_STATES = {"open": ("closed", "open"), "locked": ("unlocked", "locked"), "on": ("unlit", "lit")}
"""Attribute → the state of a thing without it and with it."""


def ground_truth(
    step: Transition,
    *,
    turn: int,
    first_visit: bool,
    before: Sequence[ThingState] = (),
    after: Sequence[ThingState] = (),
    known_way: bool = False,
    failed_before: bool = False,
) -> ZMachineContext:
    """Return the ground truth of a turn.

    Args:
        turn: its number in the episode.
        first_visit: whether the location that it will be stored at is visited for the first time, see
            `SimpleMemoryManager.is_first_visit`.
        before: the things at hand before the action.
        after: the things at hand now.
        known_way: the action is a walk, and the map or the text of the place knew of this way.
        failed_before: the action is a walk that led nowhere when it was last tried.
    """
    was, now = step.before, step.after
    source, destination = was.location, now.location
    return ZMachineContext(
        score_before=was.score,
        score_after=now.score,
        score_delta=0 if was.score is None or now.score is None else now.score - was.score,
        location_before=source.num if source else None,
        location_after=destination.num if destination else None,
        location_changed=source != destination,
        inventory_before=_names(was.inventory),
        inventory_after=_names(now.inventory),
        inventory_changed=was.inventory != now.inventory,
        died=step.died,
        died_anyway=step.died_anyway,
        first_visit=first_visit,
        response_length=len(step.response),
        turn=turn,
        destination_name=destination.name if destination else "",
        nothing_changed=failed(step),
        fell_short=step.fell_short,
        unnamed_change=step.unnamed_change and not is_passive(step.action),
        moved=tuple(_moved(move) for move in step.moved),
        changed=tuple(_changed(change) for change in step.changed),
        things=_things(step, before, after),
        # Whoever sits in something may see no more than what is in it.
        all_in_sight=now.visible is not None and not now.dark and now.vehicle is None,
        state=_state(before, was),
        known_way=known_way,
        failed_before=failed_before,
    )


def audited_things(game: Game) -> tuple[Thing, ...]:
    """Return every object of the world as it is now, for the audit of the memory."""
    return tuple(
        Thing(
            placed.item.num,
            placed.item.name,
            placed.room.num if placed.room else None,
            placed.room.name if placed.room else "",
            placed.holder,
            placed.movable,
            placed.states,
        )
        for placed in game.all_objects()
    )


def _names(items: tuple[Item, ...] | None) -> tuple[str, ...]:
    return tuple(item.name for item in items or ())


def _moved(move: ObjectMove) -> ObjectMoved:
    origin, destination = move.origin, move.destination
    return ObjectMoved(
        number=move.item.num,
        name=move.item.name,
        origin_number=origin.num if origin else None,
        origin=origin.name if origin else "nowhere",
        destination_number=destination.num if destination else None,
        destination=destination.name if destination else "nowhere",
        by_itself=move.by_itself,
    )


def _changed(change: AttributeChange) -> AttributeChanged:
    return AttributeChanged(change.item.num, change.item.name, change.attribute, change.value, change.by_itself)


def _thing(thing: ThingState) -> ThingAtHand:
    item, holder = thing.item, thing.holder
    return ThingAtHand(
        item.num,
        item.name,
        holder.num if holder else None,
        holder.name if holder else "",
        thing.on_top,
        thing.carried,
        thing.fixed,
        thing.alive,
        thing.states,
    )


def _things(step: Transition, before: Sequence[ThingState], after: Sequence[ThingState]) -> tuple[ThingAtHand, ...]:
    """Return the things at hand now, and those that were at hand before and stayed behind, in their current state."""
    was, now = ({thing.item.num: thing for thing in things} for things in (before, after))
    moved = {move.item.num for move in step.moved}
    left_behind = step.before.location != step.after.location

    def is_elsewhere(thing: ThingState | None) -> bool:
        """Return whether it was moved, itself or with what holds it."""
        while thing is not None:
            holder = thing.holder.num if thing.holder else None
            if not moved.isdisjoint((thing.item.num, holder)):
                return True
            thing = was.get(holder) if holder is not None else None
        return False

    found = []
    for number, thing in (was | now).items():
        if number in now:
            found.append(_thing(thing))
        elif not is_elsewhere(thing):
            found.append(replace(_thing(_as_changed(thing, step.changed)), left_behind=left_behind))
    return tuple(found)


def _as_changed(thing: ThingState, changes: Sequence[AttributeChange]) -> ThingState:
    states = thing.states
    for change in changes:
        pair = _STATES.get(change.attribute)
        if pair is not None and change.item.num == thing.item.num:
            states = tuple(pair[change.value] if state in pair else state for state in states)
    return replace(thing, states=states)


def _state(things: Sequence[ThingState], was: Observation) -> tuple[Claim, ...]:
    """Return the states of the things at hand that an action's outcome may depend on."""
    found = [Claim(Relation.DARK)] if was.dark else []
    for thing in things:
        states = [*(["carried"] if thing.carried else []), *thing.states]
        found += [Claim(Relation(state), thing.item.num, thing.item.name) for state in states]
    return (*found, *(Claim(Relation.HERE, being.num, being.name) for being in was.creatures or ()))

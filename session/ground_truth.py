"""Build the ground truth of a turn for the memory from what the game reports."""

from collections.abc import Sequence
from dataclasses import replace

from game_interface.models import Item, Observation, Transition
from session.outcome import failed, is_passive, refused_by_parser
from zorkgpt.memory.claims import STATES, Claim, Relation
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ThingState


def ground_truth(
    step: Transition,
    *,
    turn: int,
    first_visit: bool,
    first_look: bool = False,
    before: Sequence[ThingState] = (),
    after: Sequence[ThingState] = (),
    known_way: bool = False,
    failed_before: bool = False,
) -> ZMachineContext:
    """Return the ground truth of a turn.

    Args:
        turn: The number of the turn in the episode.
        first_visit: Whether this is the episode's first visit to the location of the memory.
        first_look: Whether the response describes the action's destination on the episode's first visit to it.
        before: The visible and carried things before the action.
        after: The same after the action.
        known_way: Whether the action is a walk, and the map or the text of the place showed this exit.
        failed_before: Whether the action is a walk that led nowhere when it was last tried.
    """
    was, now = step.before, step.after
    source, destination = was.location, now.location
    return ZMachineContext(
        score_before=was.score,
        score_after=now.score,
        score_delta=step.points,
        location_before=source.num if source else None,
        location_after=destination.num if destination else None,
        location_changed=source != destination,
        inventory_before=_names(was.inventory),
        inventory_after=_names(now.inventory),
        inventory_changed=was.inventory != now.inventory,
        died=step.died,
        loss=step.loss,
        moves_before=was.moves,
        moves_after=now.moves,
        first_visit=first_visit,
        first_look=first_look,
        response_length=len(step.response),
        turn=turn,
        destination_name=destination.name if destination else "",
        nothing_changed=failed(step),
        refused_by_parser=refused_by_parser(step),
        fell_short=step.fell_short,
        unnamed_change=step.unnamed_change and not is_passive(step.action),
        moved=step.moved,
        changed=step.changed,
        things=_things(step, before, after),
        # In a vehicle, the player may see only its content.
        all_in_sight=now.visible is not None and not now.dark and now.vehicle is None,
        state=_state(before, was),
        known_way=known_way,
        failed_before=failed_before,
    )


def _names(items: tuple[Item, ...] | None) -> tuple[str, ...]:
    return tuple(item.name for item in items or ())


def _things(step: Transition, before: Sequence[ThingState], after: Sequence[ThingState]) -> tuple[ThingState, ...]:
    """Return the visible and carried things, and those that went out of sight, in their current state."""
    was, now = ({thing.number: thing for thing in things} for things in (before, after))
    moved = {move.number for move in step.moved}

    def was_moved(thing: ThingState | None) -> bool:
        """Return whether the thing or one of its holders was moved."""
        while thing is not None:
            if not moved.isdisjoint((thing.number, thing.holder_number)):
                return True
            thing = was.get(thing.holder_number) if thing.holder_number is not None else None
        return False

    current = []
    for number, thing in (was | now).items():
        if number in now:
            current.append(thing)
        elif not was_moved(thing):
            current.append(replace(_as_changed(thing, step.changed), out_of_sight=True))
    return tuple(current)


def _as_changed(thing: ThingState, changes: Sequence[AttributeChange]) -> ThingState:
    states = thing.states
    for change in changes:
        pair = STATES.get(change.attribute)
        if pair is not None and change.number == thing.number:
            states = tuple(pair[change.value] if state in pair else state for state in states)
    return replace(thing, states=states)


def _state(things: Sequence[ThingState], was: Observation) -> tuple[Claim, ...]:
    """Return the state before an action, on which its outcome may depend."""
    claims = [Claim(Relation.DARK)] if was.dark else []
    for thing in things:
        states = [*(["carried"] if thing.carried else []), *thing.states]
        claims += [Claim(Relation(state), thing.number, thing.name) for state in states]
    return (*claims, *(Claim(Relation.HERE, creature.num, creature.name) for creature in was.creatures or ()))

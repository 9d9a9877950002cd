"""The Z-machine's account of a turn, in the words of the memory."""

from game_interface.models import AttributeChange, Item, ObjectMove, Transition
from session.outcome import failed, is_passive
from zorkgpt.memory.models import AttributeChanged, ObjectMoved, ZMachineContext


def ground_truth(step: Transition, *, turn: int, first_visit: bool) -> ZMachineContext:
    """What is certain of a turn.

    Args:
        turn: its number in the episode.
        first_visit: of the place that it will be kept at, see `SimpleMemoryManager.is_first_visit`.
    """
    before, after = step.before, step.after
    source, destination = before.location, after.location
    known = before.score is not None and after.score is not None
    return ZMachineContext(
        score_before=before.score,
        score_after=after.score,
        score_delta=after.score - before.score if known else 0,
        location_before=source.num if source else None,
        location_after=destination.num if destination else None,
        location_changed=source != destination,
        inventory_before=_names(before.inventory),
        inventory_after=_names(after.inventory),
        inventory_changed=before.inventory != after.inventory,
        died=step.died,
        first_visit=first_visit,
        response_length=len(step.response),
        turn=turn,
        destination_name=destination.name if destination else "",
        nothing_changed=failed(step),
        unnamed_change=step.unnamed_change and not is_passive(step.action),
        moved=tuple(_moved(move) for move in step.moved),
        changed=tuple(_changed(change) for change in step.changed),
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

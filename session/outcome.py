"""The effect of an action, according to the Z-machine."""

import re
from collections.abc import Iterator

from game_interface.models import Item, Observation, Transition
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.memory.claims import STATES

# Verbs that are not meant to change anything, so an unchanged world is not a failure.
_LOOKING = {"look", "l", "examine", "x", "inspect", "describe", "read", "search", "inventory", "i", "inv"}
_SENSING = {"listen", "smell", "sniff", "taste", "touch", "feel", "score", "diagnose", "time", "think"}
_WAITING = {"wait", "z"}
_PASSIVE = _LOOKING | _SENSING | _WAITING


_WORD = re.compile(r"[^\W_]+")


def destroyed(step: Transition) -> bool:
    """Return whether the action removed a visible or carried object from the world."""
    before = step.before
    near = {item.num for item in before.at_hand}
    return any(move.destination_number is None and not move.by_itself and move.number in near for move in step.moved)


def visible_outcome(step: Transition) -> tuple[str, ...]:
    """Return the changes that the player could see, as short phrases: "score +5", "lamp: lit".

    Changes of the inventory are always included. Other things are included if the action itself changed them, and they
    were visible or named by the action or the response.
    """
    return tuple(_outcome(step))


def _outcome(step: Transition) -> Iterator[str]:
    was, now = step.before, step.after
    if step.points:
        yield f"score {step.points:+}"
    if was.inventory is not None and now.inventory is not None:
        held_before = {item.num: item for item in was.inventory}
        held_after = {item.num: item for item in now.inventory}
        yield from (f"got {item.name}" for number, item in held_after.items() if number not in held_before)
        yield from (_lost(item, now) for number, item in held_before.items() if number not in held_after)
    yield from _seen_changes(step)
    if step.died:
        yield "you died"


def _lost(item: Item, now: Observation) -> str:
    near = {each.num: each for each in now.at_hand}
    if item.num not in near:
        return f"lost {item.name}"
    holder = near.get(near[item.num].parent)
    return f"{item.name}: now at {holder.name}" if holder else f"{item.name}: no longer carried"


def _seen_changes(step: Transition) -> Iterator[str]:
    before, after = ({item.num for item in state.at_hand} for state in (step.before, step.after))
    held = {item.num for state in (step.before, step.after) for item in state.inventory or ()}
    named = {word for text in (step.action, step.response) for word in _WORD.findall(text.lower())}
    changed: set[int] = set()
    for change in step.changed:
        words = _WORD.findall(change.name.lower())
        is_visible = change.number in before | after or (bool(words) and words[-1] in named)
        if is_visible and not change.by_itself and change.attribute in STATES:
            changed.add(change.number)
            yield f"{change.name}: {STATES[change.attribute][change.value]}"
    if step.before.location != step.after.location:
        return
    for move in step.moved:
        number = move.number
        if number in held | changed or move.by_itself:
            continue
        if number in after - before:
            yield f"{move.name}: now in sight"
        elif number in before - after:
            yield f"{move.name}: gone"
        elif number in after and move.destination_number is not None:
            yield f"{move.name}: now at {move.destination}"


def is_passive(action: str) -> bool:
    """Return whether the action only looks, senses or waits."""
    verb, *_ = [*action.lower().split(), "wait"]
    return verb in _PASSIVE


def world_changed(step: Transition) -> bool:
    """Return whether anything in the world changed, by any cause."""
    before, after = step.before, step.after
    return bool(
        step.moved
        or step.changed
        or step.unnamed_change
        or step.died
        or step.finished
        or before.location != after.location
        or before.vehicle != after.vehicle
        or before.score != after.score
        or before.inventory != after.inventory
    )


def shows_outcome(step: Transition) -> bool:
    """Return whether the turn shows the outcome of its action.

    It does not if the action answers a question, was not played, or only led to a question.
    """
    if step.is_answer or step.refused or step.fault:
        return False
    return step.after.question is None or step.finished or moved_or_had_effect(step)


def failed(step: Transition) -> bool:
    """Return whether the action was meant to change something but did not. Other changes in the world don't count."""
    asks = step.is_answer or step.after.question is not None
    return not (asks or step.fault or is_passive(step.action) or moved_or_had_effect(step))


def refused_by_parser(step: Transition) -> bool:
    """Return whether the command failed and took no move. False if the story counts no moves, or counts refusals."""
    return failed(step) and step.before.moves is not None and step.before.moves == step.after.moves


def moved_or_had_effect(step: Transition) -> bool:
    """Return whether the action led to another location or had an effect."""
    return step.before.location != step.after.location or had_effect(step)


def worked(step: Transition) -> bool:
    """Return whether the action led elsewhere or had an effect that its verb intends."""
    return moved_or_had_effect(step) and not step.fell_short and not step.is_answer


def effective(step: Transition) -> bool:
    """Return whether the action had an effect that its verb intends, other than a change of location."""
    return worked(step) and had_effect(step)


@cached_by_identity
def affected_objects(step: Transition) -> tuple[Item, ...]:
    """Return the objects that the action itself moved or changed, wherever they are.

    Changes that happened by themselves are left out. So are the objects of a walk, because many stories move scenery
    along with the player.
    """
    if step.before.location != step.after.location:
        return ()
    affected = {move.number: move.name for move in step.moved if not move.by_itself}
    affected |= {change.number: change.name for change in step.changed if not change.by_itself}
    return tuple(Item(number, name) for number, name in affected.items())


def changed_by_themselves(step: Transition) -> tuple[Item, ...]:
    """Return the visible objects that moved or changed, but not because of the action. Empty after a walk."""
    if step.before.location != step.after.location:
        return ()
    visible = {item.num for state in (step.before, step.after) for item in state.visible or ()}
    names = {move.number: move.name for move in step.moved if move.by_itself}
    names |= {change.number: change.name for change in step.changed if change.by_itself}
    return tuple(Item(number, name) for number, name in names.items() if number in visible)


@cached_by_identity
def had_effect(step: Transition) -> bool:
    """Return whether the action itself changed something other than the player's location."""
    before, after = step.before, step.after
    return bool(
        affected_objects(step)
        or step.unnamed_change
        or step.died
        or step.finished
        or before.vehicle != after.vehicle
        or before.score != after.score
        or before.inventory != after.inventory
    )

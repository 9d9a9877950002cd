"""Whether an action did anything, by the Z-machine's ground truth."""

from game_interface.models import Item, Transition
from zorkgpt.identity_cache import cached_by_identity

# Verbs that are not meant to change anything: finding nothing changed says nothing about them.
_LOOKING = {"look", "l", "examine", "x", "inspect", "describe", "read", "search", "inventory", "i", "inv"}
_SENSING = {"listen", "smell", "sniff", "taste", "touch", "feel", "score", "diagnose", "time", "think"}
_WAITING = {"wait", "z"}
_PASSIVE = _LOOKING | _SENSING | _WAITING


def is_passive(action: str) -> bool:
    """Return whether the action only looks, senses or waits."""
    verb, *_ = [*action.lower().split(), "wait"]
    return verb in _PASSIVE


def world_changed(step: Transition) -> bool:
    """Return whether location, score, inventory, object tree or attributes changed, whatever the cause."""
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


def failed(step: Transition) -> bool:
    """Return whether the action was meant to change something and did not; other changes in the world don't count."""
    return not is_passive(step.action) and not moved_or_had_effect(step)


def moved_or_had_effect(step: Transition) -> bool:
    """Return whether the action led to another location or had an effect."""
    return step.before.location != step.after.location or had_effect(step)


@cached_by_identity
def affected_objects(step: Transition) -> tuple[Item, ...]:
    """Return the objects that the action itself moved or changed, wherever they are.

    Changes that came about by themselves are left out. A walk affects nothing in this sense: what is here differs
    because here is another location, and many stories move their scenery along with the player.
    """
    if step.before.location != step.after.location:
        return ()
    moved = (move.item for move in step.moved if not move.by_itself)
    changed = (change.item for change in step.changed if not change.by_itself)
    return tuple({item.num: item for item in (*moved, *changed)}.values())


@cached_by_identity
def had_effect(step: Transition) -> bool:
    """Return whether the action itself changed something beside the player's location."""
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

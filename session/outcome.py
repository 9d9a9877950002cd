"""Whether an action did anything, by the Z-machine's ground truth."""

from game_interface.models import Item, Transition
from zorkgpt.identity_cache import cached_by_identity

# Verbs that are not meant to change anything: finding nothing changed says nothing about them.
_LOOKING = {"look", "l", "examine", "x", "inspect", "describe", "read", "search", "inventory", "i", "inv"}
_SENSING = {"listen", "smell", "sniff", "taste", "touch", "feel", "score", "diagnose", "time", "think"}
_WAITING = {"wait", "z"}
_PASSIVE = _LOOKING | _SENSING | _WAITING


def is_passive(action: str) -> bool:
    """Looking, sensing or waiting."""
    verb, *_ = [*action.lower().split(), "wait"]
    return verb in _PASSIVE


def changed_something(step: Transition) -> bool:
    """Place, score, inventory, object tree or attributes are not what they were, by whomever it was done."""
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
    """The action was meant to change something and did not, whatever else went on in the world meanwhile."""
    return not is_passive(step.action) and not came_to_something(step)


def came_to_something(step: Transition) -> bool:
    """The action led elsewhere, or changed something itself."""
    return step.before.location != step.after.location or effective(step)


@cached_by_identity
def touched(step: Transition) -> tuple[Item, ...]:
    """What the action moved or changed, wherever it is; what came about by itself is not its doing.

    A walk touches nothing in this sense: what is here then differs because here is elsewhere. Many stories move their
    scenery along with the player.
    """
    if step.before.location != step.after.location:
        return ()
    acted_on = (one.item for one in (*step.moved, *step.changed) if not one.by_itself)
    return tuple({item.num: item for item in acted_on}.values())


@cached_by_identity
def effective(step: Transition) -> bool:
    """The action itself changed something beside the player's place; what goes on by itself is not its doing."""
    before, after = step.before, step.after
    return bool(
        touched(step)
        or step.unnamed_change
        or step.died
        or step.finished
        or before.vehicle != after.vehicle
        or before.score != after.score
        or before.inventory != after.inventory
    )

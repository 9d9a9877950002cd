"""Whether an action did anything, by the Z-machine's ground truth."""

from game_interface.models import Transition

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
    """Place, score, inventory, object tree or attributes are not what they were."""
    before, after = step.before, step.after
    return bool(
        step.moved
        or step.changed
        or step.died
        or step.finished
        or before.location != after.location
        or before.vehicle != after.vehicle
        or before.score != after.score
        or before.inventory != after.inventory
    )


def failed(step: Transition) -> bool:
    """The action was meant to change something, and nothing changed."""
    return not is_passive(step.action) and not changed_something(step)

"""Whether an action did anything, by the Z-machine's ground truth."""

import re

from game_interface.models import Item, Transition
from zorkgpt.once import once

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


@once
def touched(step: Transition) -> tuple[Item, ...]:
    """What the action moved or changed: things in sight or in hand, before or after, and those that it names.

    A walk touches nothing in this sense: what is here then differs because here is elsewhere. Many stories move their
    scenery along with the player. Where the story does not tell what is in sight, everything may have been.
    """
    if step.before.location != step.after.location or not (step.moved or step.changed):
        return ()
    near = {
        item.num for seen in (step.before, step.after) for items in (seen.visible, seen.carried) for item in items or ()
    }
    named = _words(step.action)
    changed = {item.num: item for item in (*(move.item for move in step.moved), *(flip.item for flip in step.changed))}
    if step.before.visible is None and step.after.visible is None:
        return tuple(changed.values())
    return tuple(item for item in changed.values() if item.num in near or named & _words(item.name))


@once
def effective(step: Transition) -> bool:
    """The action itself changed something beside the player's place; what goes on elsewhere is not its doing."""
    before, after = step.before, step.after
    return bool(
        touched(step)
        or step.died
        or step.finished
        or before.vehicle != after.vehicle
        or before.score != after.score
        or before.inventory != after.inventory
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))

"""Tell an action that did what its verb means from one that only changed something beside it.

A refusal may set a flag or count how often it was given: the object tree then differs, and yet nothing was opened.
"""

from game_interface.core.profile import Profile
from game_interface.models import Transition
from zorkgpt.memory.claims import STATES

_SHOWN_BY = {"open": "open", "close": "open", "shut": "open", "lock": "locked", "unlock": "locked"}
"""Verb → the attribute that shows whether it was done."""
_HANDLING = frozenset({"take", "get", "drop", "put", "insert", "give"})
"""Verbs that move a thing."""
_STATES = frozenset({*STATES, "worn", "light"})


def fell_short(step: Transition, profile: Profile) -> bool:
    """Return whether nothing changed that the verb can mean; False where the story does not show that."""
    verb, *_ = [*step.action.lower().split(), ""]
    if verb in _HANDLING:
        shown = step.after.inventory is not None
    else:
        shown = _SHOWN_BY.get(verb, "") in profile.attributes
    return shown and not _changed_the_world(step)


def _changed_the_world(step: Transition) -> bool:
    before, after = step.before, step.after
    return (
        step.died
        or step.finished
        or any(not move.by_itself for move in step.moved)
        or any(change.attribute in _STATES and not change.by_itself for change in step.changed)
        or (before.location, before.vehicle, before.score, before.inventory)
        != (after.location, after.vehicle, after.score, after.inventory)
    )

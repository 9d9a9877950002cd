"""Decides, from the Z-machine's facts alone, whether a turn is worth asking a model about."""

from enum import StrEnum

from zorkgpt.memory.models import ZMachineContext

LONG_RESPONSE = 100
"""Characters; a longer response usually describes something."""


class Trigger(StrEnum):
    """A reason to ask."""

    SCORE = "score changed"
    LOCATION = "location changed"
    INVENTORY = "inventory changed"
    DEATH = "died"
    FIRST_VISIT = "first visit"
    LONG_RESPONSE = "long response"
    OBJECTS = "objects changed"
    """The action moved, opened, lit or otherwise changed something, be it something without a name."""
    NOTHING_CHANGED = "nothing changed"
    """The action was meant to do something: a refusal, a dead end."""


ALL = frozenset(Trigger)


def reasons_to_remember(
    turn: ZMachineContext,
    *,
    response_length: int | None = None,
    enabled: frozenset[Trigger] = ALL,
    is_known_way: bool = False,
) -> list[Trigger]:
    """Return why this turn may teach something; none: it need not be asked about.

    Args:
        response_length: in characters, where the context does not say.
        enabled: the reasons that count.
        is_known_way: the action is a walk to where it has led before; then only what else came of it is a reason.
    """
    length = turn.response_length or response_length or 0
    found = {
        Trigger.SCORE: bool(turn.score_delta),
        Trigger.LOCATION: turn.location_changed,
        Trigger.INVENTORY: turn.inventory_changed,
        Trigger.DEATH: turn.died,
        Trigger.FIRST_VISIT: turn.first_visit,
        Trigger.LONG_RESPONSE: length > LONG_RESPONSE,
        Trigger.OBJECTS: turn.acted or turn.unnamed_change,
        Trigger.NOTHING_CHANGED: turn.nothing_changed,
    }
    if is_known_way and not turn.died:
        # What the walk prints is about the place that it leads to, which is asked about on arrival.
        for trigger in (Trigger.LOCATION, Trigger.FIRST_VISIT, Trigger.LONG_RESPONSE):
            found[trigger] = False
    return [trigger for trigger, holds in found.items() if holds and trigger in enabled]

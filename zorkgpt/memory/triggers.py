"""Decides, from the Z-machine's facts alone, whether a turn is worth asking a model about."""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from zorkgpt.memory.models import ZMachineContext

LONG_RESPONSE = 100
"""Characters; a longer response usually describes something."""


class Trigger(StrEnum):
    """A reason to ask, and the setting that switches it off."""

    SCORE = "score changed", "ask_on_score_change"
    LOCATION = "location changed", "ask_on_move"
    INVENTORY = "inventory changed", "ask_on_inventory_change"
    DEATH = "died", "ask_on_death"
    FIRST_VISIT = "first visit", "ask_on_first_visit"
    LONG_RESPONSE = "long response", "ask_on_long_response"
    OBJECTS = "objects changed", "ask_on_object_change"
    """The action moved, opened, lit or otherwise changed something, be it something without a name."""
    NOTHING_CHANGED = "nothing changed", "ask_on_refusal"
    """The action was meant to do something: a refusal, a dead end."""

    setting: str
    """A key of `[tool.zorkgpt.memory_triggers]`."""

    def __new__(cls, value: str, setting: str) -> "Trigger":
        trigger = str.__new__(cls, value)
        trigger._value_ = value
        trigger.setting = setting
        return trigger


ALL = frozenset(Trigger)

_RULES: dict[Trigger, Callable[[ZMachineContext, int], bool]] = {
    Trigger.SCORE: lambda turn, length: bool(turn.score_delta),
    Trigger.LOCATION: lambda turn, length: turn.location_changed,
    Trigger.INVENTORY: lambda turn, length: turn.inventory_changed,
    Trigger.DEATH: lambda turn, length: turn.died,
    Trigger.FIRST_VISIT: lambda turn, length: turn.first_visit,
    Trigger.LONG_RESPONSE: lambda turn, length: length > LONG_RESPONSE,
    Trigger.OBJECTS: lambda turn, length: turn.acted or turn.unnamed_change,
    Trigger.NOTHING_CHANGED: lambda turn, length: turn.nothing_changed,
}
"""When each holds, given the turn and the length of the response in characters."""

_OF_THE_DESTINATION = frozenset({Trigger.LOCATION, Trigger.FIRST_VISIT, Trigger.LONG_RESPONSE})
"""What a walk to a known place prints is about that place, which is asked about on arrival."""


def plainly_taken(turn: ZMachineContext, response_length: int) -> dict[int, str]:
    """Return what an action took, by number, if it did nothing else and was told in few words; else nothing.

    The inventory shows all of that.
    """
    before, after = Counter(turn.inventory_before), Counter(turn.inventory_after)
    if before - after or turn.score_delta or turn.died or turn.location_changed or response_length > LONG_RESPONSE:
        return {}
    gained = {move.number: move.name for move in turn.moved if move.name in after - before and not move.by_itself}
    alive = {thing.number for thing in turn.things if thing.alive}
    given = any(move.origin_number is None or move.origin_number in alive for move in turn.moved if not move.by_itself)
    touched = {move.number for move in turn.moved if not move.by_itself}
    touched |= {change.number for change in turn.changed if not change.by_itself}
    return gained if touched == gained.keys() and not given else {}


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
    passed_over = _OF_THE_DESTINATION if is_known_way and not turn.died else frozenset()
    return [
        trigger
        for trigger, holds in _RULES.items()
        if trigger in enabled and trigger not in passed_over and holds(turn, length)
    ]

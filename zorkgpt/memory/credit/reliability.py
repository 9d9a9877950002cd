"""How often what a memory promises came true, of the times that it was tried."""

from enum import IntEnum

from zorkgpt.memory.models import Memory

_ENOUGH_TRIALS = 2
"""How many trials it takes to judge a memory's reliability: once is chance."""
_LOW_SHARE, _HIGH_SHARE = 0.35, 0.65


class Reliability(IntEnum):
    """How a memory has stood the test, in the order in which memories are shown."""

    CONFIRMED = 0
    OPEN = 1
    REFUTED = 2


def reliability(memory: Memory) -> Reliability:
    """Return how often it worked, of the times that it was tried; open until it was tried twice.

    The share is estimated by Laplace's rule of succession: with one success and one failure added.
    """
    if memory.tried < _ENOUGH_TRIALS:
        return Reliability.OPEN
    share = (memory.worked + 1) / (memory.tried + 2)
    if share > _HIGH_SHARE:
        return Reliability.CONFIRMED
    return Reliability.REFUTED if share < _LOW_SHARE else Reliability.OPEN


def success_rate(memory: Memory) -> str:
    """Return `worked 5/9`; "" for a memory that was not tried often enough to say anything."""
    return f"worked {memory.worked}/{memory.tried}" if memory.tried >= _ENOUGH_TRIALS else ""

"""How a memory has stood the test: what came of it when the player did what it speaks of."""

from enum import IntEnum

from zorkgpt.memory.models import Memory

_ENOUGH = 2
"""Times that it must have been tried: once is chance."""
_LOW, _HIGH = 0.35, 0.65


class Standing(IntEnum):
    """In the order in which they are shown."""

    CONFIRMED = 0
    OPEN = 1
    REFUTED = 2


def standing(memory: Memory) -> Standing:
    """Open until it was tried twice; then by the share of times it worked, with one of each added (Laplace's rule)."""
    if memory.tried < _ENOUGH:
        return Standing.OPEN
    share = (memory.worked + 1) / (memory.tried + 2)
    return Standing.CONFIRMED if share > _HIGH else Standing.REFUTED if share < _LOW else Standing.OPEN


def tested(memory: Memory) -> str:
    """`worked 5/9`; "" where it was not tried often enough to say anything."""
    return f"worked {memory.worked}/{memory.tried}" if memory.tried >= _ENOUGH else ""

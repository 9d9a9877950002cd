"""Where the sections of a document stand among the rows of a table: in their order, with room between them."""

from collections.abc import Sequence

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.storage.section import LocationSection

STEP = 1 << 32
"""Between the positions of two sections, so that others fit in."""
_FIRST = -(1 << 62)


def positions_of(
    old: Sequence[LocationSection],
    positions: Sequence[int],
    new: Sequence[LocationSection],
    low: int | None = None,
    high: int | None = None,
) -> list[int] | None:
    """Return where the new sections stand: those of the old ones where they stood, others between them.

    None: there is no room between two of them; then all are placed anew.

    Args:
        positions: of the old sections.
        low, high: the positions of what stands above and below; None: nothing does.
    """
    same = {id(section): position for section, position in zip(old, positions, strict=True)}
    stay = {id(section) for section in new}
    changed: dict[SubjectKey | None, list[int]] = {}
    for section, position in zip(old, positions, strict=True):
        if id(section) not in stay:
            changed.setdefault(section.location_id, []).append(position)
    found: list[int | None] = []
    for section in new:
        others = changed.get(section.location_id)
        found.append(same[id(section)] if id(section) in same else others.pop(0) if others else None)
    filled = _filled([*([] if low is None else [low]), *found, *([] if high is None else [high])])
    if filled is None:
        return None
    return filled[low is not None : len(filled) - (high is not None)]


def _filled(positions: Sequence[int | None]) -> list[int] | None:
    """Return the positions with those that are not known chosen between the others; None: there is no room."""
    filled: list[int] = []
    waiting = 0
    for position in positions:
        if position is None:
            waiting += 1
            continue
        low = filled[-1] if filled else position - (waiting + 1) * STEP
        step = min(STEP, (position - low) // (waiting + 1))
        if step < 1:
            return None
        filled += [position - step * (waiting - number) for number in range(waiting)]
        filled.append(position)
        waiting = 0
    if waiting and not filled:
        return spread(waiting)
    return filled + [filled[-1] + STEP * (number + 1) for number in range(waiting)]


def spread(count: int) -> list[int]:
    """Return positions for this many sections, with room between them, and most of it behind the title."""
    return [_FIRST, *(number * STEP for number in range(1, count))][:count]

"""Which of the cells to return to: the promise of each, in points of the game's score."""

from collections import Counter
from collections.abc import Callable

from zorkgpt.explore.archive import Archive, Cell

# Go-Explore and its successors choose by chance, with weights that fall with the number of choices; with tens of
# episodes instead of millions of frames the highest promise is taken instead, and what was in vain lowers it.
_UNTRIED = 1.0
"""Of each way at the place that nobody has taken, up to `_MOST_UNTRIED`."""
_MOST_UNTRIED = 3
_NEW = 2.0
"""Of a cell that one episode came to; shared among them where there were several."""
_BARREN = 6.0
"""Off for each return to this very cell that led to nothing higher."""
_BARREN_BESIDE = 1.0
"""Off for each such return to another cell of the same score."""
_LONG_WAY = 8.0
"""Off if the way takes all turns of the episode; in proportion if it takes some."""
_MOST_OF_THE_EPISODE = 0.75
"""A way that leaves less than the rest for exploring is not taken."""

Untried = Callable[[int], int]
"""Number of a room → how many ways out of it nobody has tried."""


def promise(cell: Cell, length: int, barren_beside: int, untried: int, max_turns: int) -> float:
    """What returning to a cell may be worth, at the end of a way of `length` commands."""
    return (
        (cell.standing.score or 0)
        + _UNTRIED * min(untried, _MOST_UNTRIED)
        + _NEW / cell.visits
        - _BARREN * cell.barren
        - _BARREN_BESIDE * barren_beside
        - _LONG_WAY * length / max_turns
    )


def most_promising(archive: Archive, untried: Untried, max_turns: int) -> Cell | None:
    """The cell to return to; None if nothing is worth it: no cell promises more than the beginning does."""
    barren: Counter[int | None] = Counter()
    for cell in archive.cells.values():
        barren[cell.standing.score] += cell.barren
    best, highest = None, 0.0
    for cell in archive.cells.values():
        place, score = cell.standing.place, cell.standing.score
        length = archive.length(cell)
        if place is None or length > _MOST_OF_THE_EPISODE * max_turns:
            continue
        worth = promise(cell, length, barren[score] - cell.barren, untried(place), max_turns)
        if worth > highest:
            best, highest = cell, worth
    return best

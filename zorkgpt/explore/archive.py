"""What is known of the states that were reached: one cell for all that look the same, with the shortest way there."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zorkgpt.explore.shortening import shortenings
from zorkgpt.explore.trail import Standing, Step, Trail
from zorkgpt.runlog.events import Returned

SAFE_TURNS = 5
"""So many turns before a death nothing is promising any more."""


@dataclass(slots=True)
class Cell:
    """All moments of all episodes in which place, inventory and score were the same."""

    standing: Standing
    place_name: str
    trail: Trail
    """The episode that has the shortest way here."""
    end: int
    """How many of its steps lead here."""
    length: int
    """How many commands the way has, shortened where that may be done."""
    visits: int = 0
    """Episodes that came here."""
    barren: int = 0
    """Returns to it after which nothing higher was reached."""


@dataclass(frozen=True, slots=True)
class Way:
    """Commands that lead to a cell, with what each of them should lead to."""

    goal: Standing
    place_name: str
    episode: int
    """Whose way it is."""
    turn: int
    """How many of that episode's commands lead there."""
    steps: tuple[Step, ...]
    shortened: bool


@dataclass
class Archive:
    """The cells of all episodes that began from the same world: the same story, the same seed."""

    cells: dict[Standing, Cell] = field(default_factory=dict)
    episodes: int = 0
    _trails: dict[int, tuple[Trail, list[tuple[int, ...]]]] = field(default_factory=dict)
    _refuted: set[tuple[int, int]] = field(default_factory=set)
    """(episode, turn) of shortened ways that turned out to lead elsewhere."""

    def add(self, trail: Trail, returned: Returned | None = None) -> None:
        """Take in an episode; give them in the order in which they were played.

        Args:
            returned: how its return to an earlier cell went, if it began with one.
        """
        self.episodes += 1
        if returned:
            self._note(returned, trail)
        ways = list(shortenings(trail))
        self._trails[trail.episode] = trail, ways
        last = len(trail.steps) - (SAFE_TURNS if trail.deadly else 0)
        seen = set()
        for index, step in enumerate(trail.steps[: max(0, last)]):
            key = step.standing
            if key in seen:
                continue
            seen.add(key)
            self._reach(key, trail, index + 1, len(ways[index]))

    def _reach(self, key: Standing, trail: Trail, end: int, length: int) -> None:
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell(key, trail.steps[end - 1].place_name, trail, end, length)
        elif self._length(trail, end) < self._length(cell.trail, cell.end):
            cell.trail, cell.end, cell.length = trail, end, length
        cell.visits += 1

    def _length(self, trail: Trail, end: int) -> int:
        return end if (trail.episode, end) in self._refuted else len(self._trails[trail.episode][1][end - 1])

    def _note(self, returned: Returned, trail: Trail) -> None:
        if returned.shortened and not returned.arrived:
            self._refuted.add((returned.from_episode, returned.from_turn))
        goal = Standing(returned.place, tuple(returned.inventory), returned.score)
        highest = max((step.standing.score or 0 for step in trail.steps), default=0)
        if (cell := self.cells.get(goal)) and highest <= (goal.score or 0):
            cell.barren += 1

    def way_to(self, cell: Cell) -> Way:
        """The commands that lead to a cell, shortened unless that is known to lead elsewhere."""
        trail, ways = self._trails[cell.trail.episode]
        whole = tuple(range(cell.end))
        kept = whole if (trail.episode, cell.end) in self._refuted else ways[cell.end - 1]
        steps = tuple(trail.steps[index] for index in kept)
        return Way(cell.standing, cell.place_name, trail.episode, cell.end, steps, shortened=kept != whole)


def archive_of(episodes: Iterable[tuple[Trail, Returned | None]]) -> Archive:
    archive = Archive()
    for trail, returned in episodes:
        archive.add(trail, returned)
    return archive

"""The archive of a search: the states that it has reached, and what its commands have shown."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Base64Bytes, TypeAdapter, ValidationError

from zorkgpt.errors import FileError
from zorkgpt.explore.trail import ObservedState, Trail, TrailStep
from zorkgpt.files import write_file
from zorkgpt.offline.experience import Pair
from zorkgpt.offline.scoring_plan import ScoringStep, scoring_steps
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import exit_name

log = logging.getLogger("zorkgpt.search")

VERSION = 6

Way = tuple[int | None, tuple[TrailStep, ...]]
"""A cell, None before the opening, and the commands that lead on from it."""


@dataclass(slots=True)
class SearchCell:
    """A state that the search has reached."""

    way: Way
    """How it was reached."""
    short: Way
    """The same without the steps between two equal states of the world, which was not played like that."""
    standing: ObservedState
    digest: str
    """See `state_digest`."""
    state: Base64Bytes = b""
    """The saved state of the interpreter, compressed; beside the opening's, except its own. Empty after a victory."""
    notes: Base64Bytes = b""
    """What has changed in the notes of the rules since the cell before; compressed JSON."""
    response: str = ""
    """What the game printed last."""
    chosen: int = 0
    """How often the rules have played on from here."""


@dataclass
class SearchArchive:
    """The cells of all searches with one story and seed, and what was tried."""

    story_sha256: str
    seed: int
    version: int = VERSION
    steps: int = 0
    """How many commands were played, by all searches."""
    gains_tried: int = 0
    """The number of actions that had scored when the opening was last chosen for it."""
    cells: list[SearchCell] = field(default_factory=list)
    """The first one is the opening."""
    trails: list[Trail] = field(default_factory=list)
    """The bursts, in their order. Each begins at the state that it was played from."""

    def __post_init__(self) -> None:
        self.digests: set[str] = set()
        self.highest = 0
        """The highest score of all cells."""
        self._scored: list[int] = []
        """The cells whose last step has scored."""
        self._plan: tuple[ScoringStep, ...] | None = None
        """None if it has to be computed again."""
        for number in range(len(self.cells)):
            self._note(number)

    def add(self, cell: SearchCell) -> None:
        """Add a cell."""
        self.cells.append(cell)
        self._note(len(self.cells) - 1)

    def _note(self, number: int) -> None:
        cell = self.cells[number]
        self.digests.add(cell.digest)
        score, before = cell.standing.score or 0, cell.way[0]
        self.highest = max(self.highest, score)
        if before is not None and cell.state and score > (self.cells[before].standing.score or 0):
            self._scored.append(number)
            self._plan = None

    def choose(self, count: int) -> list[int]:
        """Choose the cells to play on from, at most `count`, at different places.

        After a new action has scored, the opening comes first, because all that is known to score may score more in
        one game. Otherwise, prefer a high score, and a place, and an inventory with this score, that were seldom
        chosen. Of equal cells, prefer the latest.
        """
        places, worlds = Counter[int | None](), Counter[tuple[tuple[str, ...], int | None]]()
        for cell in self.cells:
            places[cell.standing.place] += cell.chosen
            worlds[cell.standing.inventory, cell.standing.score] += cell.chosen

        def worth(number: int) -> tuple[float, int]:
            now = self.cells[number].standing
            gained = max(0, now.score or 0) / (1 + self.highest)
            return (1 + 3 * gained) / ((1 + places[now.place]) * (1 + worlds[now.inventory, now.score])), number

        numbers = [number for number, cell in enumerate(self.cells) if cell.state]
        numbers.sort(key=worth, reverse=True)
        gains = sum(step.gain > 0 for step in self.scoring_steps())
        if gains > self.gains_tried:
            self.gains_tried = gains
            numbers.insert(0, 0)
        best = dict[int | None, int]()
        for number in numbers:
            best.setdefault(self.cells[number].standing.place, number)
        chosen = list(best.values())[:count]
        for number in chosen:
            self.cells[number].chosen += 1
        return chosen

    def scoring_steps(self) -> tuple[ScoringStep, ...]:
        """Return all actions that have scored, with their preparations; first those that led to the highest score."""
        if self._plan is None:
            plan = dict[Pair, ScoringStep]()
            start = self.cells[0].standing.place
            for number in sorted(self._scored, key=lambda number: -(self.cells[number].standing.score or 0)):
                trail = Trail(0, self.seed, start, self.steps_to(number, short=False), deadly=False)
                for step in scoring_steps(trail):
                    plan.setdefault((step.place, step.action), step)
            self._plan = tuple(plan.values())
        return self._plan

    def taken(self, number: int) -> frozenset[Pair]:
        """Return the places and actions that had an effect on the way to a cell."""
        taken, place = set[Pair](), self.cells[0].standing.place
        for step in self.steps_to(number, short=False):
            if step.effective:
                taken.add((place or 0, exit_name(normalized_action(step.action))))
            place = step.standing.place
        return frozenset(taken)

    def longest_start(self, commands: Sequence[str]) -> tuple[int, int]:
        """Return the cell that most of the first commands lead to, and how many they are."""
        numbers = range(len(self.cells))
        ways = {number: [step.action for step in self.steps_to(number, short=False)] for number in numbers}
        known, number = max((len(way), number) for number, way in ways.items() if way == list(commands[: len(way)]))
        return number, known

    def notes_of(self, number: int) -> list[bytes]:
        """Return the notes of the cells on the way to a cell, from the first after the opening on."""
        notes = list[bytes]()
        while number:
            notes.append(self.cells[number].notes)
            number = self.cells[number].way[0] or 0
        return notes[::-1]

    def steps_to(self, number: int, *, short: bool) -> tuple[TrailStep, ...]:
        """Return the commands that lead from the opening to a cell."""
        steps: tuple[TrailStep, ...] = ()
        at: int | None = number
        while at is not None:
            at, since = self.cells[at].short if short else self.cells[at].way
            steps = since + steps
        return steps


_FORMAT = TypeAdapter(SearchArchive)


def load_archive(path: Path, story_sha256: str, seed: int) -> SearchArchive:
    """Return the archive in a file; an empty one if it is of another story or seed, or damaged, which is logged."""
    empty = SearchArchive(story_sha256, seed)
    try:
        archive = _FORMAT.validate_json(path.read_bytes())
    except FileNotFoundError:
        return empty
    except (OSError, ValidationError, IndexError) as error:
        extra = {"path": str(path), "reason": str(error).splitlines()[0]}
        log.warning("the archive of the search is damaged; it begins anew", extra=extra)
        return empty
    return archive if (archive.version, archive.story_sha256, archive.seed) == (VERSION, story_sha256, seed) else empty


def save_archive(path: Path, archive: SearchArchive) -> None:
    """Write the archive; if that is not possible, log it, since the search can be made again."""
    try:
        write_file(path, _FORMAT.dump_json(archive), durable=False)
    except FileError as error:
        log.warning("the archive of the search could not be saved", extra={"path": str(path), "reason": str(error)})

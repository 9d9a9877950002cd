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

log = logging.getLogger("zorkgpt.search")

VERSION = 5

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
    """The saved state of the interpreter, compressed; beside the opening's, except its own."""
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
    cells: list[SearchCell] = field(default_factory=list)
    """The first one is the opening."""
    trails: list[Trail] = field(default_factory=list)
    """The bursts, in their order. Each begins at the state that it was played from."""

    def __post_init__(self) -> None:
        self.digests: set[str] = set()
        self.highest = 0
        """The highest score of all cells."""
        for cell in self.cells:
            self._note(cell)

    def add(self, cell: SearchCell) -> int:
        """Add a cell and return its number."""
        self.cells.append(cell)
        self._note(cell)
        return len(self.cells) - 1

    def _note(self, cell: SearchCell) -> None:
        self.digests.add(cell.digest)
        self.highest = max(self.highest, cell.standing.score or 0)

    def most_promising(self) -> int:
        """Return the cell to play on from: of a high score, a place and an inventory seldom chosen, the latest."""
        places, inventories = Counter[int | None](), Counter[tuple[str, ...]]()
        for cell in self.cells:
            places[cell.standing.place] += cell.chosen
            inventories[cell.standing.inventory] += cell.chosen

        def worth(number: int) -> tuple[float, int]:
            now = self.cells[number].standing
            gained = max(0, now.score or 0) / (1 + self.highest)
            return (1 + 3 * gained) / (1 + places[now.place]) / (1 + inventories[now.inventory]), number

        return max(range(len(self.cells)), key=worth)

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

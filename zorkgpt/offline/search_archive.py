"""The archive of a search: the states that it has reached, and what its commands have shown."""

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zorkgpt.errors import FileError
from zorkgpt.explore.replay import ReplayRoute
from zorkgpt.explore.trail import ObservedState, TrailStep
from zorkgpt.files import write_file
from zorkgpt.offline.command_record import CommandRecord

log = logging.getLogger("zorkgpt.search")

VERSION = 2

WorldChanges = dict[str, tuple[int, int]]
"""What has changed → its value before and now. "in 12": the parent of object 12; "is 12 open": one of its attributes;
"in": what the player is in; "at 300": a byte of the story's memory."""


def variable(address: int) -> str:
    """Return the name of a byte of the story's memory in `WorldChanges`."""
    return f"at {address}"


def merged(changes: WorldChanges, delta: WorldChanges) -> WorldChanges:
    """Return both together, without what is again as it was at first."""
    result = dict(changes)
    for what, (was, now) in delta.items():
        first = result.pop(what, (was, now))[0]
        if first != now:
            result[what] = first, now
    return result


def progress_of(changes: WorldChanges) -> int:
    """Return how many things have changed; all bytes together count as one."""
    return len({"at" if what.startswith("at ") else what for what in changes})


@dataclass(slots=True)
class SearchCell:
    """A state that the search has reached: a place, what is held, what has changed, and the score."""

    parent: int | None
    """The number of the cell that it was reached from; None for the opening."""
    steps: tuple[TrailStep, ...]
    """The commands that led here from the parent."""
    standing: ObservedState
    delta: WorldChanges
    """What differs from the parent."""
    depth: int = 0
    """How many commands lead here from the opening."""
    progress: int = 0
    """How many things are not as at the opening."""
    promise: float = 1.0
    """How promising the next command is; 0 if none is left."""
    tried: set[str] = field(default_factory=set)
    """The commands that were tried here."""


@dataclass
class SearchArchive:
    """The cells of all searches with one story and seed, and what was learned from their commands."""

    story_sha256: str
    seed: int
    version: int = VERSION
    steps: int = 0
    """How many commands were played, by all searches."""
    cells: list[SearchCell] = field(default_factory=list)
    """The first one is the opening."""
    record: CommandRecord = field(default_factory=CommandRecord)
    """What the commands have shown."""
    in_vain: dict[int, dict[str, int]] = field(default_factory=dict)
    """Place → command → how often it did nothing there."""
    spent: Counter[int] = field(default_factory=Counter)
    """Place → how many commands were tried there."""
    exits: dict[int, dict[str, int]] = field(default_factory=dict)
    """Place → direction → where it has led."""
    mentioned: dict[int, dict[str, None]] = field(default_factory=dict)
    """Place → directions and names that a text has mentioned there."""
    facts: set[str] = field(default_factory=set)
    """All places and changes that were ever seen."""
    variables: dict[int, set[str]] = field(default_factory=dict)
    """Address in the story's memory → verbs that have changed it."""

    def __post_init__(self) -> None:
        self.keys: dict[str, int] = {}
        """The digest of each state → its cell."""
        self.most_progress: defaultdict[int | None, int] = defaultdict(lambda: -1)
        """Place → the most progress with which it was reached; -1 if it was not."""
        for number, cell in enumerate(self.cells):
            self._index(number, cell, self.changes_of(number))

    def add(self, cell: SearchCell, changes: WorldChanges) -> int:
        """Add a cell, unless there is one with the same state, and return the number of the cell with this state.

        Args:
            changes: What differs from the opening.
        """
        known = self.keys.get(self.key(cell.standing, changes))
        if known is not None:
            return known
        self.cells.append(cell)
        number = len(self.cells) - 1
        self._index(number, cell, changes)
        return number

    def _index(self, number: int, cell: SearchCell, changes: WorldChanges) -> None:
        self.keys[self.key(cell.standing, changes)] = number
        place = cell.standing.place
        self.most_progress[place] = max(self.most_progress[place], cell.progress)

    @staticmethod
    def key(standing: ObservedState, changes: WorldChanges) -> str:
        """Return the digest of a state: its place, its score, and what has changed."""
        now = sorted((what, int(value)) for what, (_, value) in changes.items())
        return blake2b(repr((standing.place, standing.score, now)).encode(), digest_size=12).hexdigest()

    @property
    def highest(self) -> int:
        """The highest score of all cells."""
        return max((cell.standing.score or 0 for cell in self.cells), default=0)

    def note_vain(self, place: int, command: str) -> None:
        """Count a command that did nothing."""
        here = self.in_vain.setdefault(place, {})
        here[command] = here.get(command, 0) + 1

    def way_to(self, number: int) -> list[SearchCell]:
        """Return the cells from the opening to this one."""
        cells = [self.cells[number]]
        while cells[-1].parent is not None:
            cells.append(self.cells[cells[-1].parent])
        return cells[::-1]

    def changes_of(self, number: int) -> WorldChanges:
        """Return what differs from the opening in a cell."""
        changes: WorldChanges = {}
        for cell in self.way_to(number):
            changes = merged(changes, cell.delta)
        return changes

    def best_route(self, max_turns: int) -> ReplayRoute | None:
        """Return the commands to the highest score; of several the one past the most places, then the shortest.

        None if nothing but the opening is within so many turns.
        """

        def worth(number: int) -> tuple[int, int]:
            way = self.way_to(number)
            return len({cell.standing.place for cell in way}), -way[-1].depth

        scores = {
            number: cell.standing.score or 0 for number, cell in enumerate(self.cells) if 0 < cell.depth <= max_turns
        }
        highest = max(scores.values(), default=0)
        if not scores:
            return None
        goal = max((number for number, score in scores.items() if score == highest), key=worth)
        steps = tuple(step for cell in self.way_to(goal) for step in cell.steps)
        turns = tuple(range(1, len(steps) + 1))
        return ReplayRoute(steps[-1].standing, steps[-1].place_name, 0, len(steps), steps, turns, shortened=False)


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

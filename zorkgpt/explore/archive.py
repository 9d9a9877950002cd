"""The states that earlier episodes reached: read from their logs, grouped into cells, and chosen from."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zorkgpt.errors import FileError
from zorkgpt.explore.replay import ReplayFailures, ReplayRoute, route_along, route_length
from zorkgpt.explore.trail import ObservedState, Trail, TrailStep, trail_of
from zorkgpt.files import write_file
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.runlog.episodes import last_end, read_events
from zorkgpt.runlog.events import EpisodeStarted, Returned

SAFE_TURNS = 5
"""States within this many turns before a death are not archived."""


@dataclass(slots=True)
class Cell:
    """All turns of all episodes with the same observed state."""

    standing: ObservedState
    place_name: str
    trail: Trail
    """The episode with the shortest route to it."""
    end: int
    """The number of its steps that lead here."""
    visits: int = 0
    """The number of episodes that reached it."""
    barren: int = 0
    """The number of returns to it after which no higher score was reached."""


@dataclass
class Archive:
    """The cells of all episodes with the same story and seed."""

    cells: dict[ObservedState, Cell] = field(default_factory=dict)
    episodes: int = 0
    verbatim_turns: int = 0
    """Routes of up to this many turns are replayed verbatim, which always leads to the same state."""
    verified: set[tuple[int, int]] = field(default_factory=set)
    """The (episode, turn) pairs that were tried as the end of the best line."""
    _failures: dict[int, ReplayFailures] = field(default_factory=dict)
    """Episode → the failures of replaying it."""

    def add(self, trail: Trail, returned: Returned | None = None) -> None:
        """Add an episode; episodes must be added in the order in which they were played.

        Args:
            returned: How its return to an earlier cell went, if it began with one.
        """
        self.episodes += 1
        if returned:
            self._record_return(returned, trail)
        last = len(trail.steps) - (SAFE_TURNS if trail.deadly else 0)
        seen: set[ObservedState] = set()
        for end, step in enumerate(trail.steps[: max(0, last)], 1):
            if step.standing not in seen:
                seen.add(step.standing)
                self._reach(step, trail, end)

    def _reach(self, step: TrailStep, trail: Trail, end: int) -> None:
        cell = self.cells.get(step.standing)
        if cell is None:
            cell = self.cells[step.standing] = Cell(step.standing, step.place_name, trail, end)
        elif self._length(trail, end) < self.length(cell):
            cell.trail, cell.end = trail, end
        cell.visits += 1

    def _record_return(self, returned: Returned, trail: Trail) -> None:
        if returned.shortened and not returned.arrived:
            self._failures_of(returned.from_episode).failed_at(returned.at_turn)
        goal = ObservedState(returned.place, tuple(returned.inventory), returned.score)
        highest = max((step.standing.score or 0 for step in trail.steps), default=0)
        if (cell := self.cells.get(goal)) and highest <= (goal.score or 0):
            cell.barren += 1

    def length(self, cell: Cell) -> int:
        """Return the number of commands of the route to a cell."""
        return self._length(cell.trail, cell.end)

    def route_to(self, cell: Cell) -> ReplayRoute:
        """Return the route to a cell."""
        return route_along(cell.trail, cell.end, self._failures_of(cell.trail.episode), self.verbatim_turns)

    def _length(self, trail: Trail, end: int) -> int:
        return route_length(trail, end, self._failures_of(trail.episode), self.verbatim_turns)

    def _failures_of(self, episode: int) -> ReplayFailures:
        return self._failures.setdefault(episode, ReplayFailures())


# Go-Explore and its successors choose by chance, with weights that fall with the number of choices; with tens of
# episodes instead of millions of frames the highest promise is taken instead, and what was in vain lowers it.
_UNTRIED = 1.0
"""Points for each untried exit at the place, up to `_MAX_UNTRIED`."""
_MAX_UNTRIED = 3
_NEW = 2.0
"""Points for a cell, divided by the number of episodes that reached it."""
_BARREN = 6.0
"""Deducted for each return to this cell that led to no higher score."""
_BARREN_BESIDE = 1.0
"""Deducted for each such return to another cell with the same score."""
_LONG_WAY = 8.0
"""Deducted in proportion to the part of the episode's turns that the route takes."""
_MAX_SHARE_OF_EPISODE = 0.75
"""A route that takes more than this part of the episode is not taken."""

Untried = Callable[[int], int]
"""Number of a room → the number of its untried exits."""


def promise(cell: Cell, length: int, barren_beside: int, untried: int, max_turns: int) -> float:
    """Return the value of returning to a cell by a route of `length` commands, in points of the game's score."""
    return (
        (cell.standing.score or 0)
        + _UNTRIED * min(untried, _MAX_UNTRIED)
        + _NEW / cell.visits
        - _BARREN * cell.barren
        - _BARREN_BESIDE * barren_beside
        - _LONG_WAY * length / max_turns
    )


def most_promising(archive: Archive, untried: Untried, max_turns: int) -> Cell | None:
    """Return the cell to return to; None if no cell promises more than the beginning."""
    barren: Counter[int | None] = Counter()
    for cell in archive.cells.values():
        barren[cell.standing.score] += cell.barren
    best, highest = None, 0.0
    for cell in archive.cells.values():
        place, score = cell.standing.place, cell.standing.score
        length = archive.length(cell)
        if place is None or length > _MAX_SHARE_OF_EPISODE * max_turns:
            continue
        worth = promise(cell, length, barren[score] - cell.barren, untried(place), max_turns)
        if worth > highest:
            best, highest = cell, worth
    return best


log = logging.getLogger("zorkgpt.explore")

FILE_NAME = "trail.json"
VERSION = 5


@dataclass(frozen=True, slots=True)
class KeptTrail:
    """The trail of an episode that is over, as it is cached."""

    story_sha256: str
    player: str
    trail: Trail
    returned: Returned | None
    """The result of its own return; None if it did not return to an earlier state."""
    log_bytes: int
    """The size of the log that it was read from; if it differs, the log is read again. 0 if there is no log."""
    version: int = VERSION


_FORMAT = TypeAdapter(KeptTrail)


def load_trail(path: Path, log_bytes: int) -> KeptTrail | None:
    """Return the cached trail; None if there is none for this log."""
    try:
        kept = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # It is only a cache: made again and overwritten.
        return None
    return kept if (kept.version, kept.log_bytes) == (VERSION, log_bytes) else None


def save_trail(path: Path, kept: KeptTrail) -> None:
    """Write it, whole or not at all; where that can't be done, the log is read again the next time."""
    try:
        write_file(path, _FORMAT.dump_json(kept), durable=False)
    except FileError as error:
        log.warning("a trail could not be kept", extra={"path": str(path), "reason": str(error)})


_EXTERNAL_PLAYERS = frozenset({"walkthrough"})
"""Players whose commands came from outside the game: replaying them would be no exploration."""


@dataclass
class TrailReader:
    """Reads the trails of one story's episodes, with any seed, each once."""

    workdir: Path
    log_name: str
    story_sha256: str

    def __post_init__(self) -> None:
        self._read: dict[int, KeptTrail] = {}

    def before(self, episode: int | str) -> list[KeptTrail]:
        """Return the trails of the episodes before this one that are over, in order."""
        earlier = [number for number in episodes_in(self.workdir) if not isinstance(episode, int) or number < episode]
        for number in earlier:
            if number not in self._read and (kept := kept_trail(run_directory(self.workdir, number), self.log_name)):
                self._read[number] = kept
        return [
            kept
            for number in earlier
            if (kept := self._read.get(number)) is not None
            and kept.story_sha256 == self.story_sha256
            and kept.player not in _EXTERNAL_PLAYERS
        ]


@dataclass
class ArchiveReader:
    """Keeps the archive of the episodes with one seed, which all began in the same world.

    Args:
        trails: Reads the episodes.
        verbatim_turns: See `Archive`.
    """

    trails: TrailReader
    seed: int
    verbatim_turns: int = 0

    def __post_init__(self) -> None:
        self.archive = Archive(verbatim_turns=self.verbatim_turns)
        self.other_seeds = 0
        """The number of episodes with another seed."""
        self._added: set[int] = set()

    def refresh(self, before: int) -> Archive:
        """Add the episodes before this one that have ended since the last call."""
        for kept in self.trails.before(before):
            if kept.trail.episode in self._added:
                continue
            self._added.add(kept.trail.episode)
            if kept.trail.seed == self.seed:
                self.archive.add(kept.trail, kept.returned)
            else:
                self.other_seeds += 1
        return self.archive


def kept_trail(folder: Path, log_name: str) -> KeptTrail | None:
    """Return the trail of an episode; None if it is not over, since another process may be playing it."""
    log = folder / log_name
    if not log.is_file():
        return load_trail(folder / FILE_NAME, 0)
    size = log.stat().st_size
    kept = load_trail(folder / FILE_NAME, size)
    if kept is None and (kept := _trail_from_log(log, size)) is not None:
        save_trail(folder / FILE_NAME, kept)
    return kept


def _trail_from_log(path: Path, size: int) -> KeptTrail | None:
    events = list(read_events(path))
    started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    if started is None or last_end(events) is None:
        return None
    returned = next((event for event in events if isinstance(event, Returned)), None)
    sha256 = str(started.story.get("sha256", ""))
    return KeptTrail(sha256, started.player, trail_of(started, events), returned, size)

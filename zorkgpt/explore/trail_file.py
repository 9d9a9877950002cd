"""The trails of earlier episodes, read from their logs and cached in files."""

import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from session.experience import row_of
from zorkgpt.errors import FileError
from zorkgpt.explore.trail import Trail
from zorkgpt.files import write_file
from zorkgpt.log_files import has_log, log_size
from zorkgpt.record.experience import Experience
from zorkgpt.run_folder import TRAIL_FILE, episodes_in, run_directory
from zorkgpt.runlog.episodes import last_end, read_events, turns_in
from zorkgpt.runlog.events import EpisodeStarted, LeftToTry, PlayerKind

log = logging.getLogger("zorkgpt.explore")

VERSION = 8


@dataclass(frozen=True, slots=True)
class KeptTrail:
    """The cached trail of a finished episode."""

    story_sha256: str
    player: str
    trail: Trail
    log_bytes: int
    """The size of its log. If it differs, the log is read again."""
    version: int = VERSION


_FORMAT = TypeAdapter(KeptTrail)


def load_trail(path: Path, log_bytes: int) -> KeptTrail | None:
    """Return the cached trail; None if there is none for a log of this size."""
    try:
        kept = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return kept if (kept.version, kept.log_bytes) == (VERSION, log_bytes) else None


def save_trail(path: Path, kept: KeptTrail) -> None:
    """Cache a trail. Errors are logged, because the log can be read again."""
    try:
        write_file(path, _FORMAT.dump_json(kept), durable=False)
    except FileError as error:
        log.warning("the trail could not be saved", extra={"path": str(path), "reason": str(error)})


@dataclass
class TrailReader:
    """Reads each trail of one story's episodes once, with any seed."""

    workdir: Path
    log_name: str
    story_sha256: str

    def __post_init__(self) -> None:
        self._read: dict[int, KeptTrail] = {}
        self._experience, self._added = Experience(), set[int]()
        """The rows of these episodes."""
        self._unreadable: set[int] = set()
        """Episodes whose unreadable log was already reported."""

    def before(self, episode: int | str) -> list[KeptTrail]:
        """Return the trails of the finished episodes before this one, in order."""
        earlier = [number for number in episodes_in(self.workdir) if not isinstance(episode, int) or number < episode]
        for number in earlier:
            if number not in self._read and (kept := self._trail(number)):
                self._read[number] = kept
        return [
            kept
            for number in earlier
            if (kept := self._read.get(number)) is not None
            and kept.story_sha256 == self.story_sha256
            # Its commands come from outside the game.
            and kept.player != PlayerKind.WALKTHROUGH
        ]

    def experience(self, episode: int | str) -> Experience:
        """Return what the actions of these episodes led to."""
        for kept in self.before(episode):
            if kept.trail.episode not in self._added:
                self._added.add(kept.trail.episode)
                for row in kept.trail.rows:
                    self._experience.add(row)
        return self._experience

    def _trail(self, number: int) -> KeptTrail | None:
        try:
            return kept_trail(run_directory(self.workdir, number), self.log_name)
        except FileError as error:
            if number not in self._unreadable:
                self._unreadable.add(number)
                log.warning("an earlier episode can't be replayed", extra={"reason": str(error)})
            return None


def kept_trail(folder: Path, log_name: str) -> KeptTrail | None:
    """Return the trail of an episode; None if it is unfinished, because another process may be playing it."""
    log = folder / log_name
    if not has_log(log):
        return None
    size = log_size(log)
    kept = load_trail(folder / TRAIL_FILE, size)
    if kept is None and (kept := _trail_from_log(log, size)) is not None:
        save_trail(folder / TRAIL_FILE, kept)
    return kept


def _trail_from_log(path: Path, size: int) -> KeptTrail | None:
    events = list(read_events(path))
    started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    if started is None or last_end(events) is None:
        return None
    left = next((event.places for event in events if isinstance(event, LeftToTry)), {})
    untried = {int(place): actions for place, actions in left.items()}
    trail = Trail(started.episode, started.seed, tuple(map(row_of, turns_in(events).values())), untried)
    return KeptTrail(str(started.story.get("sha256", "")), started.player, trail, size)

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

VERSION = 9


_FORMAT = TypeAdapter(tuple[int, int, Trail])
"""The version, the size of the log and the trail. If the size differs, the log is read again."""


def load_trail(path: Path, log_bytes: int) -> Trail | None:
    """Return the cached trail; None if there is none for a log of this size."""
    try:
        *key, trail = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return trail if key == [VERSION, log_bytes] else None


def save_trail(path: Path, trail: Trail, log_bytes: int) -> None:
    """Cache a trail. Errors are logged, because the log can be read again."""
    try:
        write_file(path, _FORMAT.dump_json((VERSION, log_bytes, trail)), durable=False)
    except FileError as error:
        log.warning("the trail could not be saved", extra={"path": str(path), "reason": str(error)})


@dataclass
class TrailReader:
    """Reads each trail of one story's episodes once, with any seed."""

    workdir: Path
    log_name: str
    story_sha256: str

    def __post_init__(self) -> None:
        self._read: dict[int, Trail] = {}
        self._experience = Experience()
        self._folded: list[int | str] = []
        """The episodes whose rows are in it."""
        self._unreadable: set[int] = set()
        """Episodes whose unreadable log was already reported."""

    def before(self, episode: int | str) -> list[Trail]:
        """Return the trails of the finished episodes before this one, in order."""
        earlier = [number for number in episodes_in(self.workdir) if not isinstance(episode, int) or number < episode]
        for number in earlier:
            if number not in self._read and (trail := self._trail(number)):
                self._read[number] = trail
        trails = (self._read.get(number) for number in earlier)
        return [trail for trail in trails if trail is not None and self._is_used(trail)]

    def experience(self, episode: int | str) -> Experience:
        """Return what the actions of these episodes led to."""
        trails = self.before(episode)
        if [trail.episode for trail in trails[: len(self._folded)]] != self._folded:
            # An episode in between has ended since, or this one is earlier than the last one.
            self._experience, self._folded = Experience(), []
        for trail in trails[len(self._folded) :]:
            self._folded.append(trail.episode)
            for row in trail.rows:
                self._experience.add(row)
        return self._experience

    def _is_used(self, trail: Trail) -> bool:
        # The commands of a walkthrough come from outside the game.
        return trail.story_sha256 == self.story_sha256 and trail.player != PlayerKind.WALKTHROUGH

    def _trail(self, number: int) -> Trail | None:
        try:
            return kept_trail(run_directory(self.workdir, number), self.log_name)
        except FileError as error:
            if number not in self._unreadable:
                self._unreadable.add(number)
                log.warning("an earlier episode can't be replayed", extra={"reason": str(error)})
            return None


def kept_trail(folder: Path, log_name: str) -> Trail | None:
    """Return the trail of an episode; None if it is unfinished, because another process may be playing it."""
    log = folder / log_name
    if not has_log(log):
        return None
    size = log_size(log)
    trail = load_trail(folder / TRAIL_FILE, size)
    if trail is None and (trail := _trail_from_log(log)) is not None:
        save_trail(folder / TRAIL_FILE, trail, size)
    return trail


def _trail_from_log(path: Path) -> Trail | None:
    events = list(read_events(path))
    started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    if started is None or last_end(events) is None:
        return None
    left = next((event.places for event in events if isinstance(event, LeftToTry)), {})
    return Trail(
        started.episode,
        started.seed,
        tuple(map(row_of, turns_in(events).values())),
        started.player,
        str(started.story.get("sha256", "")),
        {int(place): actions for place, actions in left.items()},
    )

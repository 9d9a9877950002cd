"""Read trails from the logs of a working directory's episodes, with a cache file beside each log."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zorkgpt.explore.archive import Archive
from zorkgpt.explore.trail import Trail, trail_of
from zorkgpt.runlog.events import EpisodeStarted, Returned
from zorkgpt.runlog.reader import episodes_in, last_end, read_events, run_directory

log = logging.getLogger("zorkgpt.explore")

FILE_NAME = "trail.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class KeptTrail:
    """What returning needs to know of an episode that is over."""

    story_sha256: str
    seed: int
    player: str
    trail: Trail
    returned: Returned | None
    """How its own return went; None: it began at the beginning."""
    log_bytes: int
    """Of the log that it was made from; another length, and it is made again."""
    version: int = VERSION


_FORMAT = TypeAdapter(KeptTrail)


def load_trail(path: Path, log_bytes: int) -> KeptTrail | None:
    """The trail that is kept here; None if there is none, or none of this log."""
    try:
        kept = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # It is only a copy: made again, and written over.
        return None
    return kept if (kept.version, kept.log_bytes) == (VERSION, log_bytes) else None


def save_trail(path: Path, kept: KeptTrail) -> None:
    """Write it, whole or not at all; where that can't be done, the log is read again the next time."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(_FORMAT.dump_json(kept))
        os.replace(part, path)
    except OSError as error:
        log.warning("a trail could not be kept", extra={"path": str(path), "reason": str(error)})


_TELLING = frozenset({"walkthrough"})
"""Players whose commands came from outside the game: returning on their ways would be no exploring."""


@dataclass
class ArchiveReader:
    """Reads each episode once.

    Args:
        story_sha256: only episodes of this story count, since only they began from the same world; so for the seed.
    """

    workdir: Path
    log_name: str
    story_sha256: str
    seed: int

    def __post_init__(self) -> None:
        self.archive = Archive()
        self.of_another_world = 0
        """Episodes of another story or seed."""
        self._read: set[int] = set()

    def refresh(self, before: int | None = None) -> Archive:
        """Take in what was played since; of episodes from number `before` on nothing."""
        for episode in episodes_in(self.workdir):
            if episode not in self._read and (before is None or episode < before):
                self._take_in(episode)
        return self.archive

    def _take_in(self, episode: int) -> None:
        kept = kept_trail(run_directory(self.workdir, episode), self.log_name)
        if kept is None:
            return
        self._read.add(episode)
        if (kept.story_sha256, kept.seed) != (self.story_sha256, self.seed):
            self.of_another_world += 1
        elif kept.player not in _TELLING:
            self.archive.add(kept.trail, kept.returned)


@dataclass
class TrailReader:
    """Reads the trails of one story's episodes, of whatever seed, each once."""

    workdir: Path
    log_name: str
    story_sha256: str

    def __post_init__(self) -> None:
        self._read: dict[int, KeptTrail] = {}

    def before(self, episode: int | str) -> list[Trail]:
        """The trails of the episodes up to this one, the first one first; those that are not over are left out."""
        earlier = [number for number in episodes_in(self.workdir) if not isinstance(episode, int) or number < episode]
        for number in earlier:
            kept = self._read.get(number) or kept_trail(run_directory(self.workdir, number), self.log_name)
            if kept is not None:
                self._read[number] = kept
        told = (self._read[number] for number in earlier if number in self._read)
        return [kept.trail for kept in told if kept.story_sha256 == self.story_sha256 and kept.player not in _TELLING]


def kept_trail(folder: Path, log_name: str) -> KeptTrail | None:
    """The trail of an episode; None if it is not over, and another process may be playing it."""
    log = folder / log_name
    if not log.is_file():
        return None
    size = log.stat().st_size
    kept = load_trail(folder / FILE_NAME, size)
    if kept is None and (kept := _of_log(log, size)) is not None:
        save_trail(folder / FILE_NAME, kept)
    return kept


def _of_log(path: Path, size: int) -> KeptTrail | None:
    events = list(read_events(path))
    started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    if started is None or last_end(events) is None:
        return None
    returned = next((event for event in events if isinstance(event, Returned)), None)
    sha256 = str(started.story.get("sha256", ""))
    return KeptTrail(sha256, started.seed, started.player, trail_of(started, events), returned, size)

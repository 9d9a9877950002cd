"""Read trails from the logs of a working directory's episodes, with a cache file beside each log."""

import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zorkgpt.errors import FileError
from zorkgpt.explore.archive import Archive
from zorkgpt.explore.trail import Trail, trail_of
from zorkgpt.files import write_file
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.runlog.episodes import last_end, read_events
from zorkgpt.runlog.events import EpisodeStarted, Returned

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
    """How its own return went; None: it did not return to an earlier state."""
    log_bytes: int
    """The size of the log that it was made from; if it differs, the trail is made again. 0: it came without its log."""
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
class ArchiveReader:
    """Reads the archive of a working directory's episodes, each once.

    Args:
        story_sha256: only episodes of this story, with this seed, began from the same world and are archived.
    """

    workdir: Path
    log_name: str
    story_sha256: str
    seed: int
    verbatim_turns: int = 0
    """See `Archive`."""

    def __post_init__(self) -> None:
        self.archive = Archive(verbatim_turns=self.verbatim_turns)
        self.from_other_worlds = 0
        """The number of episodes of another story or seed."""
        self._read: set[int] = set()

    def refresh(self, before: int | None = None) -> Archive:
        """Add the episodes that ended since the last call, up to but not including number `before`."""
        for episode in episodes_in(self.workdir):
            if episode not in self._read and (before is None or episode < before):
                self._read_episode(episode)
        return self.archive

    def _read_episode(self, episode: int) -> None:
        kept = kept_trail(run_directory(self.workdir, episode), self.log_name)
        if kept is None:
            return
        self._read.add(episode)
        if (kept.story_sha256, kept.trail.seed) != (self.story_sha256, self.seed):
            self.from_other_worlds += 1
        elif kept.player not in _EXTERNAL_PLAYERS:
            self.archive.add(kept.trail, kept.returned)


@dataclass
class TrailReader:
    """Reads the trails of one story's episodes, with any seed, each once."""

    workdir: Path
    log_name: str
    story_sha256: str

    def __post_init__(self) -> None:
        self._read: dict[int, KeptTrail] = {}

    def before(self, episode: int | str) -> list[Trail]:
        """Return the trails of the episodes before this one that are over, in order."""
        earlier = [number for number in episodes_in(self.workdir) if not isinstance(episode, int) or number < episode]
        for number in earlier:
            kept = self._read.get(number) or kept_trail(run_directory(self.workdir, number), self.log_name)
            if kept is not None:
                self._read[number] = kept
        told = (self._read[number] for number in earlier if number in self._read)
        return [
            kept.trail
            for kept in told
            if kept.story_sha256 == self.story_sha256 and kept.player not in _EXTERNAL_PLAYERS
        ]


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

"""What the logs of a working directory's episodes tell: the archive of what was reached, and the ways by themselves."""

from dataclasses import dataclass
from pathlib import Path

from zorkgpt.explore.archive import Archive
from zorkgpt.explore.trail import Trail, trail_of
from zorkgpt.explore.trail_file import FILE_NAME, KeptTrail, load_trail, save_trail
from zorkgpt.runlog.episodes import episodes_in, last_end, read_events, run_directory
from zorkgpt.runlog.events import EpisodeStarted, Returned

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

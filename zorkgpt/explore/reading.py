"""The archive of a working directory, from the logs of its episodes."""

from dataclasses import dataclass
from pathlib import Path

from zorkgpt.explore.archive import Archive
from zorkgpt.explore.trail import trail_of
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Returned
from zorkgpt.runlog.reader import episodes_in, read_episode

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
        events = read_episode(self.workdir, episode, self.log_name)
        started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
        if started is None or not any(isinstance(event, EpisodeEnded) for event in events):
            # Another process may be playing it.
            return
        self._read.add(episode)
        if started.story.get("sha256") != self.story_sha256 or started.seed != self.seed:
            self.of_another_world += 1
        elif started.player not in _TELLING:
            returned = next((event for event in events if isinstance(event, Returned)), None)
            self.archive.add(trail_of(started, events), returned)

"""Who is told what happens while it happens."""

from typing import Protocol

from session.history import TurnRecord
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted


class Watcher(Protocol):
    """Follows a run: a display, a test, a progress line."""

    def episode_started(self, event: EpisodeStarted) -> None: ...

    def episode_resumed(self, event: EpisodeResumed) -> None:
        """One that was cut short goes on; `episode_started` was told to whoever watched then."""

    def turn_played(self, record: TurnRecord) -> None: ...

    def episode_ended(self, event: EpisodeEnded) -> None: ...

"""The log of the running episode: an event a line, written by everything that has something to log."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.errors import WorkdirError
from zorkgpt.runlog.episodes import RunLogWriter, read_events, run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted, Event

_SESSION_EVENTS = (EpisodeResumed, EpisodeEnded)


class EpisodeLog:
    """Writes `episode_log.jsonl` in the directory of the running episode."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._state = game_state
        self._workdir = Path(config.zork_game_workdir)
        self._file_name = config.episode_log_file
        self._writer: RunLogWriter | None = None

    def begin(self, event: EpisodeStarted) -> None:
        """Start the log of an episode.

        Raises:
            WorkdirError: It can't be written.
        """
        with self._raising_workdir_error():
            self._writer = RunLogWriter(self._directory / self._file_name)
            self._writer.write(event)

    def resume(self, event: EpisodeResumed, kept_bytes: int) -> None:
        """Go on with a log after its first `kept_bytes`; of the rest, only how the episode was cut short is kept.

        Raises:
            WorkdirError: It can't be written.
        """
        path = self._directory / self._file_name
        with self._raising_workdir_error():
            tail = [each for each in read_events(path, after=kept_bytes) if isinstance(each, _SESSION_EVENTS)]
            os.truncate(path, min(kept_bytes, path.stat().st_size))
            self._writer = RunLogWriter(path)
            for each in (*tail, event):
                self._writer.write(each)

    def write(self, event: Event) -> None:
        """Write an event; nothing while no episode runs.

        Raises:
            WorkdirError: It can't be written.
        """
        if self._writer:
            with self._raising_workdir_error():
                self._check_place()
                self._writer.write(event)

    def end(self, event: EpisodeEnded) -> None:
        """Write the last event and close the log; log a warning if that is not possible."""
        if self._writer is None:
            return
        try:
            with self._raising_workdir_error(), self._writer as writer:
                self._check_place()
                writer.write(event)
        except WorkdirError as error:
            self._log.warning("the log lacks how the episode ended", extra={"reason": str(error)})
        self._writer = None

    @property
    def _directory(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id)

    def _check_place(self) -> None:
        """Check that the log is still there: a deleted file can be written to, and nobody will ever read it.

        Raises:
            WorkdirError: It was deleted or moved.
        """
        if not (self._directory / self._file_name).exists():
            gone = f"log in {self._directory}" if self._workdir.is_dir() else f"working directory {self._workdir}"
            raise WorkdirError(
                f"The {gone} was deleted or moved while the episode was played, so nothing more can be saved."
            )

    @contextmanager
    def _raising_workdir_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WorkdirError(
                f"The log of the episode, in {self._directory}, can't be written: {error.strerror}. "
                "Make room, or name another folder with --workdir."
            ) from None

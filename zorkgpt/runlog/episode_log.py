"""The log of the running episode, with one event per line."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.errors import WorkdirError
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episodes import RunLogWriter, read_events
from zorkgpt.runlog.events import (
    DeduplicationMetrics,
    EpisodeEnded,
    EpisodeResumed,
    EpisodeStarted,
    Event,
)
from zorkgpt.runlog.saved_episodes import SavedEpisode


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The background answers that were applied after the last turn of an episode."""

    names: tuple[str, ...] = ()
    memory_events: tuple[MemoryEvent, ...] = ()


class EpisodeLog:
    """Writes `episode_log.jsonl` in the directory of the running episode."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._state = game_state
        self._max_turns = config.max_turns_per_episode
        self._workdir = Path(config.zork_game_workdir)
        self._file_name = config.episode_log_file
        self._writer: RunLogWriter | None = None

    def begin(
        self,
        *,
        player: str,
        story: dict[str, Any],
        seed: int,
        opening: str,
        background: bool,
    ) -> EpisodeStarted:
        """Start the log of an episode and return its first event.

        Raises:
            WorkdirError: If the log can't be written.
        """
        state = self._state
        event = EpisodeStarted(
            episode=state.episode_id,
            time=_now(),
            player=player,
            story=story,
            seed=seed,
            max_turns=self._max_turns,
            opening=opening,
            location_id=state.current_room_id,
            location=state.current_room_name_for_map,
            background=background,
        )
        with self._raising_workdir_error():
            self._writer = RunLogWriter(self._directory / self._file_name)
            self._writer.write(event)
        return event

    def resume(self, saved: SavedEpisode) -> EpisodeResumed:
        """Continue the log of an interrupted episode and return the event of the resumption.

        Events after the checkpoint are removed, except `EpisodeResumed` and `EpisodeEnded`. A log that somebody has
        edited is only continued.

        Raises:
            WorkdirError: If the log can't be written.
        """
        event = EpisodeResumed(
            episode=self._state.episode_id, time=_now(), turn=saved.checkpoint.turn, max_turns=self._max_turns
        )
        path, kept_bytes = self._directory / self._file_name, saved.checkpoint.log_bytes
        path.touch()
        with self._raising_workdir_error():
            tail = [
                each for each in read_events(path, after=kept_bytes) if isinstance(each, EpisodeResumed | EpisodeEnded)
            ]
            data = path.read_bytes()
            if data[:kept_bytes].endswith(b"\n"):
                os.truncate(path, min(kept_bytes, len(data)))
            self._writer = RunLogWriter(path)
            for each in (*tail, event):
                self._writer.write(each)
        return event

    def write(self, event: Event) -> None:
        """Write an event, if an episode is running.

        Raises:
            WorkdirError: If the log can't be written.
        """
        if self._writer:
            with self._raising_workdir_error():
                self._check_place()
                self._writer.write(event)

    def end(
        self,
        reason: str,
        message: str,
        *,
        memories: dict[str, int],
        metrics: dict[str, Any],
        last_answers: LastAnswers,
    ) -> EpisodeEnded:
        """Write the last events, close the log and return the last event. Errors are logged."""
        state = self._state
        event = EpisodeEnded(
            episode=state.episode_id,
            time=_now(),
            reason=reason,
            turns=state.turn_count,
            score=state.current_score,
            max_score=state.max_score,
            places=len(state.visited_locations),
            deaths=state.deaths,
            memories=memories,
            message=message,
            metrics=metrics,
            answers=last_answers.names,
            memory_events=last_answers.memory_events,
        )
        try:
            if found := metrics.get("deduplication_metrics"):
                self.write(
                    DeduplicationMetrics(
                        event.time,
                        state.episode_id,
                        found["duplicates_prevented"],
                        found["metadata_updates"],
                        supersessions=found["supersessions_from_near_duplicates"],
                        avg_check_time_ms=found["avg_deduplication_time_ms"],
                    )
                )
            self.write(event)
        except WorkdirError as error:
            self._log.warning("the end of the episode could not be logged", extra={"reason": str(error)})
        if self._writer:
            with suppress(OSError):
                self._writer.close()
        self._writer = None
        return event

    @property
    def _directory(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id)

    def _check_place(self) -> None:
        """Check that the log still exists, because writing to a deleted file would succeed.

        Raises:
            WorkdirError: If the log was deleted or moved.
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""The log of the running episode: its events, in the record and as the lines of a file for others."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import WorkdirError, ZorkGPTError
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.memory.storage.addresses import without_password
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episodes import append_line
from zorkgpt.runlog.events import (
    DeduplicationMetrics,
    EpisodeEnded,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    to_record,
)
from zorkgpt.runlog.saved_episodes import SavedEpisode


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The background answers that were applied after the last turn of an episode."""

    names: tuple[str, ...] = ()
    memory_events: tuple[MemoryEvent, ...] = ()


class EpisodeLog:
    """Records the events of the running episode, and writes them to `episode_log.jsonl` in its directory.

    Args:
        events: The record. By default, there is only the file.

    Raises (all methods but `end`):
        MemoryStoreError: If an event can't be recorded.
        WorkdirError: If the file can't be written.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        events: Events | None = None,
    ) -> None:
        self._log = logger
        self._state = game_state
        self._events = events
        self._max_turns = config.max_turns_per_episode
        self._workdir = Path(config.zork_game_workdir)
        self._file_name = config.episode_log_file
        self._is_open = False

    def begin(
        self,
        *,
        player: str,
        story: dict[str, Any],
        seed: int,
        opening: str,
        background: bool,
        memory: str,
    ) -> EpisodeStarted:
        """Start the log of an episode and return its first event."""
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
            memory=without_password(memory),
        )
        self._begin(b"")
        self.write(event)
        return event

    def resume(self, saved: SavedEpisode) -> EpisodeResumed:
        """Continue the log of an interrupted episode and return the event of the resumption.

        The file is written again from the record, without the events after the checkpoint.
        """
        event = EpisodeResumed(
            episode=self._state.episode_id, time=_now(), turn=saved.checkpoint.turn, max_turns=self._max_turns
        )
        self._begin(b"".join(line.encode() + b"\n" for line in saved.log))
        self.write(event)
        return event

    def write(self, event: Event) -> None:
        """Write an event, if an episode is running."""
        if not self._is_open:
            return
        line = as_json(to_record(event))
        if self._events is not None:
            row = EventRow(self._state.turn_count, _kind_of(event), line.decode())
            self._events.add(self._state.episode_id, row)
        with self._raising_workdir_error():
            append_line(self._path, line)

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
        except ZorkGPTError as error:
            self._log.warning("the end of the episode could not be logged", extra={"reason": str(error)})
        self._is_open = False
        return event

    @property
    def _path(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id) / str(self._file_name)

    def _begin(self, lines: bytes) -> None:
        with self._raising_workdir_error():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(lines)
        self._is_open = True

    @contextmanager
    def _raising_workdir_error(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            folder = self._path.parent
            gone = f"log in {folder}" if self._workdir.is_dir() else f"working directory {self._workdir}"
            raise WorkdirError(
                f"The {gone} was deleted or moved while the episode was played, so nothing more can be saved."
            ) from None
        except OSError as error:
            raise WorkdirError(
                f"The log of the episode, in {self._path.parent}, can't be written: {error.strerror}. "
                "Make room, or name another folder with --workdir."
            ) from None


def _kind_of(event: Event) -> EventKind:
    if isinstance(event, TurnRecord):
        return EventKind.TURN
    return EventKind.PLAYED if isinstance(event, EpisodeResumed | EpisodeEnded) else EventKind.LOG


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

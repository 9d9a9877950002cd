"""Records the running episode so that it can be resumed."""

import os
from pathlib import Path
from typing import Any

from filelock import FileLock

from session.checkpoint import Opening, Run, TurnDecision, as_text
from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import ZorkGPTError
from zorkgpt.log import get_logger
from zorkgpt.record.events import FOR_RESUMING, EventKind, EventRow, Events
from zorkgpt.runlog.events import to_record

log = get_logger(__name__)


class EpisodeRecord:
    """The events of one episode. Errors are counted and logged once, and never end the episode.

    Args:
        directory: The directory of the episode, named after its number.
        log_name: The name of the episode's log.
        lock: The acquired lock of the process that plays the episode.
    """

    def __init__(self, events: Events, directory: Path, log_name: str, lock: FileLock) -> None:
        self.last_turn = -1
        """The turn of the last recorded checkpoint. -1 if there is none."""
        self._events = events
        self._episode = int(directory.name)
        self._failures = 0
        self._lock = lock
        self._log = directory / log_name
        self._is_complete = True
        """Whether everything was recorded so far. Otherwise, later checkpoints would be useless."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of failed writes."""
        return {"failed_checkpoints": self._failures}

    def begin(self, opening: Opening) -> None:
        """Record the start of the game."""
        self._add(_event(0, EventKind.OPENING, opening))

    def decide(self, decision: TurnDecision) -> None:
        """Record a decision before it is played."""
        self._add(_event(decision.turn, EventKind.DECISION, decision))

    def add_turn(self, turn: TurnRecord) -> None:
        """Record a turn that was played."""
        self._add(_event(turn.turn, EventKind.TURN, to_record(turn)))

    def save(self, turn: int, *, run: Run, game: bytes, snapshots: dict[str, dict[str, Any]]) -> None:
        """Replace the checkpoint by one after this turn.

        Args:
            game: The interpreter's saved state.
            snapshots: The states of everything else, by name.
        """
        if not self._is_complete:
            return
        try:
            content = {
                "turn": turn,
                "run": run.model_dump(),
                "game": as_text(game),
                "log_bytes": _size(self._log),
                "snapshots": snapshots,
            }
            event = _event(turn, EventKind.CHECKPOINT, content)
            self._events.add(self._episode, event, replacing=[EventKind.CHECKPOINT])
            self.last_turn = turn
        except (OSError, ZorkGPTError) as error:
            self._note_failure(error)

    def _add(self, event: EventRow) -> None:
        if not self._is_complete:
            return
        try:
            self._events.add(self._episode, event)
        except ZorkGPTError as error:
            # With a gap in the record, later checkpoints would be useless. The last one remains valid.
            self._is_complete = False
            self._note_failure(error)

    def end(self) -> None:
        """Delete what is only for resuming the episode."""
        try:
            self._events.remove(self._episode, *FOR_RESUMING)
        except ZorkGPTError as error:
            log.warning("the checkpoint of a finished episode was not removed", extra={"reason": str(error)})

    def close(self) -> None:
        """Let other processes play the episode."""
        self._lock.release()

    def _note_failure(self, error: OSError | ZorkGPTError) -> None:
        if not self._failures:
            log.warning("no checkpoint could be written", extra={"reason": str(error)})
        self._failures += 1


def _event(turn: int, kind: EventKind, content: object) -> EventRow:
    return EventRow(turn, kind, as_json(content).decode())


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

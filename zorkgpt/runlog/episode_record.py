"""Records the running episode so that it can be resumed."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock

from session.checkpoint import Opening, Run, TurnDecision, as_text
from session.history import TurnRecord
from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, ZorkGPTError
from zorkgpt.log import get_logger
from zorkgpt.record.events import FOR_RESUMING, EventKind, EventRow, Events
from zorkgpt.restore_point import Restorer
from zorkgpt.runlog.events import to_record

log = get_logger(__name__)

_ROLLBACK = "files"
"""The entry of a checkpoint with the restore points of the files."""


class EpisodeRecord:
    """The events of one episode. Errors are counted and logged once, and never end the episode.

    Args:
        directory: The directory of the episode, named after its number.
        log_name: The name of the episode's log.
        restorers: Roll shared files back to the last checkpoint.
        lock: The acquired lock of the process that plays the episode.
    """

    def __init__(
        self, events: Events, directory: Path, log_name: str, restorers: Sequence[Restorer], lock: FileLock
    ) -> None:
        self.last_turn = -1
        """The turn of the last recorded checkpoint. -1 if there is none."""
        self._events = events
        self._episode = int(directory.name)
        self._failures = 0
        self._restorers = restorers
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
            points = {restorer.name: restorer.restore_point(turn) for restorer in self._restorers}
            content = {
                "turn": turn,
                "run": run.model_dump(),
                "game": as_text(game),
                "log_bytes": _size(self._log),
                "snapshots": snapshots | {_ROLLBACK: points},
            }
            event = _event(turn, EventKind.CHECKPOINT, content)
            self._events.add(self._episode, event, replacing=[EventKind.CHECKPOINT, EventKind.FILE])
            self._complete(turn)
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

    def complete_checkpoint(self, turn: int) -> None:
        """Complete the checkpoint of this turn if an interrupt came between recording it and starting restore points.

        Otherwise later writes would still belong to the restore points of the previous checkpoint.
        """
        try:
            last = self._events.last(self._episode, EventKind.CHECKPOINT)
            if last is not None and last.turn == turn != self.last_turn:
                self._complete(turn)
        except (OSError, ZorkGPTError) as error:
            self._note_failure(error)

    def roll_back(self, snapshots: dict[str, dict[str, Any]], turn: int) -> None:
        """Roll the shared files back to the checkpoint of this turn, and start new restore points.

        Raises:
            CheckpointError: If a file can't be restored. The call can be repeated.
        """
        points = snapshots.get(_ROLLBACK, {})
        notes = [parse_json(event.content, RECORD) for event in self._events.of(self._episode, EventKind.FILE)]
        for restorer in self._restorers:
            point = points.get(restorer.name)
            of_file = [note for name, note in notes if name == restorer.name]
            try:
                if point is not None and not restorer.restore(point, of_file):
                    log.warning(
                        "the file was not rolled back, because another process has written it",
                        extra={"file": restorer.name},
                    )
            except (OSError, ZorkGPTError) as error:
                raise CheckpointError(f"{restorer.name} can't be rolled back to the checkpoint: {error}") from None
        self._events.remove(self._episode, EventKind.FILE)
        self._complete(turn)

    def end(self, *, is_final: bool) -> None:
        """End the restore points of the shared files.

        Args:
            is_final: Whether the episode can't be resumed, so that nothing for resuming is kept.
        """
        try:
            for restorer in self._restorers:
                restorer.end(remove=is_final)
            if is_final:
                self._events.remove(self._episode, *FOR_RESUMING)
        except (OSError, ZorkGPTError) as error:
            log.warning("the checkpoint of a finished episode was not removed", extra={"reason": str(error)})

    def close(self) -> None:
        """Let other processes play the episode."""
        self._lock.release()

    def _complete(self, turn: int) -> None:
        for restorer in self._restorers:
            restorer.begin(turn, partial(self._note_change, restorer.name))
        self.last_turn = turn

    def _note_change(self, name: str, note: str) -> None:
        """Record a note about a change of a file since the last checkpoint."""
        try:
            self._events.add(self._episode, _event(self.last_turn, EventKind.FILE, [name, note]))
        except ZorkGPTError as error:
            self._note_failure(error)

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

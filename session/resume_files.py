"""The files for resuming an interrupted episode: its journal, its checkpoint, and the files to roll back."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from session import checkpoint
from session.checkpoint import Run
from session.journal import Opening, TurnDecision, TurnJournal
from zorkgpt.errors import CheckpointError, FileError, ZorkGPTError
from zorkgpt.log import get_logger
from zorkgpt.restore_point import Restorer
from zorkgpt.run_folder import CHECKPOINT, TURN_JOURNAL, UNDO

log = get_logger(__name__)

_ROLLBACK = "files"
"""The entry of a checkpoint with the restore points of the files."""


class ResumeFiles:
    """Writes the files for resuming one episode. Errors are counted and logged once, and never end the episode.

    Args:
        directory: The directory of the episode, named after its number.
        log_name: The name of the episode's log.
        restorers: Roll shared files back to the last checkpoint.
        lock: The acquired lock of the process that plays the episode.
    """

    def __init__(self, directory: Path, log_name: str, restorers: Sequence[Restorer], lock: FileLock) -> None:
        self.directory = directory
        self.last_turn = -1
        """The turn of the last checkpoint on disk. -1 if there is none."""
        self._failures = 0
        self._restorers = restorers
        self._lock = lock
        self._episode = int(directory.name)
        self._log = directory / log_name
        self._checkpoint = directory / CHECKPOINT
        self._undo = directory / UNDO
        self._journal: TurnJournal | None = None

    def open_journal(self) -> None:
        """Open the journal, at its end."""
        try:
            self._journal = TurnJournal(self.directory / TURN_JOURNAL)
        except OSError as error:
            self._note_failure(error)

    @property
    def is_open(self) -> bool:
        """Whether the journal is open. Checkpoints without a complete journal are useless."""
        return self._journal is not None

    @property
    def counts(self) -> dict[str, int]:
        """The number of failed writes."""
        return {"failed_checkpoints": self._failures}

    def append(self, entry: Opening | TurnDecision) -> None:
        """Append an entry to the journal, if it is open."""
        if self._journal is None:
            return
        try:
            self._journal.write(entry)
        except OSError as error:
            # With a gap in the journal, later checkpoints would be useless. The last one remains valid.
            self._note_failure(error)
            self._close_journal()

    def write_checkpoint(self, turn: int, *, run: Run, game: bytes, snapshots: dict[str, dict[str, Any]]) -> None:
        """Replace the checkpoint by one after this turn.

        Args:
            game: The interpreter's saved state.
            snapshots: The states of everything else, by name.
        """
        try:
            points = {restorer.name: restorer.restore_point(turn) for restorer in self._restorers}
            content = {
                "episode": self._episode,
                "turn": turn,
                "run": run.model_dump(),
                "game": checkpoint.as_text(game),
                "log_bytes": _size(self._log),
                "snapshots": snapshots | {_ROLLBACK: points},
            }
            checkpoint.write_checkpoint(self._checkpoint, content)
            self._complete(turn)
        except (OSError, FileError) as error:
            self._note_failure(error)

    def complete_checkpoint(self, turn: int) -> None:
        """Complete the checkpoint of this turn if an interrupt came between writing it and starting new restore points.

        Otherwise later writes would still belong to the restore points of the previous checkpoint.
        """
        try:
            if checkpoint.read_checkpoint(self._checkpoint).turn == turn != self.last_turn:
                self._complete(turn)
        except CheckpointError:
            # The interrupt came before the first checkpoint.
            return
        except (OSError, FileError) as error:
            self._note_failure(error)

    def roll_back(self, snapshots: dict[str, dict[str, Any]], turn: int) -> None:
        """Roll the shared files back to the checkpoint of this turn, and start new restore points.

        Raises:
            CheckpointError: If a file can't be restored. The call can be repeated.
        """
        points = snapshots.get(_ROLLBACK, {})
        for restorer in self._restorers:
            point = points.get(restorer.name)
            try:
                if point is not None and not restorer.restore(self._undo, point):
                    log.warning(
                        "the file was not rolled back, because another process has written it",
                        extra={"file": restorer.name},
                    )
            except (OSError, ZorkGPTError) as error:
                raise CheckpointError(f"{restorer.name} can't be rolled back to the checkpoint: {error}") from None
        self._complete(turn)

    def end(self, *, remove: bool) -> None:
        """End the restore points of the shared files.

        Args:
            remove: Whether to delete all files for resuming, because the episode is finished.
        """
        try:
            for restorer in self._restorers:
                restorer.end(remove=remove)
            if remove:
                self._remove()
        except (OSError, FileError) as error:
            # The remaining files are harmless, because the log shows that the episode is finished.
            log.warning("the checkpoint of a finished episode was not removed", extra={"reason": str(error)})

    def _remove(self) -> None:
        for path in self._undo.glob("*"):
            path.unlink(missing_ok=True)
        if self._undo.is_dir():
            self._undo.rmdir()
        checkpoint.remove_checkpoint(self._checkpoint)
        (self.directory / TURN_JOURNAL).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the journal and let other processes play the episode."""
        self._close_journal()
        self._lock.release()

    def _close_journal(self) -> None:
        if self._journal:
            self._journal.close()
        self._journal = None

    def _complete(self, turn: int) -> None:
        for restorer in self._restorers:
            restorer.begin(self._undo, turn)
        self.last_turn = turn

    def _note_failure(self, error: OSError | FileError) -> None:
        if not self._failures:
            log.warning("no checkpoint could be written", extra={"reason": str(error)})
        self._failures += 1


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

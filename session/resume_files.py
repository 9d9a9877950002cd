"""The files from which an interrupted episode is resumed: its journal, its checkpoint, and the files to roll back."""

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
"""The entry of a checkpoint that holds the restore points of the files."""


class ResumeFiles:
    """Writes the files from which one episode is resumed.

    Errors in writing are logged once and counted. They never end the episode.

    Args:
        directory: The directory of the episode, named after its number.
        log_name: The name of the episode's log.
        restorers: Roll the files that several episodes share back to the last checkpoint.
        lock: The acquired lock of the process that plays the episode.
    """

    def __init__(self, directory: Path, log_name: str, restorers: Sequence[Restorer], lock: FileLock) -> None:
        self.directory = directory
        self.last_turn = -1
        """The turn of the last checkpoint on disk; -1 if there is none."""
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
        """Whether the journal takes entries. Without it, a checkpoint is of no use."""
        return self._journal is not None

    @property
    def counts(self) -> dict[str, int]:
        """Return how many writes failed."""
        return {"failed_checkpoints": self._failures}

    def append(self, entry: Opening | TurnDecision) -> None:
        """Append an entry to the journal, if it is open."""
        if self._journal is None:
            return
        try:
            self._journal.write(entry)
        except OSError as error:
            # With a gap in the journal no later checkpoint could be resumed from; the last one stays good.
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
        """Complete the checkpoint of this turn if it is on disk and an interrupt came before the files followed it.

        Otherwise later writes would be kept for a return to the checkpoint before.
        """
        try:
            if checkpoint.read_checkpoint(self._checkpoint).turn == turn != self.last_turn:
                self._complete(turn)
        except CheckpointError:
            # The interrupt came before there was one.
            return
        except (OSError, FileError) as error:
            self._note_failure(error)

    def roll_back(self, snapshots: dict[str, dict[str, Any]], turn: int) -> None:
        """Return the shared files to the checkpoint of this turn, and follow their changes from there.

        Raises:
            CheckpointError: A file can't be restored; another call goes on from there.
        """
        points = snapshots.get(_ROLLBACK, {})
        for restorer in self._restorers:
            point = points.get(restorer.name)
            try:
                if point is not None and not restorer.restore(self._undo, point):
                    log.warning(
                        "others have written since; what the interrupted turn wrote stays",
                        extra={"file": restorer.name},
                    )
            except (OSError, ZorkGPTError) as error:
                raise CheckpointError(f"{restorer.name} can't be put back to the checkpoint: {error}") from None
        self._follow(turn)

    def end(self, *, remove: bool) -> None:
        """Stop following the shared files.

        Args:
            remove: Whether to remove everything that was written, because the episode can't be resumed.
        """
        try:
            for restorer in self._restorers:
                restorer.end(remove=remove)
            if remove:
                self._remove()
        except (OSError, FileError) as error:
            # What is left takes up room and does no harm: the log says that the episode is over.
            log.warning("the checkpoint of an episode that is over was not removed", extra={"reason": str(error)})

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
        self._follow(turn)
        self.last_turn = turn

    def _follow(self, turn: int) -> None:
        for restorer in self._restorers:
            restorer.begin(self._undo, turn)

    def _note_failure(self, error: OSError | FileError) -> None:
        if not self._failures:
            log.warning("no checkpoint could be written", extra={"reason": str(error)})
        self._failures += 1


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

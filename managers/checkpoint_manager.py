"""Keeps the running episode resumable: every decision in its journal, and a checkpoint every few turns."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from game_interface.game import Game
from managers.base import BaseManager
from managers.resumable import SavedEpisode, playing_lock, read_saved
from session import checkpoint, journal
from session.checkpoint import Run, Snapshot
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.journal import Opening, TurnDecision, TurnJournal
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, EpisodeInUse, FileError, WorkdirError, ZorkGPTError
from zorkgpt.files import write_file
from zorkgpt.memory.storage.restore_point import Restorer
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episodes import PATIENCE_S

_EVERY_TURNS = {True: 1, False: 10}
"""Turns between checkpoints, by whether a model is asked: replaying a turn then costs what its answers cost."""


class FileSnapshots:
    """The files that are put back to the last checkpoint on resuming, as one `Snapshot`."""

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        rollbacks: Sequence[Restorer],
    ) -> None:
        self._log = logger
        self._workdir = Path(config.zork_game_workdir)
        self._state = game_state
        self._rollbacks = tuple(rollbacks)

    def snapshot(self) -> dict[str, Any]:
        """Return the marks of the files, by name."""
        turn = self._state.turn_count
        return {rollback.name: rollback.restore_point(turn) for rollback in self._rollbacks}

    def restore(self, state: dict[str, Any]) -> None:
        """Undo what was written to the files since the checkpoint.

        Raises:
            CheckpointError: A file can't be put back; the next try goes on from there.
        """
        for rollback in self._rollbacks:
            mark = state.get(rollback.name)
            try:
                if mark is not None and not rollback.restore(self._folder, mark):
                    self._log.warning(
                        "others have written since; what the interrupted turn wrote stays",
                        extra={"file": rollback.name},
                    )
            except (OSError, ZorkGPTError) as error:
                raise CheckpointError(f"{rollback.name} can't be put back to the checkpoint: {error}") from None
        self.begin()

    def begin(self) -> None:
        """Keep what is written from here on revocable: the checkpoint of this turn is on disk."""
        folder, turn = self._folder, self._state.turn_count
        for rollback in self._rollbacks:
            rollback.begin(folder, turn)

    def end(self, *, remove: bool) -> None:
        """Stop keeping track of the files.

        Args:
            remove: Whether what was kept for putting them back is removed.
        """
        for rollback in self._rollbacks:
            rollback.end(remove=remove)
        if remove and self._folder.is_dir():
            for path in self._folder.glob("*"):
                path.unlink(missing_ok=True)
            self._folder.rmdir()

    @property
    def _folder(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id) / "undo"


class CheckpointManager(BaseManager):
    """Writes the journal and the checkpoints of the running episode, and restores an interrupted one from them.

    It is the last of the managers: a turn is over when its checkpoint is written. On resuming, what was written after
    the last checkpoint is taken back, and the turns since then are played again with the same decisions. So a kill at
    any moment leaves nothing half done and nothing twice.

    Args:
        run: What the episode is played with.
        asks_model: Whether a model serves any role.
        snapshots: Everything else that a checkpoint holds, by name.
        files: The files that are put back on resuming, after everything else was restored.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        run: Run,
        asks_model: bool,
        game: Game,
        snapshots: Mapping[str, Snapshot],
        files: FileSnapshots,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._run = run
        self._run_as_dict = run.model_dump()
        self._game = game
        self._files = files
        self._snapshots: dict[str, Snapshot] = {**snapshots, "files": files}
        self._interval = config.checkpoint_interval_turns or _EVERY_TURNS[asks_model]
        self._workdir = Path(config.zork_game_workdir)
        self._directory = self._workdir
        """The directory of the episode that is played, once there is one."""
        self._journal: TurnJournal | None = None
        self._lock: FileLock | None = None
        self._written = self._failures = 0
        self._last_turn = -1
        """The last turn of the checkpoint that the files can be put back to."""
        self._ephemeral = b""
        """The ephemeral memories as they were last written beside the checkpoint."""

    def reset(self) -> None:
        """Begin a new episode, which no other process may play.

        Raises:
            CheckpointError: Another process plays it.
        """
        self.release()
        self._acquire(self._state.episode_id)
        self._ephemeral = b""
        self._last_turn = -1

    def resume(self) -> None:
        """Do nothing: `load` has claimed the episode already."""

    def begin(self, opening: Opening) -> None:
        """Write the opening into the journal and the first checkpoint; the log was begun before."""
        self._open_journal()
        self._append(opening)
        self.save()

    def record_decision(self, decision: TurnDecision) -> None:
        """Write down what is about to be played."""
        self._append(decision)

    def process_periodic_update(self) -> None:
        """Write a checkpoint if one is due."""
        if self._state.turn_count % self._interval == 0:
            self.save()

    def catch_up(self) -> None:
        """Write a checkpoint after the last turn, which is not to be played again."""
        if self._last_turn != self._state.turn_count:
            self.save()

    def save(self) -> bool:
        """Write a checkpoint and return True; False, with one warning, if that is not possible."""
        if self._journal is None:
            return False
        turn = self._state.turn_count
        snapshots = {name: part.snapshot() for name, part in self._snapshots.items()}
        content = {
            "episode": self._state.episode_id,
            "turn": turn,
            "run": self._run_as_dict,
            "game": checkpoint.as_text(self._game.save_state()),
            "log_bytes": _size(self._directory / self._config.episode_log_file),
            "snapshots": snapshots,
        }
        try:
            self._save_session(snapshots.get("memory"))
            checkpoint.write_checkpoint(self._directory / checkpoint.FILE_NAME, content)
            self._complete(turn)
        except (OSError, FileError) as error:
            self._note_failure(error)
            return False
        return True

    def complete(self) -> None:
        """Complete a checkpoint that an interrupt cut short, if it is on disk: the episode will go on from it.

        Otherwise what is written from here on would be kept to return to the one before.
        """
        try:
            turn = checkpoint.read_checkpoint(self._directory / checkpoint.FILE_NAME).turn
            if turn == self._state.turn_count != self._last_turn:
                self._complete(turn)
        except CheckpointError:
            # The interrupt came before there was one.
            return
        except OSError as error:
            self._note_failure(error)

    def _complete(self, turn: int) -> None:
        self._files.begin()
        self._written += 1
        self._last_turn = turn

    def load(self, episode: int) -> SavedEpisode:
        """Claim an interrupted episode for this process and return what was saved of it.

        Raises:
            CheckpointError: It can't go on, or another process plays it; nothing was changed.
        """
        self.release()
        self._acquire(episode)
        try:
            saved = read_saved(self._directory, self._config.episode_log_file)
        except CheckpointError:
            self.release()
            raise
        self._last_turn, self._ephemeral = saved.checkpoint.turn, b""
        return saved

    def check(self, saved: SavedEpisode) -> None:
        """Pass if the episode was played with what this run is put together from.

        Raises:
            CheckpointError: It was not.
        """
        theirs, ours, episode = saved.checkpoint.run, self._run, saved.checkpoint.episode
        if theirs.story != ours.story:
            raise CheckpointError(
                f"Episode {episode} was played with another story: {theirs.title} "
                f"(sha256 {theirs.story[:12]}…, not {ours.story[:12]}…), from {theirs.story_path}. Name it with --game."
            )
        for what in ("seed", "player", "remember"):
            was, now = getattr(theirs, what), getattr(ours, what)
            if was != now:
                raise CheckpointError(f"Episode {episode} was begun with {what} {was}, not {now}.")
        if ours.remember and "memory" not in saved.checkpoint.snapshots:
            raise CheckpointError(f"Episode {episode} can't go on: its checkpoint lacks the memory. Play anew.")

    def is_restored(self, manager: object, saved: SavedEpisode) -> bool:
        """Return whether the checkpoint holds the manager's state, so that it does not process the turns again."""
        held = saved.checkpoint.snapshots
        return any(part is manager for name, part in self._snapshots.items() if name in held)

    def restore(self, saved: SavedEpisode) -> None:
        """Restore everything that the checkpoint holds, the files last, and go on with the journal.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, CheckpointError: A snapshot can't be restored.
        """
        for name, part in self._snapshots.items():
            if (state := saved.checkpoint.snapshots.get(name)) is not None:
                part.restore(state)
        self._open_journal()

    def end(self, *, final: bool) -> None:
        """Release the episode.

        Args:
            final: Whether it can never go on, so that what was saved for resuming it is removed.
        """
        self._files.end(remove=final)
        if final:
            checkpoint.remove_checkpoint(self._directory / checkpoint.FILE_NAME)
            (self._directory / journal.FILE_NAME).unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Close the journal and let other processes play the episode."""
        if self._journal:
            self._journal.close()
        if self._lock:
            self._lock.release()
        self._journal = self._lock = None

    def get_status(self) -> dict[str, Any]:
        """Return how many checkpoints were written and how many failed."""
        return {
            "type": "checkpoint",
            "state": "keeping" if self._journal else "idle",
            "metrics": {"checkpoints": self._written, "failed_checkpoints": self._failures},
        }

    def _acquire(self, episode: int) -> None:
        self._directory = run_directory(self._workdir, episode)
        lock = playing_lock(self._directory)
        try:
            lock.acquire(timeout=PATIENCE_S)
        except Timeout:
            raise EpisodeInUse(f"Episode {episode} is being played by another process.") from None
        except OSError as error:
            raise WorkdirError(f"The folder of episode {episode} can't be written: {error.strerror}.") from None
        self._lock = lock

    def _open_journal(self) -> None:
        try:
            self._journal = TurnJournal(self._directory / journal.FILE_NAME)
        except OSError as error:
            self._note_failure(error)

    def _append(self, entry: Opening | TurnDecision) -> None:
        if self._journal is None:
            return
        try:
            self._journal.write(entry)
        except OSError as error:
            # With a gap in the journal no later checkpoint could be resumed from; the last one stays good.
            self._note_failure(error)
            self._journal.close()
            self._journal = None

    def _save_session(self, memory: dict[str, Any] | None) -> None:
        """Write the memory's snapshot to a file of its own too, where people and tools look for ephemeral memories."""
        if memory is None:
            return
        ephemeral = as_json(memory["memories"])
        if ephemeral != self._ephemeral:
            write_file(self._directory / "ephemeral_session.json", as_json(memory), durable=False)
            self._ephemeral = ephemeral

    def _note_failure(self, error: OSError | FileError) -> None:
        if not self._failures:
            self._log.warning("no checkpoint could be written", extra={"reason": str(error)})
        self._failures += 1


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

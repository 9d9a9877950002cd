"""Keeps the running episode resumable: every decision and turn in its journal, and a checkpoint every few turns."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from game_interface.core.jericho_interface import JerichoInterface
from managers.base import KeepsState, Manager
from session import checkpoint, journal
from session.checkpoint import Checkpoint, Run
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from session.journal import Decided, Journal, Opening, Turns
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, FileError, WorkdirError, ZorkGPTError
from zorkgpt.files import write_file
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.restore_point import FileRestorer, restore_point_of
from zorkgpt.runlog.playing import LOCK, PATIENCE_S
from zorkgpt.runlog.reader import run_directory

FOR_GOOD = ("victory", "death", "the story's end")
"""Endings after which nothing can follow."""
_UNDO = "undo"
_EVERY = {True: 1, False: 10}
"""Turns between checkpoints, by whether a model is asked: playing turns again then costs what its answers cost."""


@dataclass(frozen=True, slots=True)
class Saved:
    """An episode that can go on."""

    checkpoint: Checkpoint
    turns: Turns

    @property
    def played(self) -> list[TurnRecord]:
        """The turns that the checkpoint contains, in order."""
        return [self.turns.played[turn] for turn in range(1, self.checkpoint.turn + 1)]

    @property
    def decided(self) -> dict[int, Decided]:
        """The decisions after the checkpoint: they are played again, and nobody is asked for them anew."""
        return {turn: each for turn, each in self.turns.decided.items() if turn > self.checkpoint.turn}


class CheckpointManager:
    """The last of the managers: its checkpoint is the moment at which a turn is over.

    What was written after the last checkpoint is taken back on resuming, and the turns since then are played again
    with the same decisions. So a kill at any moment leaves nothing half done and nothing twice.

    Args:
        run: what the episode is played with.
        asks_model: whether any role of it is a model's.
        managers: the others; those with `to_dict` and `restore` are kept in the checkpoint, the rest learns the turns
            again from the journal.
        rollbacks: of the files that are put back to the checkpoint on resuming.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        run: Run,
        asks_model: bool,
        game: JerichoInterface,
        memory: SimpleMemoryManager | None,
        managers: Sequence[Manager],
        rollbacks: Sequence[FileRestorer] = (),
    ) -> None:
        self._log = logger
        self._state = game_state
        self._config = config
        self._run = run
        self._run_plain = run.model_dump()
        self._game = game
        self._memory = memory
        self._rollbacks = tuple(rollbacks)
        self._keeping = [manager for manager in managers if isinstance(manager, KeepsState)]
        self._every = config.checkpoint_interval_turns or _EVERY[asks_model]
        self._workdir = Path(config.zork_game_workdir)
        self._directory = self._workdir
        """Of the episode that is played, once there is one."""
        self._journal: Journal | None = None
        self._lock: FileLock | None = None
        self._written = self._failures = 0
        self._contains = -1
        """The last turn that the checkpoint contains."""
        self._ephemeral = b""

    def reset_episode(self) -> None:
        """A new episode: nobody else may play it.

        Raises:
            CheckpointError: somebody does.
        """
        self.let_go()
        self._take(self._state.episode_id)
        self._ephemeral = b""
        self._contains = -1

    reset = reset_episode

    def resume_episode(self) -> None:
        """`load` has seen to it."""

    def begin(self, opening: Opening) -> None:
        """The game has begun, and the log too."""
        self._open_journal()
        self._note(opening)
        self.save()

    def decided(self, decision: Decided) -> None:
        """This is going to be played."""
        self._note(decision)

    def process_turn(self, record: TurnRecord) -> None:
        self._note(record)

    def process_periodic_update(self) -> None:
        if self._state.turn_count % self._every == 0:
            self.save()

    def catch_up(self) -> None:
        """A turn is over and none follows: it is not to be played again."""
        if self._contains != self._state.turn_count:
            self.save()

    def save(self) -> bool:
        """Write a checkpoint; False, with one warning, if that can't be done."""
        if self._journal is None:
            return False
        state, number = self._state, self._state.turn_count
        memory = self._memory.snapshot() if self._memory else None
        content = {
            "episode": self._state.episode_id,
            "turn": number,
            "run": self._run_plain,
            "game": checkpoint.as_text(self._game.save_state()),
            "log_bytes": _size(self._directory / self._config.episode_log_file),
            "memory": memory,
            "files": {rollback.name: rollback.restore_point(number) for rollback in self._rollbacks},
            "summary": [state.history_summary, state.history_summarised_to, state.history_summary_asked],
            "managers": {type(manager).__name__: manager.to_dict() for manager in self._keeping},
        }
        try:
            self._save_session(memory)
            checkpoint.write_checkpoint(self._directory / checkpoint.FILE_NAME, content)
            for rollback in self._rollbacks:
                rollback.begin(self._directory / _UNDO, number)
        except (OSError, FileError) as error:
            self._failed(error)
            return False
        self._written += 1
        self._contains = number
        return True

    def load(self, episode: int) -> Saved:
        """The episode as it was left, now this process's to play.

        Raises:
            CheckpointError: it can't go on, or somebody plays it; nothing was changed.
        """
        self.let_go()
        self._take(episode)
        try:
            saved = read_saved(self._directory)
        except CheckpointError:
            self.let_go()
            raise
        self._contains, self._ephemeral = saved.checkpoint.turn, b""
        return saved

    def check(self, saved: Saved) -> None:
        """Pass if the episode was played with what this run is put together for.

        Raises:
            CheckpointError: it was not.
        """
        theirs, ours = saved.checkpoint.run, self._run
        if theirs.story != ours.story:
            raise CheckpointError(
                f"Episode {saved.checkpoint.episode} was played with another story: {theirs.title} "
                f"(sha256 {theirs.story[:12]}…, not {ours.story[:12]}…), from {theirs.story_path}. Name it with --game."
            )
        for what in ("seed", "player", "remember"):
            was, now = getattr(theirs, what), getattr(ours, what)
            if was != now:
                raise CheckpointError(f"Episode {saved.checkpoint.episode} was begun with {what} {was}, not {now}.")

    def take_back(self, saved: Saved) -> None:
        """Undo what was written to files after the checkpoint.

        Raises:
            CheckpointError: a file can't be put back; the next try goes on from there.
        """
        for rollback in self._rollbacks:
            mark = saved.checkpoint.files.get(rollback.name)
            try:
                if mark is not None and not rollback.restore(self._directory / _UNDO, restore_point_of(mark)):
                    self._log.warning(
                        "others have written since; what the interrupted turn wrote stays",
                        extra={"file": rollback.name},
                    )
            except (OSError, ZorkGPTError) as error:
                raise CheckpointError(f"{rollback.name} can't be put back to the checkpoint: {error}") from None
            rollback.begin(self._directory / _UNDO, saved.checkpoint.turn)

    def restore_managers(self, saved: Saved) -> None:
        """Put back what is kept in the checkpoint."""
        state = self._state
        state.history_summary, state.history_summarised_to, state.history_summary_asked = saved.checkpoint.summary
        for manager in self.kept(saved):
            manager.restore(saved.checkpoint.managers[type(manager).__name__])
        self._open_journal()

    def kept(self, saved: Saved) -> tuple[Manager, ...]:
        """The managers that the checkpoint holds: they do not learn the turns again."""
        held = saved.checkpoint.managers
        return tuple(manager for manager in self._keeping if type(manager).__name__ in held)

    def end(self, *, for_good: bool) -> None:
        """The episode is over: for good, and what was kept for resuming it goes; or cut short, and that stays."""
        for rollback in self._rollbacks:
            rollback.end()
        if for_good:
            checkpoint.remove_checkpoint(self._directory / checkpoint.FILE_NAME)
            (self._directory / journal.FILE_NAME).unlink(missing_ok=True)
            for path in (self._directory / _UNDO).glob("*"):
                path.unlink(missing_ok=True)
            if (self._directory / _UNDO).is_dir():
                (self._directory / _UNDO).rmdir()
        self.let_go()

    def let_go(self) -> None:
        """Others may play the episode."""
        if self._journal:
            self._journal.close()
        if self._lock:
            self._lock.release()
        self._journal = self._lock = None

    def get_status(self) -> dict[str, Any]:
        return {
            "type": "checkpoint",
            "state": "keeping" if self._journal else "idle",
            "metrics": {"checkpoints": self._written, "failed_checkpoints": self._failures},
        }

    def _take(self, episode: int) -> None:
        self._directory = run_directory(self._workdir, episode)
        self._lock = playing_lock(self._directory)
        try:
            self._lock.acquire(timeout=PATIENCE_S)
        except Timeout:
            self._lock = None
            raise CheckpointError(f"Episode {episode} is being played by another process.") from None
        except OSError as error:
            self._lock = None
            raise WorkdirError(f"The folder of episode {episode} can't be written: {error.strerror}.") from None

    def _open_journal(self) -> None:
        try:
            self._journal = Journal(self._directory / journal.FILE_NAME)
        except OSError as error:
            self._failed(error)

    def _note(self, entry: Opening | Decided | TurnRecord) -> None:
        if self._journal is None:
            return
        try:
            self._journal.write(entry)
        except OSError as error:
            # With a gap in the journal no later checkpoint could be gone on from; the last one stays good.
            self._failed(error)
            self._journal.close()
            self._journal = None

    def _save_session(self, memory: dict[str, Any] | None) -> None:
        """Beside the checkpoint, which holds the same, for whoever looks for the memories of the episode."""
        if memory is None:
            return
        ephemeral = as_json(memory["memories"])
        if ephemeral != self._ephemeral:
            write_file(self._directory / "ephemeral_session.json", as_json(memory), durable=False)
            self._ephemeral = ephemeral

    def _failed(self, error: OSError | FileError) -> None:
        if not self._failures:
            self._log.warning("no checkpoint could be written", extra={"reason": str(error)})
        self._failures += 1


def read_saved(directory: Path) -> Saved:
    """What is kept of an episode, checked; nothing is changed.

    Raises:
        CheckpointError: it is damaged, of a later version, or there is none.
    """
    path = directory / checkpoint.FILE_NAME
    saved = Saved(checkpoint.read_checkpoint(path), journal.read_journal(directory / journal.FILE_NAME))
    if str(saved.checkpoint.episode) != directory.name:
        raise CheckpointError(f"The checkpoint {path} is of episode {saved.checkpoint.episode}, not of this one.")
    missing = set(range(1, saved.checkpoint.turn + 1)) - set(saved.turns.played)
    if missing:
        raise CheckpointError(f"The journal beside {path} lacks turn {min(missing)}: it is cut short.")
    return saved


def playing_lock(directory: Path) -> FileLock:
    """Held by the process that plays the episode; a killed one's is free."""
    return FileLock(directory / LOCK, thread_local=False)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

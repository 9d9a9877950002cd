"""Keep the running episode resumable: every decision in its journal, and a checkpoint every few turns."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from game_interface.game import Game
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.checkpoint import Run, Snapshot
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.resume_files import ResumeFiles
from zorkgpt.restore_point import Restorer
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.saved_episodes import SavedEpisode, lock_for_playing, read_saved


class CheckpointManager(BaseManager):
    """Saves the running episode, and restores an interrupted one.

    It is the last of the managers: a turn is over when its checkpoint is written. On resuming, later writes are rolled
    back, and the turns since the checkpoint are played again with the same decisions.

    Args:
        run: The story, the player and the options of the episode.
        interval_turns: The turns between two checkpoints.
        snapshots: The other parts of a checkpoint, by name.
        restorers: Roll back the files that episodes share, after everything else is restored.
        background: The work that waits for answers. While some of it is midway, no checkpoint is written: what it has
            changed already would be in it, and what follows would not.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        run: Run,
        interval_turns: int,
        game: Game,
        snapshots: Mapping[str, Snapshot],
        restorers: Sequence[Restorer],
        background: BackgroundQuestions,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._run = run
        self._game = game
        self._snapshots = snapshots
        self._restorers = restorers
        self._background = background
        self._interval = interval_turns
        self._claimed: ResumeFiles | None = None
        """The files of the last episode that was begun."""

    @property
    def files(self) -> ResumeFiles:
        """The files of the episode that is played."""
        assert self._claimed is not None, "no episode was begun"
        return self._claimed

    def reset(self) -> None:
        """Claim a new episode for this process.

        Raises:
            EpisodeInUse: If another process plays it.
        """
        self._claim(self._state.episode_id)

    def resume(self) -> None:
        """Do nothing: `load` has already claimed the episode."""

    def process_periodic_update(self) -> None:
        """Write a checkpoint if one is due."""
        turn = self._state.turn_count
        if turn - turn % self._interval > self.files.last_turn:
            self.save()

    def catch_up(self, *, learned_more: bool = False) -> None:
        """Write a checkpoint after the last turn, so that it is not played again.

        Args:
            learned_more: Whether the one of this turn, if there is one, is out of date.
        """
        if learned_more or self.files.last_turn != self._state.turn_count:
            self.save()

    def save(self) -> None:
        """Write a checkpoint if the journal is complete and no work is midway."""
        if self.files.is_open and not self._background.open.is_midway:
            self.files.write_checkpoint(
                self._state.turn_count,
                run=self._run,
                game=self._game.save_state(),
                snapshots={name: part.snapshot() for name, part in self._snapshots.items()},
            )

    def load(self, episode: int) -> SavedEpisode:
        """Claim an interrupted episode for this process and return its saved state.

        Raises:
            CheckpointError: If it can't go on, or another process plays it. Nothing is changed.
        """
        self._claim(episode)
        try:
            saved = read_saved(self.files.directory, self._config.episode_log_file)
            saved.check(self._run)
        except BaseException:
            self.release()
            raise
        self.files.last_turn = saved.checkpoint.turn
        return saved

    def is_restored(self, manager: object, saved: SavedEpisode) -> bool:
        """Return whether the checkpoint contains the manager's state, so that it need not process the turns again."""
        held = saved.checkpoint.snapshots
        return any(part is manager for name, part in self._snapshots.items() if name in held)

    def restore(self, saved: SavedEpisode) -> None:
        """Restore everything that the checkpoint contains, the files last, and reopen the journal.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, CheckpointError: If a snapshot can't be restored.
        """
        snapshots = saved.checkpoint.snapshots
        for name, part in self._snapshots.items():
            if (state := snapshots.get(name)) is not None:
                part.restore(state)
        self.files.roll_back(snapshots, self._state.turn_count)
        self.files.open_journal()

    def release(self) -> None:
        """Close the files and let other processes play the episode."""
        if self._claimed:
            self._claimed.close()

    def get_status(self) -> dict[str, Any]:
        """Return how many checkpoints of the episode were written and how many failed."""
        files = self._claimed
        state = "keeping" if files and files.is_open else "idle"
        return {"type": "checkpoint", "state": state, "metrics": files.counts if files else {}}

    def _claim(self, episode: int) -> None:
        self.release()
        directory = run_directory(Path(self._config.zork_game_workdir), episode)
        lock = lock_for_playing(directory)
        self._claimed = ResumeFiles(directory, self._config.episode_log_file, self._restorers, lock)

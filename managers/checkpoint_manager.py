"""Keep the running episode resumable: record its decisions, its turns, and a checkpoint every few turns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from game_interface.game import Game
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.checkpoint import Opening, Run, Snapshot, TurnDecision
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.errors import CheckpointError, MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.record.events import EventKind, Events
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episode_record import EpisodeRecord
from zorkgpt.runlog.saved_episodes import SavedEpisode, lock_for_playing, read_saved


class CheckpointManager(BaseManager):
    """Saves the running episode, and restores an interrupted one.

    It must be the last manager, because a checkpoint ends a turn. When an episode is resumed, later writes are rolled
    back, and the turns since the checkpoint are played again with the same decisions.

    Args:
        events: The record of the story folder.
        run: The story, the player and the options of the episode.
        interval_turns: The turns between two checkpoints.
        snapshots: The other parts of a checkpoint, by name.
        memory: The memory, whose changes since the checkpoint are undone.
        background: The work that waits for answers. No checkpoint is written while some of it is half done, because a
            checkpoint would contain only a part of its changes.
    """

    def __init__(
        self,
        config: GameConfiguration,
        game_state: GameState,
        *,
        events: Events,
        run: Run,
        interval_turns: int,
        game: Game,
        snapshots: Mapping[str, Snapshot],
        memory: SimpleMemoryManager | None,
        background: BackgroundQuestions,
    ) -> None:
        super().__init__(get_logger(__name__), config, game_state)
        self._events = events
        self._run = run
        self._game = game
        self._snapshots = snapshots
        self._memory = memory
        self._background = background
        self._interval = interval_turns
        self._claimed: EpisodeRecord | None = None
        """The record of the last started episode."""

    @property
    def _record(self) -> EpisodeRecord:
        """The record of the running episode."""
        assert self._claimed is not None, "no episode was started"
        return self._claimed

    def begin(self, opening: Opening) -> None:
        """Record the opening and the first checkpoint.

        Call it after the log was begun, because a checkpoint contains the log's length.
        """
        self._record.begin(opening)
        self.save()

    def decide(self, decision: TurnDecision) -> None:
        """Record a decision before it is played."""
        self._record.decide(decision)

    def add_turn(self, turn: TurnRecord) -> None:
        """Record a turn that was played."""
        self._record.add_turn(turn)

    def end(self, *, is_final: bool) -> None:
        """Let other processes play the episode.

        Args:
            is_final: Whether it can't be resumed. What was recorded for this is then deleted.
        """
        if is_final:
            self._record.end()
        self.release()

    def reset(self) -> None:
        """Claim a new episode for this process.

        Raises:
            EpisodeInUse: If another process plays it.
        """
        self._claim(self.game_state.episode_id)

    def resume(self) -> None:
        """Do nothing, because `load` has already claimed the episode."""

    def process_periodic_update(self) -> None:
        """Record a checkpoint if one is due."""
        turn = self.game_state.turn_count
        if turn - turn % self._interval > self._record.last_turn:
            self.save()

    def save(self) -> None:
        """Record a checkpoint, unless background work is half done."""
        if not self._background.open.is_midway:
            self._record.save(
                self.game_state.turn_count,
                run=self._run,
                game=self._game.save_state(),
                snapshots={name: part.snapshot() for name, part in self._snapshots.items()},
            )

    def load(self, episode: int) -> SavedEpisode:
        """Claim an interrupted episode for this process until `release`, and return its saved state.

        Raises:
            CheckpointError: If it can't be continued, or another process plays it. Nothing is changed.
        """
        self._claim(episode)
        saved = read_saved(self._events, episode)
        saved.check(self._run)
        return saved

    def is_restored(self, manager: object, saved: SavedEpisode) -> bool:
        """Return whether the checkpoint contains the manager's state."""
        saved_parts = saved.checkpoint.snapshots
        return any(part is manager for name, part in self._snapshots.items() if name in saved_parts)

    def restore(self, saved: SavedEpisode) -> None:
        """Restore everything that the checkpoint contains, the memory last.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, CheckpointError: If a snapshot can't be restored.
        """
        snapshots = saved.checkpoint.snapshots
        for name, part in self._snapshots.items():
            if (state := snapshots.get(name)) is not None:
                part.restore(state)
        if self._memory is not None:
            try:
                self._memory.revert_to(snapshots["memory"])
            except MemoryStoreError as error:
                raise CheckpointError(f"The memories can't be returned to the checkpoint: {error}") from None
        # The episode is running again.
        self._events.remove(saved.episode, EventKind.TRAIL)

    def release(self) -> None:
        """Let other processes play the episode."""
        if self._claimed:
            self._claimed.close()

    def get_status(self) -> dict[str, Any]:
        """Return the numbers of written and failed checkpoints of the episode."""
        return {"type": "checkpoint", "metrics": self._claimed.counts if self._claimed else {}}

    def _claim(self, episode: int) -> None:
        self.release()
        directory = run_directory(Path(self.config.zork_game_workdir), episode)
        lock = lock_for_playing(directory)
        self._claimed = EpisodeRecord(self._events, directory, self.config.episode_log_file, lock)

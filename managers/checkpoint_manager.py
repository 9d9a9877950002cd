"""Keep the running episode resumable: record its opening, decisions and turns, each turn with a checkpoint."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from game_interface.game import Game
from managers.base import BaseManager
from session.checkpoint import Opening, Run, Snapshot, TurnDecision, as_text
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.record.events import FOR_RESUMING, EventKind, EventRow, Events
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.events import to_record
from zorkgpt.runlog.saved_episodes import SavedEpisode, lock_for_playing, read_saved


class CheckpointManager(BaseManager):
    """Records the running episode, and restores an interrupted one.

    It must be the last manager, because a checkpoint ends a turn. When an episode is resumed, later changes are undone,
    and a turn that was decided but not finished is played again with the same decision.

    Args:
        events: The record of the story folder.
        run: The story, the player and the options of the episode.
        snapshots: The other parts of a checkpoint, by name.
        memory: The memory, whose changes since the checkpoint are undone.

    Raises (all methods that record something):
        MemoryStoreError: If it can't be written.
    """

    def __init__(
        self,
        config: GameConfiguration,
        game_state: GameState,
        *,
        events: Events,
        run: Run,
        game: Game,
        snapshots: Mapping[str, Snapshot],
        memory: SimpleMemoryManager | None,
    ) -> None:
        super().__init__(get_logger(__name__), config, game_state)
        self._events = events
        self._run = run
        self._game = game
        self._snapshots = snapshots
        self._memory = memory
        self._workdir = Path(config.zork_game_workdir)
        self._lock: FileLock | None = None
        """The lock of the last started episode."""

    def begin(self, opening: Opening) -> None:
        """Record the opening and the first checkpoint.

        Call it after the log was begun, because a checkpoint contains the log's length.
        """
        self._add(0, EventKind.OPENING, opening)
        self.save()

    def decide(self, decision: TurnDecision) -> None:
        """Record a decision before it is played."""
        self._add(decision.turn, EventKind.DECISION, decision)

    def add_turn(self, turn: TurnRecord) -> None:
        """Record a turn that was played."""
        self._add(turn.turn, EventKind.TURN, to_record(turn))

    def end(self, *, is_final: bool) -> None:
        """Let other processes play the episode.

        Args:
            is_final: Whether it can't be resumed. What was recorded for this is then deleted.
        """
        try:
            if is_final:
                self._events.remove(self.game_state.episode_id, *FOR_RESUMING)
        except MemoryStoreError as error:
            self.logger.warning("the checkpoint of a finished episode was not removed", extra={"reason": str(error)})
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
        """Record a checkpoint."""
        self.save()

    def save(self) -> None:
        """Replace the checkpoint of the episode by one after the last turn."""
        turn, episode = self.game_state.turn_count, self.game_state.episode_id
        content = {
            "turn": turn,
            "run": self._run.model_dump(),
            "game": as_text(self._game.save_state()),
            "log_bytes": _size(run_directory(self._workdir, episode) / self.config.episode_log_file),
            "snapshots": {name: part.snapshot() for name, part in self._snapshots.items()},
        }
        self._add(turn, EventKind.CHECKPOINT, content, replacing=[EventKind.CHECKPOINT])

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
        if self._lock:
            self._lock.release()

    def get_status(self) -> dict[str, Any]:
        """Return no metrics."""
        return {"type": "checkpoint", "metrics": {}}

    def _add(self, turn: int, kind: EventKind, content: object, replacing: Sequence[EventKind] = ()) -> None:
        event = EventRow(turn, kind, as_json(content).decode())
        self._events.add(self.game_state.episode_id, event, replacing=replacing)

    def _claim(self, episode: int) -> None:
        self.release()
        self._lock = lock_for_playing(run_directory(self._workdir, episode))


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0

"""Keep the running episode resumable: record its opening, its decisions, and each turn with a checkpoint."""

from pathlib import Path

from filelock import FileLock

from game_interface.game import Game
from managers.background import BackgroundQuestions
from session.checkpoint import Run, TurnDecision, as_text
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

log = get_logger(__name__)


class CheckpointManager:
    """Records the running episode, and restores an interrupted one.

    When an episode is resumed, later changes are undone, and a turn that was decided but not finished is played again
    with the same decision.

    Args:
        events: The record.
        run: The story, the player and the options of the episode.
        background: The background questions, which are asked again.
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
        background: BackgroundQuestions,
        memory: SimpleMemoryManager | None,
    ) -> None:
        self._state = game_state
        self._events = events
        self._run = run
        self._game = game
        self._background = background
        self._memory = memory
        self._workdir = Path(config.zork_game_workdir)
        self._lock: FileLock | None = None
        """The lock of the last started episode."""

    def claim(self, episode: int) -> None:
        """Claim an episode for this process until `release`.

        Raises:
            EpisodeInUse: If another process plays it.
        """
        self.release()
        self._lock = lock_for_playing(run_directory(self._workdir, episode))

    def begin(self, opening: TurnRecord) -> None:
        """Record the opening, as turn 0, and the first checkpoint."""
        self._events.add(self._state.episode_id, _event(0, EventKind.OPENING, to_record(opening)), self._checkpoint())

    def decide(self, decision: TurnDecision) -> None:
        """Record a decision before it is played, instead of the last one."""
        event = _event(decision.turn, EventKind.DECISION, decision)
        self._events.add(self._state.episode_id, event, replacing=[EventKind.DECISION])

    def save(self) -> None:
        """Replace the checkpoint."""
        self._events.add(self._state.episode_id, self._checkpoint(), replacing=[EventKind.CHECKPOINT])

    def end(self, *, is_final: bool) -> None:
        """Let other processes play the episode.

        Args:
            is_final: Whether it can't be resumed. What was recorded for this is then deleted.
        """
        try:
            if is_final:
                self._events.remove(self._state.episode_id, *FOR_RESUMING)
        except MemoryStoreError as error:
            log.warning("the checkpoint of a finished episode was not removed", extra={"reason": str(error)})
        self.release()

    def load(self, episode: int) -> SavedEpisode:
        """Claim an interrupted episode for this process until `release`, and return its saved state.

        Raises:
            CheckpointError: If it can't be continued, or another process plays it. Nothing is changed.
        """
        self.claim(episode)
        saved = read_saved(self._events, episode)
        saved.check(self._run)
        return saved

    def return_to(self, saved: SavedEpisode) -> None:
        """Restore the memory at the checkpoint, and undo its later changes and what was recorded after it.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, CheckpointError: If the memory can't be restored.
        """
        if self._memory is not None:
            state = saved.checkpoint.memory or {}
            self._memory.restore(state)
            try:
                self._memory.revert_to(state)
            except MemoryStoreError as error:
                raise CheckpointError(f"The memories can't be returned to the checkpoint: {error}") from None
        # The episode is running again.
        self._events.return_to_checkpoint(saved.episode)

    def release(self) -> None:
        """Let other processes play the episode."""
        if self._lock:
            self._lock.release()

    def _checkpoint(self) -> EventRow:
        content = {
            "turn": self._state.turn_count,
            "run": self._run.model_dump(),
            "game": as_text(self._game.save_state()),
            "memory": self._memory.snapshot() if self._memory else None,
            "questions": self._background.saved(),
        }
        return _event(self._state.turn_count, EventKind.CHECKPOINT, content)


def _event(turn: int, kind: EventKind, content: object) -> EventRow:
    return EventRow(turn, kind, as_json(content).decode())

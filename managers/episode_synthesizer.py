"""Opens and closes episodes: everything that is reset, saved or logged at either end, in one place."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from managers.base import Manager
from managers.checkpoint_manager import CheckpointManager
from managers.episode_log import EpisodeLog
from managers.knowledge_manager import KnowledgeManager
from managers.model_calls import ModelCalls
from managers.objective_manager import ObjectiveManager
from managers.resumable import FINAL_ENDINGS, SavedEpisode
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnHistory, TurnRecord
from session.log_entries import turn_played
from zorkgpt.errors import WorkdirError, ZorkGPTError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Persistence
from zorkgpt.runlog.episodes import episodes_in, run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted, LeftToTry


class EpisodeSynthesizer:
    """Numbers the episodes of a working directory, resets what belongs to one episode, saves what outlives it."""

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        history: TurnHistory,
        memory: SimpleMemoryManager | None,
        managers: Iterable[Manager],
        episode_log: EpisodeLog,
        checkpoints: CheckpointManager,
        models: ModelCalls | None = None,
        knowledge: KnowledgeManager | None = None,
        objectives: ObjectiveManager | None = None,
    ) -> None:
        self._log = logger
        self._config = config
        self._state = game_state
        self._history = history
        self._memory = memory
        self._managers = tuple(managers)
        self._episode_log = episode_log
        self._checkpoints = checkpoints
        self._models = models
        self._knowledge = knowledge
        self._objectives = objectives
        self._workdir = Path(config.zork_game_workdir)

    def reset_episode(self) -> int:
        """Forget what was only true of the last episode, and return the next free number, now claimed.

        Raises:
            WorkdirError: The working directory can't be written.
        """
        episode = self._claim()
        self._state.reset_episode(episode)
        self._history.clear()
        for manager in self._managers:
            manager.reset_episode()
        if self._memory:
            self._memory.reset_episode()
        return episode

    reset = reset_episode

    def resume_episode(self, episode: int) -> None:
        """Forget what was only true of the last episode, to go on with this one."""
        self._state.reset_episode(episode)
        self._history.clear()
        for manager in self._managers:
            manager.resume_episode()
        if self._memory:
            self._memory.reset_episode()

    def reopen(self, saved: SavedEpisode) -> EpisodeResumed:
        """Go on with the log and return its event; the game stands where it was left."""
        event = EpisodeResumed(
            episode=self._state.episode_id,
            time=_now(),
            turn=saved.checkpoint.turn,
            max_turns=self._config.max_turns_per_episode,
        )
        self._episode_log.resume(event, saved.checkpoint.log_bytes)
        return event

    def open(self, *, player: str, story: dict[str, Any], seed: int, opening: str) -> EpisodeStarted:
        """Begin the log and return its first event; the game stands at its beginning."""
        state = self._state
        event = EpisodeStarted(
            episode=state.episode_id,
            time=_now(),
            player=player,
            story=story,
            seed=seed,
            max_turns=self._config.max_turns_per_episode,
            opening=opening,
            location_id=state.current_room_id,
            location=state.current_room_name,
        )
        self._episode_log.begin(event)
        return event

    def process_turn(self, record: TurnRecord) -> None:
        """Log a turn.

        Raises:
            WorkdirError: It can't be written.
        """
        self._episode_log.write(turn_played(record))

    def process_periodic_update(self) -> None:
        """Do nothing: all the work is at either end of an episode."""

    def get_status(self) -> dict[str, Any]:
        """Return the metrics that the log of the episode ends with."""
        return {"type": "episodes", "state": f"episode {self._state.episode_id}", "metrics": self._metrics()}

    def close(
        self, reason: str, message: str = "", left_to_try: Mapping[int, Sequence[str]] | None = None
    ) -> EpisodeEnded:
        """Save the episode, log how it ended and return that event.

        Args:
            left_to_try: what the player has left untried; see `Player.left_to_try`.
        """
        state = self._state
        self._consolidate()
        self._conclude(reason)
        self._lay_objectives_aside()
        event = EpisodeEnded(
            episode=state.episode_id,
            time=_now(),
            reason=reason,
            turns=state.turn_count,
            score=state.current_score,
            max_score=state.max_score,
            places=len(state.visited_locations),
            deaths=state.deaths,
            memories=self._memory_counts(),
            message=message,
            metrics=self._metrics(),
        )
        # If the directory was deleted meanwhile, it is not made again.
        if self._memory and self._run_directory.is_dir():
            self._memory.save_session(self._run_directory / "ephemeral_session.json")
        self._log_left(left_to_try or {})
        self._episode_log.end(event)
        self._checkpoints.end(final=reason in FINAL_ENDINGS)
        return event

    def _log_left(self, left: Mapping[int, Sequence[str]]) -> None:
        if not left:
            return
        places = {str(place): list(action) for place, action in left.items()}
        # The episode is closed even if its directory is gone, which `end` reports.
        with suppress(WorkdirError):
            self._episode_log.write(LeftToTry(self._state.episode_id, places))

    def _consolidate(self) -> None:
        """Look through the whole memory for duplicates, every few episodes."""
        every = self._config.consolidate_every_episodes
        if self._memory is None or not every or self._state.episode_id % every:
            return
        try:
            self._memory.consolidate()
        except Exception as error:
            # The episode is closed even if a judge or an embedding provider fails.
            self._log.warning("memories not consolidated", extra={"error": repr(error)}, exc_info=True)

    def _conclude(self, reason: str) -> None:
        """Learn from the episode as a whole."""
        if self._knowledge is None:
            return
        try:
            self._knowledge.conclude(reason)
        except Exception as error:
            # The episode is closed even if no lessons can be drawn.
            self._log.warning("no lessons drawn from the episode", extra={"error": repr(error)}, exc_info=True)

    def _lay_objectives_aside(self) -> None:
        """Lay aside the objectives of this episode only."""
        if self._objectives is None:
            return
        try:
            self._objectives.end_episode()
        except ZorkGPTError as error:
            # The episode is closed even if its directory is gone.
            self._log.warning("objectives not laid aside", extra={"reason": str(error)})

    @property
    def _run_directory(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id)

    def _claim(self) -> int:
        """Return the next free number; making its directory claims it, so two processes never share one."""
        episode = max(episodes_in(self._workdir), default=0) + 1
        while True:
            if self._memory:
                episode = self._memory.store.claim_episode(episode)
            try:
                run_directory(self._workdir, episode).mkdir(parents=True)
            except FileExistsError:
                episode += 1
            except OSError as error:
                raise WorkdirError(
                    f"The working directory {self._workdir} can't be written: "
                    f"{error.strerror}. Name another with --workdir."
                ) from None
            else:
                return episode

    def _metrics(self) -> dict[str, Any]:
        counted = self._memory.get_status()["metrics"] if self._memory else {}
        metrics: dict[str, Any] = dict(counted) if isinstance(counted, dict) else {}
        for manager in self._managers:
            if manager is not self._models:
                status = manager.get_status()
                metrics[status["type"]] = status["metrics"]
        return metrics | {"model_usage": self._models.usage()} if self._models else metrics

    def _memory_counts(self) -> dict[str, int]:
        if self._memory is None:
            return {kind.value: 0 for kind in Persistence}
        totals = {kind.value: 0 for kind in Persistence}
        for location_id in {*self._memory.memory_cache, *self._memory.ephemeral_cache}:
            for kind, count in self._memory.get_memory_breakdown(location_id).items():
                totals[kind] += count
        return totals


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

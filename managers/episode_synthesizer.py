"""Start and end episodes: reset the state of the last episode, and save the state that outlives it."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Persistence
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.record.events import Events
from zorkgpt.record.experience import Experience
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episode_log import EpisodeLog, LastAnswers
from zorkgpt.runlog.episodes import claim_run_directory, pack_old_episodes
from zorkgpt.runlog.events import EpisodeEnded


class EpisodeSynthesizer(BaseManager):
    """Numbers the episodes of a working directory, and starts and ends them for all other managers."""

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        managers: Iterable[BaseManager],
        episode_log: EpisodeLog,
        memory: SimpleMemoryManager | None,
        events: Events,
        earlier: Callable[[int], Experience],
    ) -> None:
        """
        Args:
            events: The record of the working directory.
            earlier: Returns the experience of the episodes before one.
        """
        super().__init__(logger, config, game_state)
        self._managers = tuple(managers)
        self._episode_log = episode_log
        self._memory = memory
        self._events = events
        self._earlier = earlier
        self._workdir = Path(config.zork_game_workdir)

    def reset(self) -> None:
        """Start a new episode with the next free number, and compress old logs.

        Raises:
            WorkdirError: If the working directory can't be written.
        """
        episode = self._claim()
        self.game_state.reset_episode(episode, self._earlier(episode))
        pack_old_episodes(self._workdir, self._events, self.config.keep_episodes, self.config.episode_log_file)
        for manager in self._managers:
            manager.reset()
        if self._memory:
            self._memory.reset_episode()

    def resume_episode(self, episode: int, restore: Callable[[], None]) -> None:
        """Clear the state of the last episode and continue this one.

        Args:
            restore: Restores the memory at the checkpoint.
        """
        self.game_state.reset_episode(episode, self._earlier(episode))
        if self._memory:
            self._memory.reset_episode()
        restore()
        for manager in self._managers:
            manager.resume()

    def process_turn(self, record: TurnRecord) -> None:
        """Log a turn.

        Raises:
            WorkdirError: If the log can't be written.
        """
        self._episode_log.write(record)

    def get_status(self) -> dict[str, Any]:
        """Return the metrics for the end of the episode's log."""
        return {"type": "episodes", "metrics": self._metrics()}

    def close(self, reason: str, message: str, last_answers: LastAnswers) -> EpisodeEnded:
        """Save the episode, log its end and return that event."""
        with self._errors_logged("memories not consolidated"):
            self._consolidate()
        for manager in self._managers:
            with self._errors_logged("a manager could not finish the episode"):
                manager.end_episode(reason)
        if self._memory:
            self._memory.flush()
        return self._episode_log.end(
            reason,
            message,
            memories=self._memory_counts(),
            metrics=self._metrics(),
            last_answers=last_answers,
        )

    @contextmanager
    def _errors_logged(self, warning: str) -> Iterator[None]:
        """Log errors, so that the episode is closed even if a model fails or its directory is gone."""
        try:
            yield
        except Exception as error:
            self.logger.warning(warning, extra={"error": repr(error)}, exc_info=True)

    def _consolidate(self) -> None:
        """Deduplicate the whole memory every few episodes."""
        interval = self.config.consolidate_every_episodes
        if self._memory and interval and self.game_state.episode_id % interval == 0:
            self._memory.consolidate()

    def _claim(self) -> int:
        """Return the next free episode number, which no other process can claim."""
        episode = max(episodes_in(self._workdir), default=0) + 1
        while True:
            if self._memory:
                episode = self._memory.store.claim_episode(episode)
            if claim_run_directory(self._workdir, episode):
                return episode
            episode += 1

    def _metrics(self) -> dict[str, Any]:
        memory_metrics = self._memory.get_status()["metrics"] if self._memory else {}
        metrics: dict[str, Any] = dict(memory_metrics) if isinstance(memory_metrics, dict) else {}
        statuses = [manager.get_status() for manager in self._managers]
        return metrics | {status["type"]: status["metrics"] for status in statuses}

    def _memory_counts(self) -> dict[str, int]:
        """Return the number of current memories by persistence."""
        located = self._memory.all_memories() if self._memory else []
        counts = Counter(each.memory.persistence for each in located if is_current(each.memory))
        return {kind.value: counts[kind] for kind in Persistence}

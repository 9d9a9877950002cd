"""The lifecycle of the knowledge base: updates, reviews of finished episodes, and the lines to show to the player."""

import logging
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from managers.knowledge_updates import KnowledgeUpdates
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.knowledge.retrieval import RelevantLines
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import KnowledgeSynthesizer
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer
from zorkgpt.restore_point import FileRestorer
from zorkgpt.run_folder import KNOWLEDGE_FILE
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.episodes import PlayedTurns
from zorkgpt.runlog.events import EpisodeEnding

_UPDATE = "knowledge"
"""The kind of work in the background."""
_HEADING_TOKENS = 30
_WITHOUT_A_MODEL = (EpisodeEnding.INTERRUPTED, EpisodeEnding.ERROR, EpisodeEnding.BUDGET)
"""Endings after which no model is asked, because it has just failed or the user is leaving. The next run asks it."""


class KnowledgeManager(BaseManager):
    """Updates `knowledgebase.md` every `knowledge_update_interval` turns and at the end of each episode.

    Args:
        store: The knowledge base. Defaults to the one in the working directory.
        synthesizer: Finds lessons in turns. Defaults to rules.
        episode_log: Records the updates. Defaults to a log that writes nothing.
        background: Runs the updates during an episode. By default, they are made immediately.

    Raises:
        FileError: If the knowledge base exists and can't be read.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        store: KnowledgeStore | None = None,
        synthesizer: KnowledgeSynthesizer | None = None,
        episode_log: EpisodeLog | None = None,
        background: BackgroundQuestions | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        synthesizer = synthesizer or RuleKnowledgeSynthesizer()
        self._asks_a_model = synthesizer.asks_a_model
        self._turns = PlayedTurns(logger, config, game_state)
        store = store or KnowledgeStore(Path(config.zork_game_workdir) / KNOWLEDGE_FILE)
        self._updater = KnowledgeUpdater(store, synthesizer, turns_of=self._turns.of)
        episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._updates = KnowledgeUpdates(logger, config, game_state, self._updater, episode_log)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._learn)
        self._shown = RelevantLines(max(0, config.knowledge_tokens - _HEADING_TOKENS))
        self._not_before = 0
        """The next update may start on this turn."""

    def reset(self) -> None:
        """Start a new episode. After its first turn, earlier episodes that are due are concluded."""
        self._not_before = 0
        self._turns.clear()
        self._updates.reset()

    def process_periodic_update(self) -> None:
        """Learn from the turns since the last update, if there are enough and this is not the last turn."""
        turn = self.game_state.turn_count
        if turn == 1:
            self._updates.log_document()
            self._background.start(_UPDATE, 0)
        if self.game_state.is_last_turn(self.config.max_turns_per_episode):
            # The review of the whole episode includes these turns.
            return
        since = turn - self._updater.processed(self.game_state.episode_id).until
        is_due = since >= self.config.knowledge_update_interval and turn >= self._not_before
        if is_due and not self._background.open.is_open(_UPDATE):
            # Don't ask a failing server again on every turn.
            self._not_before = turn + self.config.knowledge_update_interval
            self._background.start(_UPDATE, turn)

    def _learn(self, turn: int) -> None:
        """Learn from the turns up to this one, or conclude earlier episodes if `turn` is 0."""
        if turn == 0:
            self._updates.conclude_earlier(self._turns)
        elif turns := [record for record in self._turns.current() if record.turn <= turn]:
            self._updates.learn(turns)

    def end_episode(self, reason: str) -> None:
        """Learn from the episode as a whole, and from its last turns, in one step.

        After some endings, this is postponed to the next run.
        """
        if not self.game_state.turn_count or not len(self.game_state.history):
            return
        is_postponed = self._asks_a_model and reason in _WITHOUT_A_MODEL
        if is_postponed or not self.synthesize_inter_episode_wisdom(reason):
            self._updates.set_due(self.game_state.episode_id, due=True)

    def synthesize_inter_episode_wisdom(self, reason: str = "") -> bool:
        """Learn from the running episode as a whole, and return whether that succeeded.

        Without `enable_inter_episode_synthesis`, only its last turns are learned from.
        """
        return self._updates.conclude(self.game_state.episode_id, reason, self._turns.current())

    def lines(self, now: Observation) -> tuple[str, ...]:
        """Return the relevant lines, the most relevant first, within `knowledge_tokens`."""
        return self._shown.at(self._updates.refreshed(), now, opening=not self.game_state.turn_count)

    def rollback(self) -> FileRestorer:
        """Return an object that can roll the file back to a later checkpoint."""
        return FileRestorer(self._updater.store.file, on_restored=self._updater.store.forget)

    def snapshot(self) -> dict[str, Any]:
        """Return the turn of the next update and the counts of the episode."""
        return {"not_before": self._not_before} | self._updates.snapshot()

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._turns.clear()
        self._not_before = int(state["not_before"])
        self._updates.restore(state)

    def get_status(self) -> dict[str, Any]:
        """Return the size of the knowledge base and the counts of its updates."""
        return {"type": "knowledge", "metrics": self._updates.metrics()}

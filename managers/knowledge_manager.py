"""The lifecycle of the knowledge base: updates, reviews of finished episodes, and the lines to show to the player.

Errors of a model or the disk don't interrupt the game.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.errors import FileError, LLMError
from zorkgpt.knowledge.document import KnowledgeDocument, render
from zorkgpt.knowledge.line import is_struck
from zorkgpt.knowledge.retrieval import RelevantLines
from zorkgpt.knowledge.revision import Revision
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeReview, KnowledgeSynthesizer, mean_critic_score
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.episodes import PlayedTurns
from zorkgpt.runlog.events import EpisodeEnding, KnowledgeUpdated

_UPDATE = "knowledge"
"""The kind of work in the background."""
_HEADING_TOKENS = 30
_LONGEST_LOGGED = 100_000
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
        self._store = store or KnowledgeStore.open(Path(config.zork_game_workdir), config.simple_memory.memory_file)
        self._updater = KnowledgeUpdater(self._store, synthesizer, turns_of=self._turns.of)
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._learn)
        self._shown = RelevantLines(max(0, config.knowledge_tokens - _HEADING_TOKENS))
        self._not_before = 0
        """The next update may start on this turn."""
        self._updates = 0
        self._failures = 0

    def reset(self) -> None:
        """Start a new episode. After its first turn, earlier episodes that are due are concluded."""
        self._not_before = self._updates = self._failures = 0
        self._turns.clear()
        self._updater.counts.clear()

    def process_periodic_update(self) -> None:
        """Learn from the turns since the last update, if there are enough and this is not the last turn."""
        turn = self.game_state.turn_count
        if turn == 1:
            document = self._refreshed()
            if document.lines or document.by_hand:
                self._write_event(Revision(document), turn=0)
            self._background.start(_UPDATE, 0)
        if self.game_state.is_last_turn(self.config.max_turns_per_episode):
            # The review of the whole episode includes these turns.
            return
        since = turn - self._updater.processed(self.game_state.episode_id).until
        is_due = since >= self.config.knowledge_update_interval and turn >= self._not_before
        if is_due and not self._background.is_open(_UPDATE):
            # Don't ask a failing server again on every turn.
            self._not_before = turn + self.config.knowledge_update_interval
            self._background.start(_UPDATE, turn)

    def _learn(self, turn: int) -> None:
        """Learn from the turns up to this one, or conclude earlier episodes if `turn` is 0."""
        if turn == 0:
            self._conclude_earlier()
        elif turns := [record for record in self._turns.current() if record.turn <= turn]:
            self._update(lambda: self._updater.learn(turns))

    def _conclude_earlier(self) -> None:
        """Conclude the interrupted episodes that are due, from their logs. Stop at the first failure."""
        due = self._updater.due()
        # Other machines that share the memory conclude their own episodes.
        for episode in episodes_in(Path(self.config.zork_game_workdir)):
            if str(episode) not in due or episode == self.game_state.episode_id:
                continue
            try:
                turns, reason = self._turns.read(episode)
            except FileError as error:
                self._count_failure(error)
                return
            self.logger.info("concluding an earlier episode", extra={"episode": episode, "turns": len(turns)})
            if not (self._conclude(episode, reason, turns) and self._set_due(episode, due=False)):
                return

    def end_episode(self, reason: str) -> None:
        """Learn from the episode as a whole, and from its last turns, in one step.

        After some endings, this is postponed to the next run.
        """
        if not self.game_state.turn_count or not len(self.game_state.history):
            return
        is_postponed = self._asks_a_model and reason in _WITHOUT_A_MODEL
        if is_postponed or not self.synthesize_inter_episode_wisdom(reason):
            self._set_due(self.game_state.episode_id, due=True)

    def synthesize_inter_episode_wisdom(self, reason: str = "") -> bool:
        """Learn from the running episode as a whole, and return whether that succeeded.

        Without `enable_inter_episode_synthesis`, only its last turns are learned from.
        """
        return self._conclude(self.game_state.episode_id, reason, self._turns.current())

    def _conclude(self, episode: int, reason: str, turns: Sequence[TurnRecord]) -> bool:
        """Learn from a finished episode, and return whether that succeeded.

        Args:
            reason: Why it ended. "" if unknown.
        """
        if not turns:
            return True
        if not self.config.enable_inter_episode_synthesis:
            return self._update(lambda: self._updater.learn(turns))
        review = EpisodeReview(episode, reason, tuple(turns), critic_score=mean_critic_score(turns))
        return self._update(lambda: self._updater.conclude(review))

    def _set_due(self, episode: int, *, due: bool) -> bool:
        """Record whether an episode must still be concluded, and return whether that succeeded."""
        try:
            self._updater.note(episode, due=due)
        except FileError as error:
            self._count_failure(error)
            return False
        return True

    def _update(self, learn: Callable[[], Revision]) -> bool:
        """Update the lines, log the new ones, and return whether that succeeded."""
        try:
            before = self._store.refresh().lines
            revision = learn()
        except (LLMError, FileError) as error:
            self._count_failure(error)
            return False
        self._updates += 1
        if self._store.document.lines != before:
            self._write_event(revision, turn=self.game_state.turn_count)
        return True

    def _write_event(self, revision: Revision, *, turn: int) -> None:
        """Write the knowledge base to the log of the episode, with the changes of a revision."""
        text = render(revision.document).decode("utf-8", "replace")[:_LONGEST_LOGGED]
        added, struck = list(revision.added), list(revision.struck)
        self._episode_log.write(KnowledgeUpdated(self.game_state.episode_id, turn, added, struck, text))
        if added or struck:
            self.logger.info("knowledge updated", extra={"added": len(added), "struck": len(struck)})

    def _count_failure(self, error: Exception) -> None:
        """Count a failure, and log the first one."""
        self._failures += 1
        if self._failures == 1:
            self.logger.warning("the knowledge base could not be updated", extra={"error": str(error)})

    def _refreshed(self) -> KnowledgeDocument:
        try:
            return self._store.refresh()
        except FileError as error:
            self._count_failure(error)
            return self._store.document

    def lines(self, now: Observation) -> tuple[str, ...]:
        """Return the relevant lines, the most relevant first, within `knowledge_tokens`."""
        return self._shown.at(self._refreshed(), now, opening=not self.game_state.turn_count)

    def snapshot(self) -> dict[str, Any]:
        """Return the turn of the next update and the counts of the episode."""
        return {"not_before": self._not_before, "updates": self._updates, "counts": dict(self._updater.counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._turns.clear()
        self._not_before, self._updates = int(state["not_before"]), int(state["updates"])
        self._updater.counts.clear()
        self._updater.counts.update({str(name): int(count) for name, count in state["counts"].items()})

    def get_status(self) -> dict[str, Any]:
        """Return the size of the knowledge base and the counts of its updates."""
        document = self._store.document
        struck = sum(map(is_struck, document.lines))
        metrics = {
            "lines": len(document.lines) - struck,
            "struck": struck,
            "by_hand": len(document.by_hand),
            "updates": self._updates,
            "failures": self._failures,
            "recovered": self._store.recovered,
            **{name.replace(" ", "_"): count for name, count in sorted(self._updater.counts.items())},
        }
        return {"type": "knowledge", "metrics": metrics}

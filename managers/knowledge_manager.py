"""The lifecycle of the knowledge base: updates, reviews of finished episodes, and the lines to show to the player.

Errors of a model or the disk don't interrupt the game.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.background import BackgroundQuestions
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.context.prompt import KNOWLEDGE_TOKENS
from zorkgpt.errors import FileError, InvalidAnswer, LLMError
from zorkgpt.knowledge.lines import Lessons, is_by_person, is_settled, is_struck
from zorkgpt.knowledge.retrieval import relevant_lines
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import KnowledgeSynthesizer, Review
from zorkgpt.memory.models import Memory
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.episodes import played_turns
from zorkgpt.runlog.events import EpisodeEnding, Event, KnowledgeUpdated

_UPDATE = "knowledge"
"""The kind of work in the background."""
_HEADING_TOKENS = 30
_LONGEST_LOGGED = 100_000
_MAX_KNOWN = 120
"""Maximum existing lines in a review."""
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
        self._synthesizer = synthesizer or RuleKnowledgeSynthesizer()
        self._store = store or KnowledgeStore.open(Path(config.zork_game_workdir), config.simple_memory.memory_file)
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._background = background or BackgroundQuestions(logger, config, game_state)
        self._background.add(_UPDATE, self._learn)
        self._learned_until = 0
        """The last turn of the episode that was learned from."""
        self._not_before = 0
        """The next update may start on this turn."""
        self._updates = 0
        self._failures = 0
        self._counts: Counter[str] = Counter()

    def reset(self) -> None:
        """Start a new episode. After its first turn, earlier episodes that were postponed are learned from."""
        self._learned_until = self._not_before = self._updates = self._failures = 0
        self._counts.clear()

    def process_periodic_update(self) -> None:
        """Learn from the turns since the last update, if there are enough and this is not the last turn."""
        turn = self.game_state.turn_count
        if turn == 1:
            if self._refreshed():
                text = self._store.text[:_LONGEST_LOGGED]
                self._episode_log.write(KnowledgeUpdated(self.game_state.episode_id, 0, [], [], text))
            self._background.start(_UPDATE, 0)
        if self.game_state.is_last_turn(self.config.max_turns_per_episode):
            # The review of the whole episode includes these turns.
            return
        since = turn - self._learned_until
        is_due = since >= self.config.knowledge_update_interval and turn >= self._not_before
        if is_due and not self._background.is_open(_UPDATE):
            # Don't ask a failing server again on every turn.
            self._not_before = turn + self.config.knowledge_update_interval
            self._background.start(_UPDATE, turn)

    def _learn(self, turn: int) -> None:
        """Learn from the turns up to this one, or from postponed episodes if `turn` is 0."""
        if turn == 0:
            self._learn_from_postponed()
        elif turns := [record for record in self._turns() if record.turn <= turn]:
            self._review(turns, self._learned_until)

    def _turns(self) -> tuple[TurnRecord, ...]:
        """Return the turns of the episode that are still in the history."""
        return self.game_state.history.recent(len(self.game_state.history))

    def _learn_from_postponed(self) -> None:
        """Learn from the interrupted episodes, from their logs. Stop at the first failure."""
        workdir = Path(self.config.zork_game_workdir)
        try:
            postponed = self._store.postponed()
            # Other machines that share the memory learn from their own episodes.
            for episode in sorted({*episodes_in(workdir)} & postponed.keys() - {self.game_state.episode_id}):
                turns, reason = played_turns(workdir, episode, self.config.episode_log_file)
                self.logger.info("learning from an earlier episode", extra={"episode": episode, "turns": len(turns)})
                if not self._conclude(turns, postponed[episode], reason):
                    return
                self._store.postpone(episode, None)
        except FileError as error:
            self._count_failure(error)

    def end_episode(self, reason: str) -> None:
        """Learn from the episode as a whole, and from its last turns, in one step.

        After some endings, this is postponed to the next run.
        """
        if not self.game_state.turn_count or not len(self.game_state.history):
            return
        is_postponed = self._synthesizer.asks_a_model and reason in _WITHOUT_A_MODEL
        if is_postponed or not self.synthesize_inter_episode_wisdom(reason):
            try:
                self._store.postpone(self.game_state.episode_id, self._learned_until)
            except FileError as error:
                self._count_failure(error)

    def synthesize_inter_episode_wisdom(self, reason: str = "") -> bool:
        """Learn from the running episode as a whole, and return whether that succeeded.

        Without `enable_inter_episode_synthesis`, only its last turns are learned from.
        """
        return self._conclude(self._turns(), self._learned_until, reason)

    def _conclude(self, turns: Sequence[TurnRecord], learned_until: int, reason: str) -> bool:
        """Learn from a finished episode, and return whether that succeeded.

        A model is not asked about an episode whose turns were all reviewed already.

        Args:
            reason: Why it ended. "" if unknown.
        """
        is_whole = self.config.enable_inter_episode_synthesis
        if not turns or (turns[-1].turn <= learned_until and (self._synthesizer.asks_a_model or not is_whole)):
            return True
        return self._review(turns, learned_until, reason if is_whole else None)

    def _review(self, turns: Sequence[TurnRecord], learned_until: int, reason: str | None = None) -> bool:
        """Learn from the turns of an episode, and return whether that succeeded.

        Args:
            reason: Why the episode ended, to review it as a whole.
        """
        try:
            lines = self._store.refresh()
            review = Review(tuple(turns), _best_supported(lines), _settled(lines), learned_until, reason)
            lessons = self._lessons(review)
            revision = self._store.revise(lessons)
        except (LLMError, FileError) as error:
            self._count_failure(error)
            return False
        is_own = review.episode == self.game_state.episode_id
        event = KnowledgeUpdated(
            self.game_state.episode_id,
            self.game_state.turn_count,
            revision.added,
            revision.struck,
            self._store.text[:_LONGEST_LOGGED],
            max(self._learned_until, turns[-1].turn) if is_own else self._learned_until,
            dict(revision.counts),
        )
        self._episode_log.write(event)
        self.repeat(event)
        if event.added or event.struck:
            self.logger.info("knowledge updated", extra={"added": len(event.added), "struck": len(event.struck)})
        return True

    def repeat(self, event: Event) -> None:
        """Count an update."""
        if isinstance(event, KnowledgeUpdated) and event.learned_until is not None:
            self._learned_until = event.learned_until
            self._updates += 1
            self._counts.update(event.counts)

    def _lessons(self, review: Review) -> Lessons:
        """Return the lessons. An answer that can't be read is counted, and the first one is logged."""
        try:
            return self._synthesizer.lessons(review)
        except InvalidAnswer as error:
            self._counts["unusable answers"] += 1
            if self._counts["unusable answers"] == 1:
                self.logger.warning("nothing learned: the model's answer is unusable", extra={"problem": str(error)})
            return Lessons()

    def _count_failure(self, error: Exception) -> None:
        """Count a failure, and log the first one."""
        self._failures += 1
        if self._failures == 1:
            self.logger.warning("the knowledge base could not be updated", extra={"error": str(error)})

    def _refreshed(self) -> tuple[Memory, ...]:
        try:
            return self._store.refresh()
        except FileError as error:
            self._count_failure(error)
            return self._store.lines

    def lines(self, now: Observation) -> tuple[str, ...]:
        """Return the relevant lines, the most relevant first, within their budget in the prompt."""
        budget = KNOWLEDGE_TOKENS - _HEADING_TOKENS
        return relevant_lines(self._refreshed(), now, budget, opening=not self.game_state.turn_count)

    def get_status(self) -> dict[str, Any]:
        """Return the size of the knowledge base and the counts of its updates."""
        lines = self._store.lines
        struck = sum(map(is_struck, lines))
        metrics = {
            "lines": len(lines) - struck,
            "struck": struck,
            "by_hand": sum(map(is_by_person, lines)),
            "updates": self._updates,
            "failures": self._failures,
            "recovered": self._store.recovered,
            **{name.replace(" ", "_"): count for name, count in sorted(self._counts.items())},
        }
        return {"type": "knowledge", "metrics": metrics}


def _best_supported(lines: Iterable[Memory]) -> tuple[Memory, ...]:
    """Return the lines to judge. If there are too many, those with the most confirmations, then later ones."""
    judged = [line for line in lines if not is_struck(line) and not is_settled(line)]
    ranked = sorted(range(len(judged)), key=lambda position: (-judged[position].worked, -position))
    return tuple(judged[position] for position in sorted(ranked[:_MAX_KNOWN]))


def _settled(lines: Iterable[Memory]) -> tuple[str, ...]:
    return tuple(line.text for line in lines if is_settled(line) and not is_struck(line))[:_MAX_KNOWN]

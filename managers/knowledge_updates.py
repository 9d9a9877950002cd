"""Updates of the knowledge base, which are logged. Errors of a model or the disk don't interrupt the game."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.errors import FileError, LLMError
from zorkgpt.knowledge.document import KnowledgeDocument, render
from zorkgpt.knowledge.revision import Revision
from zorkgpt.knowledge.synthesis import EpisodeReview, mean_critic_score
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.episodes import PlayedTurns
from zorkgpt.runlog.events import KnowledgeUpdated

_LONGEST_LOGGED = 100_000


class KnowledgeUpdates:
    """Calls the updater, logs new lines, and counts updates and failures. The first failure is logged."""

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        updater: KnowledgeUpdater,
        episode_log: EpisodeLog,
    ) -> None:
        self._log = logger
        self._state = game_state
        self._updater = updater
        self._episode_log = episode_log
        self._whole_episodes = config.enable_inter_episode_synthesis
        self._updates = 0
        self._failures = 0

    def reset(self) -> None:
        """Reset the counts for a new episode."""
        self._updates = self._failures = 0
        self._updater.counts.clear()

    def log_document(self) -> None:
        """Log the knowledge base at the start of the episode."""
        document = self.refreshed()
        if document.lines or document.by_hand:
            self._write_event(Revision(document), turn=0)

    def conclude_earlier(self, played: PlayedTurns) -> None:
        """Conclude the interrupted episodes that are due, from their logs. Stop at the first failure."""
        for name in self._updater.due():
            # The name becomes part of a path, and a person may have edited the file that it comes from.
            if not name.isdecimal() or name == str(self._state.episode_id):
                continue
            try:
                turns, reason = played.read(int(name))
            except FileError as error:
                self._count_failure(error)
                return
            self._log.info("concluding an earlier episode", extra={"episode": int(name), "turns": len(turns)})
            if not (self.conclude(int(name), reason, turns) and self.set_due(int(name), due=False)):
                return

    def learn(self, turns: Sequence[TurnRecord]) -> bool:
        """Learn from turns of an episode, and return whether that succeeded."""
        return self._update(lambda: self._updater.learn(turns))

    def conclude(self, episode: int, reason: str, turns: Sequence[TurnRecord]) -> bool:
        """Learn from a finished episode, and return whether that succeeded.

        Args:
            reason: Why it ended. "" if unknown.
        """
        if not turns:
            return True
        if not self._whole_episodes:
            return self.learn(turns)
        review = EpisodeReview(episode, reason, tuple(turns), critic_score=mean_critic_score(turns))
        return self._update(lambda: self._updater.conclude(review))

    def set_due(self, episode: int, *, due: bool) -> bool:
        """Record whether an episode must still be concluded, and return whether that succeeded."""
        try:
            self._updater.note(episode, due=due)
        except FileError as error:
            self._count_failure(error)
            return False
        return True

    def refreshed(self) -> KnowledgeDocument:
        """Return the knowledge base, reloaded if the file has changed."""
        try:
            return self._updater.store.refresh()
        except FileError as error:
            self._count_failure(error)
            return self._updater.store.document

    def snapshot(self) -> dict[str, Any]:
        """Return the counts of the episode."""
        return {"updates": self._updates, "counts": dict(self._updater.counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._updates = int(state["updates"])
        self._updater.counts.clear()
        self._updater.counts.update({str(name): int(count) for name, count in state["counts"].items()})

    def metrics(self) -> dict[str, Any]:
        """Return the size of the knowledge base and the counts of the episode."""
        store = self._updater.store
        struck = sum(line.struck for line in store.document.lines)
        return {
            "lines": len(store.document.lines) - struck,
            "struck": struck,
            "by_hand": len(store.document.by_hand),
            "updates": self._updates,
            "failures": self._failures,
            "recovered": store.recovered,
            **{name.replace(" ", "_"): count for name, count in sorted(self._updater.counts.items())},
        }

    def _update(self, learn: Callable[[], Revision]) -> bool:
        try:
            before = self._updater.store.document.lines
            revision = learn()
        except (LLMError, FileError) as error:
            self._count_failure(error)
            return False
        self._updates += 1
        if self._updater.store.document.lines != before:
            self._write_event(revision, turn=self._state.turn_count)
        return True

    def _write_event(self, revision: Revision, *, turn: int) -> None:
        """Write the knowledge base to the log of the episode, with the changes of a revision."""
        text = render(revision.document).decode("utf-8", "replace")[:_LONGEST_LOGGED]
        added, struck = list(revision.added), list(revision.struck)
        self._episode_log.write(KnowledgeUpdated(self._state.episode_id, turn, added, struck, text))
        if added or struck:
            self._log.info("knowledge updated", extra={"added": len(added), "struck": len(struck)})

    def _count_failure(self, error: Exception) -> None:
        """Count a failure, and log the first one."""
        self._failures += 1
        if self._failures == 1:
            self._log.warning("the knowledge base could not be updated", extra={"error": str(error)})

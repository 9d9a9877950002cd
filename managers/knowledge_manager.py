"""The lifecycle of the knowledge base: when it is updated, when an episode is concluded, what the player is shown."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.base import BaseManager
from managers.episode_log import EpisodeLog
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnHistory, TurnRecord
from session.log_entries import turn_played
from zorkgpt.errors import FileError, LLMError
from zorkgpt.knowledge.document import KnowledgeDocument, render
from zorkgpt.knowledge.retrieval import Surroundings, relevant_lines, surroundings_of
from zorkgpt.knowledge.revision import Revision
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeReview, KnowledgeSynthesizer, mean_critic_score
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.memory.storage.restore_point import FileRestorer
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import EpisodeEnded, Event, KnowledgeUpdated, TurnPlayed

_LONGEST_LOGGED = 100_000
_HEADING_TOKENS = 30
"""The tokens of the heading that the lines are shown under."""
_WITHOUT_A_MODEL = ("interrupted", "error", "budget")
"""Endings after which no model is asked, because nobody waits for it or it has just failed; the next start does it."""


def _turns_in(events: Iterable[Event]) -> tuple[TurnPlayed, ...]:
    # Of a turn that was played again after a kill, the last event counts.
    played = {event.turn: event for event in events if isinstance(event, TurnPlayed)}
    return tuple(played[turn] for turn in sorted(played))


class KnowledgeManager(BaseManager):
    """Updates `knowledgebase.md` every `knowledge_update_interval` turns and at the end of each episode.

    Args:
        store: The knowledge base; None for the one in the working directory.
        history: The turns of the episode, kept elsewhere; None to keep those that are processed here.
        synthesizer: Says what the turns teach; None for rules.
        episode_log: Gets an event when something is new; None for a log that is never begun.

    Raises:
        FileError: There is a knowledge base, and it can't be read.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        store: KnowledgeStore | None = None,
        history: TurnHistory | None = None,
        synthesizer: KnowledgeSynthesizer | None = None,
        episode_log: EpisodeLog | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        synthesizer = synthesizer or RuleKnowledgeSynthesizer()
        self._history = TurnHistory() if history is None else history
        self._keeps_history = history is None
        self._asks_a_model = synthesizer.asks_a_model
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._workdir = Path(config.zork_game_workdir)
        self._keeper = KnowledgeUpdater(
            store or KnowledgeStore(self._workdir / config.knowledge_file),
            synthesizer,
            turns_of=self._turns_of,
        )
        self._shown_tokens = max(0, config.knowledge_tokens - _HEADING_TOKENS)
        self._begun = False
        self._not_before = 0
        """The turn before which no update is tried again."""
        self._played: dict[int, TurnPlayed] = {}
        """The events of the turns of the history, made once for each."""
        self._shown: tuple[KnowledgeDocument, Surroundings, tuple[str, ...]] | None = None
        """What was shown last, and for which document and place."""
        self._past: dict[int, tuple[TurnPlayed, ...]] = {}
        """The turns of earlier episodes that were read in this one."""
        self._failures = 0
        self._updates = 0

    def reset(self) -> None:
        """Begin a new episode, after whose first turn those before it are concluded that could not be until now."""
        self._begun = False
        self._not_before = 0
        self._played = {}
        self._past = {}
        if self._keeps_history:
            self._history.clear()

    def process_turn(self, record: TurnRecord) -> None:
        """Add the turn to the history, unless that is kept elsewhere."""
        if self._keeps_history:
            self._history.add(record)

    def process_periodic_update(self) -> None:
        """Learn from the turns since the last time, if there are enough of them and more are to come."""
        if not self._begun:
            self._begin()
        if self._is_last_turn():
            # What is asked about the whole episode covers these turns too.
            return
        turn = self._state.turn_count
        since = turn - self._keeper.processed(self._state.episode_id).until
        if since >= self._config.knowledge_update_interval and turn >= self._not_before:
            self.update()

    def update(self) -> bool:
        """Learn from the turns since the last update and return True; False if that is not possible now."""
        turns = self._turns()
        if not turns:
            return True
        # A server that fails is not asked again on every turn.
        self._not_before = self._state.turn_count + self._config.knowledge_update_interval
        return self._done(lambda: self._keeper.learn(turns))

    def conclude(self, reason: str) -> None:
        """Learn from an episode that is over, as a whole and from its last turns, in one go.

        Args:
            reason: How it ended, as `EpisodeEnded` names it. After Ctrl-C no model is asked.
        """
        if not self._state.turn_count or not len(self._history):
            return
        put_off = self._asks_a_model and reason in _WITHOUT_A_MODEL
        if put_off or not self.synthesize_inter_episode_wisdom(reason):
            self._note(self._state.episode_id, due=True)

    def synthesize_inter_episode_wisdom(self, reason: str = "") -> bool:
        """Draw lessons from the running episode as a whole and return whether that was possible.

        Without `enable_inter_episode_synthesis`, only its last turns are learned from.

        Args:
            reason: How it ended; by default death, if the player died and the story is over.
        """
        over = self._state.finished and self._state.deaths and not self._state.victory
        return self._conclude_story(self._state.episode_id, reason or ("death" if over else ""), self._turns())

    def lines(self, now: Observation) -> tuple[str, ...]:
        """Return the lines that apply here, the most relevant first, within `knowledge_tokens`."""
        self._refresh()
        document, here = self._keeper.store.document, surroundings_of(now, opening=not self._state.turn_count)
        if self._shown is None or self._shown[0] is not document or self._shown[1] != here:
            self._shown = (
                document,
                here,
                tuple(shown.text for shown in relevant_lines(document, here, self._shown_tokens)),
            )
        return self._shown[2]

    def rollback(self) -> FileRestorer:
        """Return what can put the file back to a checkpoint, from now on."""
        return FileRestorer(self._keeper.store.file, on_restored=self._keeper.store.forget)

    def snapshot(self) -> dict[str, Any]:
        """Return when the next update is due, and the counts of the run."""
        return {
            "begun": self._begun,
            "not_before": self._not_before,
            "updates": self._updates,
            "counts": dict(self._keeper.counts),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take on what `snapshot` returned."""
        self._played = {}
        self._begun = bool(state["begun"])
        self._not_before = int(state["not_before"])
        self._updates = int(state["updates"])
        self._keeper.counts.clear()
        self._keeper.counts.update({str(name): int(count) for name, count in state["counts"].items()})

    def get_status(self) -> dict[str, Any]:
        """Return the size of the knowledge base, and how it was updated."""
        document = self._keeper.store.document
        struck = sum(line.struck for line in document.lines)
        metrics = {
            "lines": len(document.lines) - struck,
            "struck": struck,
            "by_hand": len(document.by_hand),
            "updates": self._updates,
            "failures": self._failures,
            "recovered": self._keeper.store.recovered,
            **{name.replace(" ", "_"): count for name, count in sorted(self._keeper.counts.items())},
        }
        return {"type": "knowledge", "state": "asking" if self._asks_a_model else "by rules", "metrics": metrics}

    def _begin(self) -> None:
        """Log what is known at the first turn, and conclude the interrupted episodes that are due."""
        self._begun = True
        self._refresh()
        document = self._keeper.store.document
        if document.lines or document.by_hand:
            self._write_event(Revision(document), turn=0)
        for name in self._keeper.due():
            # The name comes from a file that a person may have edited, and names a folder.
            known = name.isdecimal() and name != str(self._state.episode_id)
            if known and not self._catch_up(int(name)):
                return

    def _catch_up(self, episode: int) -> bool:
        """Conclude an earlier episode from its log and return whether that was possible."""
        try:
            events = read_episode(self._workdir, episode, self._config.episode_log_file)
        except OSError as error:
            self._failed(error)
            return False
        turns = _turns_in(events)
        reason = next((event.reason for event in reversed(events) if isinstance(event, EpisodeEnded)), "")
        self._log.info("an earlier episode is concluded", extra={"episode": episode, "turns": len(turns)})
        return self._conclude_story(episode, reason, turns) and self._note(episode, due=False)

    def _conclude_story(self, episode: int, reason: str, turns: Sequence[TurnPlayed]) -> bool:
        if not turns:
            return True
        if not self._config.enable_inter_episode_synthesis:
            return self._done(lambda: self._keeper.learn(turns))
        story = EpisodeReview(episode, reason, tuple(turns), critic_score=mean_critic_score(turns))
        return self._done(lambda: self._keeper.conclude(story))

    def _is_last_turn(self) -> bool:
        return self._state.finished or self._state.turn_count >= self._config.max_turns_per_episode

    def _turns(self) -> tuple[TurnPlayed, ...]:
        """Return the turns of the running episode, as far as the history goes back."""
        records, known = self._history.recent(len(self._history)), self._played
        self._played = {record.turn: known.get(record.turn) or turn_played(record) for record in records}
        return tuple(self._played.values())

    def _turns_of(self, episode: int | str) -> Sequence[TurnPlayed]:
        """Return the turns of an episode, from its log if it is not the running one; none if there is no such log."""
        if episode == self._state.episode_id:
            return self._turns()
        if not isinstance(episode, int):
            return ()
        if episode not in self._past:
            try:
                events = read_episode(self._workdir, episode, self._config.episode_log_file)
            except OSError as error:
                self._log.debug("an earlier episode's log can't be read", extra={"error": str(error)})
                events = []
            self._past[episode] = _turns_in(events)
        return self._past[episode]

    def _done(self, learn: Callable[[], Revision]) -> bool:
        """Learn, log what is new, and return whether that was possible. A failure costs only what would be learned."""
        try:
            before = self._keeper.store.document.rows
            revision = learn()
        except (LLMError, FileError) as error:
            self._failed(error)
            return False
        self._updates += 1
        if self._keeper.store.document.lines != tuple(row.line for row in before if row.line):
            self._write_event(revision, turn=self._state.turn_count)
        return True

    def _write_event(self, revision: Revision, *, turn: int) -> None:
        text = render(revision.document).decode("utf-8", "replace")[:_LONGEST_LOGGED]
        added, struck = list(revision.added), list(revision.struck)
        self._episode_log.write(KnowledgeUpdated(self._state.episode_id, turn, added, struck, text))
        if added or struck:
            self._log.info("knowledge updated", extra={"added": len(added), "struck": len(struck)})

    def _note(self, episode: int, *, due: bool) -> bool:
        try:
            self._keeper.note(episode, due=due)
        except FileError as error:
            self._failed(error)
            return False
        return True

    def _refresh(self) -> None:
        try:
            self._keeper.store.refresh()
        except FileError as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            self._log.warning("going on without new knowledge", extra={"error": str(error)})

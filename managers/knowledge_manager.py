"""The lifecycle of the knowledge base: when it is brought up to date, when an episode is concluded, what is shown."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from game_interface.models import Observation
from managers.episode_log import EpisodeLog
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History, TurnRecord
from session.log_entries import turn_played
from zorkgpt.errors import LLMError, MemoryStoreError
from zorkgpt.knowledge.applying import Near, applying, near, of_place
from zorkgpt.knowledge.document import Document, render
from zorkgpt.knowledge.keeper import KnowledgeKeeper
from zorkgpt.knowledge.patterns import form, is_general
from zorkgpt.knowledge.revision import Revision
from zorkgpt.knowledge.revision import key as line_key
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeStory, KnowledgeSynthesizer, mean_critic_score
from zorkgpt.knowledge.wisdom import is_worth_it
from zorkgpt.memory.manager import OfThisPlaceOnly, SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.rollback import Rollback
from zorkgpt.offline.lessons import RuleKnowledge
from zorkgpt.runlog.events import EpisodeEnded, Event, KnowledgeUpdated, TurnPlayed
from zorkgpt.runlog.reader import read_episode
from zorkgpt.world.directions import canonical_direction

_LONGEST_LOGGED = 100_000
_HEADING_TOKENS = 30
"""Of the section that the lines are shown in."""
_WITHOUT_A_MODEL = ("interrupted", "error", "budget")
"""Ways out on which nobody waits for a model, or it has just failed: the next start makes up for it."""


def is_way(action: str) -> bool:
    """Whether a command is a direction."""
    return canonical_direction(action) is not None


def open_store(config: GameConfiguration) -> KnowledgeStore:
    """Open the knowledge base that a configuration names.

    Raises:
        MemoryStoreError: there is a file and it can't be read.
    """
    return KnowledgeStore(Path(config.zork_game_workdir) / config.knowledge_file)


def memories_of_place_only(store: KnowledgeStore, config: GameConfiguration) -> OfThisPlaceOnly:
    """Return the filter that leaves out the memories which a pattern shown at their place tells already."""
    budget = _budget(config)

    def select(location_id: int, location_name: str, memories: Sequence[Memory]) -> list[Memory]:
        told = {line_key(line) for line in of_place(store.document, location_id, budget)}
        if not told:
            return list(memories)
        return [
            memory
            for memory in memories
            if not is_general(memory, is_way) or form(memory, location_name).casefold() not in told
        ]

    return select


def _budget(config: GameConfiguration) -> int:
    """Return how many tokens the lines may take, without the heading of their section."""
    return max(0, config.knowledge_tokens - _HEADING_TOKENS)


def _turns_in(events: Iterable[Event]) -> tuple[TurnPlayed, ...]:
    # A turn that was played again after a kill counts as it was played last.
    played = {event.turn: event for event in events if isinstance(event, TurnPlayed)}
    return tuple(played[turn] for turn in sorted(played))


class KnowledgeManager:
    """`knowledgebase.md`: brought up to date every `knowledge_update_interval` turns and at the end of each episode.

    Args:
        history: of the episode, kept by somebody else; None: the turns that are processed here.
        synthesizer: says what the turns teach; None: rules do.
        episode_log: is told of what is new; None: a log that nobody has begun.
        store: the file, where somebody else has opened it already.

    Raises:
        MemoryStoreError: there is a file and it can't be read.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        history: History | None = None,
        synthesizer: KnowledgeSynthesizer | None = None,
        episode_log: EpisodeLog | None = None,
        memory: SimpleMemoryManager | None = None,
        store: KnowledgeStore | None = None,
    ) -> None:
        self._log = logger
        self._config = config
        self._state = game_state
        synthesizer = synthesizer or RuleKnowledge()
        self._history = History() if history is None else history
        self._keeps_history = history is None
        self._asks_a_model = synthesizer.asks_a_model
        self._episode_log = episode_log or EpisodeLog(logger, config, game_state)
        self._workdir = Path(config.zork_game_workdir)
        self._keeper = KnowledgeKeeper(
            store or open_store(config),
            synthesizer,
            remembered=memory.all_memories if memory else tuple,
            turns_of=self._turns_of,
            is_way=is_way,
        )
        self._budget = _budget(config)
        self._begun = False
        self._not_before = 0
        self._played: dict[int, TurnPlayed] = {}
        """The turns of the history, as they were looked at last."""
        self._shown: tuple[Document, Near, tuple[str, ...]] | None = None
        """Of which document, where, and what was told last."""
        self._past: dict[int, tuple[TurnPlayed, ...]] = {}
        """Episodes that are over, as far as they were asked for in this one."""
        self._failures = 0
        self._updates = 0

    def reset_episode(self) -> None:
        """The knowledge stays; an episode that could not be concluded is, after the first turn of the new one."""
        self._begun = False
        self._not_before = 0
        self._played = {}
        self._past = {}
        if self._keeps_history:
            self._history.clear()

    reset = reset_episode

    def process_turn(self, record: TurnRecord) -> None:
        """The turns are in the history, and looked at together."""
        if self._keeps_history:
            self._history.add(record)

    def process_periodic_update(self) -> None:
        """Learn from the turns since the last time, if there are enough of them."""
        if not self._begun:
            self._begin()
        turn = self._state.turn_count
        since = turn - self._keeper.taken(self._state.episode_id).until
        if since >= self._config.knowledge_update_interval and turn >= self._not_before:
            self.update()

    def update(self) -> bool:
        """Learn from the turns that were not learned from yet. False: not possible now; it is tried again later."""
        turns = self._turns()
        if not turns:
            return True
        self._refresh()
        until = self._keeper.taken(self._state.episode_id).until
        new = [turn for turn in turns if turn.turn > until]
        # Not every turn: a server that fails is given time.
        self._not_before = self._state.turn_count + self._config.knowledge_update_interval
        if not new:
            return self._done(lambda: self._keeper.learn(turns[-1:]))
        return self._done(lambda: self._keeper.learn(new, turns[: len(turns) - len(new)]))

    def conclude(self, reason: str) -> None:
        """The episode is over: learn from its last turns, and from it as a whole.

        Args:
            reason: how it ended, as `EpisodeEnded` names it. After Ctrl-C no model is asked.
        """
        if not self._state.turn_count or not len(self._history):
            return
        put_off = self._asks_a_model and reason in _WITHOUT_A_MODEL
        if put_off or not (self.update() and self.synthesize_inter_episode_wisdom(reason)):
            self._note(self._state.episode_id, due=True)

    def synthesize_inter_episode_wisdom(self, reason: str = "") -> bool:
        """Draw lessons from the running episode as a whole, if it is worth it. False: that was not possible.

        Args:
            reason: how it ended; by default death, if the player died and the story is over.
        """
        over = self._state.finished and self._state.deaths and not self._state.victory
        return self._conclude_story(self._state.episode_id, reason or ("death" if over else ""), self._turns())

    def lines(self, now: Observation) -> tuple[str, ...]:
        """What the player is told, the most to the point first, within `knowledge_tokens`."""
        self._refresh()
        document, here = self._keeper.store.document, near(now)
        if self._shown is None or self._shown[0] is not document or self._shown[1] != here:
            self._shown = document, here, tuple(shown.text for shown in applying(document, here, self._budget))
        return self._shown[2]

    def rollback(self) -> Rollback:
        """From here on, what is written can be taken back to a checkpoint."""
        return Rollback(self._keeper.store.file, then=self._keeper.store.forget)

    def to_dict(self) -> dict[str, Any]:
        """What a resumed episode needs."""
        counts = {"updates": self._updates, "counts": dict(self._keeper.counts)}
        return {"begun": self._begun, "not_before": self._not_before, **counts}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with an episode that was interrupted."""
        self._played = {}
        self._begun = bool(state.get("begun", False))
        self._not_before = int(state.get("not_before", 0))
        self._updates = int(state.get("updates", 0))
        self._keeper.counts.clear()
        self._keeper.counts.update({str(name): int(count) for name, count in state.get("counts", {}).items()})

    def get_status(self) -> dict[str, Any]:
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
        """At the first turn: say what is known, and make up for what an interrupted episode left undone."""
        self._begun = True
        self._refresh()
        document = self._keeper.store.document
        if document.lines or document.by_hand:
            self._tell(Revision(document), turn=0)
        for name in self._keeper.due():
            # The name comes from a file that a person may have edited, and names a folder.
            known = name.isdecimal() and name != str(self._state.episode_id)
            if known and not self._catch_up(int(name)):
                return

    def _catch_up(self, episode: int) -> bool:
        """Conclude an episode from its log. False: that was not possible."""
        try:
            events = read_episode(self._workdir, episode, self._config.episode_log_file)
        except OSError as error:
            self._failed(error)
            return False
        turns = _turns_in(events)
        reason = next((event.reason for event in reversed(events) if isinstance(event, EpisodeEnded)), "")
        self._log.info("an earlier episode is concluded", extra={"episode": episode, "turns": len(turns)})
        if turns:
            until = self._keeper.taken(episode).until
            new = [turn for turn in turns if turn.turn > until] or turns[-1:]
            if not self._done(lambda: self._keeper.learn(new, turns[: len(turns) - len(new)])):
                return False
            if not self._conclude_story(episode, reason, turns):
                return False
        return self._note(episode, due=False)

    def _conclude_story(self, episode: int | str, reason: str, turns: Sequence[TurnPlayed]) -> bool:
        story = EpisodeStory(episode, reason, tuple(turns), critic_score=mean_critic_score(turns))
        if not self._config.enable_inter_episode_synthesis or not is_worth_it(story):
            return True
        return self._done(lambda: self._keeper.conclude(story))

    def _turns(self) -> tuple[TurnPlayed, ...]:
        """Of the running episode, as far as the history goes back."""
        records, known = self._history.recent(len(self._history)), self._played
        self._played = {record.turn: known.get(record.turn) or turn_played(record) for record in records}
        return tuple(self._played.values())

    def _turns_of(self, episode: int | str) -> Sequence[TurnPlayed]:
        """The turns of an episode, from its log if it is not the running one; none if there is no such log."""
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
        """Learn, and tell of it. What fails costs nothing but what would have been learned."""
        try:
            before = self._keeper.store.document.rows
            revision = learn()
        except (LLMError, MemoryStoreError) as error:
            self._failed(error)
            return False
        self._updates += 1
        if self._keeper.store.document.lines != tuple(row.line for row in before if row.line):
            self._tell(revision, turn=self._state.turn_count)
        return True

    def _tell(self, revision: Revision, *, turn: int) -> None:
        text = render(revision.document).decode("utf-8", "replace")[:_LONGEST_LOGGED]
        added, struck = list(revision.added), list(revision.struck)
        self._episode_log.write(KnowledgeUpdated(self._state.episode_id, turn, added, struck, text))
        if added or struck:
            self._log.info("knowledge updated", extra={"added": len(added), "struck": len(struck)})

    def _note(self, episode: int | str, *, due: bool) -> bool:
        try:
            self._keeper.note(episode, due=due)
        except MemoryStoreError as error:
            self._failed(error)
            return False
        return True

    def _refresh(self) -> None:
        try:
            self._keeper.store.refresh()
        except MemoryStoreError as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            self._log.warning("going on without new knowledge", extra={"error": str(error)})

"""Looks back at turns and episodes, and puts what they teach into the knowledge base."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from zorkgpt.errors import InvalidAnswer
from zorkgpt.knowledge.asking import most_telling
from zorkgpt.knowledge.document import Document
from zorkgpt.knowledge.evidence import TurnsOf
from zorkgpt.knowledge.patterns import patterns, take_in, withdrawn
from zorkgpt.knowledge.revision import Lessons, Revision
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeStory, KnowledgeSynthesizer, LookBack, lessons_of, no_turns
from zorkgpt.knowledge.taken import Taken
from zorkgpt.log import get_logger
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.runlog.events import TurnPlayed

log = get_logger(__name__)

_MOST_KNOWN = 120
"""Lines that are put before a synthesizer."""
TRIES_TO_STRIKE = 3
"""So often something else has to come of the same action in the same state before rules disbelieve a line that never
held again: fights and the like are decided by chance."""


class KnowledgeKeeper:
    """Every turn is learned from once, and every episode is concluded once, however often it is asked for.

    Args:
        remembered: all memories with their places, for finding patterns across them.
        turns_of: the turns of an episode, as far as they are at hand: what a line was learned from.
        is_way: whether a command is a direction.
    """

    def __init__(
        self,
        store: KnowledgeStore,
        synthesizer: KnowledgeSynthesizer,
        *,
        remembered: Callable[[], Sequence[LocatedMemory]] = tuple,
        turns_of: TurnsOf = no_turns,
        is_way: Callable[[str], bool] = lambda action: False,
    ) -> None:
        self.store = store
        self.counts: Counter = Counter()
        self._synthesizer = synthesizer
        self._remembered = remembered
        self._turns_of = turns_of
        self._is_way = is_way

    def taken(self, episode: int | str) -> Taken:
        """How far the episode has been taken in."""
        return self.store.document.taken.get(str(episode), Taken())

    def learn(self, turns: Sequence[TurnPlayed], earlier: Sequence[TurnPlayed] = ()) -> Revision:
        """Take in what turns of one episode teach, and the patterns that memory shows by now.

        Raises:
            LLMError: the model could not be asked; nothing was changed.
            MemoryStoreError: the file could not be read or written; it is as it was.
        """
        self.store.refresh()
        episode, last = turns[0].episode, turns[-1].turn
        lessons = Lessons()
        if fresh := [turn for turn in turns if turn.turn > self.taken(episode).until]:
            before = (*earlier, *turns[: len(turns) - len(fresh)])
            lessons = self._lessons(
                LookBack(episode, tuple(fresh), self._known(), before, self._by_hand(), self._turns_of)
            )
        remembered = self._remembered()
        found = patterns(remembered, self._is_way)
        gone = withdrawn(remembered)

        def change(revision: Revision) -> Document:
            before, taken = revision.document, revision.document.taken.get(str(episode), Taken())
            if taken.until < last:
                revision.take_in(lessons)
            take_in(revision, found, gone, episode=episode, turn=last)
            if revision.document is not before or taken.until < last:
                revision.document = revision.document.with_taken(
                    episode, Taken(max(last, taken.until), taken.concluded, taken.due)
                )
            return revision.document

        return self._revised(change)

    def conclude(self, story: EpisodeStory) -> Revision:
        """Take in what a whole episode teaches beyond itself.

        Raises:
            LLMError: the model could not be asked; nothing was changed.
            MemoryStoreError: the file could not be read or written; it is as it was.
        """
        self.store.refresh()
        last = story.turns[-1].turn
        if self._is_concluded(self.store.document, story):
            return Revision(self.store.document)
        asked = replace(story, known=self._known(), by_hand=self._by_hand(), turns_of=self._turns_of)
        lessons = self._lessons(asked)

        def change(revision: Revision) -> Document:
            if self._is_concluded(revision.document, story):
                return revision.document
            revision.take_in(lessons)
            until = revision.document.taken.get(str(story.episode), Taken()).until
            return revision.document.with_taken(story.episode, Taken(until, concluded=last))

        return self._revised(change)

    def note(self, episode: int | str, *, due: bool) -> None:
        """Write down whether lessons are still to be drawn from an episode that is over.

        Raises:
            MemoryStoreError: the file could not be read or written.
        """

        def change(document: Document) -> Document:
            taken = document.taken.get(str(episode), Taken())
            if taken.due == due:
                return document
            return document.with_taken(episode, Taken(taken.until, taken.concluded, due))

        self.store.apply(change)

    def due(self) -> list[str]:
        """The episodes from which lessons are still to be drawn."""
        return [name for name, taken in self.store.document.taken.items() if taken.due]

    def _lessons(self, asked: LookBack | EpisodeStory) -> Lessons:
        teacher = self._synthesizer
        with self._unusable_answers_counted():
            answer = teacher.lessons(asked) if isinstance(asked, LookBack) else teacher.wisdom(asked)
            lessons = lessons_of(answer, asked, self.counts)
            # A model has judged whether chance was in play; rules can only try again.
            return replace(lessons, enough=1 if teacher.asks_a_model else TRIES_TO_STRIKE)
        return Lessons()

    @contextmanager
    def _unusable_answers_counted(self) -> Iterator[None]:
        """An answer that can't be read teaches nothing; the first one is said."""
        try:
            yield
        except InvalidAnswer as error:
            self.counts["unusable answers"] += 1
            if self.counts["unusable answers"] == 1:
                log.warning("nothing learned: the model's answer is unusable", extra={"problem": str(error)})

    def _known(self) -> tuple:
        return most_telling(self.store.document.lines, _MOST_KNOWN)

    def _by_hand(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.store.document.by_hand[:_MOST_KNOWN])

    @staticmethod
    def _is_concluded(document: Document, story: EpisodeStory) -> bool:
        concluded = document.taken.get(str(story.episode), Taken()).concluded
        return concluded is not None and concluded >= story.turns[-1].turn

    def _revised(self, change: Callable[[Revision], Document]) -> Revision:
        made = [Revision(self.store.document)]

        def apply(document: Document) -> Document:
            made[0] = Revision(document)
            return change(made[0])

        self.store.apply(apply)
        self.counts += made[0].counts
        return made[0]

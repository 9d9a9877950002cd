"""Review turns and episodes, and write what they teach to the knowledge base."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from session.history import TurnRecord
from zorkgpt.errors import InvalidAnswer
from zorkgpt.knowledge.claims import TurnsOf
from zorkgpt.knowledge.document import KnowledgeDocument, ProcessedTurns
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.revision import LineUpdates, Revision
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeReview, KnowledgeSynthesizer, TurnReview, no_turns, updates_from
from zorkgpt.log import get_logger

log = get_logger(__name__)

_MAX_KNOWN = 120
"""Maximum existing lines in a review."""


class KnowledgeUpdater:
    """Processes each turn once and concludes each episode once, even if called repeatedly.

    Args:
        turns_of: Returns the available turns of an episode, to check contradictions against a line's origin.
    """

    def __init__(
        self,
        store: KnowledgeStore,
        synthesizer: KnowledgeSynthesizer,
        *,
        turns_of: TurnsOf = no_turns,
    ) -> None:
        self.store = store
        self.counts: Counter[str] = Counter()
        self._synthesizer = synthesizer
        self._turns_of = turns_of

    def processed(self, episode: int | str) -> ProcessedTurns:
        """Return how far the episode has been processed."""
        return self.store.document.processed.get(str(episode), ProcessedTurns())

    def learn(self, turns: Sequence[TurnRecord]) -> Revision:
        """Learn from those turns of an episode that are new.

        Raises:
            LLMError: If the model could not be asked. Nothing was changed.
            FileError: If the file could not be read or written. It is unchanged.
        """
        self.store.refresh()
        episode, last = turns[0].episode, turns[-1].turn
        lessons = LineUpdates()
        if fresh := [turn for turn in turns if turn.turn > self.processed(episode).until]:
            before = tuple(turns[: len(turns) - len(fresh)])
            lessons = self._synthesize(
                TurnReview(episode, tuple(fresh), self._known_lines(), before, self._manual_lines(), self._turns_of)
            )

        def change(revision: Revision) -> KnowledgeDocument:
            before, processed = revision.document, revision.document.processed.get(str(episode), ProcessedTurns())
            if processed.until < last:
                revision.apply(lessons)
            if revision.document is not before or processed.until < last:
                revision.document = revision.document.with_processed(
                    episode, ProcessedTurns(max(last, processed.until), processed.concluded, processed.due)
                )
            return revision.document

        return self._apply(change)

    def conclude(self, story: EpisodeReview) -> Revision:
        """Learn from a whole episode and from its last turns.

        A model is not asked about an episode whose turns were all reviewed already.

        Raises:
            LLMError: If the model could not be asked. Nothing was changed.
            FileError: If the file could not be read or written. It is unchanged.
        """
        self.store.refresh()
        last = story.turns[-1].turn
        if self._is_concluded(self.store.document, story):
            return Revision(self.store.document)
        asked = replace(
            story,
            known=self._known_lines(),
            by_hand=self._manual_lines(),
            turns_of=self._turns_of,
            learned_until=self.processed(story.episode).until,
        )
        if self._synthesizer.asks_a_model and asked.last_turns() is None:
            return Revision(self.store.document)
        lessons = self._synthesize(asked)

        def change(revision: Revision) -> KnowledgeDocument:
            if self._is_concluded(revision.document, story):
                return revision.document
            revision.apply(lessons)
            until = revision.document.processed.get(str(story.episode), ProcessedTurns()).until
            processed = ProcessedTurns(max(last, until), concluded=last)
            revision.document = revision.document.with_processed(story.episode, processed)
            return revision.document

        return self._apply(change)

    def note(self, episode: int | str, *, due: bool) -> None:
        """Record whether a finished episode must still be concluded.

        Raises:
            FileError: If the file could not be read or written.
        """

        def change(document: KnowledgeDocument) -> KnowledgeDocument:
            processed = document.processed.get(str(episode), ProcessedTurns())
            if processed.due == due:
                return document
            return document.with_processed(episode, ProcessedTurns(processed.until, processed.concluded, due))

        self.store.apply(change)

    def due(self) -> list[str]:
        """Return the names of the finished episodes that must still be concluded."""
        return [name for name, processed in self.store.document.processed.items() if processed.due]

    def _synthesize(self, asked: TurnReview | EpisodeReview) -> LineUpdates:
        synthesizer = self._synthesizer
        with self._unusable_answers_counted():
            answer = synthesizer.lessons(asked) if isinstance(asked, TurnReview) else synthesizer.wisdom(asked)
            return updates_from(answer, asked, self.counts)
        return LineUpdates()

    @contextmanager
    def _unusable_answers_counted(self) -> Iterator[None]:
        """Count answers that can't be read, and log the first one."""
        try:
            yield
        except InvalidAnswer as error:
            self.counts["unusable answers"] += 1
            if self.counts["unusable answers"] == 1:
                log.warning("nothing learned: the model's answer is unusable", extra={"problem": str(error)})

    def _known_lines(self) -> tuple[KnowledgeLine, ...]:
        return best_supported(self.store.document.lines, _MAX_KNOWN)

    def _manual_lines(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.store.document.by_hand[:_MAX_KNOWN])

    @staticmethod
    def _is_concluded(document: KnowledgeDocument, story: EpisodeReview) -> bool:
        concluded = document.processed.get(str(story.episode), ProcessedTurns()).concluded
        return concluded is not None and concluded >= story.turns[-1].turn

    def _apply(self, change: Callable[[Revision], KnowledgeDocument]) -> Revision:
        made = [Revision(self.store.document)]

        def apply(document: KnowledgeDocument) -> KnowledgeDocument:
            made[0] = Revision(document)
            return change(made[0])

        self.store.apply(apply)
        self.counts += made[0].counts
        return made[0]


def best_supported(lines: Iterable[KnowledgeLine], most: int) -> tuple[KnowledgeLine, ...]:
    """Return the lines that are not struck; if there are too many, those with the most confirmations."""
    believed = [line for line in lines if not line.struck]
    # Of lines with equal confirmations, prefer later ones.
    ranked = sorted(range(len(believed)), key=lambda position: (-believed[position].confirmed, -position))
    return tuple(believed[position] for position in sorted(ranked[:most]))

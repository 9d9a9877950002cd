"""Review turns and episodes, and write what they teach to the knowledge base."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from session.history import TurnRecord
from zorkgpt.errors import InvalidAnswer
from zorkgpt.knowledge.claims import TurnsOf
from zorkgpt.knowledge.document import KnowledgeDocument, ProcessedTurns
from zorkgpt.knowledge.line import is_struck
from zorkgpt.knowledge.revision import LineUpdates, Revision
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.synthesis import EpisodeReview, KnowledgeSynthesizer, TurnReview, no_turns, updates_from
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory

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
            FileError: If the lines could not be read or changed. Nothing was changed.
        """
        self.store.refresh()
        episode, last = turns[0].episode, turns[-1].turn
        fresh = tuple(turn for turn in turns if turn.turn > self.processed(episode).until)
        if not fresh:
            return Revision(self.store.document)
        before = tuple(turns[: len(turns) - len(fresh)])
        asked = TurnReview(episode, fresh, self._known_lines(), before, self._manual_lines(), self._turns_of)
        return self._apply(self._synthesize(asked), episode, lambda was: replace(was, until=max(was.until, last)))

    def conclude(self, story: EpisodeReview) -> Revision:
        """Learn from a whole episode and from its last turns.

        A model is not asked about an episode whose turns were all reviewed already.

        Raises:
            LLMError: If the model could not be asked. Nothing was changed.
            FileError: If the lines could not be read or changed. Nothing was changed.
        """
        self.store.refresh()
        last, processed = story.turns[-1].turn, self.processed(story.episode)
        asked = replace(
            story,
            known=self._known_lines(),
            by_hand=self._manual_lines(),
            turns_of=self._turns_of,
            learned_until=processed.until,
        )
        has_no_question = self._synthesizer.asks_a_model and asked.last_turns() is None
        if has_no_question or processed.is_concluded(last):
            return Revision(self.store.document)

        def concluded(was: ProcessedTurns) -> ProcessedTurns:
            return was if was.is_concluded(last) else ProcessedTurns(max(last, was.until), concluded=last)

        return self._apply(self._synthesize(asked), story.episode, concluded)

    def note(self, episode: int | str, *, due: bool) -> None:
        """Record whether a finished episode must still be concluded.

        Raises:
            FileError: If the record could not be read or written.
        """
        self._apply(LineUpdates(), episode, lambda was: replace(was, due=due))

    def due(self) -> list[str]:
        """Return the names of the finished episodes that must still be concluded."""
        return [name for name, processed in self.store.document.processed.items() if processed.due]

    def _synthesize(self, asked: TurnReview | EpisodeReview) -> LineUpdates:
        """Return the lessons. An answer that can't be read is counted, and the first one is logged."""
        synthesizer = self._synthesizer
        try:
            answer = synthesizer.lessons(asked) if isinstance(asked, TurnReview) else synthesizer.wisdom(asked)
        except InvalidAnswer as error:
            self.counts["unusable answers"] += 1
            if self.counts["unusable answers"] == 1:
                log.warning("nothing learned: the model's answer is unusable", extra={"problem": str(error)})
            return LineUpdates()
        return updates_from(answer, asked, self.counts)

    def _known_lines(self) -> tuple[Memory, ...]:
        return best_supported(self.store.document.lines, _MAX_KNOWN)

    def _manual_lines(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.store.document.by_hand[:_MAX_KNOWN])

    def _apply(
        self, lessons: LineUpdates, episode: int | str, change: Callable[[ProcessedTurns], ProcessedTurns]
    ) -> Revision:
        """Apply lessons with a change of the processed turns. Do nothing if another process has made that change."""
        made = Revision(self.store.document)

        def revised(document: KnowledgeDocument) -> KnowledgeDocument:
            nonlocal made
            made = Revision(document)
            before = document.processed.get(str(episode), ProcessedTurns())
            if (after := change(before)) != before:
                made.document = made.apply(lessons).document.with_processed(episode, after)
            return made.document

        self.store.apply(revised)
        self.counts += made.counts
        return made


def best_supported(lines: Iterable[Memory], most: int) -> tuple[Memory, ...]:
    """Return the lines that are not struck; if there are too many, those with the most confirmations."""
    believed = [line for line in lines if not is_struck(line)]
    # Of lines with equal confirmations, prefer later ones.
    ranked = sorted(range(len(believed)), key=lambda position: (-believed[position].worked, -position))
    return tuple(believed[position] for position in sorted(ranked[:most]))

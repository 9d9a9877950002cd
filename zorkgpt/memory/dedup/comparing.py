"""How a memory stands to what is believed at its place: by meaning, by words, by a judge where these leave it open."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from zorkgpt.memory.dedup.judge import MOST_AT_ONCE, Judge
from zorkgpt.memory.dedup.meaning import Meaning
from zorkgpt.memory.dedup.wordings import Wordings
from zorkgpt.memory.entailment.compare import compare
from zorkgpt.memory.entailment.comparison import Comparison, compared, is_open, is_worth_asking
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.storage.store import MemoryStore

# So many are compared by their words, without vectors the last ones; each takes some hundredths of a millisecond.
_MOST_BY_WORDS = 500


@dataclass(slots=True)
class DeduplicationCounts:
    """Of one episode."""

    duplicates_prevented: int = 0
    metadata_updates: int = 0
    near_duplicates: int = 0
    """Of those that were prevented or superseded, from `similarity_threshold` on."""
    supersessions_from_near_duplicates: int = 0
    contradictions_kept: int = 0
    judge_calls: int = 0
    judge_failures: int = 0
    compared: int = 0
    total_ms: float = 0.0

    @property
    def avg_deduplication_time_ms(self) -> float:
        """Without the model's time."""
        return round(self.total_ms / self.compared, 3) if self.compared else 0.0


class Comparer:
    """Compares memories; nothing is changed by it.

    Args:
        judge: asked about what the words leave open; None: nobody is.
        candidate_threshold: cosine below which two memories are about different things.
    """

    def __init__(
        self,
        store: MemoryStore,
        log: logging.Logger,
        meaning: Meaning,
        judge: Judge | None,
        *,
        candidate_threshold: float,
    ) -> None:
        self.meaning = meaning
        self.judge = judge
        self.counts = DeduplicationCounts()
        self.candidate_threshold = candidate_threshold
        self._store = store
        self._log = log
        self._undone: frozenset[tuple[str, str]] | None = None
        self._wordings = Wordings(store.history)

    def lasting(self, location_id: int) -> list[Memory]:
        """The believed persistent memories of the place that have a text."""
        with self._store.guard:
            kept = self._store.cache.get(location_id, ())
            return [memory for memory in kept if is_current(memory) and memory.text.strip()]

    def comparisons(self, location_id: int, new: Memory, *, among: Sequence[Memory] | None = None) -> list[Comparison]:
        """With all lasting memories of the place that are near enough, by their words.

        Where nobody is asked about what the words leave open, that is left out: a vector would change nothing.
        """
        known = self.lasting(location_id) if among is None else list(among)
        if known and self.judge is None and len(known) <= _MOST_BY_WORDS:
            self.meaning.prepare()
            known = [memory for memory in known if not is_open(memory, new)]
        found = self.with_each(location_id, new, known)
        return [one for one in found if one.cosine is None or one.cosine >= self.candidate_threshold]

    def with_each(self, location_id: int, new: Memory, known: Sequence[Memory]) -> list[Comparison]:
        """In their order; without vectors with the last ones only, if there are very many."""
        cosines = self._cosines(location_id, new, known)
        if cosines is None:
            return [compared(memory, new, None) for memory in known[-_MOST_BY_WORDS:]]
        return [
            compared(memory, new, cosine)
            if cosine >= self.candidate_threshold
            else Comparison(memory, cosine, "distinct", "about something else")
            for memory, cosine in zip(known, cosines, strict=True)
        ]

    def _cosines(self, location_id: int, new: Memory, known: Sequence[Memory]) -> list[float] | None:
        """Of each memory; where a judge can tell what is unsure, that of its nearest wording."""
        wordings = [self._wordings_of(location_id, memory) for memory in known]
        cosines = self.meaning.cosines(location_id, new.text, [text for texts in wordings for text in texts])
        if cosines is None:
            return None
        left = iter(cosines)
        return [max(islice(left, len(texts))) for texts in wordings]

    def _wordings_of(self, location_id: int, memory: Memory) -> list[str]:
        if self.judge is None:
            return [memory.text]
        with self._store.guard:
            return self._wordings.of(location_id, memory, self._store.cache.get(location_id, ()))

    def says(self, location_id: int, text: str) -> tuple[Memory, float] | None:
        """The nearest memory whose text this text says, and their cosine; None without vectors."""
        known = self.lasting(location_id)
        cosines = self.meaning.cosines(location_id, text, [memory.text for memory in known])
        near = [
            (memory, cosine)
            for memory, cosine in zip(known, cosines or (), strict=False)
            if cosine >= self.candidate_threshold and compare(memory.text, text).relation in ("same", "adds")
        ]
        return max(near, key=lambda found: found[1], default=None)

    def asked(self, location_id: int, name: str, new: Memory, comparisons: list[Comparison]) -> list[Comparison]:
        """With the judge's verdicts in the place of what the words leave open."""
        if self.judge is None:
            return comparisons
        doubtful = [
            one
            for one in comparisons
            if one.relation == "unsure"
            and one.cosine is not None
            and any(is_worth_asking(text, new.text) for text in self._wordings_of(location_id, one.known))
            and not self.is_undone(one.known, new)
        ]
        doubtful = sorted(doubtful, key=lambda one: -(one.cosine or 0))[:MOST_AT_ONCE]
        if not doubtful:
            return comparisons
        self.counts.judge_calls += 1
        try:
            verdicts = self.judge.judge(name, new, [one.known for one in doubtful])
        except Exception as error:
            # The judge may be anybody's, and both are kept without it.
            self.counts.judge_failures += 1
            level = logging.WARNING if self.counts.judge_failures == 1 else logging.INFO
            self._log.log(level, "nobody judged what is unsure, both are kept", extra={"error": repr(error)})
            return comparisons
        judged = {id(doubtful[at].known): verdict for at, verdict in verdicts.items() if 0 <= at < len(doubtful)}
        return [_judged(one, judged.get(id(one.known))) for one in comparisons]

    def texts(self) -> list[str]:
        """Of all believed lasting memories, in every wording that is in use."""
        with self._store.guard:
            believed = [memory.text for location_id in self._store.cache for memory in self.lasting(location_id)]
            return [*believed, *self._wordings.all()]

    def said_again(self, location_id: int, title: str, text: str) -> None:
        """The memory of this title was said in these words too."""
        self._wordings.add(location_id, title, text)

    def is_undone(self, known: Memory, new: Memory) -> bool:
        """Whether a person has taken this very merge back."""
        if self._undone is None:
            from zorkgpt.memory.dedup.undo import undone_pairs

            self._undone = undone_pairs(self._store.history)
        return (known.text, new.text) in self._undone or (new.text, known.text) in self._undone


_RELATIONS = {"same": "same", "adds": "adds", "contradicts": "conflict", "distinct": "distinct"}


def _judged(one: Comparison, verdict) -> Comparison:
    if verdict is None or one.relation != "unsure":
        return one
    relation = _RELATIONS[verdict.relation]
    return replace(one, relation=relation, reason=verdict.reason or verdict.relation, by="model")

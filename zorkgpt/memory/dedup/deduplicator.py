"""Recognizes paraphrases and contradictions of stored memories.

Vectors propose candidates, the word check compares them, and a judge decides the pairs that it leaves unsure. The
memory writer asks before it stores a lasting memory.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zorkgpt.memory.dedup.decision import NEW, Decision, decide
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.entailment.compare import relation_of
from zorkgpt.memory.entailment.comparison import (
    Comparison,
    ComparisonsByWords,
    actions_differ,
    compared,
    is_worth_asking,
    related,
    share_a_subject,
    with_verdicts,
    words_of,
)
from zorkgpt.memory.models import Memory, Persistence, SubjectKey
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.things import is_ledger_entry

if TYPE_CHECKING:
    from zorkgpt.memory.dedup.judge import Judge


@dataclass(slots=True)
class DeduplicationCounts:
    """Counts for one episode."""

    duplicates_prevented: int = 0
    metadata_updates: int = 0
    near_duplicates: int = 0
    """Prevented duplicates and supersessions with a cosine of at least `similarity_threshold`."""
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


class Deduplicator:
    """Compares a memory with the current ones of its place, and decides how it relates to them.

    Args:
        judge: Decides pairs that the word check leaves unsure. If None, both memories are kept.
        candidate_threshold: Minimum cosine of two memories about the same thing.
        similarity_threshold: Minimum cosine of a near-duplicate.
    """

    def __init__(
        self,
        store: Store,
        index: EmbeddingIndex,
        judge: "Judge | None",
        log: logging.Logger,
        *,
        candidate_threshold: float,
        similarity_threshold: float,
    ) -> None:
        self.index = index
        self.judge = judge
        self.counts = DeduplicationCounts()
        self.candidate_threshold = candidate_threshold
        self.similarity_threshold = similarity_threshold
        self._store = store
        self._log = log
        self._errors = 0
        self._undone: frozenset[tuple[str, str]] | None = None

    @property
    def has_only_words(self) -> bool:
        """Whether there is neither a judge nor a model for vectors, so that nothing has to be asked before a write."""
        return self.judge is None and self.index.is_lost

    # Deciding about a new memory

    def verdicts(
        self, name: str, memory: Memory, among: Sequence[Memory], *, is_informed: bool = False
    ) -> ComparisonsByWords:
        """Ask the judge how a new memory relates to those of its place. Never raises.

        This may take long, so it comes before the transaction in which `decide` and the guards need the verdicts.

        Args:
            name: The place, for the judge.
            among: The memories of the place, including those that a person hid.
            is_informed: See `decide`.
        """
        try:
            comparisons = self._relevant(memory, among, is_informed)
            if any(each.merges for each in comparisons):
                comparisons = []
            hidden = [old for old in among if old.vetoed]
            return self._asked(name, memory, [*comparisons, *self.comparisons(memory, hidden)])
        except Exception:
            # `decide` raises and reports the same error.
            return {}

    def decide(
        self,
        memory: Memory,
        among: Sequence[Memory],
        *,
        is_informed: bool = False,
        verdicts: ComparisonsByWords = MappingProxyType({}),
    ) -> Decision:
        """Return how a new memory relates to those of its place. Never raises; after an error the memory is new.

        Args:
            among: The memories of the place.
            is_informed: Whether the author saw the memories of the place and named the ones to replace.
            verdicts: The judge's verdicts about the pairs that the word check leaves unsure.
        """
        try:
            started = time.perf_counter()
            comparisons = self._relevant(memory, among, is_informed)
            if memory.persistence is not Persistence.EPHEMERAL:
                self.counts.compared += 1
                self.counts.total_ms += (time.perf_counter() - started) * 1000
            if not comparisons:
                return NEW
            if not any(each.merges for each in comparisons):
                comparisons = with_verdicts(comparisons, verdicts)
            return decide(memory, comparisons)
        except Exception as error:
            # Store the memory even if it can't be compared.
            self._errors += 1
            self._log.warning("memory not compared", extra={"title": memory.title, "error": repr(error)}, exc_info=True)
            return NEW

    def _relevant(self, memory: Memory, among: Sequence[Memory], is_informed: bool) -> list[Comparison]:
        """Return the comparisons of a lasting memory with those of its place that can decide about it."""
        if not is_comparable(memory):
            return []
        return [
            comparison
            for comparison in self.comparisons(memory, list(filter(is_comparable, among)))
            # The word check doesn't overrule an author who saw both and kept both, and never merges two actions.
            if not (is_informed and comparison.relation == "conflict") and not actions_differ(comparison.known, memory)
        ]

    def note(self, location_id: SubjectKey, memory: Memory, decision: Decision) -> None:
        """Log and count the result of a decision after it was written."""
        counts, comparison = self.counts, decision.about
        if comparison is None or decision.kind == "new":
            return
        was_joined = decision.joins(memory)
        if was_joined:
            extra = {
                "location_id": location_id,
                "decision": decision.kind,
                "known": comparison.known.text,
                "new": memory.text,
                "cosine": comparison.cosine,
                "reason": comparison.reason,
                "by": comparison.by,
            }
            self._log.info("memory compared", extra=extra)
        if decision.kind == "contradicts":
            counts.contradictions_kept += 1
            return
        counts.near_duplicates += was_joined and (comparison.cosine or 0) >= self.similarity_threshold
        if decision.kind == "repeats":
            counts.duplicates_prevented += 1
            counts.metadata_updates += 1
        else:
            counts.supersessions_from_near_duplicates += 1

    # Comparing

    def comparisons(self, new: Memory, known: Sequence[Memory]) -> list[Comparison]:
        """Return the comparisons with near memories. Pairs whose merge a user reverted are omitted.

        Without a judge, memories that the word check leaves unsure are omitted too, because vectors can't decide them.
        """
        if known and self.judge is None:
            self.index.prepare()
            known = [memory for memory in related(known, new) if compared(memory, new).relation != "unsure"]
        if not known:
            return []
        cosines = self.index.cosines(new.text, [memory.text for memory in known])
        if cosines is None:
            found = [compared(memory, new) for memory in known]
        else:
            near = zip(known, cosines, strict=True)
            found = [compared(memory, new, cosine) for memory, cosine in near if cosine >= self.candidate_threshold]
        return [each for each in found if each.relation == "unsure" or not self._is_undone(each.known, new)]

    def is_about_something_else(self, old: Memory, new: Memory) -> bool:
        """Return whether two memories are about different things, by their vectors and their words."""
        if not old.persistence.outlives_episode or not old.text.strip() or (old.action and old.action == new.action):
            return False
        cosines = self.index.cosines(new.text, [old.text])
        return cosines is not None and cosines[0] < self.candidate_threshold and not share_a_subject(old, new)

    def nearest_duplicate(self, location_id: SubjectKey, text: str) -> tuple[Memory, float] | None:
        """Return the nearest memory that the text repeats or extends, and their cosine. None without vectors."""
        with self._store.guard:
            known = list(filter(is_comparable, self._store.lasting.memories(location_id)))
        cosines = self.index.cosines(text, [memory.text for memory in known])
        near = [
            (memory, cosine)
            for memory, cosine in zip(known, cosines or (), strict=False)
            if cosine >= self.candidate_threshold and relation_of(memory.text, text) in ("same", "adds")
        ]
        return max(near, key=lambda pair: pair[1], default=None)

    def judged(self, name: str, new: Memory, comparisons: list[Comparison]) -> list[Comparison]:
        """Return the comparisons, with the judge's verdicts for those that are unsure."""
        return with_verdicts(comparisons, self._asked(name, new, comparisons))

    def _asked(self, name: str, new: Memory, comparisons: Sequence[Comparison]) -> ComparisonsByWords:
        if self.judge is None:
            return {}
        from zorkgpt.memory.dedup.judge import LONGEST_TEXT, MOST_AT_ONCE

        unsure = [
            each
            for each in comparisons
            if each.relation == "unsure"
            and each.cosine is not None
            # Entries of the ledger are lists of things. A sentence about them is another fact.
            and not is_ledger_entry(each.known)
            and max(len(each.known.text), len(new.text)) <= LONGEST_TEXT
            and is_worth_asking(each.known.text, new.text)
            and not self._is_undone(each.known, new)
        ]
        unsure = sorted(unsure, key=lambda each: -(each.cosine or 0))[:MOST_AT_ONCE]
        if not unsure:
            return {}
        self.counts.judge_calls += 1
        try:
            verdicts = self.judge.judge(name, new, [each.known for each in unsure])
        except Exception as error:
            # The judge may be the caller's own code.
            self.counts.judge_failures += 1
            level = logging.WARNING if self.counts.judge_failures == 1 else logging.INFO
            self._log.log(level, "the judge failed, both memories are kept", extra={"error": repr(error)})
            return {}
        return {
            words_of(each.known): replace(
                each,
                relation="conflict" if verdict.relation == "contradicts" else verdict.relation,
                reason=verdict.reason or verdict.relation,
                by="model",
            )
            for index, each in enumerate(unsure)
            if (verdict := verdicts.get(index)) is not None
        }

    def _is_undone(self, known: Memory, new: Memory) -> bool:
        """Return whether a user reverted a merge of the two. Reads the history on first use."""
        if self._undone is None:
            self._undone = _undone_pairs(self._store.journal)
        return not {(known.text, new.text), (new.text, known.text)}.isdisjoint(self._undone)

    # The episode's counts, and the vectors on disk

    def texts(self) -> list[str]:
        """Return the texts of all current lasting memories."""
        with self._store.guard:
            return [memory.text for _, memory in self._store.lasting.find(Filters()) if memory.text.strip()]

    def forget(self) -> None:
        """Clear all cached texts and vectors. They are read again when needed."""
        self._undone = None
        self.index.drop()

    def reset(self) -> None:
        """Begin a new episode, and save new vectors."""
        self.counts = DeduplicationCounts()
        self.index.save(self.texts)

    def close(self) -> None:
        """Save new vectors, and stop loading the model."""
        self.index.close()
        self.index.save(self.texts)

    def metrics(self) -> dict[str, Any]:
        counts = asdict(self.counts)
        counts.pop("total_ms")
        return counts | {
            "avg_deduplication_time_ms": self.counts.avg_deduplication_time_ms,
            "embedding_cache_size": self.index.size,
            "embedding_cache_rebuild_count": self.index.rebuilds,
            "deduplication_error_count": self._errors + self.index.failures,
        }

    def snapshot(self) -> dict[str, Any]:
        """Return the counts of the running episode, as plain values."""
        return {"deduplication": asdict(self.counts), "errors": self._errors}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore the counts from `snapshot`, unless it was saved without deduplication."""
        if "deduplication" in saved:
            self.counts = DeduplicationCounts(**saved["deduplication"])
            self._errors = int(saved["errors"])


def is_comparable(memory: Memory) -> bool:
    """Return whether a memory is compared with others: it is current and lasting, and has a text."""
    return memory.persistence is not Persistence.EPHEMERAL and is_current(memory) and bool(memory.text.strip())


def _undone_pairs(journal: Journal) -> frozenset[tuple[str, str]]:
    """Return the pairs of texts whose merge a user reverted."""
    return frozenset(
        (record.change.before.text, record.change.other.text)
        for record in journal.of_kind("reverted")
        if not record.is_of_repeated_turn and record.change.before and record.change.other
    )

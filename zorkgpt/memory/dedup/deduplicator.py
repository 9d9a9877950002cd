"""Recognizes paraphrases and contradictions of stored memories.

Vectors propose candidates, the word check compares them, and a judge decides the pairs that it leaves unsure. The
memory writer asks before it stores a lasting memory.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zorkgpt.memory.dedup.decision import NEW, Decision, decide
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.entailment.compare import relation_of
from zorkgpt.memory.entailment.comparison import (
    Comparison,
    actions_differ,
    compared,
    is_worth_asking,
    related,
    share_a_subject,
)
from zorkgpt.memory.models import Memory, Persistence, SubjectKey
from zorkgpt.memory.places import place_text
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.things import is_ledger_entry

if TYPE_CHECKING:
    from zorkgpt.memory.dedup.judge import Judge, Verdict

_MOST_WORDINGS = 8

VerdictByWords = Mapping[tuple[str, str], "Verdict"]
"""The judge's verdicts about one new memory, by title and text of the known one."""


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
        self._wordings = _Wordings(store.journal)

    @property
    def has_only_words(self) -> bool:
        """Whether there is neither a judge nor a model for vectors, so that nothing has to be asked before a write."""
        return self.judge is None and self.index.is_lost

    # Deciding about a new memory

    def verdicts(
        self,
        location_id: SubjectKey,
        name: str,
        memory: Memory,
        *,
        is_informed: bool = False,
        after: Iterable[Memory] = (),
    ) -> VerdictByWords:
        """Return the judge's verdicts for a new memory and those of its place, for `decide`. Never raises.

        This may take long, so it comes before the transaction in which `decide` is called.

        Args:
            is_informed: See `decide`.
            after: Memories of the same place that are stored before it.
        """
        if not comparable([memory]):
            return {}
        try:
            among = [*self._lasting(location_id), *comparable(after)]
            comparisons = self._relevant(location_id, memory, is_informed, among)
            if any(map(_merges, comparisons)):
                return {}
            return self._asked(location_id, name, memory, comparisons)
        except Exception:
            # `decide` raises and reports the same error.
            return {}

    def decide(
        self,
        location_id: SubjectKey,
        memory: Memory,
        among: Sequence[Memory],
        *,
        is_informed: bool = False,
        verdicts: VerdictByWords = MappingProxyType({}),
    ) -> Decision:
        """Return how a new memory relates to those of its place. Never raises; after an error the memory is new.

        Args:
            among: The memories of the place.
            is_informed: Whether the author saw the memories of the place and named the ones to replace.
            verdicts: The judge's verdicts about the pairs that the word check leaves unsure.
        """
        if not comparable([memory]):
            return NEW
        try:
            started = time.perf_counter()
            comparisons = self._relevant(location_id, memory, is_informed, comparable(self._related(among, memory)))
            self.counts.compared += 1
            self.counts.total_ms += (time.perf_counter() - started) * 1000
            if verdicts and not any(map(_merges, comparisons)):
                comparisons = _with_verdicts(comparisons, verdicts)
            return decide(memory, comparisons) if comparisons else NEW
        except Exception as error:
            # Store the memory even if it can't be compared.
            self._errors += 1
            self._log.warning("memory not compared", extra={"title": memory.title, "error": repr(error)}, exc_info=True)
            return NEW

    def _relevant(
        self, location_id: SubjectKey, memory: Memory, is_informed: bool, among: Sequence[Memory]
    ) -> list[Comparison]:
        return [
            comparison
            for comparison in self.comparisons(location_id, memory, among)
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
        if was_joined and decision.kind == "repeats":
            self._wordings.add(location_id, comparison.known.title, memory.text)

    # Comparing

    def comparisons(self, location_id: SubjectKey, new: Memory, known: Sequence[Memory]) -> list[Comparison]:
        """Return the comparisons with near memories. Pairs whose merge a user reverted are omitted.

        Without a judge, memories that the word check leaves unsure are omitted too, because vectors can't decide them.
        """
        known = self._related(known, new)
        if not known:
            return []
        return [
            each
            for each in self._compared_with_each(location_id, new, known)
            if (each.cosine is None or each.cosine >= self.candidate_threshold)
            and not (each.relation in ("same", "adds", "conflict") and self._is_undone(each.known, new))
        ]

    def _related(self, known: Sequence[Memory], new: Memory) -> Sequence[Memory]:
        """Return the memories without those that are left unsure by the word check, which nothing else can decide."""
        if not known or self.judge is not None:
            return known
        self.index.prepare()
        return related(known, new)

    def says_the_same(self, location_id: SubjectKey, old: Memory, new: Memory) -> bool:
        """Return whether a memory that the new one would replace says the same, so that it counts as observed again."""
        return _are_comparable(old, new) and self._compared_with_each(location_id, new, [old])[0].relation == "same"

    def is_about_something_else(self, location_id: SubjectKey, old: Memory, new: Memory) -> bool:
        """Return whether two memories are about different things, by their vectors and their words."""
        if not _are_comparable(old, new) or (old.action and old.action == new.action):
            return False
        cosine = self._compared_with_each(location_id, new, [old])[0].cosine
        return cosine is not None and cosine < self.candidate_threshold and not share_a_subject(old, new)

    def nearest_duplicate(self, location_id: SubjectKey, text: str) -> tuple[Memory, float] | None:
        """Return the nearest memory that the text repeats or extends, and their cosine. None without vectors."""
        known = self._lasting(location_id)
        cosines = self.index.cosines(text, [memory.text for memory in known])
        near = [
            (memory, cosine)
            for memory, cosine in zip(known, cosines or (), strict=False)
            if cosine >= self.candidate_threshold and relation_of(memory.text, text) in ("same", "adds")
        ]
        return max(near, key=lambda pair: pair[1], default=None)

    def judged(
        self, location_id: SubjectKey, name: str, new: Memory, comparisons: list[Comparison]
    ) -> list[Comparison]:
        """Return the comparisons, with the judge's verdicts for those that are unsure."""
        return _with_verdicts(comparisons, self._asked(location_id, name, new, comparisons))

    def said_by_hidden(
        self, location_id: SubjectKey, name: str, new: Memory, hidden: Sequence[Memory]
    ) -> Memory | None:
        """Return the hidden memory that the new one repeats or extends, by its words or as the judge finds."""
        judged = self.judged(location_id, name, new, self.comparisons(location_id, new, hidden))
        return next((each.known for each in judged if _merges(each)), None)

    def _asked(
        self, location_id: SubjectKey, name: str, new: Memory, comparisons: Sequence[Comparison]
    ) -> VerdictByWords:
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
            and any(is_worth_asking(text, new.text) for text in self._wordings_of(location_id, each.known))
            and not self._is_undone(each.known, new)
        ]
        unsure = sorted(unsure, key=lambda each: -(each.cosine or 0))[:MOST_AT_ONCE]
        if not unsure:
            return {}
        self.counts.judge_calls += 1
        try:
            verdicts = self.judge.judge(name or place_text(location_id), new, [each.known for each in unsure])
        except Exception as error:
            # The judge may be the caller's own code.
            self.counts.judge_failures += 1
            level = logging.WARNING if self.counts.judge_failures == 1 else logging.INFO
            self._log.log(level, "the judge failed, both memories are kept", extra={"error": repr(error)})
            return {}
        return {_words(each.known): verdicts[index] for index, each in enumerate(unsure) if index in verdicts}

    def _is_undone(self, known: Memory, new: Memory) -> bool:
        """Return whether a user reverted a merge of the two. Reads the history on first use."""
        if self._undone is None:
            self._undone = _undone_pairs(self._store.journal)
        return not {(known.text, new.text), (new.text, known.text)}.isdisjoint(self._undone)

    def _lasting(self, location_id: SubjectKey) -> list[Memory]:
        with self._store.guard:
            return comparable(self._store.lasting.memories(location_id))

    def _compared_with_each(self, location_id: SubjectKey, new: Memory, known: Sequence[Memory]) -> list[Comparison]:
        """Compare the new memory with each known one. With vectors, the words of distant ones are not compared."""
        cosines = self._cosines(location_id, new, known)
        if cosines is None:
            return [compared(memory, new, None) for memory in known]
        return [
            compared(memory, new, cosine)
            if cosine >= self.candidate_threshold
            else Comparison(memory, cosine, "distinct", "about something else")
            for memory, cosine in zip(known, cosines, strict=True)
        ]

    def _cosines(self, location_id: SubjectKey, new: Memory, known: Sequence[Memory]) -> list[float] | None:
        """Return the cosine of each memory. With a judge, this is the cosine of its nearest wording."""
        wordings = [self._wordings_of(location_id, memory) for memory in known]
        cosines = self.index.cosines(new.text, [text for texts in wordings for text in texts])
        if cosines is None:
            return None
        remaining = iter(cosines)
        return [max(islice(remaining, len(texts))) for texts in wordings]

    def _wordings_of(self, location_id: SubjectKey, memory: Memory) -> list[str]:
        if self.judge is None:
            return [memory.text]
        with self._store.guard:
            return self._wordings.of(location_id, memory, self._store.lasting.memories(location_id))

    # The episode's counts, and the vectors on disk

    def texts(self) -> list[str]:
        """Return the texts of all current lasting memories, and their known wordings."""
        with self._store.guard:
            believed = [memory.text for _, memory in self._store.lasting.find(Filters())]
            return [*filter(str.strip, believed), *self._wordings.all()]

    def forget(self) -> None:
        """Clear all cached texts and vectors. They are read again when needed."""
        self._wordings = _Wordings(self._store.journal)
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


class _Wordings:
    """The texts that were merged into each memory, read from the history on first use.

    A new text may be similar to only one of them.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._texts: dict[tuple[SubjectKey, str], list[str]] | None = None

    def of(self, location_id: SubjectKey, memory: Memory, kept: Iterable[Memory]) -> list[str]:
        """Return the memory's text, the texts merged into it, and those of the memories that it refined.

        Args:
            kept: All memories of the place, including superseded ones.
        """
        refined = [
            old
            for old in kept
            if old.superseded_by == memory.title and relation_of(old.text, memory.text) in ("same", "adds")
        ]
        merged = [text for each in (memory, *refined) for text in self._loaded().get((location_id, each.title), ())]
        return list(dict.fromkeys([memory.text, *(old.text for old in refined), *merged]))

    def add(self, location_id: SubjectKey, title: str, text: str) -> None:
        _add_wording(self._loaded(), location_id, title, text)

    def all(self) -> list[str]:
        """Return all wordings that were loaded."""
        return [text for texts in (self._texts or {}).values() for text in texts]

    def _loaded(self) -> dict[tuple[SubjectKey, str], list[str]]:
        if self._texts is None:
            self._texts = {}
            for record in self._journal.of_kind("merged"):
                change = record.change
                if change.other and change.after and record.reverted_by is None:
                    _add_wording(self._texts, change.location_id, change.after.title, change.other.text)
        return self._texts


def _add_wording(
    wordings: dict[tuple[SubjectKey, str], list[str]], location_id: SubjectKey, title: str, text: str
) -> None:
    texts = wordings.setdefault((location_id, title), [])
    if text not in texts:
        texts.append(text)
        del texts[:-_MOST_WORDINGS]


def _with_verdicts(comparisons: Iterable[Comparison], verdicts: VerdictByWords) -> list[Comparison]:
    """Return the comparisons with the judge's verdicts in place of "unsure"."""
    judged = []
    for comparison in comparisons:
        verdict = verdicts.get(_words(comparison.known)) if comparison.relation == "unsure" else None
        if verdict is not None:
            relation = "conflict" if verdict.relation == "contradicts" else verdict.relation
            comparison = replace(comparison, relation=relation, reason=verdict.reason or verdict.relation, by="model")
        judged.append(comparison)
    return judged


def _words(memory: Memory) -> tuple[str, str]:
    return memory.title, memory.text


def _merges(comparison: Comparison) -> bool:
    return comparison.relation in ("same", "adds")


def comparable(memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories that are compared with others: the current and lasting ones with a text."""
    return [
        memory
        for memory in filter(is_current, memories)
        if memory.persistence is not Persistence.EPHEMERAL and memory.text.strip()
    ]


def _undone_pairs(journal: Journal) -> frozenset[tuple[str, str]]:
    """Return the pairs of texts whose merge a user reverted."""
    return frozenset(
        (record.change.before.text, record.change.other.text)
        for record in journal.of_kind("reverted")
        if not record.is_of_repeated_turn and record.change.before and record.change.other
    )


def _are_comparable(old: Memory, new: Memory) -> bool:
    return old.persistence.outlives_episode and bool(new.text.strip()) and bool(old.text.strip())

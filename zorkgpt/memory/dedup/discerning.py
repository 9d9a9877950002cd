"""A keeper that knows a fact again in other words, and does not let what contradicts it pass for it."""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from zorkgpt.memory.dedup import merging
from zorkgpt.memory.dedup.comparing import Comparer, DeduplicationCounts
from zorkgpt.memory.dedup.decision import NEW, Decision, believed, decide, is_settled
from zorkgpt.memory.entailment.comparison import compared, share_a_subject
from zorkgpt.memory.keeping.counts import counts_of
from zorkgpt.memory.keeping.keeper import Keeper, known_again
from zorkgpt.memory.keeping.lifecycle import Visits
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import ChangedDocument, is_current, same_words, titled
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.store import MemoryStore
from zorkgpt.memory.turn_span import TurnSpan


class DiscerningKeeper(Keeper):
    """Compares a lasting memory with all that are believed at its place before it is kept.

    Args:
        comparer: tells how they stand to each other; both are kept where it leaves that open.
        similarity_threshold: cosine from which a repeat counts as a near-duplicate.
    """

    def __init__(
        self,
        store: MemoryStore,
        visits: Visits,
        log: logging.Logger,
        comparer: Comparer,
        *,
        similarity_threshold: float,
        debug: bool = False,
    ) -> None:
        super().__init__(store, visits, log, debug=debug)
        self.comparer = comparer
        self.errors = 0
        self.similarity_threshold = similarity_threshold

    @property
    def counts(self) -> DeduplicationCounts:
        return self.comparer.counts

    def add(self, location_id: int, name: str, memory: Memory, *, is_judged: bool = False) -> bool:
        """Keep it, or count it as one more observation of what says the same."""
        if memory.persistence == "ephemeral" or not is_current(memory) or not memory.text.strip():
            return super().add(location_id, name, memory)
        self.refresh()
        try:
            decision = self._decision(location_id, name, memory, is_judged=is_judged)
        except Exception as error:
            # A memory is never lost because it could not be compared.
            self.errors += 1
            self._log.warning("memory not compared", extra={"title": memory.title, "error": repr(error)}, exc_info=True)
            decision = NEW
        with self.store.guard:
            self.names[location_id] = name
            try:
                return self._carried_out(location_id, name, memory, decision)
            except KeyError:
                # What it was compared with was changed by another process between the look and the change.
                self.errors += 1
                self._log.info("memory overtaken, kept without comparison", extra={"title": memory.title})
                return super().add(location_id, name, memory)

    def replaceable(self, location_id: int, titles: Sequence[str], new: Memory) -> list[str]:
        """Without those that say the same: these are seen again."""
        found = []
        for title in super().replaceable(location_id, titles, new):
            old = titled(self.current(location_id), title)
            if old is None or not self._is_comparable(old, new) or self._relation(location_id, old, new) != "same":
                found.append(title)
        return found

    def is_about_something_else(self, location_id: int, old: Memory, new: Memory) -> bool:
        """By their vectors and their words, where there are vectors."""
        if not self._is_comparable(old, new) or (old.action and old.action == new.action):
            return False
        cosine = self.comparer.with_each(location_id, new, [old])[0].cosine
        return cosine is not None and cosine < self.comparer.candidate_threshold and not share_a_subject(old, new)

    @staticmethod
    def _is_comparable(old: Memory, new: Memory) -> bool:
        return old.persistence != "ephemeral" and bool(new.text.strip()) and bool(old.text.strip())

    def _relation(self, location_id: int, old: Memory, new: Memory) -> str:
        return self.comparer.with_each(location_id, new, [old])[0].relation

    def is_forbidden(self, location_id: int, name: str, memory: Memory) -> bool:
        """Also in other words, where a judge can tell."""
        if super().is_forbidden(location_id, name, memory):
            return True
        vetoed = self._vetoed(location_id) if self.comparer.judge is not None and memory.text.strip() else []
        if not vetoed:
            return False
        found = self.comparer.asked(
            location_id, name, memory, self.comparer.comparisons(location_id, memory, among=vetoed)
        )
        same = next((one.known for one in found if one.relation in ("same", "adds")), None)
        return same is not None and self._obey(location_id, memory, same)

    def forget_episode(self) -> None:
        super().forget_episode()
        if self.counts.compared:
            self._log.info("memories compared in the episode", extra=self.metrics()["deduplication_metrics"])
        self.comparer.counts = DeduplicationCounts()
        self.save_vectors()

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"deduplication": asdict(self.counts), "errors": self.errors}

    def restore_episode(self, memories: dict[int, list[Memory]], under_way: dict[str, Any] | None = None) -> None:
        super().restore_episode(memories, under_way)
        if under_way is not None and "deduplication" in under_way:
            self.comparer.counts = counts_of(DeduplicationCounts, under_way["deduplication"])
            self.errors = int(under_way["errors"])

    def close(self) -> None:
        self.comparer.meaning.close()
        self.save_vectors()

    def save_vectors(self) -> None:
        """Put on disk what is new, and drop what no memory uses."""
        self.comparer.meaning.save(self.comparer.texts)

    def metrics(self) -> dict[str, object]:
        counts = asdict(self.counts)
        counts.pop("total_ms")
        counts |= {
            "avg_deduplication_time_ms": self.counts.avg_deduplication_time_ms,
            "embedding_cache_size": self.comparer.meaning.size,
            "embedding_cache_rebuild_count": self.comparer.meaning.rebuilds,
            "deduplication_error_count": self.errors + self.comparer.meaning.failures,
        }
        return {"deduplication_metrics": counts}

    def _decision(self, location_id: int, name: str, memory: Memory, *, is_judged: bool = False) -> Decision:
        started = time.perf_counter()
        comparisons = [
            one
            for one in self.comparer.comparisons(location_id, memory)
            # Words don't overrule whoever has seen both and let both stand, nor make two actions one.
            if not (is_judged and one.relation == "conflict") and not _differ_in_action(one.known, memory)
        ]
        self.counts.compared += 1
        self.counts.total_ms += (time.perf_counter() - started) * 1000
        if not any(one.relation in ("same", "adds") for one in comparisons):
            comparisons = self.comparer.asked(location_id, name, memory, comparisons)
        merges = [one for one in comparisons if one.relation in ("same", "adds")]
        undone = [one for one in merges if self.comparer.is_undone(one.known, memory)]
        return decide(memory, [one for one in comparisons if one not in undone])

    def _carried_out(
        self, location_id: int, name: str, memory: Memory, decision: Decision, *, again: bool = True
    ) -> bool:
        one = decision.about
        # A plain keeper takes an open memory for confirmed by being said once more, whatever stands against it.
        plainly = one is not None and same_words(one.known, memory) and one.known.status != MemoryStatus.TENTATIVE
        if one is None or decision.kind == "new" or (decision.kind == "repeats" and plainly):
            return self._kept(location_id, name, memory, decision)
        extra = {
            "location_id": location_id,
            "decision": decision.kind,
            "known": one.known.text,
            "new": memory.text,
            "cosine": one.cosine,
            "reason": one.reason,
            "by": one.by,
        }
        self._log.info("memory compared", extra=extra)
        turn = last_turn(memory)
        made: list[ChangedDocument] = []
        overtaken: list[Memory] = []

        def change(document: Document) -> ChangedDocument | None:
            kept = document.memories(location_id)
            known = known_again(kept, one.known)
            # Another process has written the very same meanwhile: then it is that one that was observed again.
            overtaken[:] = [m for m in kept if m is not known and is_current(m) and same_words(m, memory)]
            if known is None or (overtaken and decision.kind != "repeats"):
                return None
            made[:] = [self._changed(document, location_id, name, known, memory, decision, turn)]
            return made[0]

        if not self._apply(change):
            if overtaken and again:
                self.refresh()
                anew = self._decision(location_id, name, memory)
                return self._carried_out(location_id, name, memory, anew, again=False)
            # What it was compared with is gone, or nothing can be written: then add says so.
            return super().add(location_id, name, memory)
        self._count(decision)
        if decision.kind == "repeats":
            self.comparer.said_again(location_id, one.known.title, memory.text)
            self._settle(location_id, one.known, turn)
        return True

    def _kept(self, location_id: int, name: str, memory: Memory, decision: Decision) -> bool:
        again = decision.kind == "repeats"
        kept = super().add(location_id, name, memory)
        if again and kept:
            self.counts.duplicates_prevented += 1
            self.counts.metadata_updates += 1
            self._settle(location_id, decision.about.known, last_turn(memory))
        return kept

    def _changed(
        self,
        document: Document,
        location_id: int,
        name: str,
        known: Memory,
        new: Memory,
        decision: Decision,
        turn: int | None,
    ) -> ChangedDocument:
        reason = decision.about.describe()
        kept = document.memories(location_id)
        if decision.kind == "repeats":
            return merging.merged(document, location_id, known, new, reason)
        if decision.kind == "refines" and known.pinned:
            return changes.added(document, location_id, name, new)
        if decision.kind == "refines":
            return merging.refined(document, location_id, name, known, new, turn, reason)
        if known.pinned and any(same_words(old, new) and old.superseded_by == known.title for old in kept):
            # It was told so before, and is on record.
            return ChangedDocument(document)
        before = any(
            old.superseded_by == known.title and compared(old, new, None).relation == "same"
            for old in kept
            if not is_current(old)
        )
        belief = believed(known, new, was_believed_before=before)
        return merging.opposed(document, location_id, name, known, new, belief, turn, reason)

    def _settle(self, location_id: int, seen: Memory, turn: int | None) -> None:
        """A memory that was open against its contrary has been observed again: it may be ahead now."""
        if seen.status != MemoryStatus.TENTATIVE:
            return

        def change(document: Document) -> ChangedDocument | None:
            kept = document.memories(location_id)
            winner = known_again(kept, seen)
            for rival in kept:
                if winner and rival.status == MemoryStatus.TENTATIVE and is_settled(winner, rival):
                    contrast = compared(rival, winner, None)
                    if contrast.relation == "conflict":
                        reason = f"{contrast.reason}; observed {winner.observation_count} times"
                        return merging.settled(document, location_id, winner, rival, turn, reason)
            return None

        self._apply(change)

    def _count(self, decision: Decision) -> None:
        counts, one = self.counts, decision.about
        if decision.kind == "contradicts":
            counts.contradictions_kept += 1
            return
        counts.near_duplicates += (one.cosine or 0) >= self.similarity_threshold
        if decision.kind == "repeats":
            counts.duplicates_prevented += 1
            counts.metadata_updates += 1
        else:
            counts.supersessions_from_near_duplicates += 1


def _differ_in_action(known: Memory, new: Memory) -> bool:
    return bool(known.action and new.action) and folded(known.action) != folded(new.action)


def last_turn(memory: Memory) -> int | None:
    """The turn of the last observation, where it is a number."""
    return TurnSpan.parse(memory.turns).last_number

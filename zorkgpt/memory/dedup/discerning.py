"""A keeper that knows a fact again in other words, and does not let what contradicts it pass for it."""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from zorkgpt.memory.contrast.comparison import Comparison, compared, is_open, share_a_subject
from zorkgpt.memory.contrast.decision import compare
from zorkgpt.memory.contrast.doubt import is_worth_asking
from zorkgpt.memory.dedup import merging
from zorkgpt.memory.dedup.decision import NEW, Decision, believed, decide, is_settled
from zorkgpt.memory.dedup.judge import MOST_AT_ONCE, Judge
from zorkgpt.memory.dedup.meaning import Meaning
from zorkgpt.memory.dedup.wordings import Wordings
from zorkgpt.memory.keeping.counts import counts_of
from zorkgpt.memory.keeping.keeper import Keeper, known_again
from zorkgpt.memory.keeping.lifecycle import Visits
from zorkgpt.memory.models import Memory, MemoryStatus
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import Outcome, is_current, same_words, titled
from zorkgpt.memory.storage.codec import Document
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
    supersession_refused: int = 0
    judge_calls: int = 0
    judge_failures: int = 0
    compared: int = 0
    total_ms: float = 0.0

    @property
    def avg_deduplication_time_ms(self) -> float:
        """Without the model's time."""
        return round(self.total_ms / self.compared, 3) if self.compared else 0.0


class DiscerningKeeper(Keeper):
    """Compares a lasting memory with all that are believed at its place before it is kept.

    Args:
        judge: asked about what the words leave open; None: both are kept.
        candidate_threshold: cosine below which two memories are about different things.
        similarity_threshold: cosine from which a repeat counts as a near-duplicate.
    """

    def __init__(
        self,
        store: MemoryStore,
        visits: Visits,
        log: logging.Logger,
        meaning: Meaning,
        judge: Judge | None,
        *,
        candidate_threshold: float,
        similarity_threshold: float,
        debug: bool = False,
    ) -> None:
        super().__init__(store, visits, log, debug=debug)
        self.meaning = meaning
        self.judge = judge
        self.counts = DeduplicationCounts()
        self.errors = 0
        self.candidate_threshold = candidate_threshold
        self.similarity_threshold = similarity_threshold
        self._undone: frozenset[tuple[str, str]] | None = None
        self._wordings = Wordings(store.history)

    def add(self, location_id: int, name: str, memory: Memory) -> bool:
        """Keep it, or count it as one more observation of what says the same."""
        if memory.persistence == "ephemeral" or not is_current(memory) or not memory.text.strip():
            return super().add(location_id, name, memory)
        self.refresh()
        try:
            decision = self._decision(location_id, name, memory)
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
        """Without those that are about something else, and those that say the same: these are seen again."""
        found = []
        for title in super().replaceable(location_id, titles, new):
            old = titled(self.current(location_id), title)
            if old is None or old.persistence == "ephemeral" or not new.text.strip() or not old.text.strip():
                found.append(title)
                continue
            comparison = self._compared(location_id, new, [old])[0]
            about_else = comparison.cosine is not None and comparison.cosine < self.candidate_threshold
            if about_else and not share_a_subject(old, new):
                self.counts.supersession_refused += 1
                extra = {"location_id": location_id, "old": old.title, "new": new.title, "cosine": comparison.cosine}
                self._log.warning("not superseded by what is about something else", extra=extra)
            elif comparison.relation != "same":
                found.append(title)
        return found

    def is_forbidden(self, location_id: int, name: str, memory: Memory) -> bool:
        """Also in other words, where a judge can tell."""
        if super().is_forbidden(location_id, name, memory):
            return True
        vetoed = self._vetoed(location_id) if self.judge is not None and memory.text.strip() else []
        if not vetoed:
            return False
        found = self.asked(location_id, name, memory, self.comparisons(location_id, memory, among=vetoed))
        same = next((one.known for one in found if one.relation in ("same", "adds")), None)
        return same is not None and self._obey(location_id, memory, same)

    def forget_episode(self) -> None:
        super().forget_episode()
        if self.counts.compared:
            self._log.info("memories compared in the episode", extra=self.metrics()["deduplication_metrics"])
        self.counts = DeduplicationCounts()
        self.save_vectors()

    def under_way(self) -> dict[str, Any]:
        return super().under_way() | {"deduplication": asdict(self.counts), "errors": self.errors}

    def restore_episode(self, memories: dict[int, list[Memory]], under_way: dict[str, Any] | None = None) -> None:
        super().restore_episode(memories, under_way)
        if under_way is not None and "deduplication" in under_way:
            self.counts = counts_of(DeduplicationCounts, under_way["deduplication"])
            self.errors = int(under_way["errors"])

    def close(self) -> None:
        self.meaning.close()
        self.save_vectors()

    def save_vectors(self) -> None:
        """Put on disk what is new, and drop what no memory uses."""
        self.meaning.save(self.texts)

    def texts(self) -> list[str]:
        """Of all believed lasting memories, in every wording that is in use."""
        with self.store.guard:
            believed = [memory.text for location_id in self.store.cache for memory in self.lasting(location_id)]
            return [*believed, *self._wordings.all()]

    def metrics(self) -> dict[str, object]:
        counts = asdict(self.counts)
        counts.pop("total_ms")
        counts |= {
            "avg_deduplication_time_ms": self.counts.avg_deduplication_time_ms,
            "embedding_cache_size": self.meaning.size,
            "embedding_cache_rebuild_count": self.meaning.rebuilds,
            "deduplication_error_count": self.errors + self.meaning.failures,
        }
        return {"deduplication_metrics": counts}

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

    def comparisons(self, location_id: int, new: Memory, *, among: Sequence[Memory] | None = None) -> list[Comparison]:
        """With all lasting memories of the place that are near enough, by their words.

        Where nobody is asked about what the words leave open, that is left out: a vector would change nothing.
        """
        known = self.lasting(location_id) if among is None else list(among)
        if known and self.judge is None and len(known) <= _MOST_BY_WORDS:
            self.meaning.prepare()
            known = [memory for memory in known if not is_open(memory, new)]
        found = self._compared(location_id, new, known)
        return [one for one in found if one.cosine is None or one.cosine >= self.candidate_threshold]

    def lasting(self, location_id: int) -> list[Memory]:
        """The believed persistent memories of the place that have a text."""
        with self.store.guard:
            kept = self.store.cache.get(location_id, ())
            return [memory for memory in kept if is_current(memory) and memory.text.strip()]

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

    def _decision(self, location_id: int, name: str, memory: Memory) -> Decision:
        started = time.perf_counter()
        comparisons = self.comparisons(location_id, memory)
        self.counts.compared += 1
        self.counts.total_ms += (time.perf_counter() - started) * 1000
        if not any(one.relation in ("same", "adds") for one in comparisons):
            comparisons = self.asked(location_id, name, memory, comparisons)
        merges = [one for one in comparisons if one.relation in ("same", "adds")]
        undone = [one for one in merges if self.is_undone(one.known, memory)]
        return decide(memory, [one for one in comparisons if one not in undone])

    def _compared(self, location_id: int, new: Memory, known: Sequence[Memory]) -> list[Comparison]:
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
        with self.store.guard:
            return self._wordings.of(location_id, memory, self.store.cache.get(location_id, ()))

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
        made: list[Outcome] = []
        overtaken: list[Memory] = []

        def change(document: Document) -> Outcome | None:
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
            self._wordings.add(location_id, one.known.title, memory.text)
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
    ) -> Outcome:
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
            return Outcome(document)
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

        def change(document: Document) -> Outcome | None:
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

    def is_undone(self, known: Memory, new: Memory) -> bool:
        """Whether a person has taken this very merge back."""
        if self._undone is None:
            from zorkgpt.memory.dedup.undo import undone_pairs

            self._undone = undone_pairs(self.store.history)
        return (known.text, new.text) in self._undone or (new.text, known.text) in self._undone


def last_turn(memory: Memory) -> int | None:
    """The turn of the last observation, where it is a number."""
    last = memory.turns.replace("→", "-").rpartition("-")[2]
    return int(last) if last.isdecimal() and len(last) < 19 else None


_RELATIONS = {"same": "same", "adds": "adds", "contradicts": "conflict", "distinct": "distinct"}


def _judged(one: Comparison, verdict) -> Comparison:
    if verdict is None or one.relation != "unsure":
        return one
    relation = _RELATIONS[verdict.relation]
    return replace(one, relation=relation, reason=verdict.reason or verdict.relation, by="model")

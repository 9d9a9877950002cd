"""Merging of duplicates in the whole file."""

from collections.abc import Sequence
from dataclasses import dataclass

from zorkgpt.memory.dedup.decision import absorb, decide
from zorkgpt.memory.dedup.deduplicator import Deduplicator, is_comparable
from zorkgpt.memory.entailment.comparison import Comparison
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_order, place_text
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current, with_same_words

MOST_QUESTIONS = 20
"""Maximum number of questions to the judge per run."""
_MOST_AT_A_PLACE = 1000


@dataclass(frozen=True, slots=True)
class Merge:
    """A proposed merge of two memories of one place. The kept one takes over the observations of the merged one."""

    location_id: SubjectKey
    location_name: str
    kept: Memory
    merged: Memory
    comparison: Comparison

    def describe(self) -> str:
        """Return both texts and the reason."""
        return (
            f"“{self.merged.title}”: {single_spaced(self.merged.text)}\n"
            f"  is said by “{self.kept.title}”: {single_spaced(self.kept.text)}\n"
            f"  {self.comparison.describe()}"
        )


def find_repeats(store: Store, deduplicator: Deduplicator, threshold: float | None = None) -> list[Merge]:
    """Return the proposed merges of memories that say the same as others of their place. Nothing is changed.

    Args:
        threshold: Minimum cosine of a merge. Defaults to the threshold of candidates.
    """
    last_question = deduplicator.counts.judge_calls + MOST_QUESTIONS
    merges: list[Merge] = []
    for location_id in sorted(store.lasting.places(), key=place_order):
        name = store.lasting.heading(location_id).name
        memories = list(filter(is_comparable, store.lasting.memories(location_id)))[-_MOST_AT_A_PLACE:]
        merges += _of_place(deduplicator, location_id, name, memories, threshold, last_question)
    return merges


def merge(draft: Draft, merges: Sequence[Merge]) -> int:
    """Make the merges whose two memories still exist, and return how many were made."""
    made = 0
    for each in merges:
        stored = draft.lasting.memories(each.location_id)
        kept, merged = _current(stored, each.kept), _current(stored, each.merged)
        if kept is None or merged is None or kept is merged or merged.is_settled_by_person:
            continue
        absorb(draft, each.location_id, kept, merged, each.comparison.describe())
        made += 1
    return made


def _of_place(
    deduplicator: Deduplicator,
    location_id: SubjectKey,
    name: str,
    memories: Sequence[Memory],
    threshold: float | None,
    last_question: int,
) -> list[Merge]:
    """Compare each memory with the remaining ones before it, so that merges don't form chains."""
    remaining: list[Memory] = []
    merges = []
    for memory in memories:
        comparisons = deduplicator.comparisons(memory, remaining)
        if threshold is not None:
            comparisons = [each for each in comparisons if each.cosine is None or each.cosine >= threshold]
        if deduplicator.counts.judge_calls < last_question:
            comparisons = deduplicator.judged(name or place_text(location_id), memory, comparisons)
        decision = decide(memory, comparisons)
        about = decision.about
        if about is not None and decision.kind == "repeats" and not memory.is_settled_by_person:
            merges.append(Merge(location_id, name, about.known, memory, about))
            continue
        if about is not None and decision.kind == "refines":
            merges.append(Merge(location_id, name, memory, about.known, about))
            remaining = [each for each in remaining if each is not about.known]
        remaining.append(memory)
    return merges


def _current(memories: Sequence[Memory], wanted: Memory) -> Memory | None:
    exact = next((memory for memory in memories if memory == wanted and is_current(memory)), None)
    return exact or with_same_words(memories, wanted)

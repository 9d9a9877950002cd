"""The whole file looked through for memories that say the same, place by place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zorkgpt.memory.dedup import merging
from zorkgpt.memory.dedup.decision import decide
from zorkgpt.memory.entailment.comparison import Comparison
from zorkgpt.memory.keeping.keeper import known_again
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.changes import ChangedDocument, is_current
from zorkgpt.memory.storage.document import Document

if TYPE_CHECKING:
    from zorkgpt.memory.dedup.discerning import DiscerningKeeper

MOST_QUESTIONS = 20
"""To the judge, in one go."""
_MOST_AT_A_PLACE = 1000


@dataclass(frozen=True, slots=True)
class Merge:
    """Two memories of one place: the second is replaced by the first, which counts its observations too."""

    location_id: int
    location_name: str
    kept: Memory
    merged: Memory
    comparison: Comparison

    def describe(self) -> str:
        """Both texts and the reason."""
        return (
            f"“{self.merged.title}”: {self.merged.text}\n"
            f"  is said by “{self.kept.title}”: {self.kept.text}\n"
            f"  {self.comparison.describe()}"
        )


def repeats(keeper: "DiscerningKeeper", threshold: float | None = None) -> list[Merge]:
    """What says the same as something else of its place; nothing is changed.

    Args:
        threshold: cosine below which two memories are left apart; the candidates' threshold by default.
    """
    questions = _Questions(keeper)
    found: list[Merge] = []
    for location_id in sorted(keeper.store.cache):
        sections = keeper.store.document.sections_of(location_id)
        found += _of_place(keeper, location_id, sections[0].name if sections else "", threshold, questions)
    return found


def merge(keeper: "DiscerningKeeper", merges: Sequence[Merge]) -> int:
    """Merge them, each place in one write; how many were. Cut short, the rest is found again the next time."""
    made = 0
    for location_id in dict.fromkeys(one.location_id for one in merges):
        here = [one for one in merges if one.location_id == location_id]
        made += len(here) if keeper.change(_change(location_id, here)) else 0
    keeper.save_vectors()
    return made


class _Questions:
    """Asks the judge as long as there are questions left."""

    def __init__(self, keeper: "DiscerningKeeper") -> None:
        self._comparer = keeper.comparer
        self._end = keeper.counts.judge_calls + MOST_QUESTIONS

    def answered(self, location_id: int, name: str, new: Memory, comparisons: list[Comparison]) -> list[Comparison]:
        if self._comparer.judge is None or self._comparer.counts.judge_calls >= self._end:
            return comparisons
        return self._comparer.asked(location_id, name, new, comparisons)


def _of_place(
    keeper: "DiscerningKeeper", location_id: int, name: str, threshold: float | None, questions: _Questions
) -> list[Merge]:
    """Each memory is compared with those before it that still stand, so that no chain of likenesses is followed."""
    memories = keeper.comparer.lasting(location_id)[-_MOST_AT_A_PLACE:]
    standing: list[Memory] = []
    merges = []
    for memory in memories:
        comparisons = keeper.comparer.comparisons(location_id, memory, among=standing) if standing else []
        if threshold is not None:
            comparisons = [one for one in comparisons if one.cosine is None or one.cosine >= threshold]
        comparisons = [one for one in comparisons if not keeper.comparer.is_undone(one.known, memory)]
        comparisons = questions.answered(location_id, name, memory, comparisons)
        decision = decide(memory, comparisons)
        if decision.kind == "repeats" and not memory.pinned:
            merges.append(Merge(location_id, name, decision.about.known, memory, decision.about))
            continue
        if decision.kind == "refines":
            known = decision.about.known
            merges.append(Merge(location_id, name, memory, known, decision.about))
            standing = [one for one in standing if one is not known]
        standing.append(memory)
    return merges


def _change(location_id: int, merges: Sequence[Merge]):
    def change(document: Document) -> ChangedDocument | None:
        made: tuple = ()
        for one in merges:
            kept_here = document.memories(location_id)
            kept, repeat = _current(kept_here, one.kept), _current(kept_here, one.merged)
            if kept is None or repeat is None or kept is repeat or repeat.pinned:
                continue
            reason = one.comparison.describe()
            outcome = merging.absorbed(document, location_id, kept, repeat, None, reason)
            document, made = outcome.document, made + outcome.changes
        return ChangedDocument(document, made) if made else None

    return change


def _current(memories: Sequence[Memory], wanted: Memory) -> Memory | None:
    exact = next((memory for memory in memories if memory == wanted and is_current(memory)), None)
    return exact or known_again(memories, wanted)

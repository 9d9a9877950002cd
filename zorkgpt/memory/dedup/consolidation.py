"""Merging of duplicates in the whole file, and undoing single merges."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zorkgpt.memory.dedup.decision import absorb, decide
from zorkgpt.memory.dedup.deduplicator import Deduplicator, comparable
from zorkgpt.memory.entailment.comparison import Comparison
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_order
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.escaping import folded, single_spaced
from zorkgpt.memory.storage.history import HistoryRecord
from zorkgpt.memory.storage.lasting import heading_of
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, seen_between, seen_first, seen_last

MOST_QUESTIONS = 20
"""Maximum number of questions to the judge per run."""
_MOST_AT_A_PLACE = 1000
_UNDOABLE = ("merged", "superseded", "contested")


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
        name = heading_of(store.lasting, location_id).name
        memories = comparable(store.lasting.memories(location_id))[-_MOST_AT_A_PLACE:]
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
        comparisons = deduplicator.comparisons(location_id, memory, remaining) if remaining else []
        if threshold is not None:
            comparisons = [each for each in comparisons if each.cosine is None or each.cosine >= threshold]
        if deduplicator.counts.judge_calls < last_question:
            comparisons = deduplicator.judged(location_id, name, memory, comparisons)
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
    return exact or known_again(memories, wanted)


@dataclass(frozen=True, slots=True)
class Undoable:
    """The changes that followed from the comparison of two memories."""

    at: str
    """The time of the changes, as ISO 8601."""
    changes: tuple[Change, ...]
    """Newest first."""
    before: Memory
    """The memory before the newest change."""
    other: Memory
    """The memory that it was compared with."""

    def describe(self) -> str:
        """Return one line with the kinds of change, both memories and the reason."""
        change, before, other = self.changes[0], self.before, self.other
        kinds = " and ".join(dict.fromkeys(change.kind for change in self.changes))
        return (
            f"{self.at[:19]} {kinds} at {change.location_id} {change.location_name}: "
            f"“{before.title}”: {single_spaced(before.text)} | “{other.title}”: {single_spaced(other.text)} | "
            f"why: {change.reason}"
        )

    def titles(self) -> set[str]:
        """Return the titles of both memories in lower case."""
        return {self.before.title.casefold(), self.other.title.casefold()}


def undoable(journal: Journal) -> list[Undoable]:
    """Return the changes that can be undone, newest first."""
    undone: list[Change] = []
    entries: list[Undoable] = []
    for record in reversed(list(journal.records())):
        change = record.change
        if change.other is None or change.before is None:
            continue
        if change.kind == "undone":
            undone.append(change)
        elif change.kind in _UNDOABLE and not _was_undone(record, undone):
            last = entries[-1] if entries else None
            if last and last.at == record.at and _pair(last.changes[0]) == _pair(change):
                entries[-1] = replace(last, changes=(*last.changes, change))
            else:
                entries.append(Undoable(record.at, (change,), change.before, change.other))
    return entries


def _pair(change: Change) -> tuple[SubjectKey, frozenset[tuple[str, str]]]:
    both = (change.before, change.other)
    return change.location_id, frozenset((memory.title, memory.text) for memory in both if memory is not None)


def undo(store: Store, what: Undoable) -> bool:
    """Undo the changes. False if the memory was removed or changed in another way since.

    Raises:
        MemoryStoreError: If the memories can't be written.
    """
    with store.transaction() as draft:
        for change in what.changes:
            if not _undo(draft, change):
                draft.discard()
                return False
        if what.changes[0].kind == "superseded" and not any(other.kind == "merged" for other in what.changes):
            _return_observations(draft, what.changes[0], what.before, what.other)
    return True


def _return_observations(draft: Draft, change: Change, refined: Memory, alone: Memory) -> None:
    """Subtract the observations of the refined memory from those of the refinement."""
    now = _same(draft.lasting.memories(change.location_id), alone)
    if now is None:
        return
    was_added = seen_first(now).is_at(seen_first(refined))
    if not was_added or seen_first(now).is_at(seen_first(alone)):
        return
    own = seen_between(now, seen_first(alone), seen_last(now))
    after = replace(
        own,
        turns=alone.turns if seen_last(now).is_at(seen_last(alone)) else own.turns,
        observation_count=max(1, now.observation_count - refined.observation_count),
        tried=max(0, now.tried - refined.tried),
        worked=max(0, now.worked - refined.worked),
        died=max(0, now.died - refined.died),
    )
    draft.replace(change.location_id, now, after, "undone", change.reason)


def _undo(draft: Draft, change: Change) -> bool:
    place, before, other = change.location_id, change.before, change.other
    stored = draft.lasting.memories(place)
    now = next((memory for memory in stored if memory == change.after), None) or _same(stored, change.after)
    if now is None or before is None or other is None or change.after is None:
        return False
    if change.kind == "merged" and now != change.after:
        # Observed again since: subtract only the observations that the merge added.
        added = change.after.observation_count - before.observation_count
        span = seen_between(now, seen_first(before), seen_last(now))
        before = replace(span, observation_count=max(1, now.observation_count - added))
    else:
        before = replace(before, pinned=now.pinned, vetoed=now.vetoed)
    draft.replace(place, now, before, "undone", change.reason, other=other)
    if change.kind == "merged" and not any(same_words(memory, other) for memory in stored if is_current(memory)):
        draft.add(place, change.location_name, other)
    return True


def _same(memories: Iterable[Memory], wanted: Memory | None) -> Memory | None:
    if wanted is None:
        return None
    for memory in memories:
        if same_words(memory, wanted) and is_current(memory) == is_current(wanted):
            return memory
    return None


def _was_undone(record: HistoryRecord, undone: list[Change]) -> bool:
    """Return whether a later change undid this one. If so, remove the later change from the list."""
    for later in undone:
        if later.location_id == record.change.location_id and _pair_in_order(later) == _pair_in_order(record.change):
            undone.remove(later)
            return True
    return False


def _pair_in_order(change: Change) -> tuple[tuple[str, str], ...]:
    both = (change.before, change.other)
    return tuple((folded(memory.title), folded(memory.text)) for memory in both if memory is not None)

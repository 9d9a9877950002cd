"""Merges what says the same in the whole file, place by place, and takes single merges back."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from zorkgpt.memory.dedup.decision import absorb, decide
from zorkgpt.memory.dedup.deduplicator import Deduplicator, is_compared
from zorkgpt.memory.entailment.comparison import Comparison
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_order
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.escaping import folded, one_line
from zorkgpt.memory.storage.history import HistoryRecord
from zorkgpt.memory.storage.lasting import heading_of
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import is_current, known_again, same_words, seen_between, seen_first, seen_last

MOST_QUESTIONS = 20
"""To the judge, in one go."""
_MOST_AT_A_PLACE = 1000
_UNDOABLE = ("merged", "superseded", "contested")


@dataclass(frozen=True, slots=True)
class Merge:
    """Two memories of one place, the second to be replaced by the first, which counts its observations too."""

    location_id: SubjectKey
    location_name: str
    kept: Memory
    merged: Memory
    comparison: Comparison

    def describe(self) -> str:
        """Return both texts and the reason."""
        return (
            f"“{self.merged.title}”: {one_line(self.merged.text)}\n"
            f"  is said by “{self.kept.title}”: {one_line(self.kept.text)}\n"
            f"  {self.comparison.describe()}"
        )


def find_repeats(store: Store, deduplicator: Deduplicator, threshold: float | None = None) -> list[Merge]:
    """Return what says the same as something else of its place; nothing is changed.

    Args:
        threshold: cosine below which two memories are left apart; the candidates' threshold by default.
    """
    last_question = deduplicator.counts.judge_calls + MOST_QUESTIONS
    found: list[Merge] = []
    for location_id in sorted(store.lasting.places(), key=place_order):
        name = heading_of(store.lasting, location_id).name
        memories = [*filter(is_compared, store.lasting.memories(location_id))][-_MOST_AT_A_PLACE:]
        found += _of_place(deduplicator, location_id, name, memories, threshold, last_question)
    return found


def merge_all(merges: Sequence[Merge], write: Callable[..., int | None]) -> int:
    """Make the merges, each place in one write, and return how many were made.

    Args:
        write: See `MemoryWriter.write`.
    """
    made = 0
    for place in dict.fromkeys(each.location_id for each in merges):
        its = [each for each in merges if each.location_id == place]
        made += write(lambda draft, its=its: merge(draft, its), lasting=True) or 0
    return made


def merge(draft: Draft, merges: Sequence[Merge]) -> int:
    """Make the merges whose two memories are still there, and return how many were made."""
    made = 0
    for each in merges:
        stored = draft.lasting.memories(each.location_id)
        kept, repeat = _current(stored, each.kept), _current(stored, each.merged)
        if kept is None or repeat is None or kept is repeat or repeat.is_settled_by_person:
            continue
        absorb(draft, each.location_id, kept, repeat, each.comparison.describe())
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
    """Compare each memory with those before it that still stand, so that no chain of likenesses is followed."""
    standing: list[Memory] = []
    merges = []
    for memory in memories:
        comparisons = deduplicator.comparisons(location_id, memory, standing) if standing else []
        if threshold is not None:
            comparisons = [one for one in comparisons if one.cosine is None or one.cosine >= threshold]
        if deduplicator.counts.judge_calls < last_question:
            comparisons = deduplicator.judged(location_id, name, memory, comparisons)
        decision = decide(memory, comparisons)
        about = decision.about
        if about is not None and decision.kind == "repeats" and not memory.is_settled_by_person:
            merges.append(Merge(location_id, name, about.known, memory, about))
            continue
        if about is not None and decision.kind == "refines":
            merges.append(Merge(location_id, name, memory, about.known, about))
            standing = [one for one in standing if one is not about.known]
        standing.append(memory)
    return merges


def _current(memories: Sequence[Memory], wanted: Memory) -> Memory | None:
    exact = next((memory for memory in memories if memory == wanted and is_current(memory)), None)
    return exact or known_again(memories, wanted)


@dataclass(frozen=True, slots=True)
class Undoable:
    """What the comparison of two memories has led to."""

    at: str
    changes: tuple[Change, ...]
    """The last first."""
    before: Memory
    """What the last change found."""
    other: Memory
    """What it was compared with."""

    def describe(self) -> str:
        """Return one line: what was done to which memory because of which, and why."""
        change, before, other = self.changes[0], self.before, self.other
        kinds = " and ".join(dict.fromkeys(one.kind for one in self.changes))
        return (
            f"{self.at[:19]} {kinds} at {change.location_id} {change.location_name}: "
            f"“{before.title}”: {one_line(before.text)} | “{other.title}”: {one_line(other.text)} | "
            f"why: {change.reason}"
        )

    def titles(self) -> set[str]:
        """Return the titles of both memories, for looking it up."""
        return {self.before.title.casefold(), self.other.title.casefold()}


def undoable(journal: Journal) -> list[Undoable]:
    """Return what can be undone, the last first."""
    taken_back: list[Change] = []
    found: list[Undoable] = []
    for record in reversed(list(journal.records())):
        change = record.change
        if change.other is None or change.before is None:
            continue
        if change.kind == "undone":
            taken_back.append(change)
        elif change.kind in _UNDOABLE and not _was_taken_back(record, taken_back):
            last = found[-1] if found else None
            if last and last.at == record.at and _pair(last.changes[0]) == _pair(change):
                found[-1] = replace(last, changes=(*last.changes, change))
            else:
                found.append(Undoable(record.at, (change,), change.before, change.other))
    return found


def _pair(change: Change) -> tuple[SubjectKey, frozenset[tuple[str, str]]]:
    both = (change.before, change.other)
    return change.location_id, frozenset((memory.title, memory.text) for memory in both if memory is not None)


def undo(store: Store, what: Undoable) -> bool:
    """Undo it. False if the memory is gone or was changed since in another way.

    Raises:
        MemoryStoreError: If the memories can't be written.
    """
    with store.transaction() as draft:
        for change in what.changes:
            if not _undo(draft, change):
                draft.discard()
                return False
            if change.kind == "superseded" and not any(other.kind == "merged" for other in what.changes):
                _return_observations(draft, change)
    return True


def _return_observations(draft: Draft, change: Change) -> None:
    """Take from a refinement the observations of the memory that it refined; its own stay."""
    refined, alone = change.before, change.other
    now = _same(draft.lasting.memories(change.location_id), alone)
    if now is None or refined is None or alone is None:
        return
    took_over = seen_first(now).is_at(seen_first(refined))
    if not took_over or seen_first(now).is_at(seen_first(alone)):
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
        # Seen again since: only what this merge has added is taken away.
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
    return next((one for one in memories if same_words(one, wanted) and is_current(one) == is_current(wanted)), None)


def _was_taken_back(record: HistoryRecord, taken_back: list[Change]) -> bool:
    for later in taken_back:
        if later.location_id == record.change.location_id and _pair_in_order(later) == _pair_in_order(record.change):
            taken_back.remove(later)
            return True
    return False


def _pair_in_order(change: Change) -> tuple[tuple[str, str], ...]:
    both = (change.before, change.other)
    return tuple((folded(memory.title), folded(memory.text)) for memory in both if memory is not None)

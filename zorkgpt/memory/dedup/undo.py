"""Taking back a merge, a refinement or a verdict on a contradiction; from then on the two are kept apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage import changes
from zorkgpt.memory.storage.changes import Change, ChangedDocument, is_current, same_words, seen_first, seen_last
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import History, HistoryRecord
from zorkgpt.memory.storage.store import MemoryStore

_UNDOABLE = ("merged", "superseded", "contested")


@dataclass(frozen=True, slots=True)
class Undoable:
    """What the comparison of two memories has led to."""

    at: str
    changes: tuple[Change, ...]
    """The last first."""

    def describe(self) -> str:
        """One line: what was done to which memory because of which, and why."""
        change = self.changes[0]
        before, other = change.before, change.other
        kinds = " and ".join(dict.fromkeys(one.kind for one in self.changes))
        return (
            f"{self.at[:19]} {kinds} at {change.location_id} {change.location_name}: "
            f"“{before.title}”: {before.text} | “{other.title}”: {other.text} | why: {change.reason}"
        )

    def titles(self) -> set[str]:
        """Of both memories, for looking it up."""
        return {self.changes[0].before.title.casefold(), self.changes[0].other.title.casefold()}


def undoable(history: History) -> list[Undoable]:
    """What can be undone, the last first."""
    taken_back: list[Change] = []
    found: list[Undoable] = []
    for record in reversed(list(history.records())):
        change = record.change
        if change.other is None or change.before is None:
            continue
        if change.kind == "undone":
            taken_back.append(change)
        elif change.kind in _UNDOABLE and not _was_taken_back(record, taken_back):
            last = found[-1] if found else None
            if last and last.at == record.at and _pair(last.changes[0]) == _pair(change):
                found[-1] = Undoable(record.at, (*last.changes, change))
            else:
                found.append(Undoable(record.at, (change,)))
    return found


def _pair(change: Change) -> tuple[int, frozenset[tuple[str, str]]]:
    both = (change.before, change.other)
    return change.location_id, frozenset((memory.title, memory.text) for memory in both)


def undone_pairs(history: History) -> frozenset[tuple[str, str]]:
    """The texts that a person has told apart."""
    return frozenset(
        (record.change.before.text, record.change.other.text)
        for record in history.records()
        if record.change.kind == "undone" and record.change.before and record.change.other
    )


def undo(store: MemoryStore, what: Undoable) -> bool:
    """Take it back. False: the memory is not in the file any more, or has been changed since in another way.

    Raises:
        MemoryStoreError: the file can't be written.
    """
    outcome = store.apply(lambda document: _all_undone(document, what.changes))
    return outcome is not None


def _all_undone(document: Document, made: Sequence[Change]) -> ChangedDocument | None:
    outcome = ChangedDocument(document)
    for change in made:
        next_one = _undone(outcome.document, change)
        if next_one is None:
            return None
        outcome = ChangedDocument(next_one.document, outcome.changes + next_one.changes)
        if change.kind == "superseded" and not any(other.kind == "merged" for other in made):
            given_back = _given_back(outcome.document, change)
            outcome = ChangedDocument(given_back.document, outcome.changes + given_back.changes)
    return outcome


def _given_back(document: Document, change: Change) -> ChangedDocument:
    """A refinement has the observations of what it refined no longer, and those that it made itself still."""
    refined, alone = change.before, change.other
    now = _same(document.memories(change.location_id), alone)
    took_over = now is not None and seen_first(now).is_at(seen_first(refined))
    if not took_over or seen_first(now).is_at(seen_first(alone)):
        return ChangedDocument(document)
    own = changes.seen_between(now, seen_first(alone), seen_last(now))
    after = replace(
        own,
        turns=alone.turns if seen_last(now).is_at(seen_last(alone)) else own.turns,
        observation_count=max(1, now.observation_count - refined.observation_count),
        tried=max(0, now.tried - refined.tried),
        worked=max(0, now.worked - refined.worked),
    )
    return changes.changed(document, change.location_id, now, after, "undone", change.reason)


def _undone(document: Document, change: Change) -> ChangedDocument | None:
    location_id = change.location_id
    kept = document.memories(location_id)
    now = next((memory for memory in kept if memory == change.after), None) or _same(kept, change.after)
    if now is None:
        return None
    before = change.before
    if change.kind == "merged" and now != change.after:
        # Seen again since: only what this merge has added is taken away.
        added = change.after.observation_count - before.observation_count
        span = changes.seen_between(now, seen_first(before), seen_last(now))
        before = replace(span, observation_count=max(1, now.observation_count - added))
    else:
        before = replace(before, pinned=now.pinned, vetoed=now.vetoed)
    outcome = changes.changed(document, location_id, now, before, "undone", change.reason)
    outcome = ChangedDocument(outcome.document, tuple(replace(made, other=change.other) for made in outcome.changes))
    if change.kind == "merged" and not any(same_words(memory, change.other) for memory in kept if is_current(memory)):
        added = changes.added(outcome.document, location_id, change.location_name, change.other)
        return ChangedDocument(added.document, outcome.changes + added.changes)
    return outcome


def _same(memories: Iterable[Memory], wanted: Memory | None) -> Memory | None:
    if wanted is None:
        return None
    return next((one for one in memories if same_words(one, wanted) and is_current(one) == is_current(wanted)), None)


def _was_taken_back(record: HistoryRecord, taken_back: list[Change]) -> bool:
    change = record.change
    for later in taken_back:
        same_place = later.location_id == change.location_id
        if same_place and same_words(later.before, change.before) and same_words(later.other, change.other):
            taken_back.remove(later)
            return True
    return False

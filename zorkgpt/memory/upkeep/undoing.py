"""What a person can undo: merges, memories deleted from the file, and all changes since a turn."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from zorkgpt.memory.ids import with_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.history import COUNTED, PERSON_SOURCES, HistoryRecord
from zorkgpt.memory.storage.reverting import COUNTS, WHEN_SEEN, Reversion, revert
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current, same_words
from zorkgpt.text import number_of

_COMPARED = ("merged", "superseded", "contested")
"""The changes that can follow from the comparison of two memories."""
_MOST_TITLES = 5


@dataclass(frozen=True, slots=True)
class Undoable:
    """Changes that were made together: those of a merge, or memories deleted from the file."""

    records: tuple[HistoryRecord, ...]
    """Oldest first."""
    refinement: Memory | None = None
    """The memory that replaced the superseded one, as it was added. None if there is none."""

    @property
    def at(self) -> str:
        """The time of the changes, as ISO 8601. For a deletion, the time when it was found."""
        return self.records[0].at

    @property
    def is_deletion(self) -> bool:
        return self.records[0].change.kind == "removed"

    def describe(self) -> str:
        """Return a line with the memories, the time and, for a merge, the reason."""
        changes = [record.change for record in self.records]
        if self.is_deletion:
            titles = ", ".join(f"“{change.memory.title}”" for change in changes[:_MOST_TITLES])
            more = f" and {len(changes) - _MOST_TITLES} more" if len(changes) > _MOST_TITLES else ""
            count = number_of(len(changes), "memory was", "memories were")
            return f"{count} deleted from the file before {self.at[:10]} {self.at[11:16]}: {titles}{more}."
        last = changes[-1]
        kinds = " and ".join(dict.fromkeys(change.kind for change in reversed(changes)))
        both = " | ".join(
            f"“{memory.title}”: {single_spaced(memory.text)}" for memory in (last.before, last.other) if memory
        )
        return f"{self.at[:19]} {kinds} at {last.location_id} {last.location_name}: {both} | why: {last.reason}"

    def titles(self) -> set[str]:
        """Return the titles of the memories in lower case."""
        others = () if self.is_deletion else (self.records[-1].change.other,)
        memories = (*(record.change.memory for record in self.records), *others)
        return {memory.title.casefold() for memory in memories if memory is not None}

    def places(self) -> set[SubjectKey]:
        """Return the places of the memories."""
        return {record.change.location_id for record in self.records}


def undoable(store: Store) -> list[Undoable]:
    """Return the merges and the deletions by hand that can be undone, newest first.

    Raises:
        MemoryStoreError: If the memories can't be read.
    """
    merges: list[Undoable] = []
    added: dict[tuple[str, SubjectKey, str], Memory] = {}
    for record in store.journal.records():
        change = record.change
        if change.kind == "added" and change.after is not None:
            added[record.at, change.location_id, change.after.title] = change.after
        if change.kind not in _COMPARED or change.other is None or change.before is None or record.reverted_by:
            continue
        if merges and merges[-1].at == record.at and _pair(merges[-1].records[-1].change) == _pair(change):
            merges[-1] = replace(merges[-1], records=(*merges[-1].records, record))
        else:
            by = change.memory.superseded_by or ""
            merges.append(Undoable((record,), added.get((record.at, change.location_id, by))))
    return sorted([*merges, *deletions(store)], key=lambda each: each.at, reverse=True)


def _pair(change: Change) -> tuple[SubjectKey, frozenset[tuple[str, str]]]:
    both = (change.before, change.other)
    return change.location_id, frozenset((memory.title, memory.text) for memory in both if memory is not None)


def deletions(store: Store) -> list[Undoable]:
    """Return the deletions by hand of memories that are still missing, newest first.

    Raises:
        MemoryStoreError: If the memories can't be read.
    """
    by_time: dict[str, dict[tuple[SubjectKey, str], HistoryRecord]] = {}
    listed = set()
    for record in reversed([*store.journal.by_person(0)]):
        place, memory = record.change.location_id, record.change.memory
        key = place, memory.id
        if record.source != "hand" or record.change.kind != "removed" or key in listed:
            continue
        if not any(each.id == key[1] for each in store.lasting.memories(place)):
            by_time.setdefault(record.at, {})[key] = record
            listed.add(key)
    return [Undoable(tuple(reversed(records.values()))) for records in by_time.values()]


def undo(store: Store, what: Undoable) -> list[Reversion]:
    """Undo changes that were made together. Nothing of a merge is undone if any of its memories was changed since.

    Raises:
        MemoryStoreError: If the memories can't be written.
    """
    with store.transaction(source="person") as draft:
        records = [*_implied(draft, what), *what.records]
        reason = "deleted from the file" if what.is_deletion else None
        found = revert(store.journal, draft, records, source="person", reason=reason)
        if not what.is_deletion and any(each.kept_because for each in found):
            draft.discard()
    return found


def _implied(draft: Draft, what: Undoable) -> Iterator[HistoryRecord]:
    """Yield what a merge has changed without a record: a memory not stored, or observations that another took over."""
    kinds = {record.change.kind for record in what.records}
    change = what.records[-1].change
    place, other = change.location_id, change.other
    stored = [memory for memory in draft.lasting.memories(place) if is_current(memory)]
    if kinds == {"merged"} and other is not None and not any(same_words(memory, other) for memory in stored):
        id = with_id(place, other, lambda id: bool(draft.lasting.taken({id})))
        unstored = Change("removed", place, change.location_name, replace(other, id=id), None)
        yield HistoryRecord("", unstored, "agent")
    refined = what.refinement
    if kinds != {"superseded"} or other is None or refined is None or not same_words(refined, other):
        return
    if any(same_words(memory, refined) for memory in stored):
        own = replace(refined, **{name: getattr(other, name) for name in (*COUNTS, *WHEN_SEEN)})
        yield HistoryRecord("", Change("merged", place, change.location_name, own, refined), "agent")


def undo_since(store: Store, episode: int | str, turn: int, *, apply: bool = True) -> list[Reversion]:
    """Undo every change of a lasting memory since the beginning of a turn, including those of later episodes.

    Memories that a person has changed since are kept, and so are those whose replacement a person has changed. Counts
    alone are no change.

    Args:
        apply: If False, nothing is changed.

    Raises:
        MemoryStoreError: If the memories can't be read or written.
    """
    with store.transaction(source="person") as draft:
        records = _changes_since(store, store.journal.position_at(episode, turn - 1))
        reason = f"all changes since turn {turn} of episode {episode}"
        found = revert(store.journal, draft, records, source="person", reason=reason)
        if not apply:
            draft.discard()
    return found


def _changes_since(store: Store, position: int) -> Iterator[HistoryRecord]:
    changed = set()
    for record in store.journal.records(start=position):
        change = record.change
        if not change.is_lasting or record.source in PERSON_SOURCES or record.reverted_by or change.kind == "reverted":
            continue
        key = change.location_id, change.memory.id
        if change.kind not in COUNTED:
            changed.add(key)
        if key in changed:
            yield record

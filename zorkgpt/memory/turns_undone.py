"""Undo all changes of lasting memories since a turn."""

from dataclasses import dataclass

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.provenance import AsOf
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import COUNTED, PERSON_SOURCES, HistoryRecord
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.run_folder import RUNS


@dataclass(frozen=True, slots=True)
class UndoneChange:
    """A memory that changed since a turn."""

    location_id: SubjectKey
    location_name: str
    before: Memory | None
    """The memory before its first change since then, other than a count. None if it was added since."""
    now: Memory | None
    """The memory before the undo. None if it was removed since."""
    kept_because: str = ""
    """The reason why its changes are kept; "" if they are undone."""


def undo_since(store: Store, episode: int | str, turn: int, *, apply: bool = True) -> list[UndoneChange]:
    """Undo every change of a lasting memory since the beginning of a turn, including those of later episodes.

    Memories that a person changed since are kept, and so are those whose replacement a person changed.

    Args:
        apply: If False, nothing is changed.

    Returns:
        The memories that changed, ordered by their first change.

    Raises:
        MemoryStoreError: If the memories can't be read or written.
    """
    reason = f"all changes since turn {turn} of episode {episode}"
    with store.transaction(source="person") as draft:
        undone = _changes(draft, AsOf(store.journal, store.path.parent / RUNS).records_since(episode, turn))
        for each in undone if apply else ():
            if not each.kept_because:
                draft.apply(Change("undone", each.location_id, each.location_name, each.now, each.before, reason))
    return undone


def _changes(draft: Draft, records: list[HistoryRecord]) -> list[UndoneChange]:
    """Return the memories that these records changed, except those with no difference now."""
    first: dict[tuple[SubjectKey, str], HistoryRecord] = {}
    by_person = set()
    for record in records:
        change = record.change
        key = change.location_id, memory_id(change.location_id, change.memory)
        if change.kind in (*COUNTED, "undone"):
            continue
        if record.source in PERSON_SOURCES:
            by_person.add(key)
        else:
            first.setdefault(key, record)
    current: dict[tuple[SubjectKey, str], Memory | None] = {}
    for place, id in first.keys() | by_person:
        memories = draft.lasting.memories(place)
        current[place, id] = next((memory for memory in memories if memory_id(place, memory) == id), None)
    kept_titles = {(place, now.title) for (place, id), now in current.items() if now and (place, id) in by_person}
    changes = []
    for (place, id), record in first.items():
        before, now = record.change.before, current[place, id]
        if now == before:
            continue
        reason = "changed by a person since" if (place, id) in by_person else ""
        if not reason and now is not None and (place, now.superseded_by) in kept_titles:
            reason = f"replaced by “{now.superseded_by}”, which a person has changed since"
        changes.append(UndoneChange(place, record.change.location_name, before, now, reason))
    return changes

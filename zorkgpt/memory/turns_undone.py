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
    """As it was before its first change since then, other than by a count. None if it was added."""
    now: Memory | None
    """As it is before the undo. None if it was removed."""
    kept_because: str = ""
    """Why it stays as it is; "" if its changes are undone."""


def undo_since(store: Store, episode: int | str, turn: int, *, apply: bool = True) -> list[UndoneChange]:
    """Undo every change of a lasting memory from this turn on, also by later episodes.

    A memory stays as it is if a person has changed it since, or the memory that replaced it.

    Args:
        apply: If False, nothing is changed.

    Returns:
        The memories that changed, ordered by their first change.

    Raises:
        MemoryStoreError: If the memories can't be read or written.
    """
    reason = f"all changes since turn {turn} of episode {episode}"
    with store.transaction(source="person") as draft:
        found = _changes(draft, AsOf(store.journal, store.path.parent / RUNS).records_since(episode, turn))
        for each in found if apply else ():
            if not each.kept_because:
                draft.apply(Change("undone", each.location_id, each.location_name, each.now, each.before, reason))
    return found


def _changes(draft: Draft, records: list[HistoryRecord]) -> list[UndoneChange]:
    """Return the memories that these records changed, except those that are as they were."""
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
    current = {
        key: next((one for one in draft.lasting.memories(key[0]) if memory_id(key[0], one) == key[1]), None)
        for key in first.keys() | by_person
    }
    kept_titles = {(place, now.title) for (place, id), now in current.items() if now and (place, id) in by_person}
    found = []
    for key, record in first.items():
        place, before, now = key[0], record.change.before, current[key]
        if now == before:
            continue
        why = "changed by a person since" if key in by_person else ""
        if not why and now is not None and (place, now.superseded_by) in kept_titles:
            why = f"replaced by “{now.superseded_by}”, which a person has changed since"
        found.append(UndoneChange(place, record.change.location_name, before, now, why))
    return found

"""Memories that a person deleted from the memory file, and how to bring them back."""

from dataclasses import dataclass

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.text import number_of


@dataclass(frozen=True, slots=True)
class Deletion:
    """Memories that were deleted from the file at once, and are still missing."""

    at: str
    """The time when this was found, as ISO 8601."""
    changes: tuple[Change, ...]

    def describe(self) -> str:
        """Return a sentence with the number of memories, their titles and the time."""
        titles = ", ".join(f"“{change.memory.title}”" for change in self.changes[:_MOST_TITLES])
        more = f" and {len(self.changes) - _MOST_TITLES} more" if len(self.changes) > _MOST_TITLES else ""
        count = number_of(len(self.changes), "memory was", "memories were")
        return f"{count} deleted from the file before {self.at[:10]} {self.at[11:16]}: {titles}{more}."

    def titles(self) -> set[str]:
        """Return the titles in lower case."""
        return {change.memory.title.casefold() for change in self.changes}

    def places(self) -> set[SubjectKey]:
        """Return the places of the memories."""
        return {change.location_id for change in self.changes}


_MOST_TITLES = 5


def deletions(store: Store) -> list[Deletion]:
    """Return the deletions by hand that can be undone, newest first.

    Raises:
        MemoryStoreError: If the memories can't be read.
    """
    by_time: dict[str, list[Change]] = {}
    for record in store.journal.by_person(0):
        if record.source == "hand" and record.change.kind == "removed":
            by_time.setdefault(record.at, []).append(record.change)
    found: list[Deletion] = []
    listed: set[tuple[SubjectKey, str]] = set()
    for at in sorted(by_time, reverse=True):
        missing = []
        for change in by_time[at]:
            key = change.location_id, memory_id(change.location_id, change.memory)
            if key not in listed and not _has(store.lasting.memories(change.location_id), *key):
                missing.append(change)
                listed.add(key)
        if missing:
            found.append(Deletion(at, tuple(missing)))
    return found


def restore(store: Store, deletion: Deletion) -> int:
    """Bring back the deleted memories that are still missing, and return their number.

    Raises:
        MemoryStoreError: If the memories can't be written.
    """
    restored = 0
    with store.transaction(source="person") as draft:
        for change in deletion.changes:
            place, memory = change.location_id, change.memory
            if not _has(draft.lasting.memories(place), place, memory_id(place, memory)):
                draft.apply(Change("undone", place, change.location_name, None, memory, "deleted from the file"))
                restored += 1
    return restored


def _has(memories: list[Memory], place: SubjectKey, id: str) -> bool:
    return any(memory_id(place, memory) == id for memory in memories)

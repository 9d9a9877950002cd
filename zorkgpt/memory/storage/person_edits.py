"""The memories that a person has edited, according to the journal."""

from dataclasses import replace

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import HistoryRecord
from zorkgpt.memory.storage.tables import Journal


class PersonEdits:
    """The memories that a person has written or edited, by hand or by a command."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._position = 0
        """The position of the last record that was read."""
        self._last = ""
        """The text of that record."""
        self._ids: dict[SubjectKey, set[str]] = {}
        self._deleted: dict[tuple[SubjectKey, str], tuple[Memory, bool]] = {}
        """Memories that were deleted from the file, and whether they were edited. They may come back."""
        self._moving = ""
        """The id of an edited memory in the middle of a move. "" if there is none."""

    def refresh(self) -> None:
        """Read the new records of the journal, or all records if it was rolled back.

        Raises:
            MemoryStoreError: If the journal can't be read.
        """
        end = self._journal.size()
        is_rolled_back = self._journal.text_at(self._position) != self._last
        if end == self._position and not is_rolled_back:
            return
        if is_rolled_back:
            self._position = 0
            self._deleted.clear()
            for ids in self._ids.values():
                ids.clear()
        for record in self._journal.by_person(self._position):
            self._note(record)
        self._position, self._last = end, self._journal.text_at(end)

    def is_edited(self, place: SubjectKey, memory: str) -> bool:
        """Return whether a person has written or edited the memory with this id."""
        return memory in self._ids.get(place, ())

    def marked(self, document: Document) -> Document:
        """Read the journal, and return a document with `Memory.edited_by_person` of its memories.

        Raises:
            MemoryStoreError: If the journal can't be read.
        """
        self.refresh()
        return document.with_memories(
            {
                id(memory): replace(memory, edited_by_person=is_edited)
                for place, ids in self._ids.items()
                for memory in document.memories(place)
                if memory.edited_by_person != (is_edited := memory_id(place, memory) in ids)
            }
        )

    def _note(self, record: HistoryRecord) -> None:
        change = record.change
        place, before, after = change.location_id, change.before, change.after
        ids = self._ids.setdefault(place, set())
        if before is not None and (after is None or change.kind == "unpinned"):
            key = memory_id(place, before)
            # A move is recorded as a removal and an addition with the same id.
            self._moving = key if change.kind == "moved" and key in ids else ""
            if change.kind == "removed":
                self._deleted[place, key] = before, key in ids
            ids.discard(key)
        elif after is not None:
            key = memory_id(place, after)
            deleted, was_edited = self._deleted.pop((place, key), (None, False))
            if deleted == after:
                # It came back as it was, for example from an older copy of the file.
                ids.update({key} if was_edited else ())
            elif change.kind in ("added", "edited") or (change.kind == "moved" and key == self._moving):
                ids.add(key)

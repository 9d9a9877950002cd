"""Following the history while it grows, and which memories a person has edited, derived from it."""

from collections.abc import Sequence

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import PERSON_SOURCES, HistoryRecord
from zorkgpt.memory.storage.protocol import History


class HistoryFollower:
    """Reads what was added to a history since the last time.

    Args:
        sources: Read only records from these sources. None: all records.
    """

    def __init__(self, history: History, *, sources: Sequence[str] | None = None) -> None:
        self._history = history
        self._sources = sources
        self._position = 0
        self._tail = b""
        """The last bytes that were read."""

    def read(self) -> tuple[list[HistoryRecord], bool]:
        """Return the new records, and whether the history was replaced: then these are all of its records.

        Raises:
            MemoryStoreError: The history can't be read.
        """
        if self._history.size() == self._position:
            return [], False
        is_replaced = self._history.bytes_before(self._position) != self._tail
        start = 0 if is_replaced else self._position
        records, self._position = self._history.records_from(start, sources=self._sources)
        self._tail = self._history.bytes_before(self._position)
        return records, is_replaced


class PersonEdits:
    """The memories that a person has written or edited, by hand or by a command."""

    def __init__(self, history: History) -> None:
        self._follower = HistoryFollower(history, sources=PERSON_SOURCES)
        self._ids: dict[PlaceKey, set[str]] = {}
        self._moving = ""

    def mark(self, document: Document) -> None:
        """Set `Memory.edited_by_person` of every memory in the document.

        Raises:
            MemoryStoreError: The history can't be read.
        """
        records, is_replaced = self._follower.read()
        if is_replaced:
            for ids in self._ids.values():
                ids.clear()
        for record in records:
            self._note(record)
        for place, ids in self._ids.items():
            for memory in document.memories(place):
                memory.edited_by_person = memory_id(place, memory) in ids

    def _note(self, record: HistoryRecord) -> None:
        change = record.change
        place, before, after = change.location_id, change.before, change.after
        ids = self._ids.setdefault(place, set())
        if before is not None and (after is None or change.kind == "unpinned"):
            key = memory_id(place, before)
            # A move is recorded as a removal there and an addition here, under the same id.
            self._moving = key if change.kind == "moved" and key in ids else ""
            ids.discard(key)
        elif after is not None:
            key = memory_id(place, after)
            if change.kind in ("added", "edited") or (change.kind == "moved" and key == self._moving):
                ids.add(key)

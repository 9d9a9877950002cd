"""Restores the memories of a checkpoint, for every store."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol
from uuid import uuid4

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.tables import AnswerTable, Journal, Rows, discard
from zorkgpt.restore_point import NoteChange

log = get_logger(__name__)

_TABLES = ("zorkgpt_undo", "zorkgpt_undo_parts")


class RestorableStore(Protocol):
    """A store whose parts can be restored: the sections of a database, or a whole file."""

    journal: Journal
    answers: AnswerTable

    @property
    def database(self) -> Rows:
        """The database with the data for undoing changes."""
        ...

    def transaction(self) -> AbstractContextManager[Draft]:
        """Prevent others from changing the memories until the block ends."""
        ...

    def put_back(self, parts: Mapping[int, bytes | None]) -> None:
        """Restore parts by position, after the journal. None deletes a part that did not exist."""
        ...

    def refresh(self) -> None:
        """Read the changes."""
        ...


class CheckpointRestorer:
    """Keeps the original of each part of the memories that changes after a checkpoint.

    Nothing is undone if another writer has changed the memories too, because its changes may depend on ours.
    """

    name = "memories"

    def __init__(self, store: RestorableStore) -> None:
        self._store = store
        self._writer = uuid4().hex
        self._number: int | None = None
        """The number of the checkpoint. None if changes can't be undone."""

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return the data about the memory for a checkpoint that is about to be written."""
        return {"number": number, "writer": self._writer, "judgments": self._store.answers.size()}

    def begin(self, number: int, note: NoteChange) -> None:
        """Begin to keep the originals of changed parts, to return to the checkpoint with this number."""
        self.end(remove=True)
        self._number = number

    def end(self, *, remove: bool) -> None:
        """Stop keeping originals."""
        self._number = None
        if remove and self._store.database.rows("SELECT 1 FROM zorkgpt_undo WHERE writer = %s", [self._writer]):
            self._forget()

    @property
    def is_keeping(self) -> bool:
        """Whether the originals of changed parts are kept."""
        return self._number is not None

    def keep(self, parts: Mapping[int, bytes | None]) -> None:
        """Keep parts that are about to change, within the transaction of the change.

        Args:
            parts: The bytes of each part by position. None for a part that does not exist yet.
        """
        database = self._store.database
        self.invalidate(but=self._writer)
        if self._number is None:
            return
        rows = database.rows("SELECT is_ours FROM zorkgpt_undo WHERE writer = %s", [self._writer])
        if rows and not rows[0][0]:
            return
        if not rows:
            database.put(
                "INSERT INTO zorkgpt_undo (writer, number, journal, is_ours) VALUES (%s, %s, %s, 1)",
                [(self._writer, self._number, self._store.journal.size())],
            )
        insert = "INSERT INTO zorkgpt_undo_parts (writer, position, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        database.put(insert, [(self._writer, position, data) for position, data in parts.items()])

    def invalidate(self, *, but: str = "") -> None:
        """Drop the parts that other writers kept, because they can't undo anything after a change by someone else.

        Args:
            but: The writer whose parts are not dropped.
        """
        self._store.database.put("UPDATE zorkgpt_undo SET is_ours = 0 WHERE writer != %s AND is_ours = 1", [(but,)])
        self._store.database.put("DELETE FROM zorkgpt_undo_parts WHERE writer != %s", [(but,)])

    def restore(self, point: dict[str, Any], notes: Sequence[str]) -> bool:
        """Undo the changes since the checkpoint. False if others made changes too, so that nothing was undone.

        Raises:
            MemoryStoreError: If the memories can't be read or written. The call can be repeated.
        """
        store, database = self._store, self._store.database
        with store.transaction(), database.change():
            # Continue as the writer of the checkpoint, since this process may be killed before the next one.
            self._writer = str(point["writer"])
            query = "SELECT journal, is_ours FROM zorkgpt_undo WHERE writer = %s AND number = %s"
            rows = database.rows(query, (self._writer, int(point["number"])))
            if not rows:
                # Nothing was changed since.
                discard(database, answers=int(point["judgments"]))
                return True
            journal, is_ours = rows[0]
            if is_ours:
                discard(database, journal=journal, answers=int(point["judgments"]))
                query = "SELECT position, data FROM zorkgpt_undo_parts WHERE writer = %s"
                store.put_back(dict(database.rows(query, [self._writer])))
            self._forget()
        store.refresh()
        if not is_ours:
            log.info("memories since the checkpoint were not undone: others have changed the memory too")
        return bool(is_ours)

    def forget_all(self) -> None:
        """Delete the kept parts of all writers."""
        for table in _TABLES:
            self._store.database.put(f"DELETE FROM {table} WHERE writer != %s", [("",)])

    def _forget(self) -> None:
        with self._store.database.change():
            for table in _TABLES:
                self._store.database.put(f"DELETE FROM {table} WHERE writer = %s", [(self._writer,)])

"""Undo changes of the memories since a checkpoint, in every store."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.tables import Journal, JudgmentTable, Rows, Trials, discard

log = get_logger(__name__)

_TABLES = ("zorkgpt_undo", "zorkgpt_undo_parts")


class UndoableStore(Protocol):
    """A store whose parts can be put back: the sections of a database, or a whole file."""

    journal: Journal
    trials: Trials
    judgments: JudgmentTable

    @property
    def database(self) -> Rows:
        """The database that keeps what is needed to undo changes."""
        ...

    def transaction(self) -> AbstractContextManager[Draft]:
        """Keep everyone else from changing the memories until the block ends."""
        ...

    def put_back(self, parts: Mapping[int, bytes | None]) -> None:
        """Restore parts by position; the journal is as it was then. None deletes a part that did not exist."""
        ...

    def refresh(self) -> None:
        """Read what was written."""
        ...


class Undo:
    """Keeps each part of the memories as it was before its first change since the checkpoint.

    Nothing is undone if another writer has changed the memories too: it may have built upon what it saw.
    """

    name = "memories"

    def __init__(self, store: UndoableStore) -> None:
        self._store = store
        self._writer = uuid4().hex
        self._number: int | None = None
        """The checkpoint; None if nothing is to be undone."""

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return what a checkpoint that is about to be written keeps of the memory."""
        return {"number": number, "writer": self._writer, "judgments": self._store.judgments.size()}

    def begin(self, folder: Path, number: int) -> None:
        """Keep from now on what is needed to return to the checkpoint of this number."""
        self.end(remove=True)
        self._number = number

    def end(self, *, remove: bool) -> None:
        """Stop keeping it."""
        self._number = None
        if remove and self._store.database.rows("SELECT 1 FROM zorkgpt_undo WHERE writer = %s", [self._writer]):
            self._forget()

    @property
    def is_keeping(self) -> bool:
        """Whether what changes is kept."""
        return self._number is not None

    def keep(self, parts: Mapping[int, bytes | None]) -> None:
        """Keep parts that are about to change, by position, within the transaction of that change.

        Args:
            parts: The bytes of each part. None for a part that does not exist yet.
        """
        database = self._store.database
        self.invalidate(but=self._writer)
        if self._number is None:
            return
        kept = database.rows("SELECT is_ours FROM zorkgpt_undo WHERE writer = %s", [self._writer])
        if kept and not kept[0][0]:
            return
        if not kept:
            ends = self._store.journal.size(), self._store.trials.size()
            database.put(
                "INSERT INTO zorkgpt_undo (writer, number, journal, trials, is_ours) VALUES (%s, %s, %s, %s, 1)",
                [(self._writer, self._number, *ends)],
            )
        insert = "INSERT INTO zorkgpt_undo_parts (writer, position, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        database.put(insert, [(self._writer, position, data) for position, data in parts.items()])

    def invalidate(self, *, but: str = "") -> None:
        """Drop what writers have kept, except this one: they can't undo anything after a change by someone else."""
        self._store.database.put("UPDATE zorkgpt_undo SET is_ours = 0 WHERE writer != %s AND is_ours = 1", [(but,)])
        self._store.database.put("DELETE FROM zorkgpt_undo_parts WHERE writer != %s", [(but,)])

    def kept(self) -> Iterable[tuple[bytes | None, int, int]]:
        """Return each part that can still be put back, with the last positions of the journal and the trials then."""
        query = "SELECT data, journal, trials FROM zorkgpt_undo JOIN zorkgpt_undo_parts USING (writer)"
        return [(data, journal, trials) for data, journal, trials in self._store.database.rows(query)]

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        """Undo what was written since the checkpoint. False if others wrote too, and nothing was undone.

        Raises:
            MemoryStoreError: The memories can't be read or written. Another call continues from there.
        """
        store, database = self._store, self._store.database
        with store.transaction(), database.change():
            # From here on this process continues as that writer: it may be killed before the next checkpoint.
            self._writer = str(point["writer"])
            query = "SELECT journal, trials, is_ours FROM zorkgpt_undo WHERE writer = %s AND number = %s"
            found = database.rows(query, (self._writer, int(point["number"])))
            if not found:
                # Nothing was written since.
                discard(database, judgments=int(point["judgments"]))
                return True
            journal, trials, is_ours = found[0]
            if is_ours:
                discard(database, journal=journal, trials=trials, judgments=int(point["judgments"]))
                query = "SELECT position, data FROM zorkgpt_undo_parts WHERE writer = %s"
                store.put_back(dict(database.rows(query, [self._writer])))
            self._forget()
        store.refresh()
        if not is_ours:
            log.info("what was learned since the checkpoint stays: others have changed the memory too")
        return bool(is_ours)

    def forget_all(self) -> None:
        """Delete what all writers have kept."""
        for table in _TABLES:
            self._store.database.put(f"DELETE FROM {table} WHERE writer != %s", [("",)])

    def _forget(self) -> None:
        with self._store.database.change():
            for table in _TABLES:
                self._store.database.put(f"DELETE FROM {table} WHERE writer = %s", [(self._writer,)])

"""Undo changes to a database since a checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.tables import discard

if TYPE_CHECKING:
    from zorkgpt.memory.storage.sql_store import SqlStore

log = get_logger(__name__)


class SqlUndo:
    """Keeps each section as it was before its first change since the checkpoint.

    Nothing is undone if another writer has changed the memory too: it may have built upon what it saw.
    """

    name = "memories"

    def __init__(self, store: "SqlStore") -> None:
        self._store = store
        self._writer = uuid4().hex
        self._number: int | None = None
        """The checkpoint, None if nothing is to be undone."""

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

    def keep(self, positions: Sequence[int], *, everything: bool) -> None:
        """Keep the sections at positions that are about to change, as a part of that change.

        Args:
            everything: All sections are about to be replaced.
        """
        database = self._store.database
        # What others have kept can't be put back any more.
        for query in (
            "UPDATE zorkgpt_undo SET is_ours = 0 WHERE writer != %s AND is_ours = 1",
            "DELETE FROM zorkgpt_undo_sections WHERE writer != %s",
        ):
            database.put(query, [(self._writer,)])
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
        insert = "INSERT INTO zorkgpt_undo_sections (writer, position, data)"
        condition, asked = "position = %s", [(self._writer, position) for position in positions]
        if everything:
            condition, asked = "position != %s", [(self._writer, -1)]
        existing = f"SELECT %s, position, data FROM zorkgpt_sections WHERE {condition}"
        database.put(f"{insert} {existing} ON CONFLICT DO NOTHING", asked)
        new = [(self._writer, position) for position in positions]
        database.put(f"{insert} VALUES (%s, %s, NULL) ON CONFLICT DO NOTHING", new)

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        """Undo what was written since the checkpoint. False if others wrote too, and nothing was undone.

        Raises:
            MemoryStoreError: The database can't be read or written; nothing was undone.
        """
        store, database = self._store, self._store.database
        with store.guard:
            with database.change():
                # From here on this process goes on as that writer: it may be killed before the next checkpoint.
                self._writer = str(point["writer"])
                query = "SELECT journal, trials, is_ours FROM zorkgpt_undo WHERE writer = %s AND number = %s"
                found = database.rows(query, (self._writer, int(point["number"])))
                if not found:
                    # Nothing was written since.
                    discard(database, judgments=int(point["judgments"]))
                    return True
                journal, trials, is_ours = found[0]
                if is_ours:
                    query = "SELECT position, data FROM zorkgpt_undo_sections WHERE writer = %s"
                    store.put_back(dict(database.rows(query, [self._writer])))
                    discard(database, journal=journal, trials=trials, judgments=int(point["judgments"]))
                self._forget()
            store.refresh()
        if not is_ours:
            log.info("what was learned since the checkpoint stays: others have changed the memory too")
        return bool(is_ours)

    def forget_all(self) -> None:
        """Delete what all writers have kept."""
        for table in ("zorkgpt_undo", "zorkgpt_undo_sections"):
            self._store.database.put(f"DELETE FROM {table} WHERE writer != %s", [("",)])

    def _forget(self) -> None:
        with self._store.database.change():
            for table in ("zorkgpt_undo", "zorkgpt_undo_sections"):
                self._store.database.put(f"DELETE FROM {table} WHERE writer = %s", [(self._writer,)])

"""Follow a table of the journal while another process adds to it."""

from collections.abc import Iterator
from typing import Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.tables import Records
from zorkgpt.viewer.json_lines import parsed


class JournalRows:
    """Reads the records of a table, each once."""

    def __init__(self, records: Records, database: SqliteDatabase) -> None:
        self.records = records
        self.database = database
        self.end = 0
        """The position of the last record that was read."""
        self.unreadable = 0
        """The number of records that are not JSON objects, or not what the table holds."""
        self.trouble = ""
        """Why the file is not read, though it is there."""
        self._last = ""
        """The last record that was read."""

    def was_replaced(self) -> bool:
        """Return whether what was read is no longer there, so that a new reader is needed."""
        if self._is_foreign():
            return self.end > 0
        try:
            return self.records.text_at(self.end) != self._last
        except MemoryStoreError:
            return False

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield every record since the last call."""
        if self._is_foreign():
            self.trouble = "not a regular file"
            return
        try:
            for position, text in self.records.texts_from(self.end):
                self.end, self._last = position, text
                if (record := parsed(text.encode(errors="replace"))) is not None:
                    yield record
                else:
                    self.unreadable += 1
        except MemoryStoreError as error:
            self.trouble = str(error)
        else:
            self.trouble = self.database.trouble and "damaged"

    def damage(self) -> dict[str, Any] | None:
        """Return what of the table can't be shown, None if all of it can be."""
        if not (self.unreadable or self.trouble):
            return None
        return {"unreadable": self.unreadable, "trouble": self.trouble, "half_written": False}

    def _is_foreign(self) -> bool:
        """Return whether the file is a link, which may leave the run, or not a file at all."""
        path = self.database.path
        return path.is_symlink() or (path.exists() and not path.is_file())

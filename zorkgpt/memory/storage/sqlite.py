"""A SQLite file: one connection per process, opened on first use, made anew after a fork or when the file changed."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import check_is_file
from zorkgpt.guards import new_guard
from zorkgpt.log import get_logger

if TYPE_CHECKING:
    # Loaded when a file is opened first: a memory that nothing was written to needs none.
    from sqlite3 import Connection

log = get_logger(__name__)

IN_MEMORY = ":memory:"
"""The path of a database that is kept in this process only."""
_KEY = "INTEGER PRIMARY KEY"

_inherited: "list[Connection]" = []
"""Connections that the parent process opened: a child must not even close them, as dropping them would."""


def is_sqlite(path: object) -> bool:
    """Return whether a path names a SQLite file, by its ending or its content."""
    name = str(path)
    if name.endswith((".sqlite", ".sqlite3", ".db")):
        return True
    try:
        with open(name, "rb", opener=lambda file, flags: os.open(file, flags | os.O_NONBLOCK)) as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):
        return False


class SqliteDatabase:
    """A SQLite file, shared by the threads of a process. Reading never creates or changes it.

    Args:
        schema: Creates the tables; `{key}` is replaced by the type of ascending row numbers, `{blob}` by that of bytes.
        is_truth: What is in the file is nowhere else: it survives a power cut, and damage is an error. Otherwise the
            file can be rebuilt or lost without harm: a damaged one is set aside, and a new one begins.
        kind: Tells the file from other SQLite files, which are refused: its `application_id`.
        migrations: Statements that bring the tables of `schema`, which is version 1, to each later version. A file of
            an earlier version is brought to the last one; one of a later version is refused.
        timeout_s: How long another process may keep the file locked.
    """

    def __init__(
        self,
        path: Path,
        *,
        schema: str,
        kind: int,
        migrations: Sequence[str] = (),
        is_truth: bool = False,
        timeout_s: float = 10.0,
    ) -> None:
        self.path = path
        self.guard = new_guard()
        self._is_in_memory = str(path) == IN_MEMORY
        types = {"key": _KEY, "blob": "blob", "bytewise": "", "clustered": " WITHOUT ROWID"}
        self._steps = [step.format(**types) for step in (schema, *migrations)]
        self._is_truth = is_truth
        self._kind = kind
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._opened: tuple[int, int] = (0, 0)
        """The process that opened the connection, and the inode of the file then; 0 if there was none."""
        self._private = False
        """Whether the connection is to an empty database in this process."""
        self._connections = 0
        """How often a connection was made: SQLite's versions are those of one connection."""
        self._is_changing = False
        self.trouble = ""
        """Why the file is not read, though it is there."""
        self._damaged = 0
        """The inode of the file if it is damaged; 0 if it is not, as far as is known."""

    def exists(self) -> bool:
        """Return whether there is a file."""
        return self._is_in_memory or os.path.exists(self.path)

    def rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds; `%s` stands for a parameter.

        Raises:
            MemoryStoreError: The file can't be read.
        """
        from sqlite3 import Error

        with self.guard:
            asked = query.replace("%s", "?"), parameters or ()
            try:
                return self._reading().execute(*asked).fetchall()
            except Error as error:
                if self._is_truth or self._is_changing or not _is_damage(error):
                    raise self._failure("write" if self._is_changing else "read", error) from error
                return self._without_file(error).execute(*asked).fetchall()

    def put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        """Execute a statement once for each set of parameters, all or none; within `change`, as a part of it.

        Raises:
            MemoryStoreError: The file can't be written; nothing was changed.
        """
        given = list(parameters)
        if given:
            with self.guard, nullcontext() if self._is_changing else self.change():
                self._writing().executemany(query.replace("%s", "?"), given)

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        return self._is_changing

    @contextmanager
    def change(self) -> Iterator[None]:
        """Begin a transaction, committed at the end; nothing is changed if the block raises. May be nested.

        Raises:
            MemoryStoreError: The file can't be written; nothing was changed.
        """
        from sqlite3 import Error

        with self.guard:
            if self._is_changing:
                yield
                return
            try:
                connection = self._writing()
            except (Error, OSError) as error:
                raise self._failure("write", error) from error
            self._is_changing = True
            try:
                # An interrupt may arrive as soon as the transaction has begun.
                connection.execute("BEGIN IMMEDIATE")
                yield
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(Error):
                    connection.execute("ROLLBACK")
                if isinstance(error, Error):
                    raise self._failure("write", error) from error
                raise
            finally:
                self._is_changing = False

    def abandon(self) -> bool:
        """Undo a change that Ctrl-C has left open. False if there is none."""
        with self.guard:
            if not self._is_changing:
                return False
            self._is_changing = False
            self._drop()
            return True

    def version(self) -> tuple[int, int]:
        """Return a value that differs once another connection has written, or the file is another one."""
        if self._connection is None and not self.exists():
            return 0, 0
        found = self.rows("PRAGMA data_version")[0][0]
        return self._connections, int(found)

    def shrink(self) -> None:
        """Rewrite the file so that nothing of what was deleted is left in it.

        Raises:
            MemoryStoreError: The file can't be written.
        """
        from sqlite3 import Error

        with self.guard:
            if self.exists():
                try:
                    self._writing().execute("VACUUM")
                except Error as error:
                    raise self._failure("write", error) from error

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self.guard:
            self._drop()

    def _reading(self) -> "Connection":
        """Return a connection to the file, or to an empty database in this process if there is none to be read."""
        from sqlite3 import Error

        if self._connection is not None and (self._is_changing or self._opened == (os.getpid(), self._inode())):
            return self._connection
        try:
            return self._connect(private=not self._inode())
        except Error as error:
            if self._is_truth or not _is_unusable(error):
                raise
            return self._without_file(error)

    def _without_file(self, error: Exception) -> "Connection":
        """Return a connection to an empty database, since the file can't be read; a write sets a damaged one aside."""
        if not self.trouble:
            log.warning("journal not read", extra={"path": str(self.path), "error": str(error)})
        self.trouble, self._damaged = str(error), self._inode() if _is_damage(error) else 0
        return self._connect(private=True)

    def _writing(self) -> "Connection":
        """Return a connection to the file, which is made if there is none, or set aside if it is damaged."""
        from sqlite3 import Error

        if self._connection is not None and (
            self._is_changing or (not self._private and self._opened == (os.getpid(), self._inode()))
        ):
            return self._connection
        self._check_is_file()
        if self._damaged and self._damaged == self._inode():
            self._set_aside(self.trouble)
        try:
            return self._connect(private=False)
        except Error as error:
            if self._is_truth or not _is_damage(error):
                raise
            self._set_aside(str(error))
            return self._connect(private=False)

    def _connect(self, *, private: bool) -> "Connection":
        import sqlite3

        if self._is_truth:
            self._check_is_file()
            if self._is_in_memory and self._connections:
                raise MemoryStoreError(
                    f"The memory at {self.path} is closed, or of another process. Use a file to keep or share it."
                )
        self._drop()
        connection = sqlite3.connect(
            IN_MEMORY if private else str(self.path),
            timeout=self._timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            # At one moment: another process may be making the file.
            connection.execute("BEGIN")
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            kind = connection.execute("PRAGMA application_id").fetchone()[0]
            is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            connection.execute("COMMIT")
            if kind != self._kind and not is_empty:
                raise MemoryStoreError(
                    f"{self.path} is not a memory: it is another program's SQLite file. Name another file."
                )
            if found > len(self._steps):
                raise MemoryStoreError(f"{self.path} was written by a later version of zorkgpt. Update zorkgpt.")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_truth else 'OFF'}")
            connection.execute("PRAGMA secure_delete = ON")
            if found < len(self._steps):
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._private, self._opened = connection, private, (os.getpid(), self._inode())
        self._connections += 1
        return connection

    def _migrate(self, connection: "Connection") -> None:
        """Create the tables, or bring them to the last version: all of it or nothing."""
        connection.execute("BEGIN IMMEDIATE")
        # Asked within the transaction: another process may have done it since.
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        for step in self._steps[found:]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self._kind}")
        connection.execute(f"PRAGMA user_version = {max(found, len(self._steps))}")
        connection.execute("COMMIT")

    def _check_is_file(self) -> None:
        # Before anything opens it: whoever reads a pipe waits for somebody to write.
        if not self._is_in_memory and os.path.exists(self.path):
            check_is_file(str(self.path), os.stat(self.path).st_mode, MemoryStoreError)

    def _set_aside(self, trouble: str) -> None:
        self._drop()
        self._damaged = 0
        aside = next(path for number in range(1, 1000) if not (path := Path(f"{self.path}.damaged-{number}")).exists())
        os.rename(self.path, aside)
        extra = {"path": str(self.path), "error": trouble, "set_aside": str(aside)}
        log.warning("journal damaged: what it said of the past is lost", extra=extra)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._opened[0] == os.getpid():
            connection.close()
        elif connection is not None:
            _inherited.append(connection)

    def _inode(self) -> int:
        """Return the inode of the file, 0 if there is none that can be opened."""
        if self._is_in_memory:
            return 1
        try:
            found = os.stat(self.path)
        except OSError:
            return 0
        return found.st_ino if stat.S_ISREG(found.st_mode) else 0

    def _failure(self, what: str, error: Exception) -> MemoryStoreError:
        if what == "write" and not self._is_truth and _is_damage(error):
            with suppress(OSError):
                self._set_aside(str(error))
        way_out = " Restore a copy of it, or name another file." if self._is_truth and _is_damage(error) else ""
        return MemoryStoreError(f"Can't {what} {self.path}: {error}.{way_out}")


def _is_damage(error: Exception) -> bool:
    return _name_of(error) in ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def _is_unusable(error: Exception) -> bool:
    """Return whether the file can't be read by this process at all: trying again won't help."""
    return _is_damage(error) or _name_of(error).startswith(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY"))


def _name_of(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", ""))

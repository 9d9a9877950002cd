"""A SQLite file with one connection per process, which is opened again after a fork or if the file was replaced."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from zorkgpt.errors import MemoryStoreError, first_format
from zorkgpt.files import check_is_file, is_on_local_disk
from zorkgpt.fork_locks import before_fork, new_lock
from zorkgpt.log import get_logger

if TYPE_CHECKING:
    # Loaded when a file is first opened: a new memory has none.
    from sqlite3 import Connection

log = get_logger(__name__)

IN_MEMORY = ":memory:"
"""The path of a database in this process, without a file."""
_KEY = "INTEGER PRIMARY KEY"
_TYPES = {
    "key": _KEY,
    "position": f"{_KEY} AUTOINCREMENT",
    "blob": "blob",
    "bytewise": "",
    "clustered": " WITHOUT ROWID",
}
FIRST_KIND = 0x5A6D
"""The `application_id` of memories in the first format, in which they were stored as Markdown."""
FIRST_JOURNAL = 0x5A6A
"""The `application_id` of the first files beside a memory file."""
_WRITTEN_EARLIER = "an earlier version of zorkgpt wrote it"
_EARLIER = "an earlier version of zorkgpt wrote the history, and `zorkgpt memories convert NEW --file {}` copies it"
"""`{}` is the file to copy from."""

_inherited: "list[Connection]" = []
"""Connections of the parent process. Kept because a child must not close them, not even by garbage collection."""


def is_sqlite(path: object) -> bool:
    """Return whether a path belongs to a SQLite file, by its ending or its content."""
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
        schema: Creates the tables. See `schema` for the types that are replaced.
        is_truth: Whether the file has the only copy of the data. Then damage is an error. Otherwise, a damaged file is
            renamed and a new one begins.
        kind: The `application_id` of the file. Other SQLite files are refused.
        migrations: Statements that upgrade the tables from `schema`, which is version 1, to each later version. Files
            of earlier versions are upgraded, and files of later versions are refused.
        timeout_s: How long to wait for a lock of another process.
    """

    revision = "(SELECT revision FROM zorkgpt_state)"
    next_revision = "revision + 1 FROM zorkgpt_state"

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
        self.guard = new_lock()
        _databases.add(self)
        self._is_in_memory = str(path) == IN_MEMORY
        self._steps = [_replaced(step, _TYPES) for step in (schema, *migrations)]
        self._is_truth = is_truth
        self._kind = kind
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._opened: tuple[int, int] = (0, 0)
        """The process that opened the connection, and the inode of the file at that time. 0 if there was none."""
        self._private = False
        """Whether the connection is to a database in this process, which is empty unless it is a copy."""
        self._is_copy = False
        """Whether the connection is to a copy of the file. See `copied`."""
        self._is_filling = False
        """Whether changes are made in the copy."""
        self._connections = 0
        """Number of connections made so far. SQLite's data versions are only comparable within one connection."""
        self._is_changing = False
        self._is_durable: bool | None = None
        """Whether transactions of the connection survive a power failure. None if unknown."""
        self._is_turn = False
        """Whether the open transaction is that of `turn`."""
        self._is_part = False
        """Whether a change within that transaction is under way."""
        self.trouble = ""
        """Why an existing file can't be read. "" if it can."""
        self._damaged = 0
        """The inode of the file if it is known to be damaged, otherwise 0."""

    @property
    def is_copy(self) -> bool:
        """Whether a copy is read. See `copied`."""
        return self._is_copy

    def exists(self) -> bool:
        """Return whether there is a file."""
        return self._is_in_memory or os.path.exists(self.path)

    def rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the result of a query. Its parameters are written as `%s`.

        Raises:
            MemoryStoreError: If the file can't be read.
        """
        from sqlite3 import Error

        with self.guard:
            statement, values = query.replace("%s", "?"), parameters or ()
            try:
                return self._reading().execute(statement, values).fetchall()
            except Error as error:
                if self._is_truth or self._is_changing or not _is_damage(error):
                    raise self._failure("write" if self._is_changing else "read", error) from error
                return self._without_file(error).execute(statement, values).fetchall()

    def value(self, query: str, parameters: Sequence[object] | None = None) -> Any:
        """Return the single value of a query's result. Raises as `rows` does."""
        [(value,)] = self.rows(query, parameters)
        return value

    def put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each set of parameters, in one transaction or within that of `change`.

        Raises:
            MemoryStoreError: If the file can't be written. Nothing was changed.
        """
        all_values, statement = list(parameters), query.replace("%s", "?")
        if all_values and self._is_changing and self._connection is not None and self._is_turn == self._is_part:
            with self.guard:
                self._connection.executemany(statement, all_values)
        elif all_values:
            with self.change() as connection:
                connection.executemany(statement, all_values)

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        return self._is_changing

    def transaction(self) -> "AbstractContextManager[Connection]":
        """Begin a change that survives a kill of the process, but perhaps not a power failure."""
        return self.change(is_durable=False)

    @contextmanager
    def change(self, *, is_durable: bool = True) -> Iterator["Connection"]:
        """Begin a transaction. It is committed at the end of the block, unless the block raises. Can be nested.

        Args:
            is_durable: Whether it must survive a power failure after this returns, with all earlier ones.

        Raises:
            MemoryStoreError: If the file can't be written. Nothing was changed.
        """
        from sqlite3 import Error

        with self.guard:
            if self._is_changing and self._connection is not None:
                with self._part_of_turn(self._connection):
                    yield self._connection
                return
            if not self._is_filling:
                self.leave_copy()
            try:
                connection = self._writing()
            except (Error, OSError) as error:
                raise self._failure("write", error) from error
            self._is_changing = True
            try:
                if is_durable != self._is_durable:
                    # An interrupt can arrive at any time.
                    self._is_durable = None
                    connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
                    self._is_durable = is_durable
                # Inside `try`, because an interrupt can arrive right after this statement.
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(Error):
                    connection.execute("ROLLBACK")
                if isinstance(error, Error):
                    raise self._failure("write", error) from error
                raise
            finally:
                self._is_changing = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Commit the changes of the block together. A change in it that raises undoes only itself.

        Raises:
            MemoryStoreError: If the file can't be written. Nothing was changed.
        """
        with self.change():
            self._is_turn = True
            try:
                yield
            finally:
                self._is_turn = self._is_part = False

    @property
    def is_turn(self) -> bool:
        """Whether a block of `turn` has begun and not ended."""
        return self._is_turn

    @contextmanager
    def _part_of_turn(self, connection: "Connection") -> Iterator[None]:
        """Undo the changes of the block if it raises within a turn. Otherwise the whole transaction is undone."""
        from sqlite3 import Error

        if not self._is_turn or self._is_part:
            yield
            return
        if not connection.in_transaction:
            # After some errors, SQLite undoes the whole transaction.
            raise MemoryStoreError(f"Can't write {self.path}: an earlier change of the same turn has failed.")
        try:
            connection.execute("SAVEPOINT part")
            self._is_part = True
            yield
            connection.execute("RELEASE part")
        except BaseException as error:
            with suppress(Error):
                connection.execute("ROLLBACK TO part")
                connection.execute("RELEASE part")
            if isinstance(error, Error):
                raise self._failure("write", error) from error
            raise
        finally:
            self._is_part = False

    def abandon(self) -> bool:
        """Undo a change that an interrupt left open. False if there is none."""
        with self.guard:
            if not self._is_changing or self._is_turn:
                return False
            self._is_changing = False
            self._drop()
            return True

    def version(self) -> tuple[int, ...]:
        """Return a value that changes when another connection writes, or when the file is replaced."""
        if self._connection is None and not self.exists():
            return ()
        data_version = int(self.value("PRAGMA data_version"))
        if not self._is_copy:
            return self._connections, data_version
        # The copy doesn't show the changes of the file.
        return self._connections, data_version, *_stamp(self.path), *_stamp(f"{self.path}-wal")

    @contextmanager
    def copied(self) -> Iterator[None]:
        """Copy the file into this process. Changes in the block change only the copy.

        The copy is read until a later change, `leave_copy` or a fork.

        Raises:
            MemoryStoreError: If the file can't be read.
        """
        from sqlite3 import Error

        with self.guard:
            try:
                connection = self._reading()
                if not self._private:
                    copy = _connected(IN_MEMORY, self._timeout_s)
                    connection.backup(copy)
                    inode = self._inode()
                    self._drop()
                    self._connection, self._opened = copy, (os.getpid(), inode)
                    self._connections += 1
            except Error as error:
                raise self._failure("read", error) from error
            self._private = self._is_copy = self._is_filling = True
            try:
                yield
            finally:
                self._is_filling = False

    def leave_copy(self) -> None:
        """Read and write the file again."""
        with self.guard:
            if self._is_copy:
                self._drop()

    def numbers(self, table: str, count: int) -> list[int]:
        """Return the numbers for new rows of a table, in ascending order. No other process inserts rows meanwhile."""
        if not count:
            return []
        last = int(self.value(f"SELECT coalesce(max(number), 0) FROM {table}"))
        return list(range(last + 1, last + 1 + count))

    def shrink(self) -> None:
        """Rewrite the file without the deleted data.

        Raises:
            MemoryStoreError: If the file can't be written.
        """
        from sqlite3 import Error

        with self.guard:
            if self.exists():
                try:
                    self._writing().execute("VACUUM")
                except Error as error:
                    raise self._failure("write", error) from error

    def empty_log(self) -> None:
        """Write the write-ahead log into the file and empty it. Logs a warning if a reader prevents this."""
        with self.guard:
            [(is_busy, *_)] = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            log.warning(
                "the write-ahead log still has deleted data: another program reads it", extra={"path": self.path}
            )

    def close(self) -> None:
        """Close the connection. The next call opens it again."""
        with self.guard:
            self._drop()

    def close_idle(self) -> None:
        """Close the connection to the file, unless a change is under way. The next call opens it again."""
        if not (self._is_changing or self._private or self._is_in_memory):
            self._drop()

    def _reading(self) -> "Connection":
        """Return a connection to the file, or to an empty database in this process if there is no readable file."""
        from sqlite3 import Error

        if self._connection is not None and (self._is_changing or self._is_current()):
            return self._connection
        try:
            return self._connect(private=not self._inode())
        except Error as error:
            if self._is_truth or not _is_unusable(error):
                raise
            return self._without_file(error)

    def _is_current(self) -> bool:
        """Return whether the connection is of this process, and to the file that exists now or to a copy."""
        process, inode = self._opened
        return process == os.getpid() and (self._is_copy or inode == self._inode())

    def _without_file(self, error: Exception) -> "Connection":
        """Return a connection to an empty database, because the file can't be read. A write renames a damaged file."""
        if not self.trouble:
            phrase = _EARLIER.format(self.path.with_suffix("")) if str(error) == _WRITTEN_EARLIER else "record not read"
            log.warning(phrase, extra={"path": str(self.path), "error": str(error)})
        self.trouble, self._damaged = str(error), self._inode() if _is_damage(error) else 0
        return self._connect(private=True, inode=self._inode())

    def _writing(self) -> "Connection":
        """Return a connection to the file. A missing file is created, and a damaged one is renamed."""
        from sqlite3 import Error

        is_writable = self._is_copy or not self._private
        if self._connection is not None and is_writable and self._is_current():
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

    def _connect(self, *, private: bool, inode: int = 0) -> "Connection":
        """Connect to the file, or to an empty database in this process.

        Args:
            inode: That of the file that the empty database stands for. 0 if there was none.
        """
        from sqlite3 import Error

        if self._is_truth:
            self._check_is_file()
            if self._is_in_memory and self._connections:
                raise MemoryStoreError(
                    f"The memory at {self.path} is closed, or of another process. Use a file to keep or share it."
                )
        self._drop()
        connection = _connected(IN_MEMORY if private else self._address(), self._timeout_s)
        try:
            # Read these together, because another process may be creating the file.
            connection.execute("BEGIN")
            version = _value(connection, "PRAGMA user_version")
            kind = _value(connection, "PRAGMA application_id")
            is_empty = _value(connection, "SELECT count(*) FROM sqlite_master") == 0
            connection.execute("COMMIT")
            if kind == FIRST_KIND != self._kind:
                raise first_format(str(self.path))
            if kind == FIRST_JOURNAL and not self._is_truth:
                raise _earlier_version()
            if kind != self._kind and not is_empty:
                raise MemoryStoreError(
                    f"{self.path} is not a memory of this version: it is another program's SQLite file, or an "
                    "unreleased version's. Name another file."
                )
            if version > len(self._steps):
                raise MemoryStoreError(f"{self.path} was written by a later version of zorkgpt. Update zorkgpt.")
            connection.execute("PRAGMA secure_delete = ON")
            is_old = version < len(self._steps)
            if is_old and not private and not self._is_in_memory and is_on_local_disk(self.path):
                # SQLite doesn't wait here for another process, which sets the same mode while it creates the file.
                with suppress(Error):
                    connection.execute("PRAGMA journal_mode = WAL")
            if is_old:
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        # Another process may have created a file meanwhile.
        self._opened = (os.getpid(), inode if private else self._inode())
        self._connection, self._private, self._is_durable = connection, private, None
        self._connections += 1
        return connection

    def _address(self) -> str:
        """Return the address of the file. SQLite creates files beside it, unless the folder can't be written."""
        if self._is_in_memory:
            return IN_MEMORY
        is_writable = os.access(self.path.parent, os.W_OK)
        if is_writable or not os.path.exists(self.path) or any(_stamp(f"{self.path}-wal")):
            return str(self.path)
        return f"{self.path.absolute().as_uri()}?immutable=1"

    def _migrate(self, connection: "Connection") -> None:
        """Create the tables, or upgrade them to the last version, in one transaction."""
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have done this meanwhile.
        version = _value(connection, "PRAGMA user_version")
        for step in self._steps[version:]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self._kind}")
        connection.execute(f"PRAGMA user_version = {max(version, len(self._steps))}")
        connection.execute("COMMIT")

    def _check_is_file(self) -> None:
        # Checked before opening it, because opening a pipe would block.
        if not self._is_in_memory and os.path.exists(self.path):
            check_is_file(str(self.path), os.stat(self.path).st_mode, MemoryStoreError)

    def _set_aside(self, trouble: str) -> None:
        self._drop()
        self._damaged = 0
        name = f"{self.path}.earlier-" if trouble == _WRITTEN_EARLIER else f"{self.path}.damaged-"
        aside = next(path for number in range(1, 1000) if not (path := Path(f"{name}{number}")).exists())
        os.rename(self.path, aside)
        phrase = "record set aside: the history before now is in the old file"
        if trouble == _WRITTEN_EARLIER:
            phrase = f"record set aside: {_EARLIER.format(aside)}"
        log.warning(phrase, extra={"path": str(self.path), "error": trouble, "set_aside": str(aside)})

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._is_copy = False
        if connection is not None and self._opened[0] == os.getpid():
            connection.close()
        elif connection is not None:
            _inherited.append(connection)

    def _inode(self) -> int:
        """Return the inode of the file. 0 if there is no regular file."""
        if self._is_in_memory:
            return 1
        try:
            status = os.stat(self.path)
        except OSError:
            return 0
        return status.st_ino if stat.S_ISREG(status.st_mode) else 0

    def _failure(self, what: str, error: Exception) -> MemoryStoreError:
        if what == "write" and not self._is_truth and _is_damage(error):
            with suppress(OSError):
                self._set_aside(str(error))
        if not self._is_in_memory and not self.path.parent.is_dir():
            return MemoryStoreError(
                f"The folder {self.path.parent} was deleted or moved, and {self.path.name} with it."
            )
        advice = " Restore a copy of it, or name another file." if self._is_truth and _is_damage(error) else ""
        return MemoryStoreError(f"Can't {what} {self.path}: {error}.{advice}")


_databases: "WeakSet[SqliteDatabase]" = WeakSet()


def _close_idle() -> None:
    # A child inherits SQLite's notes of the locks of this process, so its own connection wouldn't lock the file.
    for database in list(_databases):
        database.close_idle()


before_fork(_close_idle)


def _connected(name: str, timeout_s: float) -> "Connection":
    import sqlite3

    is_uri = name.startswith("file:")
    return sqlite3.connect(name, timeout=timeout_s, isolation_level=None, check_same_thread=False, uri=is_uri)


def _stamp(path: Path | str) -> tuple[int, ...]:
    """Return a value that changes when a file is written or replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _replaced(step: str, types: Mapping[str, str]) -> str:
    for name, type_ in types.items():
        step = step.replace(f"{{{name}}}", type_)
    return step


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script. A trigger contains semicolons."""
    from sqlite3 import complete_statement

    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if complete_statement(statement):
            yield statement
            statement = ""


def _value(connection: "Connection", query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def _earlier_version() -> Exception:
    """Return the error for a file of an earlier version, which is replaced like a damaged one."""
    from sqlite3 import DatabaseError

    error = DatabaseError(_WRITTEN_EARLIER)
    error.sqlite_errorname = "SQLITE_NOTADB"
    return error


def _is_damage(error: Exception) -> bool:
    return _name_of(error) in ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def _is_unusable(error: Exception) -> bool:
    """Return whether this process can't read the file, so that trying again is useless."""
    return _is_damage(error) or _name_of(error).startswith(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY"))


def _name_of(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", ""))

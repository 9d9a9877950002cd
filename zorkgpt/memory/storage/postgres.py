"""A connection to PostgreSQL: made when it is needed, made anew when it was lost, one transaction at a time."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zorkgpt.errors import MemoryStoreError, reason_of
from zorkgpt.extras import importing
from zorkgpt.guards import new_guard
from zorkgpt.memory.storage.tables import FORMAT, STORE_SCHEMA

if TYPE_CHECKING:
    # An extra: loaded where it is used first.
    import psycopg
    from psycopg.sql import Composed

    _Connection = psycopg.Connection[tuple[Any, ...]]

_SETUP_LOCK = 0x5A6F726B
"""The number of the advisory lock under which the tables are made."""

_SCHEMA = STORE_SCHEMA.format(key="bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", blob="bytea")
_LAST_TABLE = "zorkgpt_judgments"

_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    # A network that is gone is noticed within a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "zorkgpt",
}

_SCHEME = re.compile(r"postgres(ql)?(\+\w+)?:", re.IGNORECASE)


def is_postgres(path: object) -> bool:
    """Return whether it is meant as the address of a PostgreSQL, and no file.

    One that is misspelt is none of a file either: it may hold a password, and must not be shown as a path.
    """
    return _SCHEME.match(str(path)) is not None


class PostgresDatabase:
    """A connection, shared by the threads of a process. Never names the password.

    Raises:
        MemoryStoreError: `url` is no address of a database.
    """

    def __init__(self, url: str, *, lock_timeout_s: float) -> None:
        with importing("postgres"):
            from psycopg import ProgrammingError
            from psycopg.conninfo import conninfo_to_dict
        try:
            self._given = conninfo_to_dict(url)
        except (ProgrammingError, UnicodeError):
            # Without what libpq says: it repeats the part that it does not understand, which may be the password.
            raise MemoryStoreError(
                "The address of the memory can't be read as one of PostgreSQL. It is of the form "
                "postgresql://user@host:5432/database, with %40 for an @ in a name or a password."
            ) from None
        self.address = _address(self._given)
        self.guard = new_guard()
        self._lock_timeout_s = lock_timeout_s
        self._connection: _Connection | None = None
        self._opened_by = 0
        self._is_changing = False
        self._depth = 0
        """How many transactions are under way, one in the other: then a connection that is lost is not made anew."""

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        return self._is_changing

    def rows(
        self, query: "str | Composed", parameters: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        """Return what a query finds; asked once more over a new connection, where the old one was lost.

        Within `change`, it is a part of that transaction.
        """
        from psycopg import OperationalError, sql

        # The text of every query is a constant of the program.
        asked = sql.SQL(query) if isinstance(query, str) else query

        def ask() -> list[tuple[Any, ...]]:
            cursor = self._connected().execute(asked, parameters)
            return cursor.fetchall() if cursor.description else []

        with self.guard, self._clear_errors():
            known = self._connection
            try:
                return ask()
            except OperationalError:
                if known is None or not known.closed or self._depth:
                    raise
                return ask()

    def put(self, query: "str | Composed", parameters: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each of these parameters, all of them or none.

        Within `change`, a failure undoes no more than this.
        """
        from psycopg import sql

        asked = sql.SQL(query) if isinstance(query, str) else query
        with self.guard, self._clear_errors():
            connection = self._connected()
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(asked, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Ask what belongs together: what is set for the transaction ends with it."""
        with self.guard, self._clear_errors(), self._begun():
            yield

    @contextmanager
    def change(self) -> Iterator[None]:
        """Begin a transaction that no other process's can overlap; committed at the end.

        Nothing is changed if the block or the commit raises.
        """
        from psycopg import sql

        with self.guard, self._clear_errors(), self._begun() as connection:
            self._is_changing = True
            try:
                connection.execute(
                    sql.SQL(
                        # A machine that vanishes with the lock is let go of by the server.
                        "SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 60000; "
                        "SELECT 1 FROM zorkgpt_state FOR UPDATE"
                    ).format(sql.Literal(max(1, int(self._lock_timeout_s * 1000))))
                )
                yield
            finally:
                self._is_changing = False

    def abandon(self) -> bool:
        """Undo a change that Ctrl-C has left open. False if there is none."""
        with self.guard:
            if not self._depth:
                return False
            self._depth, self._is_changing = 0, False
            self.close()
            return True

    def close(self) -> None:
        with self.guard:
            if self._connection is not None and self._opened_by == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _begun(self) -> "Iterator[_Connection]":
        connection, depth = self._connected(), self._depth
        with connection.transaction():
            self._depth = depth + 1
            try:
                yield connection
            finally:
                self._depth = depth

    def _connected(self) -> "_Connection":
        from psycopg.pq import TransactionStatus

        if self._opened_by != os.getpid():
            # A child must not go on with what its parent process opened.
            self._connection = None
        elif (
            self._connection is not None
            and not self._depth
            and self._connection.info.transaction_status is not TransactionStatus.IDLE
        ):
            # Ctrl-C has interrupted a command or a rollback: what was not committed must not be continued.
            self._connection.close()
        if self._connection is None or (self._connection.closed and not self._depth):
            self._connection = self._connect()
            self._opened_by = os.getpid()
        return self._connection

    def _connect(self) -> "_Connection":
        import psycopg
        from psycopg.conninfo import make_conninfo

        try:
            # Without prepared statements, since a pooler in between may not know them.
            connection = psycopg.connect(
                make_conninfo(**{**_DEFAULTS, **self._given, "client_encoding": "utf8"}),
                autocommit=True,
                prepare_threshold=None,
            )
        except psycopg.Error as error:
            raise MemoryStoreError(
                f"Can't reach PostgreSQL at {self.address}: {self._without_password(error)}. Is the server running, "
                "and do user, password and database exist? A file, such as Memories.md, needs no server."
            ) from None
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: "_Connection") -> None:
        """Make the tables where there are none."""
        there = connection.execute("SELECT to_regclass(%s)", (_LAST_TABLE,)).fetchone()
        if there == (None,):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))
                connection.execute(_SCHEMA)
        found = connection.execute("SELECT format FROM zorkgpt_state").fetchone()
        if found is None or found[0] > FORMAT:
            raise MemoryStoreError(f"The memory at {self.address} was written by a later version. Update zorkgpt.")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        import psycopg

        handled = sys.exc_info()[1]
        try:
            yield
        except psycopg.errors.LockNotAvailable:
            raise MemoryStoreError(
                f"The memory at {self.address} has been locked by another process for {self._lock_timeout_s:g} s."
            ) from None
        except BaseException as error:
            if (interrupt := _interrupt_behind(error, handled)) is not None:
                # The driver does not say in which state it leaves the connection.
                self.close()
                raise interrupt from None
            if isinstance(error, psycopg.Error):
                raise MemoryStoreError(f"PostgreSQL at {self.address}: {self._without_password(error)}") from None
            raise

    def _without_password(self, error: "psycopg.Error") -> str:
        said = reason_of(error).rstrip(".?")
        for name in ("password", "sslpassword"):
            if self._given.get(name):
                said = said.replace(str(self._given[name]), "***")
        return said


def _interrupt_behind(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """Return the signal, such as Ctrl-C, that this error comes from. None if it comes from none.

    Args:
        handled: What the caller was handling before.
    """
    reason: BaseException | None = error
    while reason is not None and reason is not handled:
        if not isinstance(reason, (Exception, GeneratorExit)):
            return reason
        reason = reason.__context__
    return None


def _address(given: dict[str, Any]) -> str:
    """Return what names the database, without the password."""
    user = f"{given['user']}@" if given.get("user") else ""
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST", "")
    port = f":{given['port']}" if given.get("port") else ""
    where = f"postgresql://{user}{host}{port}/{given.get('dbname') or ''}"
    return f"{where}?options={given['options']}" if given.get("options") else where

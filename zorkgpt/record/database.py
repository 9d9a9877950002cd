"""The database of a record, as its tables see it."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class RecordDatabase(Protocol):
    """A database with the tables of a record. Parameters are written as `%s`.

    Every method may raise `MemoryStoreError`.
    """

    revision: str
    """The SQL expression of the running transaction's revision, which is the revision of the rows that it writes."""
    next_revision: str
    """The SQL expression of the lowest revision whose rows may still be written."""

    @property
    def is_changing(self) -> bool:
        """Whether a transaction is open."""
        ...

    def change(self) -> AbstractContextManager[object]:
        """Begin a transaction, or continue the open one. Nothing is changed if the block raises."""
        ...

    def transaction(self) -> AbstractContextManager[object]:
        """Begin a transaction that survives a kill of the process, but perhaps not a power failure."""
        ...

    def rows(self, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the result of a query."""
        ...

    def value(self, query: str, parameters: Sequence[object] | None = None) -> Any:
        """Return the single value of a query's result."""
        ...

    def put(self, query: str, parameters: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each set of parameters, all or none. Use `[()]` for one without parameters."""
        ...

    def version(self) -> object:
        """Return a value that changes when another process writes."""
        ...

    def numbers(self, table: str, count: int) -> list[int]:
        """Return the numbers for new rows of a table, in ascending order."""
        ...

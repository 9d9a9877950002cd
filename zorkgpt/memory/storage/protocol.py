"""The interface of a store of lasting memories."""

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from zorkgpt.files import Recovery
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.scope import PlaceScope
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import Filters, LastingMemories
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.tables import AnswerTable, Journal
from zorkgpt.memory.storage.traces import Traces
from zorkgpt.memory.storage.words import WordCounts

if TYPE_CHECKING:
    # Imported only if there are vectors.
    from zorkgpt.embeddings.table import VectorTable


class Store(Protocol):
    """The lasting memories, shared with other processes, and the tables beside them.

    Every method may raise `MemoryStoreError`. The value of `lasting` then stays the same.
    """

    path: Path
    """Its folder contains `runs/`."""
    name: str
    """The path, or the address without its password."""
    scope: PlaceScope
    """The places that can be read and changed."""
    recovered: Recovery | None
    """The last recovery of a damaged file. None if there was none."""
    notices: list[str]
    """What the user should know about the file: that it was restored, that memories are gone, or are not understood."""
    has_file: bool
    """Whether the memories are in a Markdown file."""
    journal: Journal
    answers: AnswerTable
    guard: "threading.RLock"
    """Held while `lasting` is read or changed."""

    @property
    def database(self) -> SqliteDatabase | PostgresDatabase:
        """The database of the whole record."""
        ...

    @property
    def document(self) -> Document:
        """All lasting memories as a memory file, with what people wrote in it."""
        ...

    @property
    def lasting(self) -> LastingMemories:
        """The lasting memories as last read."""
        ...

    def refresh(self) -> None:
        """Read the changes of other processes."""
        ...

    def matching(
        self, asked: Iterable[str], wanted: Filters, limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        """Return lasting memories with any of the words that pass filters, roughly the best first.

        Also returns the frequencies of the words in all lasting memories.

        Args:
            asked: Words in the form that `words` returns.
            wanted: Filters of properties: not `among`, `named`, `texts` and `expires_by`.
        """
        ...

    def transaction(
        self,
        *,
        source: str = "agent",
        turn_stamp: TurnStamp | None = None,
        places: Collection[SubjectKey] | None = None,
    ) -> AbstractContextManager[Draft]:
        """Lock the store, read the current memories, and begin to change them.

        When the block ends, the draft's document and changes are stored together. If the block raises, nothing is
        stored.

        Args:
            source: The author of the change. See `HistoryRecord.source`.
            turn_stamp: The turn of the change. None if unknown.
            places: The places that are changed. Others can then change other places at the same time. Defaults to all.
        """
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Commit the changes of the block together, at its end. Within it, they can be read. Can be nested.

        A transaction in it that raises undoes only its own changes. If the block raises, all of them are undone.
        """
        ...

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        ...

    def when_committed(self, call: Callable[[], None]) -> None:
        """Call a function when the running turn is committed, or now if there is none."""
        ...

    def revert_to(self, position: int, episode: int | str) -> None:
        """Revert the changes that an episode has made since a position of the journal.

        Changes by a person and by other episodes stay, and so does a memory that one of them has changed too.
        """
        ...

    def erase(self, traces: Traces) -> None:
        """Erase traces from the tables beside the memories."""
        ...

    def claim_episode(self, least: int) -> int:
        """Return a number for a new episode that no other player of the memory uses, and that is at least `least`."""
        ...

    def claim_subject(self, subject: str) -> str:
        """Return the subject of the memory, after setting it if it had none. "" if the folder determines it."""
        ...

    def close(self) -> None:
        """Close files and connections. The next call opens them again."""
        ...

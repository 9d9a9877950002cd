"""What the memory needs of a store: the same for a file and for a database."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from zorkgpt.files import Recovery
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.changes import ChangedDocument, DocumentChange
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.restore_point import Restorer
from zorkgpt.memory.storage.tables import Journal, JudgmentTable, Trials
from zorkgpt.memory.storage.word_index import WordIndex

if TYPE_CHECKING:
    # Loaded only where there are vectors.
    from zorkgpt.embeddings.table import VectorTable


class Store(Protocol):
    """A document, kept where others can change it too, and the cache of its memories.

    Every method may raise `MemoryStoreError`; the cache is then what was last seen.
    """

    path: Path
    """The folder of this path contains `runs/`."""
    name: str
    """What names the memories to people: a path, or an address without its password."""
    recovered: Recovery | None
    """The last recovery of a missing or damaged file, None if there was none."""

    @property
    def document(self) -> Document: ...

    @property
    def cache(self) -> dict[PlaceKey, list[Memory]]:
        """The memories of each location, in the order of the document; changed in place."""
        ...

    @property
    def journal(self) -> Journal: ...

    @property
    def trials(self) -> Trials: ...

    @property
    def judgments(self) -> JudgmentTable: ...

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        ...

    @property
    def index(self) -> WordIndex: ...

    @property
    def guard(self) -> "threading.RLock":
        """Held by whoever reads cache or document."""
        ...

    def refresh(self) -> None:
        """See what others wrote."""
        ...

    def apply(
        self, change: DocumentChange, *, source: str = "agent", turn_stamp: TurnStamp | None = None
    ) -> ChangedDocument | None:
        """Change the document as it is now, alone; kept when this returns, with its journal.

        `change` may be called more than once. None from it: nothing is to be done.
        """
        ...

    def reconcile(self) -> None:
        """Add to the journal what the document says and the journal does not."""
        ...

    def restorer(self) -> Restorer:
        """Return an object that undoes changes since a checkpoint."""
        ...

    def erase(self, clean: Callable[[str], str]) -> None:
        """Replace every JSON text beside the memories by what `clean` returns; "" deletes it. Leaves no trace."""
        ...

    def claim_episode(self, least: int) -> int:
        """Return the number of a new episode, this one or a higher one, which no other player of the memory has."""
        ...

    def claim_subject(self, subject: str) -> str:
        """Return what the memory is about: this, where nobody said it before; "" where the file's folder says it."""
        ...

    def locked(self) -> AbstractContextManager[object]:
        """Keep others from changing what lies beside the memories."""
        ...

    def close(self) -> None:
        """Release what is held open; the next call opens it again."""
        ...

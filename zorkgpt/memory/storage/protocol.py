"""What the memory needs of a store: the same for a file and for a database."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from zorkgpt.files import Recovery
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.changes import ChangedDocument, DocumentChange
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import HistoryRecord, TurnStamp
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.storage.word_index import WordIndex

if TYPE_CHECKING:
    # Loaded only where there are vectors.
    from zorkgpt.embeddings.table import VectorTable


class History(Protocol):
    """Every change of a memory, in its order. Positions in it only grow."""

    def size(self) -> int:
        """Return the position behind the last record; -1 if there is no history."""
        ...

    def records(self) -> Iterator[HistoryRecord]:
        """Yield all records, oldest first."""
        ...

    def records_from(self, start: int, *, sources: Sequence[str] | None = None) -> tuple[list[HistoryRecord], int]:
        """Return the records from this position on, and the position behind them.

        Args:
            sources: Return only records from these. None: all.
        """
        ...

    def bytes_before(self, end: int) -> bytes:
        """Return what stands before this position, which tells whether a history is still the one that was read."""
        ...


class TrialLog(Protocol):
    """Every trial of a memory, in the order in which they were counted."""

    def append(self, trials: Sequence[Trial]) -> int:
        """Add trials that are about to be counted, within the change that counts them.

        Returns:
            How many of them stay if that change is not written.
        """
        ...

    def trials(self) -> Iterator[Trial]:
        """Yield all trials, oldest first."""
        ...

    def own_trials(self) -> Iterator[Trial]:
        """Yield those of players whose episodes have one numbering with ours."""
        ...

    def uncounted(self) -> list[Trial]:
        """Return trials that a kill may have kept from being counted."""
        ...

    def clean(self, change: Callable[[bytes], bytes]) -> None:
        """Put what `change` returns in the place of each line of trials; b"" deletes it."""
        ...


class JudgmentTable(Protocol):
    """What a model has judged, by the keys of the questions, for all machines."""

    def get(self, key: str) -> object:
        """Return the answer to a question, as plain values; None: it was not asked yet."""
        ...

    def put(self, key: str, answer: dict[str, object]) -> None:
        """Keep the answer to a question."""
        ...

    def clean(self, change: Callable[[bytes], bytes]) -> None:
        """Put what `change` returns in the place of each answer; b"" deletes it."""
        ...


class Store(Protocol):
    """A document, kept where others can change it too, and the cache of its memories.

    Every method may raise `MemoryStoreError`; the cache is then what was last seen.
    """

    path: Path
    """What this machine keeps beside the memories is named after this path: the index of words, vectors, judgments."""
    name: str
    """What names the memories to people: a path, or an address without its password."""
    history_failures: int
    recovered: Recovery | None
    """What was done when a file was found missing or damaged last; None: it never was."""

    @property
    def document(self) -> Document: ...

    @property
    def cache(self) -> dict[PlaceKey, list[Memory]]:
        """The memories of each location, in the order of the document; changed in place."""
        ...

    @property
    def history(self) -> History: ...

    @property
    def trials(self) -> TrialLog: ...

    @property
    def judgments(self) -> JudgmentTable | None:
        """Where judgments are kept for all machines; None: beside the file."""
        ...

    def vectors(self) -> "VectorTable | None":
        """Return where vectors are kept for all machines; None: beside the file, or this machine keeps its own."""
        ...

    def forget_vectors(self) -> None:
        """Delete the vectors of the texts that no memory has any more; they are made again where they are needed."""
        ...

    @property
    def vectors_kept(self) -> str:
        """Where vectors are kept, and why, for people."""
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
        """Change the document as it is now, alone; kept when this returns, with its history.

        `change` may be called more than once. None from it: nothing is to be done.
        """
        ...

    def reconcile(self) -> None:
        """Add to the history what the document says and the history does not."""
        ...

    def compact_history(self) -> tuple[int, int]:
        """Make one record of the observations and trials of a memory that follow one another in the history.

        Returns:
            The number of records before and after.
        """
        ...

    def rewrite_history(self, rewrite: Callable[[list[bytes]], list[bytes]]) -> tuple[int, int]:
        """Put other lines in the place of those of the history, each the JSON of a change.

        Returns:
            The number of lines before and after.
        """
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

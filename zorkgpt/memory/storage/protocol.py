"""What the memory needs of a store: the same for a file and for a database."""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from zorkgpt.files import Recovery
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.scope import PlaceScope
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.lasting import LastingMemories
from zorkgpt.memory.storage.tables import Journal, JudgmentTable, Trials
from zorkgpt.memory.storage.words import WordCounts
from zorkgpt.restore_point import Restorer

if TYPE_CHECKING:
    # Imported only if there are vectors.
    from zorkgpt.embeddings.table import VectorTable


class Store(Protocol):
    """The lasting memories, shared with other processes, and the tables beside them.

    Every method may raise `MemoryStoreError`; `lasting` is then what was last read.
    """

    path: Path
    """Its folder contains `runs/`."""
    name: str
    """The path, or the address without its password."""
    scope: PlaceScope
    """Nothing outside it can be read or changed."""
    recovered: Recovery | None
    """The last recovery of a missing or damaged file; None if there was none."""
    journal: Journal
    trials: Trials
    judgments: JudgmentTable
    guard: "threading.RLock"
    """Held while `lasting` is read or changed."""

    @property
    def restorer(self) -> Restorer:
        """What undoes changes since a checkpoint."""
        ...

    @property
    def lasting(self) -> LastingMemories:
        """The lasting memories as last read."""
        ...

    def refresh(self) -> None:
        """Read what others wrote."""
        ...

    def matching(
        self, asked: Iterable[str], marks: Sequence[str], limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        """Return lasting memories with any of the words and all of the marks, about the best first.

        Also returns how often the words are in all lasting memories.

        Args:
            asked: As `words` returns them.
            marks: As `Filters.marks` returns them.
        """
        ...

    def transaction(
        self, *, source: str = "agent", turn_stamp: TurnStamp | None = None
    ) -> AbstractContextManager[Draft]:
        """Begin a change of the memories as they are now; no one else can change them until the block ends.

        When the block ends, the draft's document, changes and trials are stored together. If the block raises, nothing
        is stored.

        Args:
            source: Who makes the change, for the journal.
            turn_stamp: The turn in which it is made; None if unknown.
        """
        ...

    def vectors(self) -> "VectorTable":
        """Return the table of vectors."""
        ...

    def erase(self, clean: Callable[[str], str]) -> None:
        """Replace every JSON text beside the memories by what `clean` returns; "" deletes it. Leaves no trace."""
        ...

    def claim_episode(self, least: int) -> int:
        """Return the number of a new episode, at least this one, that no other player of the memory has."""
        ...

    def claim_subject(self, subject: str) -> str:
        """Return the subject of the memory: this one if there was none; "" if the file's folder says it."""
        ...

    def close(self) -> None:
        """Release what is held open. The next call opens it again."""
        ...

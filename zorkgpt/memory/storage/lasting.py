"""What the rest of the memory reads of the lasting memories, in a file or in a database."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.filters import Filters, Prefix

if TYPE_CHECKING:
    from zorkgpt.memory.storage.document import Document


class LastingMemories(Protocol):
    """The lasting memories by place. A place is there from its first visit or memory on.

    Every method may raise `MemoryStoreError`.
    """

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing at all, not even a heading."""
        ...

    def count(self) -> int:
        """Return the number of memories, including superseded ones."""
        ...

    def has(self, place: SubjectKey) -> bool:
        """Return whether a place is there."""
        ...

    def places(self, prefix: Prefix | None = None) -> Collection[SubjectKey]:
        """Return the places that are there, in no particular order.

        Args:
            prefix: The beginning of the places. Defaults to all places.
        """
        ...

    def believed_places(self) -> Iterable[SubjectKey]:
        """Return the places that have a current memory, in no particular order."""
        ...

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place; "" if unknown."""
        ...

    def names(self, places: Iterable[SubjectKey]) -> Mapping[SubjectKey, str]:
        """Return the names of those of these places that are there, as `name` does."""
        ...

    def visits(self, place: SubjectKey) -> int:
        """Return the number of visits of a place."""
        ...

    def episodes(self, place: SubjectKey) -> tuple[int | str, ...]:
        """Return the episodes in which a place was visited, in order; those of the memories of another subject."""
        ...

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place in order, including superseded ones."""
        ...

    def all_memories(self, prefix: Prefix | None = None) -> Mapping[SubjectKey, list[Memory]]:
        """Return the memories of each place that has any.

        Args:
            prefix: The beginning of the places. Defaults to all places.
        """
        ...

    def taken_ids(self, wanted: Collection[tuple[SubjectKey, str]]) -> set[tuple[SubjectKey, str]]:
        """Return those of these ids, each at its place, that a memory has."""
        ...

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id or, ignoring case, this title, with their places.

        Args:
            place: Only at this place. Defaults to all places.
        """
        ...

    def titled(self, place: SubjectKey, title: str) -> Memory | None:
        """Return the first current memory of a place with exactly this title, white space aside."""
        ...

    def titled_each(self, wanted: Sequence[tuple[SubjectKey, str]]) -> list[Memory | None]:
        """Return for each place and title what `titled` returns."""
        ...

    def find(
        self, wanted: Filters, *, prefix: Prefix | None = None, limit: int, offset: int = 0
    ) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place, with their places.

        Args:
            prefix: The beginning of the places. Defaults to all places.
            limit: Maximum number of memories.
            offset: How many of the first ones are left out.
        """
        ...

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        """Return the keys of the texts that were written since another call, and what to call it with the next time.

        Args:
            since: What the other call returned. Defaults to all texts.
        """
        ...

    def text_keys_of(self, wanted: Filters) -> list[bytes]:
        """Return the keys of the texts of the memories that pass the filters."""
        ...

    def with_texts(self, keys: Sequence[bytes]) -> list[tuple[bytes, SubjectKey, Memory]]:
        """Return the memories whose texts have these keys, each with its key and its place."""
        ...

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories whose `expires_at` is not after this time, with their places."""
        ...

    @property
    def document(self) -> "Document":
        """All of it as a Markdown file. A database makes it from all of its rows."""
        ...

    def applied(self, steps: Iterable[Step]) -> "LastingMemories":
        """Return the memories after these steps. A database is changed in place, within a transaction.

        Raises:
            KeyError: If a memory that is to be changed does not exist.
        """
        ...

    def rewritten(self, document: "Document") -> "LastingMemories":
        """Return what another file holds, as `applied` does."""
        ...

    def moved(self, old: SubjectKey, new: SubjectKey) -> "tuple[LastingMemories, list[tuple[str, Memory]]]":
        """Return the memories with those of a place under another key, as `applied` does.

        Also returns the moved memories under their ids, each with the name of its place.
        """
        ...

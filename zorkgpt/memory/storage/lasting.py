"""What the rest of the memory reads of the lasting memories, in a file or in a database."""

from collections.abc import Container, Iterable, Mapping
from typing import Protocol

from zorkgpt.memory.models import Memory, SubjectKey


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

    def places(self) -> Iterable[SubjectKey]:
        """Return the places that are there, in no particular order."""
        ...

    def name(self, place: SubjectKey) -> str:
        """Return the name of a place; "" if unknown."""
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

    def all_memories(self) -> Mapping[SubjectKey, list[Memory]]:
        """Return the memories of each place that has any."""
        ...

    def ids(self, place: SubjectKey) -> Container[str]:
        """Return the ids of the memories of a place."""
        ...

    def named(self, wanted: str, place: SubjectKey | None = None) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories with this id, or else those with this title, ignoring case, with their places.

        Args:
            place: Only at this place. Defaults to all places.
        """
        ...

    def expired(self, now: str) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories whose `expires_at` is not after this time, with their places."""
        ...

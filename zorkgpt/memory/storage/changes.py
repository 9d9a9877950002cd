"""The changes that a transaction can make."""

from dataclasses import dataclass
from typing import Literal

from zorkgpt.memory.models import Memory, SubjectKey

ChangeKind = Literal[
    "added",
    "seen again",
    "superseded",
    "invalidated",
    "merged",
    "edited",
    "removed",
    "moved",
    "contested",
    "qualified",
    "reverted",
    "credited",
    "pinned",
    "unpinned",
    "vetoed",
    "unvetoed",
]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one memory, as recorded in the journal."""

    kind: ChangeKind
    location_id: SubjectKey
    location_name: str
    before: Memory | None
    """None if the memory is new."""
    after: Memory | None
    """None if the memory was removed."""
    reason: str | None = None
    other: Memory | None = None
    """The compared memory, if a comparison caused the change."""

    @property
    def memory(self) -> Memory:
        """The memory after the change, or before it if it was removed."""
        memory = self.after or self.before
        assert memory is not None
        return memory

    @property
    def is_lasting(self) -> bool:
        """Whether the memory outlives its episode."""
        return self.memory.persistence.outlives_episode


def after_change(memories: tuple[Memory, ...], change: Change) -> tuple[Memory, ...]:
    """Return the memories of a place after a change. A memory that is not found is added at the end."""
    at = position_of(memories, change.before)
    new = () if change.after is None else (change.after,)
    return (*memories[:at], *new, *memories[at + 1 :])


def position_of(memories: tuple[Memory, ...], memory: Memory | None) -> int:
    """Return the position of this object, or else of an equal memory. `len(memories)` if there is none."""
    if memory is None:
        return len(memories)
    for position, candidate in enumerate(memories):
        if candidate is memory:
            return position
    return memories.index(memory) if memory in memories else len(memories)

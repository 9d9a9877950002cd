"""Changes of memories: the closed set of steps that a transaction is made of."""

from dataclasses import dataclass
from typing import ClassVar, Literal

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
    "undone",
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
    """The memory that it was compared with, if the comparison caused the change."""

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


@dataclass(frozen=True, slots=True)
class VisitCount:
    """Visits of a place to be counted. Creates the section if there is none, also of a subject that is no place."""

    location_id: SubjectKey
    location_name: str
    episodes: tuple[int | str, ...]
    """The episode of each visit."""
    before: ClassVar[None] = None
    after: ClassVar[None] = None


Step = Change | VisitCount


def after_change(memories: tuple[Memory, ...], change: Change) -> tuple[Memory, ...]:
    """Return the memories of a place after a change. A memory that is not among them is added at the end."""
    at = position_of(memories, change.before)
    new = () if change.after is None else (change.after,)
    return (*memories[:at], *new, *memories[at + 1 :])


def position_of(memories: tuple[Memory, ...], memory: Memory | None) -> int:
    """Return the position of a memory, of this very one if it is there; that after the last if it is not."""
    if memory is None:
        return len(memories)
    identical = next((at for at, kept in enumerate(memories) if kept is memory), None)
    if identical is not None:
        return identical
    return memories.index(memory) if memory in memories else len(memories)

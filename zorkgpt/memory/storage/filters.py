"""Filters of memories by their properties."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from zorkgpt.memory.checks import checked_metadata
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey, episode_key, same_episode
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import CURRENT, mark, metadata_marks
from zorkgpt.text import key_of, quoted

Prefix = str | tuple[int | str, ...]
"""The beginning of places: of a string, or the first elements of a path."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories are searched; None: all of them."""

    location_id: SubjectKey | None = None
    persistence: str | None = None
    status: str | None = None
    """None: those that are believed."""
    category: str | None = None
    episode: int | str | None = None
    """In which it was seen first or last."""
    kind: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Values that are to be equal as JSON."""
    among: Set[tuple[SubjectKey, str]] | None = None
    """Only these, by place and id, or by place and title as `folded`."""
    named: str | None = None
    """Only those with this id or, ignoring case, this title."""
    texts: Set[bytes] | None = None
    """Only those whose texts have one of these keys: see `key_of`."""
    expires_by: str | None = None
    """Only those whose `expires_at` is not after this time."""
    with_past: bool = False
    """Whether superseded memories and those that a person has hidden are searched too."""

    def __post_init__(self) -> None:
        """
        Raises:
            TypeError, ValueError: a filter that no memory could pass.
        """
        for name, values in (("persistence", Persistence), ("status", MemoryStatus), ("kind", MemoryKind)):
            if (given := getattr(self, name)) is None:
                continue
            valid = [each.value for each in values]
            if str(given).casefold() not in map(str.casefold, valid):
                raise ValueError(f"The {name} is {quoted(given)}; it must be one of {', '.join(valid)}.")
        if not isinstance(self.category, str | None):
            raise TypeError(f"The category is {quoted(self.category)}; it must be a text.")
        if self.metadata:
            checked_metadata(self.metadata)

    def marks(self) -> list[str]:
        """Return the marks that a wanted memory has, those that few memories usually have first."""
        named = {
            "episode": None if self.episode is None else episode_key(self.episode),
            "kind": self.kind,
            "category": self.category,
            "status": self.status,
            "persistence": self.persistence,
        }
        marks = metadata_marks(self.metadata) + [
            mark(name, value) for name, value in named.items() if value is not None
        ]
        return [CURRENT, *marks] if self.is_of_current else marks

    @property
    def is_of_current(self) -> bool:
        """Whether only current memories are searched."""
        return self.status is None and not self.with_past

    def passes(self, place: SubjectKey, memory: Memory) -> bool:
        """Return whether a memory at a place is wanted."""
        if self.location_id not in (None, place):
            return False
        if self.is_of_current and not is_current(memory):
            return False
        if self.status is not None and (memory.vetoed or memory.status.casefold() != self.status.casefold()):
            return False
        if self.persistence is not None and memory.persistence.casefold() != self.persistence.casefold():
            return False
        if self.category is not None and memory.category.casefold() != self.category.casefold():
            return False
        if self.kind is not None and (memory.kind or "").casefold() != self.kind.casefold():
            return False
        if self.metadata and not set(metadata_marks(self.metadata)).issubset(metadata_marks(memory.metadata)):
            return False
        if self.expires_by is not None and (memory.expires_at is None or memory.expires_at > self.expires_by):
            return False
        if self.texts is not None and key_of(memory.text) not in self.texts:
            return False
        if self.named is not None or self.among is not None:
            names = memory_id(place, memory), folded(memory.title)
            if self.named is not None and not {self.named, folded(self.named)}.intersection(names):
                return False
            if self.among is not None and self.among.isdisjoint([(place, name) for name in names]):
                return False
        if self.episode is None:
            return True
        seen = (memory.episode, memory.episode if memory.first_episode is None else memory.first_episode)
        return any(same_episode(episode, self.episode) for episode in seen)

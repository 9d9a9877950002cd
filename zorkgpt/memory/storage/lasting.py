"""The filters of memories, and the headings of places."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from zorkgpt.memory.checks import check_episode, checked_metadata
from zorkgpt.memory.ids import is_named_by
from zorkgpt.memory.models import Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey, same_episode
from zorkgpt.memory.places import has_prefix
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import metadata_marks
from zorkgpt.text import key_of, quoted

Prefix = str | tuple[int | str, ...]
"""The beginning of a place: of a string, or the first elements of a path."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The memories to search. A filter that is None is not applied."""

    location_id: SubjectKey | None = None
    persistence: str | None = None
    status: str | None = None
    """None for current memories."""
    category: str | None = None
    episode: int | str | None = None
    """The episode in which it was first or last seen."""
    kind: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Values that must be equal as JSON."""
    among: Set[tuple[SubjectKey, str]] | None = None
    """Pairs of place and id, or of place and `folded` title."""
    named: str | None = None
    """An id, its first 8 digits, or a title. Case is ignored in titles."""
    texts: Set[bytes] | None = None
    """The keys of the texts. See `key_of`."""
    expires_by: str | None = None
    """The latest `expires_at`."""
    with_past: bool = False
    """Whether to include superseded memories and those that a person hid."""
    prefix: Prefix | None = None
    """The beginning of the places."""
    changed_after: str | None = None
    """The time after which it was stored or changed, in the format of `Memory.updated_at`. Counts are no change."""

    def __post_init__(self) -> None:
        """
        Raises:
            TypeError, ValueError: If no memory could pass a filter.
        """
        for name, values in (("persistence", Persistence), ("status", MemoryStatus), ("kind", MemoryKind)):
            if (given := getattr(self, name)) is None:
                continue
            valid = [each.value for each in values]
            if str(given).casefold() not in map(str.casefold, valid):
                raise ValueError(f"The {name} is {quoted(given)}; it must be one of {', '.join(valid)}.")
        check_episode(self.episode)
        if not isinstance(self.category, str | None):
            raise TypeError(f"The category is {quoted(self.category)}; it must be a string.")
        if self.metadata:
            checked_metadata(self.metadata)

    @property
    def is_of_current(self) -> bool:
        """Whether only current memories are searched."""
        return self.status is None and not self.with_past

    def passes(self, place: SubjectKey, memory: Memory) -> bool:
        """Return whether a memory passes the filters."""
        if self.location_id not in (None, place) or (self.prefix is not None and not has_prefix(place, self.prefix)):
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
        if self.changed_after is not None and (memory.updated_at is None or memory.updated_at <= self.changed_after):
            return False
        if self.texts is not None and key_of(memory.text) not in self.texts:
            return False
        if self.named is not None or self.among is not None:
            names = memory.id, folded(memory.title)
            if self.named is not None and not is_named_by(names[0], self.named) and folded(self.named) != names[1]:
                return False
            if self.among is not None and (place, names[0]) not in self.among and (place, names[1]) not in self.among:
                return False
        if self.episode is None:
            return True
        return any(same_episode(episode, self.episode) for episode in (memory.episode, memory.first_seen_in))


EVERY = Filters(with_past=True)
"""All memories, including superseded ones."""


class Heading(NamedTuple):
    """The name and the visits of a place."""

    name: str = ""
    """"" if unknown."""
    visits: int = 0
    episodes: tuple[int | str, ...] = ()
    """The episodes in which it was visited, in order."""


def by_place(found: Iterable[tuple[SubjectKey, Memory]]) -> dict[SubjectKey, list[Memory]]:
    """Group the result of `find` by place."""
    memories: dict[SubjectKey, list[Memory]] = {}
    for place, memory in found:
        memories.setdefault(place, []).append(memory)
    return memories

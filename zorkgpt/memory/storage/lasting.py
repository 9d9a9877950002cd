"""Reading the lasting memories, in a file or in a database: what can be asked, and the filters."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zorkgpt.memory.checks import checked_metadata
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey, episode_key, same_episode
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.section import episodes_of_memories
from zorkgpt.memory.storage.versions import is_current, titled
from zorkgpt.memory.storage.words import CURRENT, mark, metadata_marks
from zorkgpt.text import key_of, quoted

if TYPE_CHECKING:
    from zorkgpt.memory.storage.document import Document

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
            raise TypeError(f"The category is {quoted(self.category)}; it must be a string.")
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


EVERY = Filters(with_past=True)
"""All memories, including superseded ones."""


class Heading(NamedTuple):
    """What is known of a place beside its memories."""

    name: str = ""
    """"" if unknown."""
    visits: int = 0
    episodes: tuple[int | str, ...] = ()
    """The episodes in which it was visited, in order."""


class LastingMemories(Protocol):
    """The lasting memories by place. A place is there from its first visit or memory on.

    Every method may raise `MemoryStoreError`.
    """

    def places(self, prefix: Prefix | None = None, *, believed: bool = False) -> Collection[SubjectKey]:
        """Return the places that are there, in no particular order.

        Args:
            prefix: The beginning of the places. Defaults to all places.
            believed: Only places that have a current memory.
        """
        ...

    def headings(self, places: Iterable[SubjectKey]) -> Mapping[SubjectKey, Heading]:
        """Return the headings of those of these places that are there."""
        ...

    def memories(self, place: SubjectKey) -> list[Memory]:
        """Return the memories of a place in order, including superseded ones."""
        ...

    def count(self) -> int:
        """Return the number of memories, including superseded ones."""
        ...

    def find(
        self, wanted: Filters, *, prefix: Prefix | None = None, limit: int | None = None, offset: int = 0
    ) -> list[tuple[SubjectKey, Memory]]:
        """Return the memories that pass the filters, ordered by place, with their places.

        Args:
            prefix: The beginning of the places. Defaults to all places.
            limit: Maximum number of memories. Defaults to no limit.
            offset: How many of the first ones are left out.
        """
        ...

    def text_keys(self, since: object = None) -> tuple[set[bytes], object]:
        """Return the keys of the texts that were written since another call, and what to call it with the next time.

        Args:
            since: What the other call returned. Defaults to all texts.
        """
        ...

    @property
    def document(self) -> "Document":
        """All of it as a Markdown file. A database makes it from all of its rows."""
        ...

    def applied(self, step: Step) -> "LastingMemories":
        """Return the memories after a step. A database is changed in place, within a transaction.

        Raises:
            KeyError: If the memory that is to be changed does not exist.
        """
        ...

    def rewritten(self, document: "Document") -> "LastingMemories":
        """Return what another file holds, as `applied` does."""
        ...

    def moved(self, old: SubjectKey, new: SubjectKey) -> "LastingMemories":
        """Return the memories with those of a place under another key, as `applied` does. They keep their ids."""
        ...


def heading_of(lasting: LastingMemories, place: SubjectKey) -> Heading:
    """Return the heading of a place, an empty one if it is not there."""
    return lasting.headings([place]).get(place, Heading())


def episodes_of(lasting: LastingMemories, place: SubjectKey) -> tuple[int | str, ...]:
    """Return the episodes in which a place was visited, in order; those of the memories of another subject."""
    return heading_of(lasting, place).episodes if is_place(place) else episodes_of_memories(lasting.memories(place))


def is_empty(lasting: LastingMemories) -> bool:
    """Return whether there is nothing at all, not even a heading."""
    return not lasting.places() and not lasting.document.sections


def by_place(found: Iterable[tuple[SubjectKey, Memory]]) -> dict[SubjectKey, list[Memory]]:
    """Return the memories of each place among those that `find` returned."""
    memories: dict[SubjectKey, list[Memory]] = {}
    for place, memory in found:
        memories.setdefault(place, []).append(memory)
    return memories


def titled_each(lasting: LastingMemories, wanted: Sequence[tuple[SubjectKey, str]]) -> list[Memory | None]:
    """Return for each place and title the first current memory with exactly this title, white space aside."""
    found = by_place(lasting.find(Filters(among={(place, folded(title)) for place, title in wanted})))
    return [titled(found.get(place, ()), title) for place, title in wanted]

"""What the rest of the memory reads of the lasting memories, in a file or in a database."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import is_place
from zorkgpt.memory.storage.changes import Step
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.filters import Filters, Prefix
from zorkgpt.memory.storage.section import episodes_of_memories
from zorkgpt.memory.storage.versions import titled

if TYPE_CHECKING:
    from zorkgpt.memory.storage.document import Document

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

    def applied(self, run: Sequence[Step]) -> "LastingMemories":
        """Return the memories after one of the `runs` of steps. A database is changed in place, in a transaction.

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

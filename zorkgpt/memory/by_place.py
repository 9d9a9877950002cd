"""A mapping by place that shows the store."""

from collections.abc import Iterable, Iterator, MutableMapping

from zorkgpt.memory.checks import checked_memory
from zorkgpt.memory.models import Memory, PlaceKey, SubjectKey
from zorkgpt.memory.places import checked_place, is_place
from zorkgpt.memory.storage.book import MemoryBook
from zorkgpt.memory.storage.lasting import EVERY
from zorkgpt.memory.writer import MemoryWriter


class MemoriesByPlace(MutableMapping[PlaceKey, list[Memory]]):
    """Place → its memories, including superseded ones. Places without memories are missing.

    Reading returns what is stored now. Assigning a list stores it in place of the former memories, and deleting a place
    removes its memories. Changing a returned list changes nothing.

    Args:
        lasting: Whether these are the core and permanent memories, or the ephemeral ones.
    """

    def __init__(self, writer: MemoryWriter, *, lasting: bool) -> None:
        self._writer = writer
        self._lasting = lasting

    def __repr__(self) -> str:
        return repr(dict(self))

    def __iter__(self) -> Iterator[PlaceKey]:
        self._writer.refresh()
        found = self._writer.known.find(EVERY)
        chosen = (place for place, memory in found if memory.persistence.outlives_episode == self._lasting)
        return iter([place for place in dict.fromkeys(chosen) if is_place(place)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, place: PlaceKey) -> list[Memory]:
        self._writer.refresh()
        if stored := self._stored(self._writer.known, place):
            return stored
        raise KeyError(place)

    def __setitem__(self, place: PlaceKey, memories: Iterable[Memory]) -> None:
        """Store these memories of a place, and remove its others. A memory with a stored id replaces the stored one.

        Raises:
            TypeError, ValueError: If the place or a memory is invalid, or a memory's persistence does not fit.
            MemoryStoreError: If they can't be written.
        """
        key, wanted = checked_place(place), [self._checked(memory) for memory in memories]
        if not is_place(key):
            raise ValueError(f"{place!r} is not a place.")
        with self._writer.changing(lasting=self._lasting) as draft:
            old = {memory.id: memory for memory in self._stored(draft, key)}
            for memory in wanted:
                stored = old.pop(memory.id, None)
                if stored is None:
                    draft.add(key, "", memory)
                elif stored != memory:
                    draft.replace(key, stored, memory, "edited")
            for memory in old.values():
                draft.remove(key, memory)

    def __delitem__(self, place: PlaceKey) -> None:
        if place not in self:
            raise KeyError(place)
        self[place] = []

    def _stored(self, book: MemoryBook, place: SubjectKey) -> list[Memory]:
        if not is_place(place):
            return []
        return book.lasting.memories(place) if self._lasting else list(book.ephemeral.get(place, ()))

    def _checked(self, memory: Memory) -> Memory:
        memory = checked_memory(memory)
        if memory.persistence.outlives_episode != self._lasting:
            cache = "memory_cache holds core and permanent" if self._lasting else "ephemeral_cache holds ephemeral"
            raise ValueError(f"The memory {memory.title!r} is {memory.persistence}; {cache} memories.")
        return memory

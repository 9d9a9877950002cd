"""The id of a memory: a short digest of its place and its first title."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import render_place

_DIGITS = 8


class MemoryId(str):
    """An id, for arguments that accept a title or an id."""

    __slots__ = ()


def memory_id(place: SubjectKey, memory: Memory) -> str:
    """Return the id of a memory at this place. `Memory.id` is empty if the id can be derived from the title."""
    return memory.id or id_of_title(place, memory.title)


# Called for all memories of a place whenever one is added.
@lru_cache(maxsize=1 << 16)
def id_of_title(place: SubjectKey, title: str, number: int = 1) -> str:
    """Return the id of the memory with this title at a place. `number` is 2 for the second such memory, and so on."""
    text = f"{render_place(place)}\n{' '.join(title.split())}" + (f"\n{number}" if number > 1 else "")
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=_DIGITS // 2).hexdigest()


def with_id(place: SubjectKey, memory: Memory, is_taken: Callable[[str], bool], *, follows: bool = True) -> str:
    """Return the value of `Memory.id` for a new memory of a place: its own id if that is free, or else another one.

    Args:
        follows: Whether the id that is derived from place and title may be used (and the value be empty).
    """
    derived = id_of_title(place, memory.title)
    id, _ = _free_id(place, memory, 1, lambda id: is_taken(id) or (id == derived and not follows))
    return "" if id == derived else id


def _free_id(place: SubjectKey, memory: Memory, number: int, is_taken: Callable[[str], bool]) -> tuple[str, int]:
    """Return the memory's id, or the first free one derived from its title with a larger number, and the number."""
    id = memory_id(place, memory)
    while is_taken(id):
        number += 1
        id = id_of_title(place, memory.title, number)
    return id, number


def distinct_ids(place: SubjectKey, memories: Sequence[Memory]) -> dict[int, Memory]:
    """Return memories of one place that need another id, with that id, by the `id()` of the memories as read."""
    if not any(memory.id for memory in memories) and len({memory.title for memory in memories}) == len(memories):
        return {}
    new: dict[int, Memory] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    # Ids from the file take precedence.
    for memory in sorted(memories, key=lambda memory: not memory.id):
        derived = id_of_title(place, memory.title)
        key, numbers[derived] = _free_id(place, memory, numbers.get(derived, 1), taken.__contains__)
        taken.add(key)
        if memory.id != (kept := "" if key == derived else key):
            new[id(memory)] = replace(memory, id=kept)
    return new

"""The id of a memory: a short digest of its place and of the title that it was given first."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import render_place

_DIGITS = 8


class MemoryId(str):
    """The id of a memory, where a title could stand too."""

    __slots__ = ()


def memory_id(place: SubjectKey, memory: Memory) -> str:
    """Return the id of a memory of this place; `Memory.id` is empty where it follows from the title."""
    return memory.id or id_of_title(place, memory.title)


# The ids of all memories of a place are compared with that of each new one.
@lru_cache(maxsize=1 << 16)
def id_of_title(place: SubjectKey, title: str, number: int = 1) -> str:
    """Return the id that a title gives at a place; from the second memory of that title on with its number."""
    told = f"{render_place(place)}\n{' '.join(title.split())}" + (f"\n{number}" if number > 1 else "")
    return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=_DIGITS // 2).hexdigest()


def with_id(place: SubjectKey, memory: Memory, is_taken: Callable[[str], bool], *, follows: bool = True) -> str:
    """Return what `Memory.id` is to be for a new memory of a place: its own, if that is not taken.

    Args:
        follows: whether it may be left empty where it follows from place and title.
    """
    own = id_of_title(place, memory.title)
    found, _ = _free_id(place, memory, 1, lambda id: is_taken(id) or (id == own and not follows))
    return "" if found == own else found


def _free_id(place: SubjectKey, memory: Memory, number: int, is_taken: Callable[[str], bool]) -> tuple[str, int]:
    """Return the first free id of those of a memory's title after this number, and its number."""
    found = memory_id(place, memory)
    while is_taken(found):
        number += 1
        found = id_of_title(place, memory.title, number)
    return found, number


def give_ids(place: SubjectKey, memories: Iterable[Memory]) -> None:
    """Give memories of one place, as they were read, an id of their own where two would have the same."""
    memories = list(memories)
    if not any(one.id for one in memories) and len({one.title for one in memories}) == len(memories):
        return
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    # What is written in the file counts first.
    for memory in sorted(memories, key=lambda one: not one.id):
        own = id_of_title(place, memory.title)
        found, numbers[own] = _free_id(place, memory, numbers.get(own, 1), taken.__contains__)
        memory.id = "" if found == own else found
        taken.add(found)

"""The id of a memory: a digest of its place and its first title."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import render_place

_HALF = 8
"""The digits of each half of an id. Old files have ids of only the first half."""

AFTER_DIGITS = "g"
"""Greater than all digits of ids. An id that begins with a text is between it and the text with this."""


class MemoryId(str):
    """An id, for arguments that accept a title or an id."""

    __slots__ = ()


def full_id(place: SubjectKey, title: str, written: str) -> str:
    """Return the id of a memory from the one in its header, which may be only the first half, or "" if none."""
    if not written:
        return id_of_title(place, title)
    return written if len(written) > _HALF else written + _second_half(f"{render_place(place)}\n{written}")


def written_id(place: SubjectKey, memory: Memory) -> str:
    """Return the id for the header of a memory. "" if it can be derived from the title."""
    return "" if memory.id == id_of_title(place, memory.title) else memory.id


def is_named_by(id: str, wanted: str) -> bool:
    """Return whether a text is this id, or its first half."""
    return id == wanted or (len(wanted) == _HALF and id.startswith(wanted))


# Called for all memories of a place whenever one is added.
@lru_cache(maxsize=1 << 16)
def id_of_title(place: SubjectKey, title: str, number: int = 1) -> str:
    """Return the id of the memory with this title at a place. `number` is 2 for the second such memory, and so on."""
    text = f"{render_place(place)}\n{' '.join(title.split())}" + (f"\n{number}" if number > 1 else "")
    return _half(text) + _second_half(text)


def _half(text: str, person: bytes = b"") -> str:
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=_HALF // 2, person=person).hexdigest()


def _second_half(text: str) -> str:
    return _half(text, b"second half")


def with_id(place: SubjectKey, memory: Memory, is_taken: Callable[[str], bool], *, follows: bool = True) -> str:
    """Return the id of a new memory of a place: its own id if that is free, or else another one.

    Args:
        follows: Whether the id that is derived from place and title may be used.
    """
    derived = id_of_title(place, memory.title)
    return _free_id(place, memory, 1, lambda id: is_taken(id) or (id == derived and not follows))[0]


def _free_id(place: SubjectKey, memory: Memory, number: int, is_taken: Callable[[str], bool]) -> tuple[str, int]:
    """Return the memory's id, or the first free one derived from its title with a larger number, and the number."""
    id = full_id(place, memory.title, memory.id)
    while is_taken(id):
        number += 1
        id = id_of_title(place, memory.title, number)
    return id, number


def distinct_ids(located: Sequence[tuple[SubjectKey, Memory]]) -> list[str]:
    """Return an id for each memory of a file, so that all ids are different.

    Args:
        located: The memories with their places. Their ids are as in their headers.

    The first memory with an id keeps it. Ids that are written in the file take precedence over derived ones.
    """
    ids = [memory.id for _, memory in located]
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for at in sorted(range(len(located)), key=lambda at: not ids[at]):
        place, memory = located[at]
        derived = id_of_title(place, memory.title)
        ids[at], numbers[derived] = _free_id(place, memory, numbers.get(derived, 1), taken.__contains__)
        taken.add(ids[at])
    return ids

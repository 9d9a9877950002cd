"""Checks what comes in from outside: a memory with a wrong value is refused before anything is stored."""

import re
from types import UnionType
from typing import Any

from zorkgpt.memory.models import Category, Memory, MemoryStatus

_KINDS: dict[str, type | UnionType] = {
    "category": str,
    "title": str,
    "episode": int | str,
    "turns": str,
    "score_change": int | None,
    "text": str,
    "status": str,
    "superseded_by": str | None,
    "superseded_at_turn": int | None,
    "invalidation_reason": str | None,
    "observation_count": int,
    "tried": int,
    "worked": int,
    "pinned": bool,
    "vetoed": bool,
    "action": str,
    "outcome": str,
    "claims": tuple,
    "when": tuple,
    "first_episode": int | str | None,
    "id": str,
}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]|[\ud800-\udfff]")
"""Control characters that are no white space, and halves of surrogate pairs."""
_CATEGORY = re.compile(r"[A-Z][A-Z0-9_]*")
_TITLE_WORDS, _TITLE_LETTERS = 8, 60


def check_types(memory: Memory) -> None:
    """
    Raises:
        TypeError, ValueError: a field holds what a file can't hold, or the status is none.
    """
    for name, kind in _KINDS.items():
        value = getattr(memory, name)
        # For JSON, true is no number.
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise TypeError(f"The {name} of memory {memory.title!r} is {value!r}; it must be {_in_words(kind)}.")
    if memory.status not in tuple(MemoryStatus):
        valid = ", ".join(MemoryStatus)
        raise ValueError(f"The status of memory {memory.title!r} is {memory.status!r}; it must be one of {valid}.")


def checked_memory(memory: object) -> Memory:
    """Return a memory that may be kept, with its persistence and status as they would be made now.

    Its texts are data, whatever characters they hold.

    Raises:
        TypeError, ValueError: what is wrong, with its value.
    """
    if not isinstance(memory, Memory):
        raise TypeError(f"{memory!r} is no Memory. Make one, or call `remember` with a place and a text.")
    memory = Memory(**vars(memory))
    check_types(memory)
    if not memory.title.strip():
        raise ValueError(f"The title is {memory.title!r}; it must not be blank.")
    check_category(memory.category)
    return memory


def check_category(category: str) -> None:
    """
    Raises:
        ValueError: it is no word in capitals.
    """
    if not _CATEGORY.fullmatch(category):
        usual = ", ".join(Category)
        raise ValueError(f"The category is {category!r}; it must be a word in capitals, such as {usual}.")


def check_name(name: object) -> None:
    """
    Raises:
        TypeError: the name of a place is no text.
    """
    if not isinstance(name, str):
        raise TypeError(f"The place's name is {name!r}, of the type {type(name).__name__}; it must be a text.")


def check_text(name: str, text: object) -> None:
    """
    Raises:
        TypeError: what was given under this name is no text.
        ValueError: it is blank, or holds control characters.
    """
    if not isinstance(text, str):
        raise TypeError(f"The {name} is {text!r}, of the type {type(text).__name__}; it must be a text.")
    if not text.strip():
        raise ValueError(f"The {name} is {text!r}; it must not be blank.")
    if found := _CONTROL.search(text):
        raise ValueError(f"The {name} holds the control character {found[0]!r}: {text!r}. Leave it out.")


def title_of(text: str) -> str:
    """Return the first words of a text, for a memory that was given no title."""
    words = text.split()[:_TITLE_WORDS]
    while len(words) > 1 and len(" ".join(words)) > _TITLE_LETTERS:
        words.pop()
    return " ".join(words)[:_TITLE_LETTERS].rstrip(" .,;:!?") or text.strip()[:_TITLE_LETTERS]


def _in_words(kind: Any) -> str:
    names = {int: "a whole number", str: "a text", bool: "True or False", tuple: "a tuple", type(None): "None"}
    kinds = kind.__args__ if isinstance(kind, UnionType) else (kind,)
    return " or ".join(names[one] for one in kinds)

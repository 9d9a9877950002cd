"""Which things the printed text has revealed to the player."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from game_interface.models import Item, Language, Observation

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_MOST_WORDS = 4096
"""The words that are looked up once."""


class NamedThings:
    """Finds the objects that a text names.

    An object is named by the words that can be typed for it, or by those of its short name if there are none.

    Args:
        short_names: The short names of all objects, by number.
    """

    def __init__(self, language: Language, short_names: Mapping[int, str]) -> None:
        self._truncate = language.truncate
        self._numbers: dict[str, set[int]] = defaultdict(set)
        typed: set[int] = set()
        for word, numbers in language.names.items():
            self._numbers[word] |= numbers
            typed |= numbers
        for number, name in short_names.items():
            for word in _PART.findall(name) if number not in typed else ():
                self._numbers[language.truncate(word)].add(number)
        self._named_by = lru_cache(_MOST_WORDS)(self._by_word)

    def in_text(self, text: str) -> frozenset[int]:
        """Return the objects that one of the words may mean, wherever they are."""
        return frozenset[int]().union(*map(self._named_by, WORD.findall(text.lower())))

    def _by_word(self, word: str) -> frozenset[int]:
        # A text joins words that are typed one by one, and speaks of several where the parser knows one.
        forms = {word, *_PART.findall(word)}
        forms |= {form.removesuffix("s") for form in forms}
        return frozenset[int]().union(*(self._numbers.get(self._truncate(form), ()) for form in forms))


def as_revealed(now: Observation, revealed: Collection[int]) -> Observation:
    """Return what is observed without the visible things that are not revealed."""

    def kept(items: tuple[Item, ...] | None) -> tuple[Item, ...] | None:
        return None if items is None else tuple(item for item in items if item.num in revealed)

    doors = tuple(door for door in now.doors if door.num in revealed)
    return replace(now, visible=kept(now.visible), creatures=kept(now.creatures), doors=doors)

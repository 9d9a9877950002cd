"""Find the objects that the printed text has revealed to the player."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from game_interface.models import Item, Language, Observation

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_CACHED_WORDS = 4096


class NamedThings:
    """Finds the objects that a text names.

    An object is named by the words that a player can type for it, or by the words of its short name if there are none.

    Args:
        short_names: The short names of all objects, by number.
    """

    def __init__(self, language: Language, short_names: Mapping[int, str]) -> None:
        self._truncate = language.truncate
        self._numbers: dict[str, set[int]] = defaultdict(set)
        with_words: set[int] = set()
        for word, numbers in language.names.items():
            self._numbers[word] |= numbers
            with_words |= numbers
        for number, name in short_names.items():
            if number not in with_words:
                for word in _PART.findall(name):
                    self._numbers[language.truncate(word)].add(number)
        self._objects_of = lru_cache(_CACHED_WORDS)(self._objects_of_word)

    def in_text(self, text: str) -> frozenset[int]:
        """Return the objects that a word of the text may name, wherever they are."""
        return frozenset[int]().union(*map(self._objects_of, WORD.findall(text.lower())))

    def _objects_of_word(self, word: str) -> frozenset[int]:
        # The text may have a hyphenated word or a plural of a word in the dictionary.
        forms = {word, *_PART.findall(word)}
        forms |= {form.removesuffix("s") for form in forms}
        return frozenset[int]().union(*(self._numbers.get(self._truncate(form), ()) for form in forms))


def as_revealed(now: Observation, revealed: Collection[int]) -> Observation:
    """Return the observation, limited to revealed objects."""

    def only_revealed(items: tuple[Item, ...] | None) -> tuple[Item, ...] | None:
        return None if items is None else tuple(item for item in items if item.num in revealed)

    doors = tuple(door for door in now.doors if door.num in revealed)
    return replace(now, visible=only_revealed(now.visible), creatures=only_revealed(now.creatures), doors=doors)

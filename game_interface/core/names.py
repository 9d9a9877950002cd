"""The names of things and places, and the things that a text names.

If a story prints a name with a routine, the short name in its memory may be empty or the name in the source code:
"(maze1)", "PunchCard_1". A place then gets the heading of its description as its name, and a thing the words that a
player can type for it.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache

from game_interface.core.grammar import words_by_object
from game_interface.core.zmachine import View, ZMachine
from game_interface.models import Item, Language, Observation

_INTERNAL = re.compile(r"\(.*\)|.*_.*|[a-z]+\d+", re.DOTALL)
"""Names from source code: in brackets, with an underscore, or with a number at the end."""
_MAX_WORDS = 2
_MAX_HEADING = 60
_HEADING = re.compile(r"[^\W\d_a-z].*[^\W_]\)?")
"""A line that starts with a capital and ends with a letter, a number or a bracket: "Kitchen (on the table)"."""


class Names:
    """The names of the objects of a story. A recorded heading never changes."""

    def __init__(self, machine: ZMachine) -> None:
        self._machine = machine
        self._headings: dict[int, str] = {}

    def of_thing(self, view: View, number: int) -> str:
        """Return the short name, or else the words that a player can type for the object. "" if none."""
        short = view.name(number)
        return short if is_shown(short) else self._typed(number) or short

    def of_place(self, view: View, number: int) -> str:
        """Return the short name, or else the heading, the words that a player can type, or the number."""
        short = view.name(number)
        if is_shown(short):
            return short
        return self._headings.get(number) or self._typed(number) or short or f"place {number}"

    def shown(self, view: View, place: int) -> str:
        """Return the name of a place as players see it. "" if unknown."""
        short = view.name(place)
        return short if is_shown(short) else self._headings.get(place, "")

    def lacks(self, view: View, place: int) -> bool:
        """Return whether a place needs a heading as its name, and none was recorded."""
        return place not in self._headings and not is_shown(view.name(place))

    def record_description(self, place: int, text: str) -> None:
        """Record the heading in the response to `look` at a place."""
        self._headings[place] = heading_in(text)

    @cached_property
    def _words(self) -> dict[int, tuple[str, ...]]:
        return words_by_object(self._machine)

    def _typed(self, number: int) -> str:
        return " ".join([word for word in self._words.get(number, ()) if word.isalpha()][:_MAX_WORDS])


@lru_cache(maxsize=4096)
def is_shown(short: str) -> bool:
    """Return whether a short name looks like a name for players."""
    return bool(short.strip()) and not _INTERNAL.fullmatch(short.strip())


def heading_in(text: str) -> str:
    """Return the first heading in a text: a short line that is not a sentence. "" if there is none."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if len(line) <= _MAX_HEADING and _HEADING.fullmatch(line)), "")


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

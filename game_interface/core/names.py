"""The names of things and places: the story's short names, or else what it shows.

Stories that print a name by a routine leave the short name empty, or leave there what the author called the object in
the source: "(maze1)", "PunchCard_1". A place is then called by the heading of its description, a thing by the words
that a player can type for it.
"""

import re
from functools import cached_property, lru_cache

from game_interface.core.grammar import words_by_object
from game_interface.core.zmachine import View, ZMachine

_INTERNAL = re.compile(r"\(.*\)|.*_.*|[a-z]+\d+", re.DOTALL)
"""How names from a source look: in brackets, with an underscore, or with a number at their end."""
_MOST_WORDS = 2
_LONGEST_HEADING = 60
_HEADING = re.compile(r"[^\W\d_a-z].*[^\W_]\)?")
"""Begins with a capital, and ends with a letter or a number, perhaps in brackets: "Kitchen (on the table)"."""


class Names:
    """The names in one story, by object number. A name that was found stays."""

    def __init__(self, machine: ZMachine) -> None:
        self._machine = machine
        self._headings: dict[int, str] = {}

    def of_thing(self, view: View, number: int) -> str:
        """Return the short name, else the words that can be typed for the object; "" if it has neither."""
        short = view.name(number)
        return short if is_shown(short) else self._typed_for(number) or short

    def of_place(self, view: View, number: int) -> str:
        """Return the short name, else the heading under which it was described, else its number."""
        short = view.name(number)
        if is_shown(short):
            return short
        return self._headings.get(number) or self._typed_for(number) or short or f"place {number}"

    def shown(self, view: View, place: int) -> str:
        """Return the name under which players see a place; "" if that is not known."""
        return short if is_shown(short := view.name(place)) else self._headings.get(place, "")

    def lacks(self, view: View, place: int) -> bool:
        """Return whether the short name of a place says nothing, and its description was not read yet."""
        return place not in self._headings and not is_shown(view.name(place))

    def record_description(self, place: int, text: str) -> None:
        """Process the answer to `look` at a place."""
        self._headings[place] = heading_in(text)

    @cached_property
    def _words(self) -> dict[int, tuple[str, ...]]:
        return words_by_object(self._machine)

    def _typed_for(self, number: int) -> str:
        return " ".join([word for word in self._words.get(number, ()) if word.isalpha()][:_MOST_WORDS])


@lru_cache(maxsize=4096)
def is_shown(short: str) -> bool:
    """Return whether a short name looks like one that the story shows to players."""
    return bool(short.strip()) and not _INTERNAL.fullmatch(short.strip())


def heading_in(text: str) -> str:
    """Return the heading in a text: a line of its own that is no sentence; "" if there is none."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if len(line) <= _LONGEST_HEADING and _HEADING.fullmatch(line)), "")

"""The names of things and places.

If a story prints a name with a routine, the short name in its memory may be empty or the name in the source code:
"(maze1)", "PunchCard_1". A place then gets the heading of its description as its name, and a thing the words that a
player can type for it.
"""

import re
from functools import cached_property, lru_cache

from game_interface.core.grammar import words_by_object
from game_interface.core.zmachine import View, ZMachine

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

"""Detect darkness by what `look` prints on a saved state.

In the light, `look` prints the name of the room as a heading; in the dark it prints something else. The answer is kept
for each state of a room and its contents, so that a lamp that goes out is noticed.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from game_interface.core.names import heading_in
from game_interface.core.zmachine import View

RoomState: TypeAlias = tuple[int, frozenset[tuple[frozenset[int], ...]]]
"""A room, and what kinds of things are in it: the attributes of each, after those of all that holds it."""
_MOST_OBJECTS = 200


@dataclass(slots=True)
class Light:
    """The known darkness of the rooms of one story."""

    prints_headings: bool = False
    """Whether a room was described under its own name."""
    _dark: dict[RoomState, bool] = field(default_factory=dict)
    _dark_headings: set[str] = field(default_factory=set)
    _other_headings: dict[str, int] = field(default_factory=dict)
    """Headings that do not name the room that they were printed in → that room."""

    def is_dark(self, state: RoomState) -> bool | None:
        """Return whether it is dark in this state of a room; None if it was not seen."""
        return self._dark.get(state)

    def record_description(self, state: RoomState, name: str, text: str, *, left_its_room: bool) -> None:
        """Process the answer to `look` in this state of a room; "" if there is none.

        Args:
            name: Of the room, as players see it; "" if that is not known.
            left_its_room: The story keeps another place than the room in its variable for the location, as Inform's
                library does in the dark.
        """
        heading, room = heading_in(text), state[0]
        if name and _shares_a_word(heading, name):
            self.prints_headings = True
            dark = False
        elif not text:
            dark = left_its_room
        elif not heading:
            dark = self.prints_headings or left_its_room
        elif name:
            # A room may be printed under another name than its object has, but no two rooms under the same wrong one.
            dark = left_its_room or self._other_headings.setdefault(heading, room) != room
        else:
            dark = left_its_room or heading in self._dark_headings
        if dark:
            self._dark_headings.add(heading)
        self._dark[state] = dark


@lru_cache(maxsize=4)
def state_of(view: View, room: int, ignored: frozenset[int]) -> RoomState:
    """Return what determines the light in a room.

    Args:
        ignored: Attributes that the story keeps for itself.
    """
    kinds: set[tuple[frozenset[int], ...]] = set()
    left: list[tuple[int, tuple[frozenset[int], ...]]] = [(room, ())]
    for _ in range(_MOST_OBJECTS):
        if not left:
            break
        number, holders = left.pop()
        kind = (*holders, view.attributes(number) - ignored)
        kinds.add(kind)
        left += ((held, kind) for held in view.children(number))
    return room, frozenset(kinds)


def _shares_a_word(heading: str, name: str) -> bool:
    words = {word.strip("(),").casefold() for word in heading.split()}
    return any(word.casefold() in words for word in name.split())

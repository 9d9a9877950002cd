"""Detect darkness from the response to `look`, played from a saved state.

In the light, the response has the name of the room as a heading. In the dark, it does not. The result is stored for
each state of a room and its contents, so that it changes when a lamp goes out.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from game_interface.core.names import heading_in
from game_interface.core.zmachine import View

RoomState: TypeAlias = tuple[int, frozenset[tuple[frozenset[int], ...]]]
"""A room and the kinds of objects in it. The kind of an object is its attributes, preceded by those of its holders."""
_MAX_OBJECTS = 200


@dataclass(slots=True)
class Light:
    """The known darkness of the rooms of a story."""

    prints_headings: bool = False
    """Whether a response to `look` had the name of the room as a heading."""
    _dark: dict[RoomState, bool] = field(default_factory=dict)
    _dark_headings: set[str] = field(default_factory=set)
    _other_headings: dict[str, int] = field(default_factory=dict)
    """Heading that is not the name of its room → the first room where it was printed."""

    def is_dark(self, state: RoomState) -> bool | None:
        """Return whether a room in this state is dark. None if unknown."""
        return self._dark.get(state)

    def record_description(self, state: RoomState, name: str, text: str, *, left_its_room: bool) -> None:
        """Record the darkness of a room in this state.

        Args:
            name: The name of the room as players see it. "" if unknown.
            text: The response to `look`. "" if there is none.
            left_its_room: Whether the location global contains another place than the room. Inform's library does this
                in the dark.
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
            # The heading may differ from the name of the object, but two such rooms don't have the same heading.
            dark = left_its_room or self._other_headings.setdefault(heading, room) != room
        else:
            dark = left_its_room or heading in self._dark_headings
        if dark:
            self._dark_headings.add(heading)
        self._dark[state] = dark


@lru_cache(maxsize=4)
def state_of(view: View, room: int, ignored: frozenset[int]) -> RoomState:
    """Return the state of a room that determines whether it is dark.

    Args:
        ignored: Attributes for the story's own use.
    """
    kinds: set[tuple[frozenset[int], ...]] = set()
    pending: list[tuple[int, tuple[frozenset[int], ...]]] = [(room, ())]
    for _ in range(_MAX_OBJECTS):
        if not pending:
            break
        number, holders = pending.pop()
        kind = (*holders, view.attributes(number) - ignored)
        kinds.add(kind)
        pending += ((child, kind) for child in view.children(number))
    return room, frozenset(kinds)


def _shares_a_word(heading: str, name: str) -> bool:
    words = {word.strip("(),").casefold() for word in heading.split()}
    return any(word.casefold() in words for word in name.split())

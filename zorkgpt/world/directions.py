"""The directions of interactive fiction, with one canonical name each."""

import re
from functools import lru_cache

from zorkgpt.text import normalized_action

OPPOSITE = {
    "north": "south",
    "south": "north",
    "east": "west",
    "west": "east",
    "northeast": "southwest",
    "southwest": "northeast",
    "northwest": "southeast",
    "southeast": "northwest",
    "up": "down",
    "down": "up",
    "in": "out",
    "out": "in",
}
DIRECTIONS = tuple(OPPOSITE)

_SHORT = {
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "ne": "northeast",
    "sw": "southwest",
    "nw": "northwest",
    "se": "southeast",
    "u": "up",
    "d": "down",
    "enter": "in",
    "inside": "in",
    "exit": "out",
    "leave": "out",
    "outside": "out",
}
# "up" and "in" occur in any sentence; in prose only compass directions indicate an exit.
_COMPASS_WORD = re.compile(r"\b(?:(north|south)(?:-?(east|west))?|(east|west))\b", re.IGNORECASE)
_GOING = ("go ", "walk ", "run ", "head ")


@lru_cache(maxsize=4096)
def canonical_direction(action: str) -> str | None:
    """Return the direction that an action goes: "go nw" → "northwest"; None if it is not just a direction."""
    words = normalized_action(action)
    for verb in _GOING:
        words = words.removeprefix(verb)
    words = _SHORT.get(words, words)
    return words if words in OPPOSITE else None


@lru_cache(maxsize=4096)
def exit_name(action: str) -> str:
    """Return the name of the exit that an action takes: its direction, or the action itself ("enter window")."""
    return canonical_direction(action) or normalized_action(action)


def directions_in(text: str) -> tuple[str, ...]:
    """Return the compass directions that a text names, each once: "a path leads north-east" → ("northeast",)."""
    found = ("".join(match.groups("")).lower() for match in _COMPASS_WORD.finditer(text))
    return tuple(dict.fromkeys(found))

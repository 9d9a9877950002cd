"""The keys of subjects (places, things and creatures, the game): how they are written, and their order."""

import json
import re
from collections.abc import Mapping
from typing import TypeGuard, overload

from zorkgpt.memory.models import GAME, PlaceKey, SubjectKey, Thing, WholeGame
from zorkgpt.text import quoted

LIMIT = 10**18
"""The absolute value of a place's number is below this."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_THING = re.compile(r"thing ([0-9]{1,18})")
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, what ends a line, and halves of surrogate pairs, which UTF-8 has no bytes for."""
_HIDDEN = re.compile(r"[^\S ]|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""What no editor shows, or shows as a space, or in another order than it is read."""
_IN_JSON = "subject"


def is_place(key: SubjectKey | None) -> TypeGuard[PlaceKey]:
    """Return whether a subject is a place, which can be visited."""
    return isinstance(key, (int, str))


@overload
def checked_place(key: PlaceKey) -> PlaceKey: ...
@overload
def checked_place(key: object) -> SubjectKey: ...
def checked_place(key: object) -> SubjectKey:
    """Return the key of a subject.

    Raises:
        TypeError: it is neither a whole number nor a text, nor a `Thing` with a whole number, nor `GAME`.
        ValueError: a number of more than 18 digits, a blank text, or one with control characters.
    """
    if isinstance(key, WholeGame):
        return key
    if isinstance(key, Thing):
        return _checked_thing(key)
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise TypeError(
            f"The place is {quoted(key)}, of the type {type(key).__name__}; it must be a whole number or a text, such "
            'as 5 or "https://shop/cart".'
        )
    if isinstance(key, int):
        if abs(key) >= LIMIT:
            raise ValueError(f"The place is {quoted(key)}; a number must have at most 18 digits. Give it as a text.")
        return int(key)
    if not key.strip():
        raise ValueError(f"The place is {key!r}; a text must not be blank.")
    if found := _UNWRITABLE.search(key):
        raise ValueError(
            f"The place is {quoted(key)}; it must not hold the control character {found[0]!r}. Leave it out."
        )
    return str.__str__(key)


def _checked_thing(thing: Thing) -> Thing:
    number = thing.number
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"The number of the thing is {quoted(number)}; it must be a whole number.")
    if not 0 <= number < LIMIT:
        raise ValueError(f"The number of the thing is {quoted(number)}; it must have at most 18 digits and no sign.")
    return thing


def place_order(key: SubjectKey) -> tuple[int, int, str]:
    """Return by what subjects are sorted: places by number, other places, things by number, the game."""
    if isinstance(key, str):
        return (1, 0, key)
    if isinstance(key, int):
        return (0, key, "")
    return (2, key.number, "") if isinstance(key, Thing) else (3, 0, "")


def render_place(key: SubjectKey) -> str:
    """Return a key as it stands in a file.

    `5`, or `"https://shop/cart"`, a string of JSON, are places. `thing 181` is a thing, and `game` the game.
    """
    if not isinstance(key, str):
        return str(key)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(key, ensure_ascii=False))


def place_label(key: SubjectKey, name: str = "") -> str:
    """Return a subject as people read it: `Kitchen (79)`. The number tells places of the same name apart."""
    return f"{name} ({key})" if name else str(key)


def place_in_words(key: SubjectKey) -> str:
    """Return a subject for a message: `location 5`, `thing 181`, `the game`."""
    if is_place(key):
        return f"location {render_place(key)}"
    return "the game" if key is GAME else str(key)


def parse_place(text: str) -> SubjectKey:
    """Parse what `render_place` has written.

    Raises:
        ValueError: it is no key of a subject.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if text == str(GAME):
        return GAME
    if found := _THING.fullmatch(text):
        return Thing(int(found[1]))
    try:
        key = json.loads(text)
    except RecursionError:
        raise ValueError("The place is nested too deeply to be a key.") from None
    if not isinstance(key, str):
        raise ValueError(f"{text} is neither a whole number nor a string in quotation marks.")
    return checked_place(key)


def place_to_json(key: SubjectKey) -> int | str | dict[str, str]:
    """Return a key as a plain value: a place as it is, another subject as `{"subject": "thing 181"}`."""
    return key if is_place(key) else {_IN_JSON: render_place(key)}


def place_from_json(value: object) -> SubjectKey:
    """Return the key that `place_to_json` has written.

    Raises:
        TypeError, ValueError: it is none.
    """
    if not isinstance(value, Mapping):
        return checked_place(value)
    written = value.get(_IN_JSON)
    key = parse_place(written) if isinstance(written, str) else None
    if key is None or is_place(key):
        raise ValueError(f"The subject is {quoted(value)}; it must be such as {{'subject': 'thing 181'}}.")
    return key

"""The keys of places: whole numbers and texts, how they are written, and in which order they stand."""

import json
import re

from zorkgpt.memory.models import PlaceKey
from zorkgpt.text import quoted

LIMIT = 10**18
"""The absolute value of a place's number is below this."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, what ends a line, and halves of surrogate pairs, which UTF-8 has no bytes for."""
_HIDDEN = re.compile(r"[^\S ]|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""What no editor shows, or shows as a space, or in another order than it is read."""


def checked_place(key: object) -> PlaceKey:
    """Return the key of a place.

    Raises:
        TypeError: it is neither a whole number nor a text.
        ValueError: a number of more than 18 digits, a blank text, or one with control characters.
    """
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


def place_order(key: PlaceKey) -> tuple[bool, int, str]:
    """Return by what places are sorted: numbers first, ascending, then texts."""
    return (True, 0, key) if isinstance(key, str) else (False, key, "")


def render_place(key: PlaceKey) -> str:
    """Return a key as it stands in a file: `5`, or `"https://shop/cart"`, a string of JSON."""
    if not isinstance(key, str):
        return str(key)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(key, ensure_ascii=False))


def place_label(key: PlaceKey, name: str = "") -> str:
    """Return a place as people read it: `Kitchen (79)`. The number tells places of the same name apart."""
    return f"{name} ({key})" if name else str(key)


def parse_place(text: str) -> PlaceKey:
    """Parse what `render_place` has written.

    Raises:
        ValueError: it is no key of a place.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        key = json.loads(text)
    except RecursionError:
        raise ValueError("The place is nested too deeply to be a key.") from None
    if not isinstance(key, str):
        raise ValueError(f"{text} is neither a whole number nor a string in quotation marks.")
    return checked_place(key)

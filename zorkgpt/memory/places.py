"""The keys of subjects (places, things and creatures, the game): how they are written, and their order.

They are sorted as they are written in a column of a database.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeGuard, overload

from zorkgpt.bounded import ADDRESS, parse_json
from zorkgpt.memory.models import GAME, PlaceKey, SubjectKey, Thing, WholeGame
from zorkgpt.text import quoted

LIMIT = 10**18
"""The absolute value of a place's number is below this."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_THING = re.compile(r"thing ([0-9]{1,18})")
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line separators, and unpaired surrogates, which UTF-8 can't encode."""
_HIDDEN = re.compile(r"[^\S ]|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Invisible characters, unusual spaces, and marks that change the text direction."""
_IN_JSON = "subject"
_WHOLE_GAME = frozenset(subject.value for subject in WholeGame)
UNSEARCHED = tuple(subject for subject in WholeGame if subject is not GAME)
"""The subjects whose memories searches don't find, and `Memories.md` doesn't show."""
_NUMBER_COLUMN, _TEXT_COLUMN, _PATH_COLUMN, _THING_COLUMN, _GAME_COLUMN = "01234"
UNSEARCHED_COLUMN = "9"
"""The beginning of the columns of subjects that are not searched. Greater than those of all others."""
_BETWEEN, _AFTER = "\x01", "\x02"
"""Places have no control characters, so these sort before everything that can follow an element of a path."""
FOLLOWING = _BETWEEN
"""A column with this suffix sorts directly after the column itself."""
_LAST = "\U0010ffff"


def is_place(key: SubjectKey | None) -> TypeGuard[PlaceKey]:
    """Return whether a subject is a place, which can be visited."""
    return isinstance(key, (int, str, tuple))


def path_of(place: PlaceKey) -> tuple[int | str, ...]:
    """Return the elements of a place. A number or a string is its own only element."""
    return place if isinstance(place, tuple) else (place,)


def is_text_of_place(text: str) -> bool:
    """Return whether a string can be a place, or an element of one."""
    return bool(text.strip()) and _UNWRITABLE.search(text) is None


@overload
def checked_place(key: PlaceKey) -> PlaceKey: ...
@overload
def checked_place(key: object) -> SubjectKey: ...
def checked_place(key: object) -> SubjectKey:
    """Return the key of a subject. A path of one element becomes this element.

    Raises:
        TypeError: If it is not an integer, a string, a tuple of these, a `Thing` or `GAME`.
        ValueError: If a number has more than 18 digits, a string is blank or has control characters, or a tuple is
            empty.
    """
    if isinstance(key, WholeGame):
        return key
    if isinstance(key, Thing):
        return _checked_thing(key)
    if not isinstance(key, tuple):
        return _checked_element(key)
    if not key:
        raise ValueError('The place is (), an empty path; it needs an element, such as ("acme", "user-7").')
    path = tuple(_checked_element(each, key) for each in key)
    return path if len(path) > 1 else path[0]


def _checked_element(key: object, path: tuple[object, ...] | None = None) -> int | str:
    """Return a place that is not a path, or an element of this path."""
    if isinstance(key, bool) or not isinstance(key, (int, str)):
        raise TypeError(
            f"{_described(key, path)}, of the type {type(key).__name__}; it must be an integer or a string, such as "
            '5 or "https://shop/cart"' + ("." if path else ', or a path of these, such as ("acme", "user-7").')
        )
    if isinstance(key, int):
        if abs(key) >= LIMIT:
            raise ValueError(f"{_described(key, path)}; a number must have at most 18 digits. Give it as a string.")
        return int(key)
    if not key.strip():
        raise ValueError(f"{_described(key, path)}; a string must not be blank.")
    if match := _UNWRITABLE.search(key):
        raise ValueError(f"{_described(key, path)}; it has the control character {match[0]!r}. Remove it.")
    return str.__str__(key)


def _described(key: object, path: tuple[object, ...] | None) -> str:
    return f"The place {quoted(path)} has the element {quoted(key)}" if path else f"The place is {quoted(key)}"


def _checked_thing(thing: Thing) -> Thing:
    number = thing.number
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"The number of the thing is {quoted(number)}; it must be an integer.")
    if not 0 <= number < LIMIT:
        raise ValueError(f"The number of the thing is {quoted(number)}; it must have at most 18 digits and no sign.")
    return thing


def has_prefix(key: SubjectKey, prefix: str | tuple[int | str, ...]) -> bool:
    """Return whether a place begins with a string, or with these elements of a path."""
    if isinstance(prefix, str):
        return isinstance(key, str) and key.startswith(prefix)
    return is_place(key) and path_of(key)[: len(prefix)] == prefix


def checked_prefix(prefix: object) -> str | tuple[int | str, ...]:
    """Return a prefix of places.

    Raises:
        TypeError, ValueError: If it is neither a string nor a tuple that is a valid place.
    """
    if isinstance(prefix, str):
        return prefix
    if not isinstance(prefix, tuple):
        raise TypeError(
            f"The prefix is {quoted(prefix)}, of the type {type(prefix).__name__}; it must be a string, such as "
            '"https://shop/", or a tuple, such as ("acme", "user-7").'
        )
    return path_of(checked_place(prefix))


def render_place(key: SubjectKey) -> str:
    """Return a key in the format of files.

    Places are written like `5`, `"https://shop/cart"` or `["acme", 7]`, a thing like `thing 181`, and the game as
    `game`.
    """
    if not isinstance(key, (str, tuple)):
        return str(key)
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(key, ensure_ascii=False))


def place_text(key: SubjectKey) -> str:
    """Return a key for display: like `render_place`, but strings have no quotation marks."""
    return render_place(key) if isinstance(key, tuple) else str(key)


def place_label(key: SubjectKey, name: str = "") -> str:
    """Return a subject for display, such as `Kitchen (79)`. The number distinguishes places with the same name."""
    return f"{name} ({place_text(key)})" if name else place_text(key)


def place_in_words(key: SubjectKey) -> str:
    """Return a subject for a message: `location 5`, `thing 181`, `the game`."""
    if is_place(key):
        return f"location {render_place(key)}"
    return "the game" if key is GAME else str(key)


def parse_place(text: str) -> SubjectKey:
    """Parse the format of `render_place`.

    Raises:
        ValueError: If the text is not the key of a subject.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if (subject := _other_subject(text)) is not None:
        return subject
    try:
        return place_from_json(_loaded(text))
    except TypeError as error:
        raise ValueError(str(error)) from None


def _other_subject(text: str) -> Thing | WholeGame | None:
    if text in _WHOLE_GAME:
        return WholeGame(text)
    match = _THING.fullmatch(text)
    return None if match is None else Thing(int(match[1]))


def _loaded(text: str) -> str | list[object]:
    value = parse_json(text, ADDRESS)
    if not isinstance(value, (str, list)):
        raise ValueError(f"{quoted(text)} is not an integer, a JSON string or a JSON array.")
    return value


def place_to_json(key: SubjectKey) -> int | str | list[int | str] | dict[str, str]:
    """Return a key as a JSON value: a path as a list, other places unchanged, and `{"subject": "thing 181"}`."""
    if isinstance(key, tuple):
        return list(key)
    return key if isinstance(key, (int, str)) else {_IN_JSON: render_place(key)}


def place_from_json(value: object) -> SubjectKey:
    """Return the key from the value of `place_to_json`.

    Raises:
        TypeError, ValueError: If the value is not a key.
    """
    if not isinstance(value, Mapping):
        given: object = tuple(value) if isinstance(value, list) else value
        return checked_place(given)
    written = value.get(_IN_JSON)
    key = _other_subject(written) if isinstance(written, str) else None
    if key is None:
        raise ValueError(
            f"The subject is {quoted(value)}; it must be {{'subject': 'game'}}, or such as {{'subject': 'thing 181'}}."
        )
    return key


def saved_place(value: object) -> PlaceKey:
    """Return the place from the value in a snapshot.

    Raises:
        TypeError, ValueError: If the value is not a place.
    """
    key = place_from_json(value)
    if not is_place(key):
        raise TypeError(f"The place is {quoted(value)}; it must not be another subject.")
    return key


@lru_cache(maxsize=4096)
def column_of(place: SubjectKey) -> str:
    """Return a subject as it is written in a column.

    These texts are in the order of their subjects, also bytewise: places by number, by text and by path, things by
    number, the game.
    """
    if isinstance(place, tuple):
        return _PATH_COLUMN + _BETWEEN.join(map(_element_column, place))
    if isinstance(place, str):
        return _TEXT_COLUMN + place
    if isinstance(place, int):
        return _NUMBER_COLUMN + _digits(place)
    if isinstance(place, Thing):
        return _THING_COLUMN + _digits(place.number)
    return _GAME_COLUMN if place is GAME else UNSEARCHED_COLUMN + place.value


place_order = column_of
"""By what subjects are sorted."""


def place_in(column: str) -> SubjectKey:
    """Return the subject that `column_of` has written."""
    kind, rest = column[0], column[1:]
    if kind == _TEXT_COLUMN:
        return rest
    if kind == _NUMBER_COLUMN:
        return int(rest) - LIMIT
    if kind == _THING_COLUMN:
        return Thing(int(rest) - LIMIT)
    if kind == _PATH_COLUMN:
        return tuple(each[1:] if each[0] == _TEXT_COLUMN else int(each[1:]) - LIMIT for each in rest.split(_BETWEEN))
    return GAME if kind == _GAME_COLUMN else WholeGame(rest)


def ranges_of(prefix: str | tuple[int | str, ...]) -> list[tuple[str, str]]:
    """Return the ranges of columns of places that begin with a string, or with these elements of a path, in order.

    Each is the first column, and the one before which it ends.
    """
    if isinstance(prefix, str):
        return [(_TEXT_COLUMN + prefix, _TEXT_COLUMN + prefix + _LAST)]
    if not prefix:
        return [(_NUMBER_COLUMN, _THING_COLUMN)]
    path = _PATH_COLUMN + _BETWEEN.join(map(_element_column, prefix))
    paths = (path, path + _AFTER)
    if len(prefix) > 1:
        return [paths]
    alone = column_of(prefix[0])
    return [(alone, alone + _BETWEEN), paths]


def _element_column(element: int | str) -> str:
    return _TEXT_COLUMN + element if isinstance(element, str) else _NUMBER_COLUMN + _digits(element)


def _digits(number: int) -> str:
    return f"{number + LIMIT:019d}"

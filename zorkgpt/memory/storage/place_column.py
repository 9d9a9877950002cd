"""How subjects are written in a column of a database: texts that are, bytewise, in the order of `place_order`."""

from functools import lru_cache

from zorkgpt.memory.models import GAME, SubjectKey, Thing
from zorkgpt.memory.places import LIMIT

_NUMBER, _TEXT, _PATH, _THING, _GAME = "01234"
_BETWEEN, _AFTER = "\x01", "\x02"
"""No place holds a control character, so these are before everything that can follow an element of a path."""
FOLLOWING = _BETWEEN
"""With it, a column is the next one after itself."""
_LAST = "\U0010ffff"


@lru_cache(maxsize=4096)
def column_of(place: SubjectKey) -> str:
    """Return a subject as it is written in a column."""
    if isinstance(place, tuple):
        return _PATH + _BETWEEN.join(map(_element, place))
    if isinstance(place, str):
        return _TEXT + place
    if isinstance(place, int):
        return _NUMBER + _digits(place)
    return _THING + _digits(place.number) if isinstance(place, Thing) else _GAME


def place_in(column: str) -> SubjectKey:
    """Return the subject that `column_of` has written."""
    kind, rest = column[0], column[1:]
    if kind == _TEXT:
        return rest
    if kind == _NUMBER:
        return int(rest) - LIMIT
    if kind == _THING:
        return Thing(int(rest) - LIMIT)
    if kind == _PATH:
        return tuple(each[1:] if each[0] == _TEXT else int(each[1:]) - LIMIT for each in rest.split(_BETWEEN))
    return GAME


def ranges_of(prefix: str | tuple[int | str, ...]) -> list[tuple[str, str]]:
    """Return the ranges of columns of places that begin with a string, or with these elements of a path, in order.

    Each is the first column, and the one before which it ends.
    """
    if isinstance(prefix, str):
        return [(_TEXT + prefix, _TEXT + prefix + _LAST)]
    if not prefix:
        return [(_NUMBER, _THING)]
    path = _PATH + _BETWEEN.join(map(_element, prefix))
    paths = (path, path + _AFTER)
    if len(prefix) > 1:
        return [paths]
    alone = column_of(prefix[0])
    return [(alone, alone + _BETWEEN), paths]


def _element(element: int | str) -> str:
    return _TEXT + element if isinstance(element, str) else _NUMBER + _digits(element)


def _digits(number: int) -> str:
    return f"{number + LIMIT:019d}"

"""Remembers what a function gave for the same object."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_One, _Form = TypeVar("_One"), TypeVar("_Form")

MOST = 2000


def once(form: Callable[[_One], _Form]) -> Callable[[_One], _Form]:
    """Ask only once for each object, which never changes; equal ones are asked for anew, as comparing takes longer.

    What is given is shared by all who ask, so they must not change it.
    """
    known: dict[int, tuple[_One, _Form]] = {}

    @wraps(form)
    def remembered(one: _One) -> _Form:
        # With the object kept beside it, its id can't become another's.
        found = known.get(id(one))
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[id(one)] = one, form(one)
        return found[1]

    return remembered

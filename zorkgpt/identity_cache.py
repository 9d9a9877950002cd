"""A cache of what a function returned for an object, by the identity of the object."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

MAX_ENTRIES = 2000


def cached_by_identity(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Call the function only once for each object, which must never change.

    Equal objects are distinct, as comparing takes longer than calling. The result is shared by all callers, so they
    must not change it.
    """
    cache: dict[int, tuple[Argument, Result]] = {}

    @wraps(function)
    def cached(argument: Argument) -> Result:
        # With the object kept beside its result, its id can't become another's.
        found = cache.get(id(argument))
        if found is None:
            if len(cache) >= MAX_ENTRIES:
                cache.clear()
            found = cache[id(argument)] = argument, function(argument)
        return found[1]

    return cached

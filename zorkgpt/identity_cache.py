"""A cache of function results by the identity of the argument."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

MAX_ENTRIES = 2000


def cached_by_identity(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Cache the results of a function by the identity of its argument.

    Arguments and results must never change. Arguments are not compared by value, because that takes longer than
    calling the function.
    """
    cache: dict[int, tuple[Argument, Result]] = {}

    @wraps(function)
    def cached(argument: Argument) -> Result:
        entry = cache.get(id(argument))
        if entry is None:
            if len(cache) >= MAX_ENTRIES:
                cache.clear()
            # The argument is stored too, so that its id is not reused.
            entry = cache[id(argument)] = argument, function(argument)
        return entry[1]

    return cached

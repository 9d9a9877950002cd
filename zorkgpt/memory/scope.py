"""The scope of a memory object: a path to which all of its places are relative."""

from dataclasses import dataclass
from typing import overload

from zorkgpt.bounded import ADDRESS, parse_json
from zorkgpt.errors import ConfigurationError, MemoryStoreError
from zorkgpt.memory.models import GAME, PlaceKey, SubjectKey
from zorkgpt.memory.places import checked_place, has_prefix, is_place, path_of, place_in_words
from zorkgpt.text import quoted


@dataclass(frozen=True, slots=True)
class PlaceScope:
    """The prefix of all places of a memory object."""

    path: tuple[int | str, ...] = ()
    """() for the whole memory."""

    @property
    def whole(self) -> SubjectKey:
        """The stored key for facts that are true everywhere in the scope."""
        return checked_place(self.path) if self.path else GAME

    def contains(self, place: SubjectKey | None) -> bool:
        """Return whether a stored key belongs to the scope. None is the key of text outside any place."""
        return not self.path or (place is not None and has_prefix(place, self.path))

    def check(self, place: SubjectKey) -> None:
        """Raise MemoryStoreError unless a stored key belongs to the scope."""
        if not self.contains(place):
            raise MemoryStoreError(f"{place_in_words(place)} is outside the scope {self.path}. Nothing was changed.")

    def above(self, place: SubjectKey) -> list[SubjectKey]:
        """Return the places of the scope that contain a stored key, the widest first."""
        path = path_of(place) if is_place(place) else ()
        return [checked_place(path[:length]) for length in range(len(self.path) + 1, len(path))]

    @overload
    def absolute(self, place: PlaceKey) -> PlaceKey: ...
    @overload
    def absolute(self, place: SubjectKey) -> SubjectKey: ...
    def absolute(self, place: SubjectKey) -> SubjectKey:
        """Return the key under which a place of the scope is stored.

        Raises:
            TypeError: If it is a `Thing` and the scope is not the whole memory.
        """
        if not self.path:
            return place
        if place is GAME:
            return self.whole
        if not is_place(place):
            raise TypeError(
                f"{place_in_words(place)} can't be a subject in the scope {self.path}. Use a place, such as "
                f'("thing", {getattr(place, "number", 181)}).'
            )
        return (*self.path, *path_of(place))

    def relative(self, place: SubjectKey) -> SubjectKey:
        """Return a stored key relative to the scope."""
        if not self.path or not is_place(place):
            return place
        rest = path_of(place)[len(self.path) :]
        return checked_place(rest) if rest else GAME


EVERYWHERE = PlaceScope()
"""The scope of a memory that was opened without one."""


def parse_scope(text: str) -> tuple[int | str, ...]:
    """Return the path from a JSON array.

    Raises:
        ConfigurationError: If the text is not a valid path.
    """
    try:
        path = parse_json(text, ADDRESS)
        return checked_scope(tuple(path) if isinstance(path, list) else path).path
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"The scope is {quoted(text)}; it must be a JSON array of strings and integers, such as "
            '\'["acme", "user-7"]\'.'
        ) from None


def checked_scope(scope: object) -> PlaceScope:
    """Return a scope.

    Raises:
        TypeError, ValueError: If it is not a tuple that is a valid place, or is empty.
    """
    if not isinstance(scope, tuple):
        raise TypeError(
            f"The scope is {quoted(scope)}, of the type {type(scope).__name__}; it must be a tuple, such as "
            '("acme", "user-7").'
        )
    if not scope:
        raise ValueError('The scope is (), which is empty; it needs an element, such as ("acme", "user-7").')
    return PlaceScope(path_of(checked_place(scope)))

"""The doors of a map: the openable things that an exit depends on, inferred from its successes and failures."""

from collections.abc import Iterator
from enum import StrEnum


class DoorSign(StrEnum):
    """Evidence about a way and a thing that is open or closed."""

    WALKED_OPEN = "walked open"
    """The way was walked while the thing was open."""
    WALKED_CLOSED = "walked closed"
    """The way was walked while the thing was closed, so it does not depend on it."""
    FAILED_CLOSED = "failed closed"
    """The way led nowhere while the thing was closed."""
    BETWEEN = "between"
    """The thing was visible or carried on both sides of a walk."""


class Doors:
    """The evidence about the doors of a map, and the doors that are closed now."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        """Object number → name, for all things with evidence."""
        self.closed: frozenset[int] = frozenset()
        """The doors that are closed now. Not saved, because an episode resets them."""
        self._signs: dict[tuple[int, str], dict[int, set[DoorSign]]] = {}

    def add(self, room_id: int, way: str, number: int, name: str, sign: DoorSign) -> bool:
        """Add evidence and return whether it is new."""
        signs = self._signs.setdefault((room_id, way), {}).setdefault(number, set())
        if sign in signs:
            return False
        signs.add(sign)
        self.names[number] = name
        return True

    def on(self, room_id: int, way: str) -> frozenset[int]:
        """Return the numbers of the doors that a way depends on."""
        return frozenset(number for number, signs in self._signs.get((room_id, way), {}).items() if _is_door(signs))

    def refuted(self, room_id: int, way: str) -> frozenset[int]:
        """Return the numbers of the things that were closed when the way was walked."""
        return self._with_sign(room_id, way, DoorSign.WALKED_CLOSED)

    def closed_at_failure(self, room_id: int, way: str) -> frozenset[int]:
        """Return the numbers of the things that were closed when the way led nowhere."""
        return self._with_sign(room_id, way, DoorSign.FAILED_CLOSED)

    def _with_sign(self, room_id: int, way: str, sign: DoorSign) -> frozenset[int]:
        return frozenset(number for number, signs in self._signs.get((room_id, way), {}).items() if sign in signs)

    def rooms(self) -> set[int]:
        """Return the rooms with evidence about any of their ways."""
        return {room for room, _ in self._signs}

    def evidence(self) -> Iterator[tuple[int, str, int, str, DoorSign]]:
        """Yield all evidence as (room, way, object number, object name, sign)."""
        for (room, way), things in self._signs.items():
            for number, signs in things.items():
                yield from ((room, way, number, self.names[number], sign) for sign in sorted(signs))


def _is_door(signs: set[DoorSign]) -> bool:
    opens = DoorSign.WALKED_OPEN in signs and DoorSign.WALKED_CLOSED not in signs
    return opens and bool(signs & {DoorSign.FAILED_CLOSED, DoorSign.BETWEEN})

"""The doors of a map: the openable things that an exit depends on, inferred from its successes and failures."""

from collections.abc import Collection, Iterator
from enum import StrEnum

from zorkgpt.directions import OPPOSITE
from zorkgpt.world.connections import Connections


class DoorSign(StrEnum):
    """Evidence about an exit and a thing that is open or closed."""

    WALKED_OPEN = "walked open"
    """The exit was walked while the thing was open."""
    WALKED_CLOSED = "walked closed"
    """The exit was walked while the thing was closed, so it does not depend on it."""
    FAILED_CLOSED = "failed closed"
    """The exit led nowhere while the thing was closed."""
    BETWEEN = "between"
    """The thing was visible or carried on both sides of a walk."""


class Doors:
    """The evidence about the doors of a map, and the doors that are closed now.

    Args:
        connections: The connections of the map. A walk in the opposite direction is evidence too.
        changed: A set to which the rooms are added whose exits may be affected by a change.
    """

    def __init__(self, connections: Connections, changed: set[int]) -> None:
        self.names: dict[int, str] = {}
        """Object number → name, for all things with evidence."""
        self._closed: frozenset[int] = frozenset()
        """The doors that are closed now. Not saved, because an episode resets them."""
        self._signs: dict[tuple[int, str], dict[int, set[DoorSign]]] = {}
        self._connections, self._changed = connections, changed

    def add(self, room_id: int, exit_: str, number: int, name: str, sign: DoorSign) -> None:
        """Add evidence that an exit may depend on a thing that is open or closed."""
        signs = self._signs.setdefault((room_id, exit_), {}).setdefault(number, set())
        if sign not in signs:
            signs.add(sign)
            self.names[number] = name
            self._changed |= self._connections.neighbors(room_id, exit_)

    def set_closed(self, closed: Collection[int]) -> None:
        """Record which of the doors are closed now."""
        if self._closed != frozenset(closed):
            self._closed = frozenset(closed)
            for room_id in {room for room, _ in self._signs}:
                self._changed.add(room_id)
                self._changed.update(*(connection.ends for connection in self._connections.of(room_id).values()))

    def on(self, room_id: int, exit_: str) -> frozenset[int]:
        """Return the numbers of the doors that an exit depends on, by its own walks or those of its opposite."""
        opposite = self._on_opposite(room_id, exit_) - self._with_sign(room_id, exit_, DoorSign.WALKED_CLOSED)
        return self._on_exit(room_id, exit_) | opposite

    def closed_on(self, room_id: int, exit_: str) -> str:
        """Return the name of a door that is closed now and that an exit depends on; "" if there is none."""
        return next((self.names[door] for door in sorted(self.on(room_id, exit_) & self._closed)), "")

    def was_opened(self, room_id: int, exit_: str) -> bool:
        """Return whether a door was closed when an exit failed, and is open now."""
        shut_then = self.on(room_id, exit_) & self._with_sign(room_id, exit_, DoorSign.FAILED_CLOSED)
        return bool(shut_then) and not shut_then & self._closed

    def _on_exit(self, room_id: int, exit_: str) -> frozenset[int]:
        return frozenset(number for number, signs in self._signs.get((room_id, exit_), {}).items() if _is_door(signs))

    def _on_opposite(self, room_id: int, exit_: str) -> frozenset[int]:
        """Return the doors of the walks that ended here in the opposite direction, from where this exit leads."""
        back, connection = OPPOSITE.get(exit_), self._connections.of(room_id).get(exit_)
        opposite = (
            self._on_exit(from_id, name)
            for from_id, name, _ in self._connections.entrances(room_id)
            if name == back and (connection is None or connection.leads_to == from_id)
        )
        return frozenset().union(*opposite)

    def _with_sign(self, room_id: int, exit_: str, sign: DoorSign) -> frozenset[int]:
        return frozenset(number for number, signs in self._signs.get((room_id, exit_), {}).items() if sign in signs)

    def evidence(self) -> Iterator[tuple[int, str, int, str, DoorSign]]:
        """Yield all evidence as (room, exit, object number, object name, sign)."""
        for (room, exit_), things in self._signs.items():
            for number, signs in things.items():
                yield from ((room, exit_, number, self.names[number], sign) for sign in sorted(signs))


def _is_door(signs: set[DoorSign]) -> bool:
    opens = DoorSign.WALKED_OPEN in signs and DoorSign.WALKED_CLOSED not in signs
    return opens and bool(signs & {DoorSign.FAILED_CLOSED, DoorSign.BETWEEN})

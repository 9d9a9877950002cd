"""The exits of a map that were walked, and where they lead."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from zorkgpt.directions import exit_name
from zorkgpt.world.movement import MoveKind

# Confidence rises after a few walks and falls quickly: (walks + 1) / (tries + 2), Laplace's rule of succession.
_PRIOR_WALKS, _PRIOR_TRIES = 1, 2
UNPROVEN_CONFIDENCE = _PRIOR_WALKS / _PRIOR_TRIES
"""The confidence of an exit that was never tried."""


@dataclass(slots=True)
class Connection:
    """An exit that was walked, with the rooms where it ended: several if chance decides."""

    ends: dict[int, int] = field(default_factory=dict)
    """Room → the number of walks that ended there, the latest last."""
    failures: int = 0
    """The number of tries that led nowhere."""
    kind: MoveKind = MoveKind.WALKED

    def walk(self, to_id: int, kind: MoveKind) -> None:
        self.ends[to_id] = self.ends.pop(to_id, 0) + 1
        # An exit that was once walked needs no vehicle, even if it was used in one at other times.
        if kind is MoveKind.WALKED or len(self.ends) == 1 == self.ends[to_id]:
            self.kind = kind

    @property
    def leads_to(self) -> int:
        """The room where it ended most often; the latest if there are several."""
        if len(self.ends) == 1:
            (room,) = self.ends
            return room
        return max(reversed(self.ends), key=self.ends.__getitem__)

    @property
    def walks(self) -> int:
        """The number of walks that ended at `leads_to`."""
        return self.ends[self.leads_to]

    @property
    def contradictions(self) -> int:
        """The number of tries that ended elsewhere or nowhere."""
        return sum(self.ends.values()) - self.walks + self.failures

    @property
    def confidence(self) -> float:
        return (self.walks + _PRIOR_WALKS) / (self.walks + self.contradictions + _PRIOR_TRIES)

    @property
    def shares(self) -> dict[int, float]:
        """Room → share of the walks that ended there; they sum to 1."""
        walks = sum(self.ends.values())
        return {room: count / walks for room, count in sorted(self.ends.items())}


class Connections:
    """The connections of a map, by room and exit.

    Args:
        changed: A set to which the rooms are added whose exits may be affected by a change.
    """

    def __init__(self, changed: set[int]) -> None:
        self._changed = changed
        self._by_room: dict[int, dict[str, Connection]] = {}
        self._entrances: dict[int, set[tuple[int, str]]] = {}
        """Room → the (room, exit) pairs of the connections that have ended there."""

    def __iter__(self) -> Iterator[tuple[int, str, Connection]]:
        """Yield every connection as (room, exit, connection)."""
        for room, connections in self._by_room.items():
            yield from ((room, name, connection) for name, connection in connections.items())

    def of(self, room_id: int) -> dict[str, Connection]:
        """Return exit → connection, for the exits of a room that were walked."""
        return self._by_room.get(room_id, {})

    def get(self, room_id: int, direction: str) -> Connection | None:
        """Return the connection of an exit; None if it was never walked."""
        return self.of(room_id).get(exit_name(direction))

    def entrances(self, room_id: int) -> Iterator[tuple[int, str, Connection]]:
        """Yield the connections that have ended in a room as (room, exit, connection)."""
        for from_id, name in self._entrances.get(room_id, ()):
            yield from_id, name, self._by_room[from_id][name]

    def neighbors(self, room_id: int, exit_: str) -> set[int]:
        """Return the room and the ends of an exit: the rooms whose ways back may depend on it."""
        connection = self.of(room_id).get(exit_)
        return {room_id, *(connection.ends if connection else ())}

    def walk(self, room_id: int, exit_: str, to_id: int, kind: MoveKind) -> None:
        """Record a walk. It confirms or contradicts where the exit led before."""
        connection = self.of(room_id).get(exit_) or Connection()
        connection.walk(to_id, kind)
        self.add(room_id, exit_, connection)

    def add(self, room_id: int, exit_: str, connection: Connection) -> None:
        """Add a connection, or replace that of the same exit."""
        self._by_room.setdefault(room_id, {})[exit_] = connection
        self._changed |= self.neighbors(room_id, exit_)
        for end in connection.ends:
            self._entrances.setdefault(end, set()).add((room_id, exit_))

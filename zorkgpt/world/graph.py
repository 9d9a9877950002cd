"""The map: rooms by number, the connections between them, and other moves."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from zorkgpt.world.directions import DIRECTIONS, OPPOSITE, exit_name
from zorkgpt.world.doors import Doors, DoorSign
from zorkgpt.world.movement import WAYS, Move, MoveKind
from zorkgpt.world.routes import RoutePlanner
from zorkgpt.world.tries import Tries

# Confidence rises after a few walks and falls quickly: (walks + 1) / (tries + 2), Laplace's rule of succession.
_PRIOR_WALKS, _PRIOR_TRIES = 1, 2


def compass_order(name: str) -> tuple[int, str]:
    """Return a key that sorts exits: directions in their usual order, then actions."""
    return (DIRECTIONS.index(name) if name in DIRECTIONS else len(DIRECTIONS), name)


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


@dataclass
class Room:
    """A room that was seen; `exits` are those that were walked or that a text names."""

    id: int
    name: str
    exits: set[str] = field(default_factory=set)


class MapGraph:
    """Rooms keyed by object number, and one-way connections keyed by direction or by the action that takes them.

    The way back of a walk counts as walkable until it is tried: it may fail or lead elsewhere.

    Args:
        exit_failure_threshold: An exit is pruned after this many consecutive failures, until it works again.
            None disables pruning.
    """

    def __init__(self, *, exit_failure_threshold: int | None = 2) -> None:
        self.exit_failure_threshold = exit_failure_threshold
        self.planner = RoutePlanner(self)
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        self.rooms: dict[int, Room] = {}
        self.exit_failure_counts: dict[int, dict[str, int]] = {}
        """Room → exit → failures since it last worked."""
        self.moves: Counter[Move] = Counter()
        """How often each move occurred that is not a connection."""
        self.doors = Doors()
        self.tries = Tries()
        self.contains: dict[int, int] = {}
        """Episode → the last turn of it that this map includes."""
        self._changed: set[int] = set()
        """Rooms whose exits have changed since `take_changed` was last called."""
        self.planner.clear()
        self._connections: dict[int, dict[str, Connection]] = {}
        self._entrances: dict[int, set[tuple[int, str]]] = {}
        """Room → the (room, exit) pairs of the connections that have ended there."""

    # Changes

    def add_room(self, room_id: int, name: str) -> Room:
        room = self.rooms.setdefault(room_id, Room(room_id, name))
        room.name = name or room.name
        return room

    def add_exit(self, room_id: int, direction: str) -> None:
        """Add an exit that a text names and that was not walked."""
        self.add_room(room_id, "").exits.add(exit_name(direction))

    def add_move(self, move: Move) -> None:
        """Record that the player came to another room.

        A walk confirms or contradicts where its exit led before.
        """
        room, _ = self.add_room(move.from_id, ""), self.add_room(move.to_id, "")
        if move.kind in WAYS:
            name = exit_name(move.way)
            way = self._connections.setdefault(move.from_id, {}).setdefault(name, Connection())
            way.walk(move.to_id, MoveKind(move.kind))
            self.exit_failure_counts.get(move.from_id, {}).pop(name, None)
            room.exits.add(name)
            self._enter(move.from_id, name, way)
            return
        self.moves[move] += 1
        self._changed.add(move.from_id)
        if move.kind is MoveKind.DIED:
            self._changed.update(room for room, _ in self._entrances.get(move.from_id, ()))

    def add_failure(self, from_id: int, direction: str) -> int:
        """Record that an exit led nowhere. Return how often that happened since it last worked."""
        name = exit_name(direction)
        self.add_room(from_id, "")
        failures = self.exit_failure_counts.setdefault(from_id, {})
        failures[name] = failures.get(name, 0) + 1
        if way := self.ways(from_id).get(name):
            way.failures += 1
        self._changed.add(from_id)
        return failures[name]

    def has_failed(self, from_id: int, action: str) -> bool:
        """Return whether an exit led nowhere when it was last tried."""
        return exit_name(action) in self.exit_failure_counts.get(from_id, {})

    def reopen(self, room_id: int | None = None) -> None:
        """Open the connections again that were closed after they had been walked.

        Args:
            room_id: The room in which something has changed; None for all rooms, because the world starts over.
        """
        for room in [*self.exit_failure_counts] if room_id is None else [room_id]:
            for name in self.ways(room):
                if self.exit_failure_counts.get(room, {}).pop(name, None) is not None:
                    self._changed.add(room)

    def restore_connection(self, from_id: int, name: str, way: Connection) -> None:
        """Add a connection as it was saved."""
        self._connections.setdefault(from_id, {})[name] = way
        for room_id in (from_id, *way.ends):
            self.add_room(room_id, "")
        self.rooms[from_id].exits.add(name)
        self._enter(from_id, name, way)

    def add_door_sign(self, room_id: int, way: str, number: int, name: str, sign: DoorSign) -> None:
        """Add evidence that a way may depend on a thing that is open or closed."""
        if self.doors.add(room_id, way, number, name, sign):
            self._changed.update((room_id, *self._ends(room_id, way)))

    def set_closed_doors(self, closed: Collection[int]) -> None:
        """Record which of the doors are closed now."""
        if self.doors.closed != frozenset(closed):
            self.doors.closed = frozenset(closed)
            rooms = self.doors.rooms()
            self._changed |= rooms.union(*(self._ends(room, way) for room in rooms for way in self.ways(room)))

    def take_changed(self) -> set[int]:
        """Return the rooms whose exits have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # Queries

    def is_pruned(self, room_id: int, direction: str) -> bool:
        """Return whether an exit failed too often, and not because of a door that is open now."""
        name = exit_name(direction)
        failures = self.exit_failure_counts.get(room_id, {}).get(name, 0)
        threshold = self.exit_failure_threshold
        return threshold is not None and failures >= threshold and not self._was_opened(room_id, name)

    def all_connections(self) -> Iterator[tuple[int, str, Connection]]:
        """Yield every connection as (room, exit, connection)."""
        for room, ways in self._connections.items():
            yield from ((room, name, way) for name, way in ways.items())

    def ways(self, room_id: int) -> dict[str, Connection]:
        """Return exit → connection, for the exits of a room that were walked."""
        return self._connections.get(room_id, {})

    def connection(self, from_id: int, direction: str) -> Connection | None:
        """Return the connection of an exit; None if it was never walked."""
        return self.ways(from_id).get(exit_name(direction))

    def leads_to(self, from_id: int, direction: str) -> int | None:
        """Return where an exit, or else an action that transports, led most often, or a way back should lead.

        None if unknown.
        """
        if way := self.connection(from_id, direction):
            return way.leads_to
        name = exit_name(direction)
        return self.transports(from_id).get(name) or self.ways_back(from_id).get(name)

    def exits(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits of a room that were walked and are not pruned."""
        return {name: way.leads_to for name, way in self.ways(room_id).items() if not self.is_pruned(room_id, name)}

    def ways_back(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits that were never tried and are opposite to a walk that ended here.

        One that led nowhere counts again once the door that was closed then is open.
        """
        tried = {*self.ways(room_id), *self.other_ways(room_id, MoveKind.CARRIED, MoveKind.DIED)}
        found: dict[str, tuple[int, int]] = {}
        for from_id, name in self._entrances.get(room_id, ()):
            way, back = self._connections[from_id][name], OPPOSITE.get(name)
            if back is None or back in tried or from_id == room_id or way.leads_to != room_id:
                continue
            if way.kind is MoveKind.WALKED and (not self.has_failed(room_id, back) or self._was_opened(room_id, back)):
                # Of several walks, the one that was made most often.
                found[back] = max(found.get(back, (0, 0)), (way.walks, -from_id))
        return {back: -room for back, (_, room) in sorted(found.items())}

    def doors_on(self, room_id: int, way: str) -> frozenset[int]:
        """Return the numbers of the doors that a way depends on, by its own walks or those of its opposite."""
        return self.doors.on(room_id, way) | self._doors_of_opposite(room_id, way) - self.doors.refuted(room_id, way)

    def closed_door(self, room_id: int, way: str) -> str:
        """Return the name of a door that is closed now and that a way depends on; "" if there is none."""
        return next((self.doors.names[door] for door in sorted(self.doors_on(room_id, way) & self.doors.closed)), "")

    def label(self, room_id: int) -> str:
        """Return the name of a room, with its number if the map has several rooms of this name."""
        name = self.rooms[room_id].name if room_id in self.rooms else ""
        if not name:
            return f"location {room_id}"
        shared = any(room.name == name and room.id != room_id for room in self.rooms.values())
        return f"{name} (location {room_id})" if shared else name

    @property
    def deadly(self) -> set[tuple[int, str]]:
        """(room, action) of every death."""
        return {(move.from_id, move.way) for move in self.moves if move.kind is MoveKind.DIED}

    def untried(self, room_id: int) -> tuple[str, ...]:
        """Return the known exits of a room that were never tried and are no way back."""
        room = self.rooms.get(room_id)
        offered = set(room.exits) if room else set()
        tried = {*self.ways(room_id), *self.exit_failure_counts.get(room_id, {}), *self.ways_back(room_id)}
        return tuple(sorted(offered - tried - self.other_ways(room_id, MoveKind.CARRIED), key=compass_order))

    def frontiers(self) -> dict[int, tuple[str, ...]]:
        """Return room → its untried exits, for the rooms that have any."""
        found = ((room, self.untried(room)) for room in self.rooms)
        return {room: untried for room, untried in found if untried}

    def transports(self, from_id: int) -> dict[str, int]:
        """Return action → room, for the actions other than walking that moved the player from here."""
        moves = [move for move in self.moves if move.from_id == from_id and move.kind is MoveKind.TRANSPORTED]
        return {move.way: move.to_id for move in sorted(moves, key=self.moves.__getitem__)}

    def other_ways(self, room_id: int, *kinds: MoveKind) -> set[str]:
        """Return the actions in a room that led to moves of these kinds."""
        return {move.way for move in self.moves if move.from_id == room_id and move.kind in kinds}

    def _ends(self, room_id: int, way: str) -> tuple[int, ...]:
        """Return the rooms where a way ended, whose ways back may depend on it."""
        known = self.ways(room_id).get(way)
        return tuple(known.ends) if known else ()

    def _enter(self, from_id: int, name: str, way: Connection) -> None:
        for room in way.ends:
            self._entrances.setdefault(room, set()).add((from_id, name))
        self._changed.update((from_id, *way.ends))

    def _doors_of_opposite(self, room_id: int, way: str) -> frozenset[int]:
        """Return the doors of the walks that ended here in the opposite direction, from where this way leads."""
        back, known = OPPOSITE.get(way), self.ways(room_id).get(way)
        opposite = (
            from_id
            for from_id, name in self._entrances.get(room_id, ())
            if name == back and (known is None or known.leads_to == from_id)
        )
        return frozenset().union(*(self.doors.on(from_id, back) for from_id in opposite if back))

    def _was_opened(self, room_id: int, way: str) -> bool:
        """Return whether a door was closed when a way failed, and is open now."""
        shut_then = self.doors_on(room_id, way) & self.doors.closed_at_failure(room_id, way)
        return bool(shut_then) and not shut_then & self.doors.closed

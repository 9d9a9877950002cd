"""The map: rooms by number, the connections between them, and other moves."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from zorkgpt.world.connections import UNPROVEN_CONFIDENCE, Connections
from zorkgpt.world.directions import DIRECTIONS, OPPOSITE, exit_name
from zorkgpt.world.doors import Doors
from zorkgpt.world.movement import PLACE_KILLS, WAYS, Move, MoveKind
from zorkgpt.world.routes import DangerousSpot, PricedWay, RoutePlanner, Routes, RouteStep
from zorkgpt.world.tries import Tries

# An action that transports the player is preferred to a walk that is longer than this.
_TRANSPORT_COST = 3.0
_UNPROVEN_COST = 1 / UNPROVEN_CONFIDENCE
# A detour of this many steps is preferred to a known death.
_DEADLY_COST = 20.0
# A closed door is as uncertain as a way without any walk: it may be locked.
_CLOSED_DOOR_COST = _UNPROVEN_COST


def compass_order(name: str) -> tuple[int, str]:
    """Return a key that sorts exits: directions in their usual order, then actions."""
    return (DIRECTIONS.index(name) if name in DIRECTIONS else len(DIRECTIONS), name)


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
        self._planner = RoutePlanner()
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        self._changed: set[int] = set()
        """Rooms whose exits have changed since routes were last asked for."""
        self.rooms: dict[int, Room] = {}
        self.connections = Connections(self._changed)
        self.failures = Failures()
        self.moves = OtherMoves()
        self.doors = Doors(self.connections, self._changed)
        self.tries = Tries()
        self.learned_turns: dict[int, int] = {}
        """Episode → the last turn of it that this map includes."""
        self._planner.clear()

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
            self.connections.walk(room.id, name, move.to_id, MoveKind(move.kind))
            self.failures.forget(room.id, name)
            room.exits.add(name)
            return
        self.moves.add(move)
        self._changed.add(room.id)
        if move.kind is MoveKind.DIED:
            self._changed.update(from_id for from_id, _, _ in self.connections.entrances(room.id))

    def add_failure(self, from_id: int, direction: str) -> None:
        """Record that an exit led nowhere."""
        name = exit_name(direction)
        self.add_room(from_id, "")
        self.failures.add(from_id, name)
        if connection := self.connections.get(from_id, name):
            connection.failures += 1
        self._changed.add(from_id)

    def reopen(self, room_id: int | None = None) -> None:
        """Forget failures of exits that have worked before.

        Args:
            room_id: The room in which something has changed; None for all rooms, because the world starts over.
        """
        for room in self.rooms if room_id is None else [room_id]:
            for name in self.connections.of(room):
                if self.failures.forget(room, name):
                    self._changed.add(room)

    # Queries

    def has_failed(self, from_id: int, action: str) -> bool:
        """Return whether an exit led nowhere when it was last tried."""
        return exit_name(action) in self.failures.of(from_id)

    def is_pruned(self, room_id: int, direction: str) -> bool:
        """Return whether an exit failed too often, and not because of a door that is open now."""
        name, threshold = exit_name(direction), self.exit_failure_threshold
        failures = self.failures.of(room_id).get(name, 0)
        return threshold is not None and failures >= threshold and not self.doors.was_opened(room_id, name)

    def leads_to(self, from_id: int, direction: str) -> int | None:
        """Return where an exit, or else an action that transports, led most often, or a way back should lead.

        None if unknown.
        """
        if connection := self.connections.get(from_id, direction):
            return connection.leads_to
        name = exit_name(direction)
        return self.moves.transports(from_id).get(name) or self.ways_back(from_id).get(name)

    def exits(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits of a room that were walked and are not pruned."""
        connections = self.connections.of(room_id).items()
        return {name: each.leads_to for name, each in connections if not self.is_pruned(room_id, name)}

    def ways_back(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits that were never tried and are opposite to a walk that ended here.

        One that led nowhere counts again once the door that was closed then is open.
        """
        tried = {*self.connections.of(room_id), *self.moves.actions(room_id, MoveKind.CARRIED, MoveKind.DIED)}
        found: dict[str, tuple[int, int]] = {}
        for from_id, name, connection in self.connections.entrances(room_id):
            back = OPPOSITE.get(name)
            if back is None or back in tried or from_id == room_id or connection.leads_to != room_id:
                continue
            is_open = not self.has_failed(room_id, back) or self.doors.was_opened(room_id, back)
            if connection.kind is MoveKind.WALKED and is_open:
                # Of several walks, the one that was made most often.
                found[back] = max(found.get(back, (0, 0)), (connection.walks, -from_id))
        return {back: -room for back, (_, room) in sorted(found.items())}

    def route(self, from_id: int, to_id: int, *, dangers: Collection[DangerousSpot] = ()) -> list[str] | None:
        """Return the actions that lead to a room on the most reliable route; None if no route is known."""
        return self.routes(from_id, dangers=dangers).get(to_id)

    def routes(self, from_id: int, *, dangers: Collection[DangerousSpot] = ()) -> Routes:
        """Return every reachable room → the actions that lead there, nearest first; the room itself with none.

        The result must not be modified.

        Args:
            dangers: Rooms and (room, exit) pairs that routes must avoid.
        """
        for room in self._changed:
            self._planner.set_ways(room, self._priced_ways(room))
        self._changed.clear()
        return self._planner.routes(from_id, dangers)

    def steps(self, from_id: int, ways: Iterable[str]) -> tuple[RouteStep, ...]:
        """Return the steps of a route that `route` or `routes` returned."""
        steps: list[RouteStep] = []
        for way in ways:
            leads_to = self.leads_to(from_id, way)
            assert leads_to is not None
            proven = way in self.connections.of(from_id) or way in self.moves.transports(from_id)
            steps.append(RouteStep(way, leads_to, not proven, self.doors.closed_on(from_id, way)))
            from_id = leads_to
        return tuple(steps)

    def _priced_ways(self, room_id: int) -> Iterator[PricedWay]:
        """Yield the ways that routes may take from a room."""
        walked, transports = self.connections.of(room_id), self.moves.transports(room_id)
        ways = [(way, room, 1 / walked[way].confidence) for way, room in self.exits(room_id).items()]
        ways += [(way, room, _UNPROVEN_COST) for way, room in self.ways_back(room_id).items()]
        ways += [(way, room, _TRANSPORT_COST) for way, room in transports.items() if way not in walked]
        for way, room, cost in ways:
            if not self.moves.deadly.isdisjoint({(room_id, way), (room, PLACE_KILLS)}):
                cost += _DEADLY_COST
            if self.doors.closed_on(room_id, way):
                cost += _CLOSED_DOOR_COST
            yield PricedWay(way, room, cost)

    def label(self, room_id: int) -> str:
        """Return the name of a room, with its number if the map has several rooms of this name."""
        name = self.rooms[room_id].name if room_id in self.rooms else ""
        if not name:
            return f"location {room_id}"
        shared = any(room.name == name and room.id != room_id for room in self.rooms.values())
        return f"{name} (location {room_id})" if shared else name

    def untried(self, room_id: int) -> tuple[str, ...]:
        """Return the known exits of a room that were never tried and are no way back."""
        offered = self.rooms[room_id].exits if room_id in self.rooms else set()
        tried = {*self.connections.of(room_id), *self.failures.of(room_id), *self.ways_back(room_id)}
        return tuple(sorted(offered - tried - self.moves.actions(room_id, MoveKind.CARRIED), key=compass_order))

    def frontiers(self) -> dict[int, tuple[str, ...]]:
        """Return room → its untried exits, for the rooms that have any."""
        found = ((room, self.untried(room)) for room in self.rooms)
        return {room: untried for room, untried in found if untried}


class Failures:
    """The number of times that exits led nowhere since they last worked."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[str, int]] = {}

    def __iter__(self) -> Iterator[tuple[int, str, int]]:
        """Yield all as (room, exit, count)."""
        for room, counts in self._counts.items():
            yield from ((room, exit_, count) for exit_, count in counts.items())

    def of(self, room_id: int) -> Mapping[str, int]:
        """Return exit → count, for the exits of a room that led nowhere."""
        return self._counts.get(room_id, {})

    def add(self, room_id: int, exit_: str, times: int = 1) -> None:
        """Record that an exit led nowhere."""
        counts = self._counts.setdefault(room_id, {})
        counts[exit_] = counts.get(exit_, 0) + times

    def forget(self, room_id: int, exit_: str) -> bool:
        """Forget the failures of an exit. Return whether there were any."""
        return self._counts.get(room_id, {}).pop(exit_, None) is not None


class OtherMoves:
    """The moves that are not walks: transports, deaths, and being carried off."""

    def __init__(self) -> None:
        self.counts: Counter[Move] = Counter()
        """Each move that is not a connection → how often it occurred."""
        self.deadly: set[tuple[int, str]] = set()
        """(room, action) of every death."""
        self._by_room: dict[int, list[Move]] = {}

    def add(self, move: Move, times: int = 1) -> None:
        """Record a move."""
        if move not in self.counts:
            self._by_room.setdefault(move.from_id, []).append(move)
        self.counts[move] += times
        if move.kind is MoveKind.DIED:
            self.deadly.add((move.from_id, move.way))

    def actions(self, room_id: int, *kinds: MoveKind) -> set[str]:
        """Return the actions in a room that led to moves of these kinds."""
        return {move.way for move in self._by_room.get(room_id, ()) if move.kind in kinds}

    def transports(self, room_id: int) -> dict[str, int]:
        """Return action → room, for the actions that moved the player from here without walking."""
        moves = [move for move in self._by_room.get(room_id, ()) if move.kind is MoveKind.TRANSPORTED]
        return {move.way: move.to_id for move in sorted(moves, key=self.counts.__getitem__)}

    def carried_off(self, room_id: int) -> dict[str, set[int]]:
        """Return action → the rooms to which something carried the player off."""
        rooms: dict[str, set[int]] = {}
        for move in self._by_room.get(room_id, ()):
            if move.kind is MoveKind.CARRIED:
                rooms.setdefault(move.way, set()).add(move.to_id)
        return rooms

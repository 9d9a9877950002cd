"""The map: rooms by number, the connections between them, and other moves."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.directions import DIRECTIONS, OPPOSITE, exit_name
from zorkgpt.encoding import as_json
from zorkgpt.errors import MapFileError, reason_of
from zorkgpt.files import AtomicFile, write_file
from zorkgpt.world.connections import UNPROVEN_CONFIDENCE, Connection, Connections
from zorkgpt.world.doors import Doors, DoorSign
from zorkgpt.world.movement import PLACE_KILLS, WAYS, Move, MoveKind
from zorkgpt.world.routes import DangerousSpot, PricedWay, RoutePlanner, Routes, RouteStep

log = logging.getLogger("zorkgpt.world")

_VERSION = 2

# An action that transports the player is preferred to a walk that is longer than this.
_TRANSPORT_COST = 3.0
_UNPROVEN_COST = 1 / UNPROVEN_CONFIDENCE
# A detour of this many steps is preferred to a known death.
_DEADLY_COST = 20.0
# A closed door is as uncertain as a way without any walk: it may be locked.
_CLOSED_DOOR_COST = _UNPROVEN_COST
_MAX_EPISODES = 100
"""The most episodes whose progress is saved. An older one that is resumed is learned again."""


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
        self.failures: Counter[tuple[int, str]] = Counter()
        """(room, exit) → the number of times that the exit led nowhere since it last worked."""
        self.moves = OtherMoves()
        self.doors = Doors(self.connections, self._changed)
        self.learned_turns: dict[int, int] = {}
        """Episode → the last turn of it that this map includes."""
        self._planner.clear()

    # Changes

    def add_connection(self, from_id: int, direction: str, to_id: int) -> None:
        """Record a walk from one room to another. See `add_move`."""
        self.add_move(Move(from_id, direction, to_id))

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
            self.failures.pop((room.id, name), None)
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
        self.failures[from_id, name] += 1
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
                if self.failures.pop((room, name), None) is not None:
                    self._changed.add(room)

    # Queries

    def has_failed(self, from_id: int, action: str) -> bool:
        """Return whether an exit led nowhere when it was last tried."""
        return (from_id, exit_name(action)) in self.failures

    def is_pruned(self, room_id: int, direction: str) -> bool:
        """Return whether an exit failed too often, and not because of a door that is open now."""
        name, threshold = exit_name(direction), self.exit_failure_threshold
        failed = threshold is not None and self.failures[room_id, name] >= threshold
        return failed and not self.doors.was_opened(room_id, name)

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
        tried = {*self.connections.of(room_id), *self.ways_back(room_id)}
        tried |= self.moves.actions(room_id, MoveKind.CARRIED)
        return tuple(sorted((way for way in offered - tried if not self.has_failed(room_id, way)), key=compass_order))

    def frontiers(self) -> dict[int, tuple[str, ...]]:
        """Return room → its untried exits, for the rooms that have any."""
        found = ((room, self.untried(room)) for room in self.rooms)
        return {room: untried for room, untried in found if untried}

    # JSON

    def save_to_json(self, path: Path | str) -> None:
        """Write the map to a file, in the format of `map_state.json`.

        Raises:
            FileError: If it can't be written.
        """
        write_file(path, self.to_json(datetime.now(UTC)))

    @classmethod
    def load_from_json(cls, path: Path | str) -> "MapGraph | None":
        """Return the map in a file. None if the file is missing or damaged.

        Raises:
            FileError: If it can't be read.
            MapFileError: If a later version wrote it.
        """
        try:
            return read_map(Path(path))
        except DamagedMap as error:
            log.warning("the map file is damaged", extra={"path": str(path), "reason": str(error)})
            return None

    def to_json(self, at: datetime) -> bytes:
        """Return the content of a map file that is written at this time."""
        state = self.to_dict()
        metadata = {
            "version": _VERSION,
            "total_rooms": len(state["rooms"]),
            "total_connections": sum(len(ways) for ways in state["connections"].values()),
            "timestamp": at.isoformat(timespec="seconds"),
        }
        return as_json({**state, "metadata": metadata}, indented=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the map as JSON values.

        The confidence of connections and the pruned exits follow from the rest. They are for other programs.
        """
        connections = [(f"{room}_{name}", connection) for room, name, connection in self.connections]
        return {
            "rooms": {
                str(room.id): {"id": room.id, "name": room.name, "exits": sorted(room.exits)}
                for room in self.rooms.values()
            },
            "connections": {
                str(room): {name: connection.leads_to for _, name, connection in its}
                for room, its in groupby(self.connections, key=itemgetter(0))
            },
            "connection_confidence": {key: round(each.confidence, 6) for key, each in connections},
            "connection_verifications": {key: each.walks for key, each in connections},
            "connection_failures": {key: each.failures for key, each in connections if each.failures},
            "connection_shares": {key: _keyed_by_text(each.ends) for key, each in connections if len(each.ends) > 1},
            "connection_kinds": {key: str(each.kind) for key, each in connections if each.kind is not MoveKind.WALKED},
            "exit_failure_counts": {f"{room}_{name}": times for (room, name), times in sorted(self.failures.items())},
            "pruned_exits": {
                str(room): [name for _, name in its]
                for room, its in groupby(sorted(spot for spot in self.failures if self.is_pruned(*spot)), itemgetter(0))
            },
            "doors": [
                {"room": room, "way": way, "door": number, "name": name, "sign": str(sign)}
                for room, way, number, name, sign in self.doors.evidence()
            ],
            "other_moves": [
                {"from": move.from_id, "way": move.way, "to": move.to_id, "kind": str(move.kind), "times": times}
                for move, times in self.moves.counts.items()
            ],
            "contains": {str(episode): turn for episode, turn in sorted(self.learned_turns.items())[-_MAX_EPISODES:]},
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, exit_failure_threshold: int | None = 2) -> "MapGraph":
        """Return the map from the result of `to_dict`.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If `state` has another form.
        """
        graph = cls(exit_failure_threshold=exit_failure_threshold)
        graph.fill(state)
        return graph

    def fill(self, state: Mapping[str, Any]) -> None:
        """Add the content of another map's `to_dict`."""
        for number, room in state["rooms"].items():
            self.add_room(int(number), str(room["name"])).exits.update(map(str, room["exits"]))
        for key, count in state["exit_failure_counts"].items():
            number, _, name = key.partition("_")
            self.failures[int(number), name] += int(count)
        for number, ends in state["connections"].items():
            room = self.add_room(int(number), "")
            for name, leads_to in ends.items():
                connection = _connection(state, f"{number}_{name}", int(leads_to))
                self.connections.add(room.id, str(name), connection)
                room.exits.add(str(name))
                for end in connection.ends:
                    self.add_room(end, "")
        for found in state.get("doors", ()):
            place = int(found["room"]), str(found["way"])
            self.doors.add(*place, int(found["door"]), str(found["name"]), DoorSign(found["sign"]))
        for move in state.get("other_moves", ()):
            kept = Move(int(move["from"]), str(move["way"]), int(move["to"]), MoveKind(move["kind"]))
            self.add_move(kept)
            self.moves.counts[kept] = int(move["times"])
        self.learned_turns.update((int(episode), int(turn)) for episode, turn in state.get("contains", {}).items())


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


def _connection(state: Mapping[str, Any], key: str, leads_to: int) -> Connection:
    kind = MoveKind(state.get("connection_kinds", {}).get(key, MoveKind.WALKED))
    shares = state.get("connection_shares", {}).get(key) or {leads_to: state["connection_verifications"].get(key, 1)}
    ends = {int(room): int(count) for room, count in shares.items()}
    return Connection(ends, int(state.get("connection_failures", {}).get(key, 0)), kind)


def _keyed_by_text(ends: dict[int, int]) -> dict[str, int]:
    return {str(room): count for room, count in ends.items()}


class DamagedMap(MapFileError):
    """Raised for a file that is no map."""


def read_map(path: Path) -> MapGraph | None:
    """Read a map without changing its file; None if there is none.

    Raises:
        FileError: If the file can't be read.
        MapFileError: If it is damaged, or a later version wrote it.
    """
    data, _ = AtomicFile(path).read()
    return None if data is None else parse_map(data, path)


def parse_map(data: bytes, path: Path, exit_failure_threshold: int | None = 2) -> MapGraph:
    """Return the map in the content of a file.

    Raises:
        DamagedMap: If it is damaged.
        MapFileError: If a later version wrote it.
    """
    try:
        state = parse_json(data, SAVED_FILE)
        version = state["metadata"]["version"]
        if float(version) > _VERSION:
            raise MapFileError(
                f"{path} was written by a later version of this program: its format is {version}, and formats up to "
                f"{_VERSION} are known here. Use that version, or another --workdir. The file is kept."
            )
        return MapGraph.from_dict(state, exit_failure_threshold=exit_failure_threshold)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise DamagedMap(
            f"{path} is no map: {reason_of(error)}. The next episode sets it aside and begins a new one."
        ) from None

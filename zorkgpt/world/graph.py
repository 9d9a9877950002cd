"""The map: rooms by number, the connections between them, other moves, failed actions, and routes."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from zorkgpt.world.directions import DIRECTIONS, OPPOSITE, canonical_direction, exit_name
from zorkgpt.world.doors import Doors, DoorSign
from zorkgpt.world.movement import PLACE_KILLS, WAYS, Move, MoveKind

# Confidence rises after a few walks and falls quickly: (walks + 1) / (tries + 2), Laplace's rule of succession.
_PRIOR_WALKS, _PRIOR_TRIES = 1, 2


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


DangerousSpot = int | tuple[int, str]
"""A room, or one exit of a room."""
Routes = dict[int, list[str]]
"""Every reachable room → the exits to take, nearest room first."""

_MAX_CACHED_ROUTES = 64


class RouteFinder:
    """A directed graph of the connections, with the cost of relying on each."""

    def __init__(self) -> None:
        # Imported on first use, so that this module can be imported where only the library is installed.
        import networkx

        self._graph = networkx.DiGraph()
        self._found: dict[tuple[int, frozenset[DangerousSpot]], Routes] = {}
        """The routes found since the graph last changed."""

    def replace(self, room_id: int, ways: Iterable[tuple[str, int, float]]) -> None:
        """Replace the exits of a room: name, destination, cost above 0."""
        self._found.clear()
        self._graph.add_node(room_id)
        self._graph.remove_edges_from(list(self._graph.out_edges(room_id)))
        for name, leads_to, cost in sorted(ways, key=lambda way: (way[2], way[0])):
            if leads_to != room_id:
                if not self._graph.has_edge(room_id, leads_to):
                    self._graph.add_edge(room_id, leads_to, ways=[])
                self._graph.edges[room_id, leads_to]["ways"].append((name, cost))

    def routes(self, from_id: int, dangers: Collection[DangerousSpot] = ()) -> Routes:
        """Return the routes to every reachable room; the result must not be modified."""
        if from_id not in self._graph:
            return {from_id: []}
        asked = from_id, frozenset(dangers)
        if asked not in self._found:
            if len(self._found) >= _MAX_CACHED_ROUTES:
                self._found.clear()
            self._found[asked] = self._find(*asked)
        return self._found[asked]

    def _find(self, from_id: int, dangers: frozenset[DangerousSpot]) -> Routes:
        import networkx

        taken: dict[tuple[int, int], str] = {}

        def cost_of_edge(start: int, end: int, edge: dict[str, list[tuple[str, float]]]) -> float | None:
            if end in dangers:
                return None
            for name, cost in edge["ways"]:
                if (start, name) not in dangers:
                    taken[start, end] = name
                    return cost
            return None

        paths = networkx.single_source_dijkstra_path(self._graph, from_id, weight=cost_of_edge)
        return {room: [taken[step] for step in pairwise(path)] for room, path in paths.items()}


# An action that transports the player is preferred to a walk that is longer than this.
_TRANSPORT_COST = 3.0
# What a way without any walk costs by the rule above.
_UNPROVEN_COST = _PRIOR_TRIES / _PRIOR_WALKS
# A detour of so many steps is preferred to a known death.
_DEADLY_COST = 20.0
# A closed door is as uncertain as a way without any walk: it may be locked by now.
_CLOSED_DOOR_COST = _UNPROVEN_COST
MapChange = tuple[str, tuple[Any, ...]]
"""A change of a map: the name of the method that makes it, and its arguments."""


@dataclass
class Room:
    """A room that was seen; `exits` are those that were walked or that a text names."""

    id: int
    name: str
    exits: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class RouteStep:
    """One way of a route."""

    way: str
    leads_to: int
    """The number of the room."""
    unproven: bool = False
    """It was never walked, but is the way back of one that was."""
    closed_door: str = ""
    """The name of the door on this way that is closed now and must be opened first; "" if none is."""


class MapGraph:
    """Rooms keyed by object number, one-way connections keyed by direction or by the action that takes them.

    The way back of a walk counts as walkable, unproven, until it is tried: it may fail or lead elsewhere.

    Args:
        exit_failure_threshold: After so many failures in a row an exit is pruned, until it works again; None for never.
    """

    def __init__(self, *, exit_failure_threshold: int | None = 2) -> None:
        self.exit_failure_threshold = exit_failure_threshold
        self.rooms: dict[int, Room] = {}
        self.exit_failure_counts: dict[int, dict[str, int]] = {}
        """Room → exit → failures since it last worked."""
        self.in_vain: dict[int, dict[str, str]] = {}
        """Room → action → the response when it had no effect there; removed when it has one."""
        self.in_vain_after: dict[int, dict[str, set[str]]] = {}
        """Room → exit → actions that had an effect there in the same episode before the exit led nowhere."""
        self.opened_by: dict[int, dict[str, tuple[str, ...]]] = {}
        """Room → exit → the actions that had an effect there after the exit led nowhere and before it worked."""
        self.moves: Counter[Move] = Counter()
        """How often each move occurred that is not a connection."""
        self.unsaved: list[MapChange] = []
        """The changes since the map was last read or written, in order."""
        self.contains: dict[int, int] = {}
        """Episode → the last of its turns that the file contains."""
        self.learned: dict[int, int] = {}
        """The same for the episodes that this process plays; takes precedence over `contains`."""
        self.file_version: tuple[Path, object] | None = None
        """The file and its stamp when this map was last read or written; used only by `map_file`."""
        self.doors = Doors()
        self.things: dict[int, tuple[int, str]] = {}
        """Object number → the room where an untried thing was seen last, and its name."""
        self.tried_things: set[int] = set()
        """The objects that an action has named or changed."""
        self._connections: dict[int, dict[str, Connection]] = {}
        self._entrances: dict[int, set[tuple[int, str]]] = {}
        """Room → the (room, exit) pairs of the connections that have ended there."""
        self._routes = RouteFinder()
        self._changed: set[int] = set()
        """The rooms whose ways have changed since routes were last asked for."""

    # Changes

    def add_room(self, room_id: int, name: str) -> Room:
        room = self.rooms.get(room_id)
        if room is None:
            room = self.rooms[room_id] = Room(room_id, name)
            self.unsaved.append(("add_room", (room_id, name)))
        elif name and name != room.name:
            room.name = name
            self.unsaved.append(("add_room", (room_id, name)))
        return room

    def add_exit(self, room_id: int, direction: str) -> None:
        """Add an exit that a text names and that was not walked."""
        name, room = exit_name(direction), self.add_room(room_id, "")
        if name not in room.exits:
            room.exits.add(name)
            self.unsaved.append(("add_exit", (room_id, name)))

    def add_move(self, move: Move) -> None:
        """Record that the player came to another room.

        A walk confirms or contradicts where its exit led before.
        """
        room, _ = self.add_room(move.from_id, ""), self.add_room(move.to_id, "")
        self.unsaved.append(("add_move", (move,)))
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
        self.unsaved.append(("add_failure", (from_id, name)))
        return failures[name]

    def has_failed(self, from_id: int, action: str) -> bool:
        """Return whether an exit led nowhere when it was last tried."""
        return exit_name(action) in self.exit_failure_counts.get(from_id, {})

    def add_attempt(self, room_id: int, action: str, said: str | None, after: Iterable[str] = ()) -> None:
        """Record that an action was taken in a room.

        Args:
            said: The response if the action had no effect; None if it had one.
            after: For an exit, the actions that had an effect there before and did not open it.
        """
        tried, cleared = self.in_vain.get(room_id, {}), self.in_vain_after.get(room_id, {})
        news = set(after) - cleared.get(action, set()) if said is not None else set()
        if tried.get(action) == said and not news:
            return
        if said is None:
            del tried[action]
            cleared.pop(action, None)
        else:
            self.add_room(room_id, "")
            self.in_vain.setdefault(room_id, tried)[action] = said
        if news:
            self.in_vain_after.setdefault(room_id, cleared).setdefault(action, set()).update(news)
        self.unsaved.append(("add_attempt", (room_id, action, said, tuple(sorted(news)))))

    def record_opening(self, room_id: int, way: str, actions: Iterable[str]) -> None:
        """Record which actions in a room may have opened an exit; only those that did so every time are kept."""
        known, found = self.opened_by.get(room_id, {}).get(way), tuple(actions)
        kept = found if known is None else tuple(action for action in known if action in found) or known
        if kept and kept != known:
            self.opened_by.setdefault(room_id, {})[way] = kept
            self.unsaved.append(("record_opening", (room_id, way, found)))

    def has_failed_after(self, room_id: int, way: str, action: str) -> bool:
        """Return whether an exit has led nowhere after this action had an effect in the same room."""
        return action in self.in_vain_after.get(room_id, {}).get(way, ())

    def reopen(self, room_id: int | None = None) -> None:
        """Open the connections again that were closed after they had been walked.

        Args:
            room_id: The room in which something has changed; None for all rooms, because the world starts over.
        """
        at = (room for room in self.exit_failure_counts if room_id in (None, room))
        shut = [(room, name) for room in at for name in self.exit_failure_counts[room] if self.connection(room, name)]
        for room, name in shut:
            del self.exit_failure_counts[room][name]
            self._changed.add(room)
        if shut:
            self.unsaved.append(("reopen", (room_id,)))

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
            self.unsaved.append(("add_door_sign", (room_id, way, number, name, sign)))
            self._changed.update((room_id, *self._ends(room_id, way)))

    def add_thing(self, room_id: int, number: int, name: str) -> None:
        """Record that a thing was seen in a room."""
        if number not in self.tried_things and self.things.get(number) != (room_id, name):
            self.things[number] = room_id, name
            self.unsaved.append(("add_thing", (room_id, number, name)))

    def add_tried_thing(self, number: int) -> None:
        """Record that an action named or changed a thing."""
        if number not in self.tried_things:
            self.tried_things.add(number)
            self.things.pop(number, None)
            self.unsaved.append(("add_tried_thing", (number,)))

    def set_closed_doors(self, closed: Collection[int]) -> None:
        """Record which of the doors are closed now."""
        if self.doors.closed != frozenset(closed):
            self.doors.closed = frozenset(closed)
            rooms = self.doors.rooms()
            self._changed |= rooms.union(*(self._ends(room, way) for room in rooms for way in self.ways(room)))

    def apply_changes(self, map_changes: Iterable[MapChange]) -> None:
        """Apply the changes of another map of the same world."""
        for method, arguments in map_changes:
            getattr(self, method)(*arguments)

    def replace_with(self, other: "MapGraph") -> None:
        """Replace the content with that of another map, which must not be used afterwards."""
        vars(self).update(vars(other))

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
        return self._transports(from_id).get(name) or self.ways_back(from_id).get(name)

    def exits(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits of a room that were walked and are not pruned."""
        return {name: way.leads_to for name, way in self.ways(room_id).items() if not self.is_pruned(room_id, name)}

    def ways_back(self, room_id: int) -> dict[str, int]:
        """Return exit → room, for the exits that were never tried and are opposite to a walk that ended here.

        One that led nowhere counts again once the door that was closed then is open.
        """
        tried = {*self.ways(room_id), *self._other_ways(room_id, MoveKind.CARRIED, MoveKind.DIED)}
        found: dict[str, tuple[int, int]] = {}
        for from_id, name in self._entrances.get(room_id, ()):
            way, back = self._connections[from_id][name], OPPOSITE.get(name)
            if back is None or back in tried or from_id == room_id or way.leads_to != room_id:
                continue
            if way.kind is MoveKind.WALKED and (not self.has_failed(room_id, back) or self._was_opened(room_id, back)):
                # Of several walks, the one that was made most often.
                found[back] = max(found.get(back, (0, 0)), (way.walks, -from_id))
        return {back: -room for back, (_, room) in sorted(found.items())}

    def expects(self, from_id: int, direction: str, to_id: int) -> bool:
        """Return whether the way back of a walk or the text of a room promises a walk that was not made yet."""
        name = canonical_direction(direction)
        if name is None or self.has_failed(from_id, name):
            return False
        named = from_id in self.rooms and name in self.rooms[from_id].exits
        return named or self.ways_back(from_id).get(name) == to_id

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
        return tuple(sorted(offered - tried - self._other_ways(room_id, MoveKind.CARRIED), key=compass_order))

    def untried_things(self, room_id: int, carried: Collection[int] = ()) -> tuple[str, ...]:
        """Return the names of the things that were seen last in a room, are not carried, and were never tried."""
        things = self.things.items()
        return tuple(sorted({name for number, (room, name) in things if room == room_id and number not in carried}))

    def frontiers(self) -> dict[int, tuple[str, ...]]:
        """Return room → its untried exits, for the rooms that have any."""
        found = ((room, self.untried(room)) for room in self.rooms)
        return {room: untried for room, untried in found if untried}

    def route(self, from_id: int, to_id: int, *, dangers: Collection[DangerousSpot] = ()) -> list[str] | None:
        """Return the actions that lead to a room on the most reliable route; None if no route is known."""
        return self.routes(from_id, dangers=dangers).get(to_id)

    def routes(self, from_id: int, *, dangers: Collection[DangerousSpot] = ()) -> dict[int, list[str]]:
        """Return every reachable room → the actions that lead there, nearest first; the room itself with none.

        Args:
            dangers: Rooms and (room, exit) pairs that routes must avoid.
        """
        for room in self._changed:
            self._routes.replace(room, self._priced_ways(room))
        self._changed.clear()
        return self._routes.routes(from_id, dangers)

    def steps(self, from_id: int, ways: Iterable[str]) -> tuple[RouteStep, ...]:
        """Return the steps of a route that `route` or `routes` gave."""
        steps: list[RouteStep] = []
        for way in ways:
            unproven, to = way not in self.ways(from_id), self.leads_to(from_id, way)
            assert to is not None
            unproven &= way not in self._transports(from_id)
            steps.append(RouteStep(way, to, unproven, self.closed_door(from_id, way)))
            from_id = to
        return tuple(steps)

    def _transports(self, from_id: int) -> dict[str, int]:
        led = [(count, move) for move, count in self.moves.items() if move.from_id == from_id]
        led.sort(key=lambda item: item[0])
        return {move.way: move.to_id for _, move in led if move.kind is MoveKind.TRANSPORTED}

    def _ends(self, room_id: int, way: str) -> tuple[int, ...]:
        """Return the rooms where a way ended, whose ways back may depend on it."""
        known = self.ways(room_id).get(way)
        return tuple(known.ends) if known else ()

    def _enter(self, from_id: int, name: str, way: Connection) -> None:
        for room in way.ends:
            self._entrances.setdefault(room, set()).add((from_id, name))
        self._changed.update((from_id, *way.ends))

    def _other_ways(self, room_id: int, *kinds: MoveKind) -> set[str]:
        return {move.way for move in self.moves if move.from_id == room_id and move.kind in kinds}

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

    def _priced_ways(self, room_id: int) -> list[tuple[str, int, float]]:
        """Return the ways that routes may take from a room: name, destination, cost in steps."""
        walked = self.ways(room_id).items()
        ways = [(name, way.leads_to, 1 / way.confidence) for name, way in walked if not self.is_pruned(room_id, name)]
        ways += [(name, to, _UNPROVEN_COST) for name, to in self.ways_back(room_id).items()]
        transports = self._transports(room_id).items()
        ways += [(name, to, _TRANSPORT_COST) for name, to in transports if name not in self.ways(room_id)]
        deadly = self._other_ways(room_id, MoveKind.DIED)
        return [
            (
                name,
                to,
                cost
                + _DEADLY_COST * (name in deadly or self._kills(to))
                + _CLOSED_DOOR_COST * bool(self.closed_door(room_id, name)),
            )
            for name, to, cost in ways
        ]

    def _kills(self, room_id: int) -> bool:
        """Return whether the player has died of being in a room."""
        return PLACE_KILLS in self._other_ways(room_id, MoveKind.DIED)


def compass_order(name: str) -> tuple[int, str]:
    """Return a key that sorts exits: directions in their usual order, then actions."""
    return (DIRECTIONS.index(name) if name in DIRECTIONS else len(DIRECTIONS), name)

"""The map: rooms by number, the ways between them that were walked, how else the player got about, what was in vain."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zorkgpt.world.directions import DIRECTIONS, exit_name
from zorkgpt.world.movement import WAYS, Move, MoveKind
from zorkgpt.world.routes import Danger, RouteFinder
from zorkgpt.world.way import Way

# A word that moves the player is taken where walking would be a long way round.
_COST_OF_A_TRANSPORT = 3.0
Sighting = tuple[str, tuple]
"""What was learned, as the name of the method that learns it and its arguments."""


@dataclass
class Room:
    """A place that was seen; `exits` are the ways out of it that were walked or that it is said to have."""

    id: int
    name: str
    exits: set[str] = field(default_factory=set)


class MapGraph:
    """Rooms keyed by object number, one-way connections keyed by direction or by the action that took them.

    Args:
        exit_failure_threshold: After so many failures in a row a way counts as none, until it works after all;
            None: never.
    """

    def __init__(self, *, exit_failure_threshold: int | None = 2) -> None:
        self.exit_failure_threshold = exit_failure_threshold
        self.rooms: dict[int, Room] = {}
        self.exit_failure_counts: dict[int, dict[str, int]] = {}
        """Room → way → failures since it last worked."""
        self.in_vain: dict[int, dict[str, str]] = {}
        """Room → action → what the game said when it came to nothing there; until it comes to something."""
        self.in_vain_after: dict[int, dict[str, set[str]]] = {}
        """Room → way → what had come to something there in the same episode before the way led nowhere."""
        self.moves: Counter[Move] = Counter()
        """How often the player came elsewhere by something that is no way."""
        self.unsaved: list[Sighting] = []
        """What was learned since the map was last read or written, in order."""
        self.contains: dict[int, int] = {}
        """Episode → the last of its turns that the file says it has learned."""
        self.learned: dict[int, int] = {}
        """The same of the episodes that this process plays; these count before the file's."""
        self.kept_as: object = None
        """Which version of which file this map was when it was last read or written; only the file layer asks."""
        self._ways: dict[int, dict[str, Way]] = {}
        self._routes = RouteFinder()

    def clear(self) -> None:
        for kept in (
            self.rooms,
            self.exit_failure_counts,
            self.in_vain,
            self.in_vain_after,
            self.moves,
            self.unsaved,
            self.contains,
            self.learned,
            self._ways,
            self._routes,
        ):
            kept.clear()

    # Learning

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
        """A way out of a room is said to be there; nobody has walked it."""
        name, room = exit_name(direction), self.add_room(room_id, "")
        if name not in room.exits:
            room.exits.add(name)
            self.unsaved.append(("add_exit", (room_id, name)))

    def add_connection(self, from_id: int, direction: str, to_id: int, kind: MoveKind = MoveKind.WALKED) -> None:
        """A way was walked: it works, and what it led to before is borne out or contradicted."""
        name = exit_name(direction)
        self._ways.setdefault(from_id, {}).setdefault(name, Way()).walk(to_id, MoveKind(kind))
        self.exit_failure_counts.get(from_id, {}).pop(name, None)
        self.add_room(from_id, "").exits.add(name)
        self.add_room(to_id, "")
        self.unsaved.append(("add_connection", (from_id, name, to_id, kind)))
        self._draw(from_id)

    def add_move(self, move: Move) -> None:
        """The player came elsewhere, on a way or by something else."""
        if move.kind in WAYS:
            self.add_connection(move.from_id, move.way, move.to_id, move.kind)
            return
        self.add_room(move.from_id, "")
        self.add_room(move.to_id, "")
        self.moves[move] += 1
        self.unsaved.append(("add_move", (move,)))
        self._draw(move.from_id)

    def add_failure(self, from_id: int, direction: str) -> int:
        """A way was tried and did not lead anywhere. Returns how often that happened since it last worked."""
        name = exit_name(direction)
        self.add_room(from_id, "")
        failures = self.exit_failure_counts.setdefault(from_id, {})
        failures[name] = failures.get(name, 0) + 1
        if way := self._ways.get(from_id, {}).get(name):
            way.failures += 1
            self._draw(from_id)
        self.unsaved.append(("add_failure", (from_id, name)))
        return failures[name]

    def has_failed(self, from_id: int, action: str) -> bool:
        """Whether a way led nowhere when it was tried last."""
        return exit_name(action) in self.exit_failure_counts.get(from_id, {})

    def add_attempt(self, room_id: int, action: str, said: str | None, after: Iterable[str] = ()) -> None:
        """An action was taken in a room.

        Args:
            said: what the game answered, where it came to nothing; None: it came to something.
            after: of a way, what had come to something there before: it is known not to have opened it.
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

    def has_failed_after(self, room_id: int, way: str, action: str) -> bool:
        """Whether a way has led nowhere after this action had come to something in the same room."""
        return action in self.in_vain_after.get(room_id, {}).get(way, ())

    def reopen(self) -> None:
        """The world begins anew: what once led somewhere, and was shut later on, is open again."""
        shut = [(room, name) for room, name in self._failed() if name in self._ways.get(room, {})]
        for room, name in shut:
            del self.exit_failure_counts[room][name]
            self._draw(room)
        if shut:
            self.unsaved.append(("reopen", ()))

    def restore_way(self, from_id: int, name: str, way: Way) -> None:
        """Take over a way as it was kept."""
        self._ways.setdefault(from_id, {})[name] = way
        for room_id in (from_id, *way.ends):
            self.add_room(room_id, "")
        self.rooms[from_id].exits.add(name)
        self._draw(from_id)

    def learn(self, sightings: Iterable[Sighting]) -> None:
        """Learn what another map of the same world has learned."""
        for method, arguments in sightings:
            getattr(self, method)(*arguments)

    def become(self, other: "MapGraph") -> None:
        """Hold what another map holds, which is not to be used any longer."""
        vars(self).update(vars(other))

    # Asking

    @property
    def connections(self) -> dict[int, dict[str, int]]:
        """Room → way → room."""
        return {room: {name: way.leads_to for name, way in ways.items()} for room, ways in self._ways.items()}

    @property
    def pruned_exits(self) -> dict[int, set[str]]:
        """Room → ways that failed so often that they count as none."""
        pruned: dict[int, set[str]] = {}
        for room, name in self._failed():
            if self.is_pruned(room, name):
                pruned.setdefault(room, set()).add(name)
        return pruned

    def is_pruned(self, room_id: int, direction: str) -> bool:
        failures = self.exit_failure_counts.get(room_id, {}).get(exit_name(direction), 0)
        return self.exit_failure_threshold is not None and failures >= self.exit_failure_threshold

    def ways(self) -> Iterator[tuple[int, str, Way]]:
        """Every way that was walked, with the room that it leaves and its name."""
        for room, ways in self._ways.items():
            yield from ((room, name, way) for name, way in ways.items())

    def way(self, from_id: int, direction: str) -> Way | None:
        """None: never walked."""
        return self._ways.get(from_id, {}).get(exit_name(direction))

    def leads_to(self, from_id: int, direction: str) -> int | None:
        """Where a way, or else an action that transports, led most often; None if it never led anywhere."""
        way = self.way(from_id, direction)
        return way.leads_to if way else self._transports(from_id).get(exit_name(direction))

    def confidence(self, from_id: int, direction: str) -> float:
        """How sure a way is, in (0, 1); 0.0 if it was never walked."""
        way = self.way(from_id, direction)
        return way.confidence if way else 0.0

    def shares(self, from_id: int, direction: str) -> dict[int, float]:
        """Room → part of the walks on this way that ended there: several where chance decides, {} if never walked."""
        way = self.way(from_id, direction)
        return way.shares if way else {}

    def exits(self, room_id: int) -> dict[str, int]:
        """Way → room, of the ways out of this room that were walked and are not pruned."""
        ways = self._ways.get(room_id, {})
        return {name: way.leads_to for name, way in ways.items() if not self.is_pruned(room_id, name)}

    @property
    def deadly(self) -> set[tuple[int, str]]:
        """(room, action) of every death."""
        return {(move.from_id, move.way) for move in self.moves if move.kind is MoveKind.DIED}

    def untried(self, room_id: int, candidates: Iterable[str] = ()) -> tuple[str, ...]:
        """Ways out of a room that it is said to have, and of `candidates`, that nobody took or failed to take."""
        room = self.rooms.get(room_id)
        offered = {*(room.exits if room else ()), *map(exit_name, candidates)}
        tried = {*self._ways.get(room_id, {}), *self.exit_failure_counts.get(room_id, {})}
        return tuple(sorted(offered - tried, key=_by_compass))

    def frontiers(self, candidates: Mapping[int, Iterable[str]] | None = None) -> dict[int, tuple[str, ...]]:
        """Room → its untried ways, for the rooms that have any.

        Args:
            candidates: Room → ways that may be there, beyond those that the room is said to have.
        """
        found = ((room, self.untried(room, (candidates or {}).get(room, ()))) for room in self.rooms)
        return {room: untried for room, untried in found if untried}

    def route(
        self, from_id: int, to_id: int, *, dangers: Collection[Danger] = (), through_dangers: bool = False
    ) -> list[str] | None:
        """The actions that lead there, the surest way first; None if no way is known."""
        return self.routes(from_id, dangers=dangers, through_dangers=through_dangers).get(to_id)

    def routes(
        self,
        from_id: int,
        *,
        dangers: Collection[Danger] = (),
        through_dangers: bool = False,
    ) -> dict[int, list[str]]:
        """Every room that can be reached → the actions that lead there, nearest first; the room itself with none.

        Args:
            dangers: rooms, and (room, way), that no route touches, unless `through_dangers`.
        """
        return self._routes.routes(from_id, () if through_dangers else dangers)

    def _failed(self) -> list[tuple[int, str]]:
        return [(room, name) for room, counts in self.exit_failure_counts.items() for name in counts]

    def _transports(self, from_id: int) -> dict[str, int]:
        led = [(count, move) for move, count in self.moves.items() if move.from_id == from_id]
        led.sort(key=lambda item: item[0])
        return {move.way: move.to_id for _, move in led if move.kind is MoveKind.TRANSPORTED}

    def _draw(self, from_id: int) -> None:
        """Bring the ways out of a room up to date for the routes."""
        ways = [
            (name, way.leads_to, 1 / way.confidence)
            for name, way in self._ways.get(from_id, {}).items()
            if not self.is_pruned(from_id, name)
        ]
        transports = self._transports(from_id).items()
        ways += [(name, to, _COST_OF_A_TRANSPORT) for name, to in transports if self.way(from_id, name) is None]
        self._routes.replace(from_id, ways)

    # Keeping

    def to_dict(self) -> dict[str, Any]:
        from zorkgpt.world.map_format import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any], *, exit_failure_threshold: int | None = 2) -> "MapGraph":
        """The map that `to_dict` gave.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is not such a map.
        """
        from zorkgpt.world.map_format import from_dict

        return from_dict(state, exit_failure_threshold)

    def save_to_json(self, path: Path | str) -> None:
        """Write the map; see `map_file.save_map`."""
        from zorkgpt.files import AtomicFile
        from zorkgpt.world.map_file import save_map

        save_map(self, AtomicFile(path))

    @classmethod
    def load_from_json(cls, path: Path | str) -> "MapGraph":
        """The map of a file; see `map_file.load_map`."""
        from zorkgpt.world.map_file import load_map

        return load_map(Path(path))


def _by_compass(name: str) -> tuple[int, str]:
    return (DIRECTIONS.index(name) if name in DIRECTIONS else len(DIRECTIONS), name)

"""The map on disk, across episodes and shared by every process that plays in the same folder."""

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import MapFileError, reason_of
from zorkgpt.files import AtomicFile, Stamp, write_file
from zorkgpt.world.connections import Connection
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind
from zorkgpt.world.tries import Tries

log = logging.getLogger("zorkgpt.world")

VERSION = 2
_MAX_EPISODES = 100
"""The most episodes whose progress the file records: an older one that is resumed is learned again."""
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)


def to_dict(graph: MapGraph) -> dict[str, Any]:
    """Return the map as JSON values.

    The confidence of connections and the pruned exits follow from the rest. They are for other programs.
    """
    tries = graph.tries
    connections = [(f"{room}_{name}", connection) for room, name, connection in graph.connections]
    return {
        "rooms": {
            str(room.id): {"id": room.id, "name": room.name, "exits": sorted(room.exits)}
            for room in graph.rooms.values()
        },
        "connections": {
            str(room): {name: connection.leads_to for _, name, connection in its}
            for room, its in groupby(graph.connections, key=itemgetter(0))
        },
        "connection_confidence": {key: round(each.confidence, 6) for key, each in connections},
        "connection_verifications": {key: each.walks for key, each in connections},
        "connection_failures": {key: each.failures for key, each in connections if each.failures},
        "connection_shares": {key: _keyed_by_text(each.ends) for key, each in connections if len(each.ends) > 1},
        "connection_kinds": {key: str(each.kind) for key, each in connections if each.kind is not MoveKind.WALKED},
        "exit_failure_counts": {f"{room}_{name}": count for room, name, count in graph.failures},
        "pruned_exits": {
            str(room): pruned
            for room, its in groupby(graph.failures, key=itemgetter(0))
            if (pruned := sorted(name for _, name, _ in its if graph.is_pruned(room, name)))
        },
        "in_vain": {str(room): failed for room, failed in tries.without_effect.items() if failed},
        "in_vain_after": {
            str(room): {way: sorted(actions) for way, actions in ways.items()}
            for room, ways in tries.before_failure.items()
            if ways
        },
        "opened_by": {
            str(room): {way: list(actions) for way, actions in ways.items()} for room, ways in tries.opened_by.items()
        },
        "doors": [
            {"room": room, "way": way, "door": number, "name": name, "sign": str(sign)}
            for room, way, number, name, sign in graph.doors.evidence()
        ],
        "things": [
            {"thing": number, "room": room, "name": name} for number, (room, name) in tries.untried_things.items()
        ],
        "tried_things": sorted(tries.tried_things),
        "other_moves": [
            {"from": move.from_id, "way": move.way, "to": move.to_id, "kind": str(move.kind), "times": times}
            for move, times in graph.moves.counts.items()
        ],
        "contains": {str(episode): turn for episode, turn in sorted(graph.learned_turns.items())[-_MAX_EPISODES:]},
    }


def from_dict(state: dict[str, Any], exit_failure_threshold: int | None = 2) -> MapGraph:
    """Return the map that `to_dict` was given.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: If `state` has another form.
    """
    graph = MapGraph(exit_failure_threshold=exit_failure_threshold)
    _fill(graph, state)
    return graph


def _fill(graph: MapGraph, state: dict[str, Any]) -> None:
    tries = graph.tries
    for number, room in state["rooms"].items():
        graph.add_room(int(number), str(room["name"])).exits.update(map(str, room["exits"]))
    for key, count in state["exit_failure_counts"].items():
        number, _, name = key.partition("_")
        graph.failures.add(int(number), name, int(count))
    for number, ends in state["connections"].items():
        room = graph.add_room(int(number), "")
        for name, leads_to in ends.items():
            connection = _connection(state, f"{number}_{name}", int(leads_to))
            graph.connections.add(room.id, str(name), connection)
            room.exits.add(str(name))
            for end in connection.ends:
                graph.add_room(end, "")
    for number, failed in state["in_vain"].items():
        before = state["in_vain_after"].get(number, {})
        for action, response in failed.items():
            tries.add_failure(int(number), str(action), str(response), map(str, before.get(action, ())))
    for number, ways in state["opened_by"].items():
        for way, actions in ways.items():
            tries.add_opening(int(number), str(way), map(str, actions))
    for found in state["doors"]:
        place = int(found["room"]), str(found["way"])
        graph.doors.add(*place, int(found["door"]), str(found["name"]), DoorSign(found["sign"]))
    for thing in state["things"]:
        tries.add_thing(int(thing["room"]), int(thing["thing"]), str(thing["name"]))
    tries.tried_things.update(map(int, state["tried_things"]))
    for move in state["other_moves"]:
        kept = Move(int(move["from"]), str(move["way"]), int(move["to"]), MoveKind(move["kind"]))
        graph.add_move(kept)
        graph.moves.counts[kept] = int(move["times"])
    graph.learned_turns.update((int(episode), int(turn)) for episode, turn in state.get("contains", {}).items())


def _connection(state: dict[str, Any], key: str, leads_to: int) -> Connection:
    kind = MoveKind(state["connection_kinds"].get(key, MoveKind.WALKED))
    shares = state["connection_shares"].get(key) or {leads_to: state["connection_verifications"][key]}
    ends = {int(room): int(count) for room, count in shares.items()}
    return Connection(ends, int(state["connection_failures"].get(key, 0)), kind)


def _keyed_by_text(ends: dict[int, int]) -> dict[str, int]:
    return {str(room): count for room, count in ends.items()}


def write_map(graph: MapGraph, path: Path, at: datetime) -> None:
    """Write a map to a place of its own, with this time instead of that of the clock.

    Raises:
        FileError: If it can't be written.
    """
    write_file(path, _rendered(graph, at))


def read_map(path: Path) -> MapGraph | None:
    """Read a map without changing its file; None if there is none.

    Raises:
        FileError: If the file can't be read.
        MapFileError: If it is damaged, or a later version wrote it.
    """
    data, _ = AtomicFile(path).read()
    try:
        return None if data is None else _parsed(data, path, 2)
    except _DAMAGE as error:
        raise MapFileError(
            f"{path} is no map: {reason_of(error)}. The next episode sets it aside and begins a new one."
        ) from None


def _parsed(data: bytes, path: Path, exit_failure_threshold: int | None) -> MapGraph:
    state = parse_json(data, SAVED_FILE)
    version = state["metadata"]["version"]
    if float(version) > VERSION:
        raise MapFileError(
            f"{path} was written by a later version of this program: its format is {version}, "
            f"and formats up to {VERSION} are known here. Use that version, or another --workdir. The file is kept."
        )
    return from_dict(state, exit_failure_threshold)


def _rendered(graph: MapGraph, at: datetime) -> bytes:
    state = to_dict(graph)
    state["metadata"] = {
        "version": VERSION,
        "total_rooms": len(state["rooms"]),
        "total_connections": sum(len(ways) for ways in state["connections"].values()),
        "timestamp": at.isoformat(timespec="seconds"),
    }
    return as_json(state, indented=True)


class MapFile:
    """The map of a working directory, which other processes may change at the same time.

    Args:
        graph: The map as this process knows it; updated in place.
    """

    def __init__(self, path: Path, graph: MapGraph) -> None:
        self.file = AtomicFile(path)
        self._graph = graph
        self._last: bytes | None = None
        """The content of the file when it was last read or written; None if there was none."""
        self._stamp: Stamp = ()

    def load(self) -> None:
        """Replace the map with the file's; with an empty one if there is no file.

        A damaged file is set aside under another name, so that nothing overwrites it.

        Raises:
            FileError: If the file can't be read.
            MapFileError: If a later version wrote it.
        """
        _replace(self._graph, self._read() or MapGraph())

    def save(self) -> None:
        """Write the map atomically, merged with what other processes have written since it was last read or written.

        Afterwards the map contains both.

        Raises:
            FileError: If the file can't be locked, read or written; it is unchanged.
            MapFileError: If a later version wrote it.
        """
        with self.file.locked():
            if self.is_changed():
                base = _parsed(self._last, self.file.path, None) if self._last else MapGraph()
                if (saved := self._read()) is not None:
                    _add_news(saved, self._graph, base)
                    _replace(self._graph, saved)
            data = _rendered(self._graph, datetime.now(UTC))
            self.file.write(data)
            self._last, self._stamp = data, self.file.stamp()

    def is_changed(self) -> bool:
        """Return whether the file has changed since it was last read or written."""
        return self.file.stamp() != self._stamp

    def _read(self) -> MapGraph | None:
        """Return the map in the file; None if there is none, or it is damaged and was set aside."""
        data, stamp = self.file.read()
        try:
            graph = None if data is None else _parsed(data, self.file.path, self._graph.exit_failure_threshold)
        except _DAMAGE as error:
            aside = self.file.set_aside()
            self.file.path.unlink(missing_ok=True)
            extra = {"path": str(self.file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
            log.warning("the map file is damaged and was set aside", extra=extra)
            graph, data, stamp = None, None, ()
        self._last, self._stamp = data, stamp
        return graph


def merge_maps(base: MapGraph, others: Iterable[MapGraph]) -> MapGraph:
    """Return a map with everything in the others, which all began as copies of `base`.

    Walks and failures of all of them count.
    """
    merged = MapGraph(exit_failure_threshold=base.exit_failure_threshold)
    _replace(merged, base)
    for graph in others:
        _add_news(merged, graph, base)
    return merged


def _replace(graph: MapGraph, other: MapGraph) -> None:
    """Replace the content of a map with a copy of another's."""
    graph.clear()
    _fill(graph, to_dict(other))


def _add_news(graph: MapGraph, other: MapGraph, base: MapGraph) -> None:
    """Add to a map what another has beyond their common base. Walks and failures are added up."""
    for room in other.rooms.values():
        known = base.rooms.get(room.id)
        graph.add_room(room.id, room.name if known is None or known.name != room.name else "").exits.update(room.exits)
        for name in {**other.connections.of(room.id), **other.failures.of(room.id)}:
            _add_uses(graph, room.id, name, other, base)
    for move in (other.moves.counts - base.moves.counts).elements():
        graph.add_move(move)
    for evidence in other.doors.evidence():
        graph.doors.add(*evidence)
    _add_new_tries(graph.tries, other.tries, base.tries)
    graph.learned_turns.update(other.learned_turns.items() - base.learned_turns.items())


def _add_uses(graph: MapGraph, room_id: int, name: str, other: MapGraph, base: MapGraph) -> None:
    """Add the walks through an exit and its failures that another map has beyond the base."""
    connection, known = (each.connections.of(room_id).get(name) or Connection() for each in (other, base))
    lasting, known_lasting = (each.failures.of(room_id).get(name, 0) for each in (other, base))
    walks = Counter(connection.ends) - Counter(known.ends)
    failures = connection.failures - known.failures if connection.ends else lasting - known_lasting
    for end in walks.elements():
        graph.add_move(Move(room_id, name, end, connection.kind))
    since_walk = lasting if walks else max(0, graph.failures.of(room_id).get(name, 0) + lasting - known_lasting)
    for _ in range(failures):
        graph.add_failure(room_id, name)
    graph.failures.forget(room_id, name)
    if since_walk:
        graph.failures.add(room_id, name, since_walk)


def _add_new_tries(tries: Tries, other: Tries, base: Tries) -> None:
    for room_id, failed in base.without_effect.items():
        for action in failed.keys() - other.without_effect.get(room_id, {}).keys():
            tries.add_success(room_id, action)
    for room_id, failed in other.without_effect.items():
        known = base.without_effect.get(room_id, {})
        before = other.before_failure.get(room_id, {})
        for action, response in failed.items():
            if known.get(action) != response or before.get(action) != base.before_failure.get(room_id, {}).get(action):
                tries.add_failure(room_id, action, response, before.get(action, ()))
    for room_id, ways in other.opened_by.items():
        for way, actions in ways.items():
            if base.opened_by.get(room_id, {}).get(way) != actions:
                tries.add_opening(room_id, way, actions)
    for number, (room_id, name) in other.untried_things.items():
        if base.untried_things.get(number) != (room_id, name):
            tries.add_thing(room_id, number, name)
    for number in other.tried_things:
        tries.add_tried_thing(number)

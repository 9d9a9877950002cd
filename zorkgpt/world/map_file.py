"""The map on disk, across episodes and shared by every process that plays in the same folder."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import MapFileError, reason_of
from zorkgpt.files import AtomicFile, write_file
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import Connection, MapChange, MapGraph
from zorkgpt.world.movement import Move, MoveKind


def to_dict(graph: MapGraph) -> dict[str, Any]:
    """Return the map as JSON values.

    The confidence of connections and the pruned exits follow from the rest. They are for other programs.
    """
    ways = [(f"{room}_{name}", way) for room, name, way in graph.all_connections()]
    return {
        "rooms": {
            str(room.id): {"id": room.id, "name": room.name, "exits": sorted(room.exits)}
            for room in graph.rooms.values()
        },
        "connections": {
            str(room): {name: way.leads_to for _, name, way in its}
            for room, its in groupby(graph.all_connections(), key=itemgetter(0))
        },
        "connection_confidence": {key: round(way.confidence, 6) for key, way in ways},
        "connection_verifications": {key: way.walks for key, way in ways},
        "connection_failures": {key: way.failures for key, way in ways if way.failures},
        "connection_shares": {key: _keyed_by_text(way.ends) for key, way in ways if len(way.ends) > 1},
        "connection_kinds": {key: str(way.kind) for key, way in ways if way.kind is not MoveKind.WALKED},
        "exit_failure_counts": {
            f"{room}_{name}": count
            for room, counts in graph.exit_failure_counts.items()
            for name, count in counts.items()
        },
        "pruned_exits": {
            str(room): pruned
            for room, counts in graph.exit_failure_counts.items()
            if (pruned := sorted(name for name in counts if graph.is_pruned(room, name)))
        },
        "in_vain": {str(room): tried for room, tried in graph.in_vain.items() if tried},
        "in_vain_after": {
            str(room): {way: sorted(done) for way, done in ways.items()}
            for room, ways in graph.in_vain_after.items()
            if ways
        },
        "opened_by": {
            str(room): {way: list(actions) for way, actions in ways.items()} for room, ways in graph.opened_by.items()
        },
        "doors": [
            {"room": room, "way": way, "door": number, "name": name, "sign": str(sign)}
            for room, way, number, name, sign in graph.doors.evidence()
        ],
        "things": [{"thing": number, "room": room, "name": name} for number, (room, name) in graph.things.items()],
        "tried_things": sorted(graph.tried_things),
        "other_moves": [
            {"from": move.from_id, "way": move.way, "to": move.to_id, "kind": str(move.kind), "times": times}
            for move, times in graph.moves.items()
        ],
    }


def from_dict(state: dict[str, Any], exit_failure_threshold: int | None = 2) -> MapGraph:
    """Return the map that `to_dict` was given.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: If `state` has another form.
    """
    graph = MapGraph(exit_failure_threshold=exit_failure_threshold)
    for number, room in state["rooms"].items():
        graph.add_room(int(number), str(room["name"])).exits.update(map(str, room["exits"]))
    for key, count in state["exit_failure_counts"].items():
        number, _, name = key.partition("_")
        graph.exit_failure_counts.setdefault(int(number), {})[name] = int(count)
    for number, ends in state["connections"].items():
        graph.add_room(int(number), "")
        for name, leads_to in ends.items():
            graph.restore_connection(int(number), str(name), _connection(state, f"{number}_{name}", int(leads_to)))
    for number, tried in state["in_vain"].items():
        after = state["in_vain_after"].get(number, {})
        for action, said in tried.items():
            graph.add_attempt(int(number), str(action), str(said), map(str, after.get(action, ())))
    for number, ways in state["opened_by"].items():
        for way, actions in ways.items():
            graph.record_opening(int(number), str(way), map(str, actions))
    for found in state["doors"]:
        place = int(found["room"]), str(found["way"])
        graph.add_door_sign(*place, int(found["door"]), str(found["name"]), DoorSign(found["sign"]))
    for thing in state["things"]:
        graph.add_thing(int(thing["room"]), int(thing["thing"]), str(thing["name"]))
    graph.tried_things.update(map(int, state["tried_things"]))
    for move in state["other_moves"]:
        kept = Move(int(move["from"]), str(move["way"]), int(move["to"]), MoveKind(move["kind"]))
        graph.add_move(kept)
        graph.moves[kept] = int(move["times"])
    graph.unsaved.clear()
    return graph


def _connection(state: dict[str, Any], key: str, leads_to: int) -> Connection:
    kind = MoveKind(state["connection_kinds"].get(key, MoveKind.WALKED))
    shares = state["connection_shares"].get(key) or {leads_to: state["connection_verifications"][key]}
    ends = {int(room): int(count) for room, count in shares.items()}
    return Connection(ends, int(state["connection_failures"].get(key, 0)), kind)


def map_changes(graph: MapGraph) -> Iterator[MapChange]:
    """Yield the whole content of a map as changes that another map can apply."""
    for room in graph.rooms.values():
        yield "add_room", (room.id, room.name)
        yield from (("add_exit", (room.id, name)) for name in sorted(room.exits))
    for room_id, name, way in graph.all_connections():
        lasting = graph.exit_failure_counts.get(room_id, {}).get(name, 0)
        yield from [("add_failure", (room_id, name))] * (way.failures - lasting)
        for end, walks in way.ends.items():
            yield from [("add_move", (Move(room_id, name, end, way.kind),))] * walks
    for room_id, counts in graph.exit_failure_counts.items():
        for name, count in counts.items():
            yield from [("add_failure", (room_id, name))] * count
    for room_id, tried in graph.in_vain.items():
        after = graph.in_vain_after.get(room_id, {})
        yield from (
            ("add_attempt", (room_id, action, said, tuple(sorted(after.get(action, ())))))
            for action, said in tried.items()
        )
    for room_id, ways in graph.opened_by.items():
        yield from (("record_opening", (room_id, way, actions)) for way, actions in ways.items())
    yield from (("add_door_sign", evidence) for evidence in graph.doors.evidence())
    yield from (("add_thing", (room, number, name)) for number, (room, name) in graph.things.items())
    yield from (("add_tried_thing", (number,)) for number in sorted(graph.tried_things))
    for move, times in graph.moves.items():
        yield from [("add_move", (move,))] * times


def _keyed_by_text(ends: dict[int, int]) -> dict[str, int]:
    return {str(room): count for room, count in ends.items()}


log = logging.getLogger("zorkgpt.world")

VERSION = 2
_MAX_EPISODES = 100
"""The most episodes whose progress the file records: an older one that is resumed is learned again."""
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError)


def save_map(graph: MapGraph, file: AtomicFile) -> None:
    """Write the map atomically, merged with what other processes have written since it was read.

    Afterwards the graph contains both.

    Raises:
        FileError: If the file can't be locked, read or written; it is unchanged.
        MapFileError: If a later version wrote it.
    """
    with file.locked():
        data, stamp = file.read()
        if data is not None and graph.file_version != (file.path, stamp):
            theirs = _parsed_or_set_aside(file, data, graph.exit_failure_threshold)
            if theirs is not None:
                known_there = graph.file_version is not None and graph.file_version[0] == file.path
                theirs.apply_changes(list(graph.unsaved if known_there else map_changes(graph)))
                theirs.learned = graph.learned
                graph.replace_with(theirs)
        file.write(_rendered(graph, datetime.now(UTC)))
        graph.unsaved.clear()
        graph.file_version = (file.path, file.stamp())


def write_map(graph: MapGraph, path: Path, at: datetime) -> None:
    """Write a map to a place of its own, with this time instead of that of the clock.

    Raises:
        FileError: If it can't be written.
    """
    write_file(path, _rendered(graph, at))


def load_map(path: Path, *, exit_failure_threshold: int | None = 2) -> MapGraph:
    """Return the map of earlier episodes; an empty one if there is none.

    A damaged file is set aside under another name, so that nothing overwrites it.

    Raises:
        FileError: If the file can't be read.
        MapFileError: If a later version wrote it.
    """
    file = AtomicFile(path)
    data, stamp = file.read()
    graph = None if data is None else _parsed_or_set_aside(file, data, exit_failure_threshold)
    if graph is None:
        return MapGraph(exit_failure_threshold=exit_failure_threshold)
    graph.file_version = (file.path, stamp)
    return graph


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


def _parsed_or_set_aside(file: AtomicFile, data: bytes, exit_failure_threshold: int | None) -> MapGraph | None:
    """Return the map in these bytes; None if they are damaged, and then the file is set aside."""
    try:
        return _parsed(data, file.path, exit_failure_threshold)
    except _DAMAGE as error:
        aside = file.set_aside()
        file.path.unlink(missing_ok=True)
        extra = {"path": str(file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
        log.warning("the map file is damaged and was set aside", extra=extra)
        return None


def _parsed(data: bytes, path: Path, exit_failure_threshold: int | None) -> MapGraph:
    state = parse_json(data, SAVED_FILE)
    version = state["metadata"]["version"]
    if float(version) > VERSION:
        raise MapFileError(
            f"{path} was written by a later version of this program: its format is {version}, "
            f"and formats up to {VERSION} are known here. Use that version, or another --workdir. The file is kept."
        )
    graph = from_dict(state, exit_failure_threshold)
    contains = state.get("contains", {})
    graph.contains.update((int(episode), int(turn)) for episode, turn in contains.items())
    return graph


def _rendered(graph: MapGraph, at: datetime) -> bytes:
    state = to_dict(graph)
    state["metadata"] = {
        "version": VERSION,
        "total_rooms": len(state["rooms"]),
        "total_connections": sum(len(ways) for ways in state["connections"].values()),
        "timestamp": at.isoformat(timespec="seconds"),
    }
    if contains := graph.contains | graph.learned:
        latest = sorted(contains.items())[-_MAX_EPISODES:]
        state["contains"] = {str(episode): turn for episode, turn in latest}
    return as_json(state, indented=True)


def merge_maps(base: MapGraph, found: Iterable[MapGraph]) -> MapGraph:
    """Return the map with what each of the others has beyond it, in their order.

    Walks and failures of all of them count. The map is changed in place.
    """
    known = Counter(map_changes(base))
    tried = {(room, action) for room, actions in base.in_vain.items() for action in actions}
    for graph in found:
        base.apply_changes(_news(graph, known, tried))
        base.contains.update(graph.contains)
    base.unsaved.clear()
    return base


def _news(graph: MapGraph, known: Counter[MapChange], tried: set[tuple[int, str]]) -> list[MapChange]:
    """Return what a map has beyond the known changes, in its own order; last the actions that have had an effect."""
    left = Counter(known)
    news: list[MapChange] = []
    for change in map_changes(graph):
        if left[change]:
            left[change] -= 1
        else:
            news.append(change)
    worked = [(room, action) for room, action in sorted(tried) if action not in graph.in_vain.get(room, {})]
    return news + [("add_attempt", (room, action, None, ())) for room, action in worked]

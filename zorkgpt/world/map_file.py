"""The map on disk, across episodes and shared by every process that plays in the same folder."""

import logging
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from zorkgpt.errors import MapFileError, reason_of
from zorkgpt.files import AtomicFile, Stamp
from zorkgpt.world.connections import Connection
from zorkgpt.world.graph import MAP_DAMAGE, MapGraph, parse_map
from zorkgpt.world.movement import Move
from zorkgpt.world.tries import UntriedThings

log = logging.getLogger("zorkgpt.world")


def read_map(path: Path) -> MapGraph | None:
    """Read a map without changing its file; None if there is none.

    Raises:
        FileError: If the file can't be read.
        MapFileError: If it is damaged, or a later version wrote it.
    """
    data, _ = AtomicFile(path).read()
    try:
        return None if data is None else parse_map(data, path, 2)
    except MAP_DAMAGE as error:
        raise MapFileError(
            f"{path} is no map: {reason_of(error)}. The next episode sets it aside and begins a new one."
        ) from None


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
                base = parse_map(self._last, self.file.path, None) if self._last else MapGraph()
                if (saved := self._read()) is not None:
                    _add_news(saved, self._graph, base)
                    _replace(self._graph, saved)
            data = self._graph.to_json(datetime.now(UTC))
            self.file.write(data)
            self._last, self._stamp = data, self.file.stamp()

    def is_changed(self) -> bool:
        """Return whether the file has changed since it was last read or written."""
        return self.file.stamp() != self._stamp

    def _read(self) -> MapGraph | None:
        """Return the map in the file; None if there is none, or it is damaged and was set aside."""
        data, stamp = self.file.read()
        try:
            graph = None if data is None else parse_map(data, self.file.path, self._graph.exit_failure_threshold)
        except MAP_DAMAGE as error:
            aside = self.file.set_aside()
            self.file.path.unlink(missing_ok=True)
            extra = {"path": str(self.file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
            log.warning("the map file is damaged and was set aside", extra=extra)
            graph, data, stamp = None, None, ()
        self._last, self._stamp = data, stamp
        return graph


def _replace(graph: MapGraph, other: MapGraph) -> None:
    """Replace the content of a map with a copy of another's."""
    graph.clear()
    graph.fill(other.to_dict())


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
    _add_new_things(graph.things, other.things, base.things)
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


def _add_new_things(things: UntriedThings, other: UntriedThings, base: UntriedThings) -> None:
    for number, (room_id, name) in other.seen.items():
        if base.seen.get(number) != (room_id, name):
            things.add(room_id, number, name)
    for number in other.tried:
        things.add_tried(number)

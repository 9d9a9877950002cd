"""The map on disk, across episodes and shared by every process that plays in the same folder."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

from zorkgpt.encoding import as_json
from zorkgpt.errors import MapFileError, reason_of
from zorkgpt.files import AtomicFile
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_format import sightings

log = logging.getLogger("zorkgpt.world")

VERSION = 2
_MOST_EPISODES = 100
"""That the file says of how far it contains them: a killed one older than these is learned again on resuming."""
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


def save_map(graph: MapGraph, file: AtomicFile) -> None:
    """Write the map, whole or not at all, with what other processes have written since it was read.

    Afterwards the graph holds both.

    Raises:
        FileError: the file can't be locked, read or written; it is what it was.
        MapFileError: a later version wrote it.
    """
    with file.locked():
        data, stamp = file.read()
        if data is not None and graph.kept_as != (file.path, stamp):
            theirs = _understood(file, data, graph.exit_failure_threshold)
            if theirs is not None:
                known_there = graph.kept_as is not None and graph.kept_as[0] == file.path
                theirs.learn(list(graph.unsaved if known_there else sightings(graph)))
                theirs.learned = graph.learned
                graph.become(theirs)
        file.write(_rendered(graph))
        graph.unsaved.clear()
        graph.kept_as = (file.path, file.stamp())


def load_map(path: Path, *, exit_failure_threshold: int | None = 2) -> MapGraph:
    """The map of earlier episodes; an empty one if there is none.

    A file that is no map is set aside under another name, so that nothing writes over it.

    Raises:
        FileError: the file can't be read.
        MapFileError: a later version wrote it.
    """
    file = AtomicFile(path)
    data, stamp = file.read()
    graph = None if data is None else _understood(file, data, exit_failure_threshold)
    if graph is None:
        return MapGraph(exit_failure_threshold=exit_failure_threshold)
    graph.kept_as = (file.path, stamp)
    return graph


def read_map(path: Path) -> MapGraph | None:
    """The map of a file that is only looked at; None if there is none.

    Raises:
        FileError: the file can't be read.
        MapFileError: it is damaged, or a later version wrote it.
    """
    data, _ = AtomicFile(path).read()
    try:
        return None if data is None else _parsed(data, path, 2)
    except _DAMAGE as error:
        raise MapFileError(
            f"{path} is no map: {reason_of(error)}. The next episode sets it aside and begins a new one."
        ) from None


def _understood(file: AtomicFile, data: bytes, exit_failure_threshold: int | None) -> MapGraph | None:
    """The map of these bytes; None if they are none, and then the file is out of the way."""
    try:
        return _parsed(data, file.path, exit_failure_threshold)
    except _DAMAGE as error:
        aside = file.set_aside()
        file.path.unlink(missing_ok=True)
        extra = {"path": str(file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
        log.warning("the map file is damaged and was set aside", extra=extra)
        return None


def _parsed(data: bytes, path: Path, exit_failure_threshold: int | None) -> MapGraph:
    state = json.loads(data.decode("utf-8"))
    version = state.get("metadata", {}).get("version", VERSION)
    if float(version) > VERSION:
        raise MapFileError(
            f"{path} was written by a later version of this program: its format is {version}, "
            f"and formats up to {VERSION} are known here. Use that version, or another --workdir. The file is kept."
        )
    graph = MapGraph.from_dict(state, exit_failure_threshold=exit_failure_threshold)
    contains = state.get("contains", {})
    graph.contains.update((int(episode), int(turn)) for episode, turn in contains.items())
    return graph


def _rendered(graph: MapGraph) -> bytes:
    state = graph.to_dict()
    state["metadata"] = {
        "version": VERSION,
        "total_rooms": len(state["rooms"]),
        "total_connections": sum(len(ways) for ways in state["connections"].values()),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if contains := graph.contains | graph.learned:
        latest = sorted(contains.items())[-_MOST_EPISODES:]
        state["contains"] = {str(episode): turn for episode, turn in latest}
    return as_json(state, indented=True)

"""The map on disk, across episodes and shared by every process that plays in the same folder."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from zorkgpt.files import AtomicFile, Stamp
from zorkgpt.world.graph import DamagedMap, MapGraph, parse_map

log = logging.getLogger("zorkgpt.world")


class MapFile:
    """The map of a working directory, which other processes may change at the same time.

    Args:
        graph: The map as this process knows it; updated in place.
    """

    def __init__(self, path: Path, graph: MapGraph) -> None:
        self.file = AtomicFile(path)
        self._graph = graph
        self._unsaved: list[Callable[[], object]] = []
        """The changes of this process since it last read or wrote the file."""
        self._stamp: Stamp = ()

    def load(self) -> None:
        """Replace the map with the file's; with an empty one if there is no file.

        A damaged file is set aside under another name, so that nothing overwrites it.

        Raises:
            FileError: If the file can't be read.
            MapFileError: If a later version wrote it.
        """
        _replace(self._graph, self._read() or MapGraph())
        self._unsaved.clear()

    def change(self, change: Callable[[], object]) -> None:
        """Change the map. The change is repeated by `save` if another process has written the file meanwhile."""
        change()
        self._unsaved.append(change)

    def save(self) -> None:
        """Write the map atomically.

        If another process has written the file, its map replaces this one, with the changes of this process.

        Raises:
            FileError: If the file can't be locked, read or written; it is unchanged.
            MapFileError: If a later version wrote it.
        """
        with self.file.locked():
            if self.is_changed() and (saved := self._read()) is not None:
                self._repeat_changes(saved)
            self.file.write(self._graph.to_json(datetime.now(UTC)))
            self._stamp = self.file.stamp()
            self._unsaved.clear()

    def undo(self) -> None:
        """Undo the last change since the file was read or written.

        Raises:
            FileError: If the file can't be read.
            MapFileError: If a later version wrote it.
        """
        saved = self._read() or MapGraph()
        self._unsaved.pop()
        self._repeat_changes(saved)

    def _repeat_changes(self, saved: MapGraph) -> None:
        _replace(self._graph, saved)
        for change in self._unsaved:
            change()

    def is_changed(self) -> bool:
        """Return whether the file has changed since it was last read or written."""
        return self.file.stamp() != self._stamp

    def _read(self) -> MapGraph | None:
        """Return the map in the file; None if there is none, or it is damaged and was set aside."""
        data, stamp = self.file.read()
        try:
            graph = None if data is None else parse_map(data, self.file.path, self._graph.exit_failure_threshold)
        except DamagedMap as error:
            aside = self.file.set_aside()
            self.file.path.unlink(missing_ok=True)
            extra = {"path": str(self.file.path), "set_aside": str(aside or ""), "reason": str(error)}
            log.warning("the map file is damaged and was set aside", extra=extra)
            graph, stamp = None, ()
        self._stamp = stamp
        return graph


def _replace(graph: MapGraph, other: MapGraph) -> None:
    """Replace the content of a map with a copy of another's."""
    graph.clear()
    graph.fill(other.to_dict())

"""Follows a file of JSON lines that another process writes: what is new is read, half a line waits for its rest."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 1 << 24


class Lines:
    """The lines of a file, each once, with where it stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        """Everything before this byte was read."""
        self.unreadable = 0
        """Whole lines that are no JSON object."""
        self._identity: int | None = None

    def size(self) -> int:
        """In bytes; 0 if the file is not there."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def age_s(self) -> float:
        """Since the file was last written; 0 if it is not there."""
        try:
            return max(0.0, time.time() - self.path.stat().st_mtime)
        except OSError:
            return 0.0

    def was_replaced(self) -> bool:
        """Another file is there now, or a shorter one; begin again with a new `Lines`."""
        try:
            now = self.path.stat()
        except OSError:
            return self.end > 0
        if self._identity is None:
            self._identity = now.st_ino
        return now.st_ino != self._identity or now.st_size < self.end

    def new(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """(first byte, length, object) of every line that came since the last call."""
        if self.size() <= self.end:
            return
        with self.path.open("rb") as file:
            file.seek(self.end)
            rest = b""
            while chunk := file.read(_CHUNK_BYTES):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    start, self.end = self.end, self.end + len(line) + 1
                    if (record := parsed(line)) is not None:
                        yield start, len(line), record
                    elif line.strip():
                        self.unreadable += 1

    def at(self, start: int, length: int) -> dict[str, Any]:
        """One line, read again; empty if it is not there any more."""
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                return parsed(file.read(length)) or {}
        except OSError:
            return {}


def parsed(line: bytes) -> dict[str, Any] | None:
    """None: no JSON object."""
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None

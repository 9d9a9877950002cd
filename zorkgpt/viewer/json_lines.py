"""Follow a file of JSON lines that another process writes, and make its values safe for the page."""

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

SHOWN_CHARACTERS = 4000
"""Of a text in a list; the whole of it is told when it is asked for."""
_SPAN = 1_000_000


def turn_key(episode: int, turn: int) -> int:
    """A turn of an episode as one number: later is larger."""
    return episode * _SPAN + turn


def whole_number(value: Any) -> int | None:
    """None: it is no whole number that the page's own numbers can hold."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value if fits else None


def number(value: Any) -> float | None:
    """None: it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -1e300 < value < 1e300 else None


def text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def cut(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    words = text(value)
    return words if len(words) <= limit else words[:limit]


def texts(value: Any, limit: int = SHOWN_CHARACTERS, count: int = 500) -> list[str]:
    return [cut(one, limit) for one in value[:count]] if isinstance(value, list) else []


def objects(value: Any, count: int = 500) -> list[dict[str, Any]]:
    return [one for one in value[:count] if isinstance(one, dict)] if isinstance(value, list) else []


def json_safe(value: Any, limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> Any:
    """Whatever a log may hold, bounded in length and depth, and with numbers that every reader of JSON knows."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        known = whole_number(value) if isinstance(value, int) else number(value)
        return text(value) if known is None else known
    if isinstance(value, list) and depth:
        return [json_safe(one, limit, depth=depth - 1) for one in value[:200]]
    if isinstance(value, dict) and depth:
        return {cut(name, 80): json_safe(one, limit, depth=depth - 1) for name, one in list(value.items())[:60]}
    return cut(value, limit)


_CHUNK_BYTES = 1 << 24
_HEAD_BYTES = 1024


class JsonLines:
    """The lines of a file, each once, with where it stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        """Everything before this byte was read."""
        self.unreadable = 0
        """Whole lines that are no JSON object."""
        self._identity: int | None = None
        self._head = b""

    def size(self) -> int:
        """In bytes; 0 if the file is not there."""
        now = self._state()
        return now.st_size if now else 0

    def age_s(self) -> float:
        """Since the file was last written; 0 if it is not there."""
        now = self._state()
        return max(0.0, time.time() - now.st_mtime) if now else 0.0

    def was_replaced(self) -> bool:
        """Another file is there now, or another text in it; begin again with a new `JsonLines`."""
        now = self._state()
        if now is None:
            return self.end > 0
        if self._identity is None:
            self._identity = now.st_ino
        if now.st_ino != self._identity or now.st_size < self.end:
            return True
        # A new file may be given the number of one that was deleted, and be longer by the time somebody looks.
        return now.st_size > self.end > 0 and not self._beginning().startswith(self._head)

    def new(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """(first byte, length, object) of every line that came since the last call."""
        if self.size() <= self.end:
            return
        with self._opened() as file:
            self._head = self._head or file.read(_HEAD_BYTES)
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
            with self._opened() as file:
                file.seek(start)
                return parsed(file.read(length)) or {}
        except OSError:
            return {}

    def _state(self) -> os.stat_result | None:
        """None: no such file. A link may lead out of the run, and what is no file may never end."""
        try:
            now = self.path.stat(follow_symlinks=False)
        except OSError:
            return None
        return now if stat.S_ISREG(now.st_mode) else None

    def _beginning(self) -> bytes:
        try:
            with self._opened() as file:
                return file.read(_HEAD_BYTES)
        except OSError:
            return b""

    def _opened(self) -> BinaryIO:
        return open(self.path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK))


def parsed(line: bytes) -> dict[str, Any] | None:
    """None: no JSON object."""
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None

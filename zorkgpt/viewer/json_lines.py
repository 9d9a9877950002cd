"""Follow a log that another process writes, and make its values safe for the page."""

import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from zorkgpt.bounded import RECORD, json_object
from zorkgpt.log_files import UNREADABLE, packed, unpacked, unpacked_size
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import is_place, render_place

SHOWN_CHARACTERS = 4000
"""Maximum length of a text in a list."""
_MAX_OBJECTS = 500
_MAX_TURNS = 1_000_000


def turn_key(episode: int, turn: int) -> int:
    """Return one number for a turn of an episode. The numbers sort by time."""
    return episode * _MAX_TURNS + turn


def episode_of(key: int) -> int:
    """Return the episode of a turn's key."""
    return key // _MAX_TURNS


def whole_number(value: Any) -> int | None:
    """Return an integer in the safe range of JavaScript. None for any other value."""
    is_safe = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value if is_safe else None


def place_address(key: SubjectKey) -> str:
    """Return the key of a subject in the page. Places are JSON, so that 5 and "5" are different."""
    return json.dumps(key, ensure_ascii=False, separators=(",", ":")) if is_place(key) else render_place(key)


def number(value: Any) -> float | None:
    """Return a finite number. None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -1e300 < value < 1e300 else None


def text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def cut(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    return text(value)[:limit]


def objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:_MAX_OBJECTS] if isinstance(item, dict)] if isinstance(value, list) else []


def json_safe(value: Any, limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> Any:
    """Return a value of a log, limited in length and depth. Numbers that JavaScript can't represent become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        safe = whole_number(value) if isinstance(value, int) else number(value)
        return text(value) if safe is None else safe
    if isinstance(value, list | tuple) and depth:
        return [json_safe(item, limit, depth=depth - 1) for item in value[:200]]
    if isinstance(value, dict) and depth:
        return json_safe_object(value, limit, depth=depth)
    return cut(value, limit)


def json_safe_object(value: dict[Any, Any], limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> dict[str, Any]:
    """Return an object of a log, limited in the same way as `json_safe`."""
    return {cut(name, 80): json_safe(item, limit, depth=depth - 1) for name, item in list(value.items())[:60]}


_CHUNK_BYTES = 1 << 24
_HEAD_BYTES = 1024


class _LogState(NamedTuple):
    """The state of a log file."""

    inode: int
    size: int
    """Uncompressed size in bytes."""
    written: float
    """Time of the last change, in seconds since 1970."""


class JsonLines:
    """A reader that yields each JSON line of a growing file once, with its position."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """The uncompressed file. An old one is read from the compressed file that replaced it."""
        self.end = 0
        """The position of the first unread byte."""
        self.unreadable = 0
        """The number of complete lines that are not valid records."""
        self.trouble = ""
        """Why an existing file can't be read, or ""."""
        self._identity: int | None = None
        self._head = b""

    def size(self) -> int:
        """Return the uncompressed size in bytes, or 0 if there is no file."""
        state = self._state()
        return state.size if state else 0

    def age_s(self) -> float:
        """Return the seconds since the file was last written, or 0 if there is no file."""
        state = self._state()
        return max(0.0, time.time() - state.written) if state else 0.0

    def was_replaced(self) -> bool:
        """Return whether the file or its content was replaced, so that a new `JsonLines` is needed."""
        state = self._state()
        if state is None:
            return self.end > 0
        if self._identity is None:
            self._identity = state.inode
        if state.inode != self._identity or state.size < self.end:
            return True
        # A new file may reuse the inode of a deleted one and already be longer, so compare the first bytes too.
        return state.size > self.end > 0 and not self._beginning().startswith(self._head)

    def new(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (first byte, length, object) of every line since the last call."""
        if self.size() <= self.end:
            exists = not self.end and os.path.lexists(self.path)
            self.trouble = "not a regular file" if exists and self._state() is None else ""
            return
        try:
            yield from self._new()
        except UNREADABLE as error:
            self.trouble = f"can't be read ({getattr(error, 'strerror', None) or error})"
        else:
            self.trouble = ""

    def _new(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        with self._open() as file:
            self._head = self._head or file.read(_HEAD_BYTES)
            file.seek(self.end)
            rest = b""
            while chunk := file.read(_CHUNK_BYTES):
                *complete, rest = (rest + chunk).split(b"\n")
                for line in complete:
                    start, self.end = self.end, self.end + len(line) + 1
                    if (record := parsed(line)) is not None:
                        yield start, len(line), record
                    elif line.strip():
                        self.unreadable += 1

    def damage(self) -> dict[str, Any] | None:
        """Return the problems of the file. None if all of it can be shown."""
        half_written = self.size() > self.end and not self.trouble
        if not (self.unreadable or self.trouble or half_written):
            return None
        return {"unreadable": self.unreadable, "trouble": self.trouble, "half_written": half_written}

    def at(self, start: int, length: int) -> dict[str, Any]:
        """Read one line again. Empty if it no longer exists."""
        return next(self.several([(start, length)]))

    def several(self, spans: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
        """Read lines again, by first byte and length. Empty for each line that no longer exists."""
        remaining = len(spans)
        with suppress(*UNREADABLE), self._open() as file:
            for start, length in spans:
                file.seek(start)
                record = parsed(file.read(length)) or {}
                remaining -= 1
                yield record
        yield from [{}] * remaining

    def _state(self) -> _LogState | None:
        """Return the file's state. None unless it is a regular file: links may leave the run, devices never end."""
        is_packed = self._is_packed()
        path = packed(self.path) if is_packed else self.path
        try:
            status = path.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                return None
            if not is_packed:
                return _LogState(status.st_ino, status.st_size, status.st_mtime)
            with _open(path) as file:
                return _LogState(status.st_ino, unpacked_size(file), status.st_mtime)
        except OSError:
            return None

    def _is_packed(self) -> bool:
        return not os.path.lexists(self.path) and packed(self.path).exists()

    def _beginning(self) -> bytes:
        try:
            with self._open() as file:
                return file.read(_HEAD_BYTES)
        except UNREADABLE:
            return b""

    def _open(self) -> BinaryIO:
        return unpacked(_open(packed(self.path))) if self._is_packed() else _open(self.path)


def _open(path: Path) -> BinaryIO:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK))


def parsed(line: bytes) -> dict[str, Any] | None:
    """Parse a line. None if it is not a JSON object."""
    return json_object(line.decode("utf-8", "replace"), RECORD)


def is_foreign(path: Path) -> bool:
    """Return whether a file is a link, which may leave the run, or not a regular file."""
    return path.is_symlink() or (path.exists() and not path.is_file())

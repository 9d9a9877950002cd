"""Follow a log or a journal that another process writes, and make its values safe for the page."""

import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from zorkgpt.bounded import RECORD, json_object
from zorkgpt.errors import MemoryStoreError
from zorkgpt.log_files import UNREADABLE, packed, unpacked, unpacked_size
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import is_place, place_from_json, render_place
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.tables import Records

SHOWN_CHARACTERS = 4000
"""The most characters of a text in a list; the whole text is sent on request."""
_MOST_OBJECTS = 500
_SPAN = 1_000_000


def turn_key(episode: int, turn: int) -> int:
    """Return a turn of an episode as one number that sorts by time."""
    return episode * _SPAN + turn


def episode_of(key: int) -> int:
    """Return the episode of a turn's key."""
    return key // _SPAN


def whole_number(value: Any) -> int | None:
    """Return an integer that JavaScript numbers can hold; None for any other value."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value if fits else None


def place_key(value: Any) -> SubjectKey | None:
    """Return the key of a place; None for any other value."""
    if isinstance(value, int):
        return whole_number(value)
    try:
        return place_from_json(value)
    except (TypeError, ValueError):
        return None


def place_address(key: SubjectKey) -> str:
    """Return the key of a subject as the page writes it: a place as JSON, so that 5 and "5" are two places."""
    return json.dumps(key, ensure_ascii=False, separators=(",", ":")) if is_place(key) else render_place(key)


def number(value: Any) -> float | None:
    """Return a finite number; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -1e300 < value < 1e300 else None


def text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def cut(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    words = text(value)
    return words if len(words) <= limit else words[:limit]


def objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value[:_MOST_OBJECTS] if isinstance(one, dict)] if isinstance(value, list) else []


def json_safe(value: Any, limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> Any:
    """Return any value of a log, bounded in length and depth, with numbers that every JSON reader understands."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        known = whole_number(value) if isinstance(value, int) else number(value)
        return text(value) if known is None else known
    if isinstance(value, list | tuple) and depth:
        return [json_safe(one, limit, depth=depth - 1) for one in value[:200]]
    if isinstance(value, dict) and depth:
        return json_safe_object(value, limit, depth=depth)
    return cut(value, limit)


def json_safe_object(value: dict[Any, Any], limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> dict[str, Any]:
    """Return an object of a log, bounded like any other value."""
    return {cut(name, 80): json_safe(one, limit, depth=depth - 1) for name, one in list(value.items())[:60]}


_CHUNK_BYTES = 1 << 24
_HEAD_BYTES = 1024


class _LogState(NamedTuple):
    """Of a file."""

    inode: int
    size: int
    """In bytes, before compression."""
    written: float
    """When, in seconds since 1970."""


class JsonLines:
    """Reads the JSON lines of a growing file, each once, with its position."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Of the file as it is while it grows; an old one is read from the compressed file that replaced it."""
        self.end = 0
        """The first byte that was not read yet."""
        self.unreadable = 0
        """The number of complete lines that are not JSON objects, or not what the file holds."""
        self.trouble = ""
        """Why it is not read, though it is there."""
        self._identity: int | None = None
        self._head = b""

    def size(self) -> int:
        """Return the size in bytes; 0 if there is no file."""
        now = self._state()
        return now.size if now else 0

    def age_s(self) -> float:
        """Return the seconds since the file was last written; 0 if there is no file."""
        now = self._state()
        return max(0.0, time.time() - now.written) if now else 0.0

    def was_replaced(self) -> bool:
        """Return whether the file or its content was replaced, so that a new `JsonLines` is needed."""
        now = self._state()
        if now is None:
            return self.end > 0
        if self._identity is None:
            self._identity = now.inode
        if now.inode != self._identity or now.size < self.end:
            return True
        # A new file may get the inode of a deleted one, and be longer by the time it is checked.
        return now.size > self.end > 0 and not self._beginning().startswith(self._head)

    def new(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (first byte, length, object) of every line since the last call."""
        if self.size() <= self.end:
            is_there = not self.end and os.path.lexists(self.path)
            self.trouble = "not a regular file" if is_there and self._state() is None else ""
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
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    start, self.end = self.end, self.end + len(line) + 1
                    if (record := parsed(line)) is not None:
                        yield start, len(line), record
                    elif line.strip():
                        self.unreadable += 1

    def damage(self) -> dict[str, Any] | None:
        """Return what of the file can't be shown; None if all of it can be."""
        half_written = self.size() > self.end and not self.trouble
        if not (self.unreadable or self.trouble or half_written):
            return None
        return {"unreadable": self.unreadable, "trouble": self.trouble, "half_written": half_written}

    def at(self, start: int, length: int) -> dict[str, Any]:
        """Read one line again; empty if it is no longer there."""
        return next(self.several([(start, length)]))

    def several(self, places: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
        """Read lines again, by first byte and length; empty for what is no longer there."""
        left = len(places)
        with suppress(*UNREADABLE), self._open() as file:
            for start, length in places:
                file.seek(start)
                record = parsed(file.read(length)) or {}
                left -= 1
                yield record
        yield from [{}] * left

    def _state(self) -> _LogState | None:
        """Return the file's state; None if it is not a regular file: links may leave the run, devices never end."""
        is_packed = self._is_packed()
        path = packed(self.path) if is_packed else self.path
        try:
            now = path.stat(follow_symlinks=False)
            if not stat.S_ISREG(now.st_mode):
                return None
            if not is_packed:
                return _LogState(now.st_ino, now.st_size, now.st_mtime)
            with _open(path) as file:
                return _LogState(now.st_ino, unpacked_size(file), now.st_mtime)
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
    """Parse a line; None if it is not a JSON object."""
    return json_object(line.decode("utf-8", "replace"), RECORD)


class JournalRows:
    """Reads the records of a table, each once."""

    def __init__(self, records: Records, database: SqliteDatabase) -> None:
        self.records = records
        self.database = database
        self.end = 0
        """The position of the last record that was read."""
        self.unreadable = 0
        """The number of records that are not JSON objects, or not what the table holds."""
        self.trouble = ""
        """Why the file is not read, though it is there."""
        self._last = ""
        """The last record that was read."""

    def was_replaced(self) -> bool:
        """Return whether what was read is no longer there, so that a new reader is needed."""
        if self._is_foreign():
            return self.end > 0
        try:
            return self.records.text_at(self.end) != self._last
        except MemoryStoreError:
            return False

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield every record since the last call."""
        if self._is_foreign():
            self.trouble = "not a regular file"
            return
        try:
            for position, text in self.records.texts_from(self.end):
                self.end, self._last = position, text
                if (record := parsed(text.encode(errors="replace"))) is not None:
                    yield record
                else:
                    self.unreadable += 1
        except MemoryStoreError as error:
            self.trouble = str(error)
        else:
            self.trouble = self.database.trouble and "damaged"

    def damage(self) -> dict[str, Any] | None:
        """Return what of the table can't be shown, None if all of it can be."""
        if not (self.unreadable or self.trouble):
            return None
        return {"unreadable": self.unreadable, "trouble": self.trouble, "half_written": False}

    def _is_foreign(self) -> bool:
        """Return whether the file is a link, which may leave the run, or not a file at all."""
        path = self.database.path
        return path.is_symlink() or (path.exists() and not path.is_file())

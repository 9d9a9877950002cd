"""The history beside the file: a line for every change of a memory, rewritten only to be compacted."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zorkgpt.errors import FileError, MemoryStoreError
from zorkgpt.files import Disk, check_is_file, write_file
from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryStatus, PlaceKey, fields_of, memory_of
from zorkgpt.memory.places import checked_place, place_order
from zorkgpt.memory.storage.changes import Change, Kind
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.escaping import one_line

PERSON_SOURCES = ("hand", "person")
"""Sources of the changes that a person made: in the file, or by a command."""
_TAIL_BYTES = 4096
_LATER_FIELDS: dict[str, Any] = {"tried": 0, "worked": 0, "pinned": False, "vetoed": False}
_LATER_FIELDS |= {"action": "", "outcome": "", "claims": [], "when": [], "first_episode": None, "id": ""}
"""Fields that are left out of a line where they say nothing, so that an earlier version reads it."""
_COUNTED = ("seen again", "credited")
"""Changes of a count: they happen often, and what the game said then taught nothing."""
_LONGEST_RESPONSE = 400
_LONGEST_ACTION = 120


@dataclass(frozen=True, slots=True)
class TurnStamp:
    """The turn in which a change was made, and what the game had just said."""

    episode: int | str
    turn: int
    action: str = ""
    """"" for an arrival without one, and where nobody told."""
    response: str = ""
    """The game's response, in one line, shortened where it is long."""
    state: tuple[Claim, ...] = ()
    """The state in which the action was taken, as far as the ground truth tells."""

    @classmethod
    def of(
        cls, episode: int | str, turn: int, action: str = "", response: str = "", state: tuple[Claim, ...] = ()
    ) -> "TurnStamp":
        """Build one from texts of any length."""
        return cls(episode, turn, _shortened(action, _LONGEST_ACTION), _shortened(response, _LONGEST_RESPONSE), state)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "TurnStamp | None":
        """Read it from a row of the history; None if the row does not say when."""
        episode, turn = row.get("episode"), row.get("turn")
        if not isinstance(episode, (int, str)) or not isinstance(turn, int):
            return None
        state = row.get("state")
        told = claims_in(state) if isinstance(state, list) else ()
        return cls(episode, turn, str(row.get("action") or ""), str(row.get("response") or ""), told)


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """A line of the history."""

    at: str
    """The time of the change, in UTC, as ISO 8601."""
    change: Change
    source: str
    """"agent": by a call; "person": by a command or in the viewer; "hand": edited in the file; "recovered": found in
    the file after a kill; "baseline"."""
    turn_stamp: TurnStamp | None = None
    """None: the turn is not known."""


class ChangeHistory:
    """`Memories.history.jsonl`."""

    def __init__(
        self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), disk: Disk | None = None
    ) -> None:
        self.path = path
        self._path = str(path)
        self._now = now
        self._disk = disk or Disk()

    def append(
        self, changes: Iterable[Change], fingerprint: str, *, source: str = "agent", turn_stamp: TurnStamp | None = None
    ) -> None:
        """Add a line for each change; the last one says with `file` what the file is after all of them.

        Not flushed to disk: the file is the truth, and a line that is missing is added at the next load.
        """
        at = self._now().isoformat(timespec="milliseconds")
        rows = [row_of(at, change, source, turn_stamp) for change in changes] or [
            {"at": at, "kind": "noted", "source": source}
        ]
        rows[-1]["file"] = fingerprint
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        descriptor = self._disk.create(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # A kill cut the last line short; ours begins on a line of its own.
                data = b"\n" + data
            rest = memoryview(data)
            while rest:
                rest = rest[self._disk.write(descriptor, rest) :]
        finally:
            self._disk.close(descriptor)

    def compact(self) -> tuple[int, int]:
        """Make one line of the observations and trials of a memory that follow one another. Only under the lock.

        All other changes stay; what is lost is how often a memory had been seen in between.

        Returns:
            The number of lines before and after.

        Raises:
            MemoryStoreError: it can't be read or written; it is as it was.
        """
        try:
            lines = Path(self._path).read_bytes().splitlines(keepends=True)
            kept = compacted(lines)
            if len(kept) < len(lines):
                write_file(self._path, b"".join(kept))
        except FileNotFoundError:
            return 0, 0
        except (OSError, FileError) as error:
            raise MemoryStoreError(f"Can't compact {self.path}: {error}") from error
        return len(lines), len(kept)

    def size(self) -> int:
        """Return its size in bytes; -1 if there is none.

        Raises:
            MemoryStoreError: it can't be looked at, or is no file.
        """
        try:
            found = self._disk.stat(self._path)
        except FileNotFoundError:
            return -1
        except OSError as error:
            raise MemoryStoreError(f"Can't look at {self._path}: {error}") from error
        check_is_file(self._path, found.st_mode, MemoryStoreError)
        return found.st_size

    def last_fingerprint(self) -> str | None:
        """Return the fingerprint of the file after the last line; None if that line is cut short or missing.

        Raises:
            MemoryStoreError: it can't be read.
        """
        try:
            with open(self._path, "rb") as file:
                length = file.seek(0, os.SEEK_END)
                tail = b""
                while length > 0 and tail.count(b"\n") < 2:
                    start = max(0, length - max(_TAIL_BYTES, 2 * len(tail)))
                    file.seek(start)
                    tail = file.read(length - start) + tail
                    length = start
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MemoryStoreError(f"Can't read {self.path}: {error}") from error
        if not tail.endswith(b"\n"):
            return None
        row = _parsed(tail[:-1].rpartition(b"\n")[2])
        return row.get("file") if row else None

    def records(self) -> Iterator[HistoryRecord]:
        """Yield all records, oldest first; lines that can't be read are passed over."""
        if self.size() < 0:
            return
        with open(self._path, "rb") as file:
            for line in file:
                row = _parsed(line)
                record = record_of(row) if row else None
                if record:
                    yield record

    def records_from(self, start: int, *, sources: Collection[str] | None = None) -> tuple[list[HistoryRecord], int]:
        """Return the records from this byte on, and where the last whole line ends: for following a file that grows.

        Args:
            sources: Return only records from these. None: all.

        Raises:
            MemoryStoreError: it can't be read.
        """
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise MemoryStoreError(f"Can't read {self.path}: {error}") from error
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        if sources is not None:
            # Most lines are an agent's, and parsing them takes time.
            marks = [f'"source": {json.dumps(source)}'.encode() for source in sources]
            lines = [line for line in lines if any(mark in line for mark in marks)]
        rows = map(_parsed, lines)
        return [record for row in rows if row and (record := record_of(row))], start + whole

    def bytes_before(self, end: int, count: int = 200) -> bytes:
        """Return up to `count` bytes before this one, which tell whether a file is still the one that was read."""
        try:
            with open(self._path, "rb") as file:
                file.seek(max(0, end - count))
                return file.read(min(end, count))
        except OSError:
            return b""

    def replayed(self) -> dict[PlaceKey, list[Memory]]:
        """Return the memories that the file had after the last line."""
        return replayed(self.records())


def replayed(records: Iterable[HistoryRecord]) -> dict[PlaceKey, list[Memory]]:
    """Return the memories of each location after these changes."""
    kept: dict[PlaceKey, list[Memory]] = {}
    for record in records:
        before, after = record.change.before, record.change.after
        memories = kept.setdefault(record.change.location_id, [])
        at = memories.index(before) if before in memories else len(memories)
        memories[at : at + 1] = [after] if after is not None else []
    return kept


def compacted(lines: list[bytes]) -> list[bytes]:
    """Return the lines of a history with those that only count, and follow one another, made one."""
    kept: list[bytes | None] = list(lines)
    ends: dict[tuple[PlaceKey, str], int] = {}
    """The numbers of the lines that counts end with, by location and what the memory was after them."""
    for number, line in enumerate(lines):
        row = _parsed(line)
        if row is None or record_of(row) is None:
            if row is not None and row.get("kind") == "noted" and number + 1 < len(lines):
                kept[number] = None
            continue
        place = row["location_id"]
        before = ends.pop((place, _told(row["before"])), None)
        if row["kind"] not in _COUNTED:
            continue
        if before is not None:
            row["before"] = json.loads(kept[before] or b"{}")["before"]
            kept[before], kept[number] = None, json.dumps(row).encode() + b"\n"
        ends[place, _told(row["after"])] = number
    return [line for line in kept if line is not None]


def _told(fields: dict[str, Any] | None) -> str:
    return json.dumps(fields, sort_keys=True)


def row_of(at: str, change: Change, source: str, turn_stamp: TurnStamp | None) -> dict[str, Any]:
    """Return a change as plain values, for JSON."""
    row: dict[str, Any] = {
        "at": at,
        "kind": change.kind,
        "source": source,
        "location_id": change.location_id,
        "location_name": change.location_name,
        "before": _fields(change.before),
        "after": _fields(change.after),
        "reason": change.reason,
    }
    if change.other is not None:
        row["other"] = _fields(change.other)
    if turn_stamp is not None:
        row |= {"episode": turn_stamp.episode, "turn": turn_stamp.turn}
        if change.kind not in _COUNTED and (turn_stamp.action or turn_stamp.response):
            row |= {"action": turn_stamp.action, "response": turn_stamp.response}
        if change.kind == "added" and turn_stamp.state:
            row["state"] = list(map(str, turn_stamp.state))
    return row


def _fields(memory: Memory | None) -> dict[str, Any] | None:
    if memory is None:
        return None
    return {
        name: value
        for name, value in fields_of(memory).items()
        if name not in _LATER_FIELDS or value != _LATER_FIELDS[name]
    }


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def record_of(row: dict[str, Any]) -> HistoryRecord | None:
    """Build a record from what `row_of` gave; None if it is nothing of that kind."""
    try:
        before, after = (None if row[key] is None else memory_of(row[key]) for key in ("before", "after"))
        other = memory_of(row["other"]) if row.get("other") else None
        place = checked_place(row["location_id"])
        change = Change(row["kind"], place, row["location_name"], before, after, row.get("reason"), other)
        return HistoryRecord(row["at"], change, row["source"], TurnStamp.from_row(row))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _shortened(text: str, limit: int) -> str:
    # Much longer texts are cut first: splitting a megabyte into words for a line of it is no use.
    line = one_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def differences(recorded: dict[PlaceKey, list[Memory]], document: Document) -> list[Change]:
    """Return the changes that lead from the recorded memories to those of the document."""
    found = document.all_memories()
    changes = []
    for location_id in sorted({*recorded, *found}, key=place_order):
        gone = list(recorded.get(location_id, ()))
        new = []
        for memory in found.get(location_id, ()):
            if memory in gone:
                gone.remove(memory)
            else:
                new.append(memory)
        name = next((section.name for section in document.sections_of(location_id)), "")
        for memory in new:
            key = memory_id(location_id, memory)
            before = next((old for old in gone if memory_id(location_id, old) == key), None)
            before = before or next((old for old in gone if old.title == memory.title), None)
            if before is not None:
                gone.remove(before)
            changes.append(Change(kind_of(before, memory), location_id, name, before, memory, _reason(memory)))
        changes += [Change("removed", location_id, name, memory, None) for memory in gone]
    return changes


def kind_of(before: Memory | None, after: Memory) -> Kind:
    """Return what happened to a memory, by what it was before and is after."""
    if before is None:
        return "added"
    if replace(before, pinned=after.pinned, vetoed=after.vetoed) == after:
        if before.vetoed != after.vetoed:
            return "vetoed" if after.vetoed else "unvetoed"
        return "pinned" if after.pinned else "unpinned"
    if before.status != after.status == MemoryStatus.SUPERSEDED:
        return "invalidated" if after.superseded_by == INVALIDATION_MARKER else "superseded"
    if after.observation_count > before.observation_count and before.text == after.text:
        return "seen again"
    if after.tried > before.tried and after.text == before.text:
        return "credited"
    return "edited"


def _reason(memory: Memory) -> str | None:
    return memory.invalidation_reason if memory.status == MemoryStatus.SUPERSEDED else None

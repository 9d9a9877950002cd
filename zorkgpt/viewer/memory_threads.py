"""The versions of each memory and the turns in which they were written, read from the journal."""

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.credit import results_in_words
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, SubjectKey, episode_key
from zorkgpt.memory.places import place_order, place_to_json
from zorkgpt.memory.storage.changes import after_change
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.history import (
    COUNTED,
    DEFAULTS,
    UNDATED_SOURCES,
    HistoryRecord,
    Trial,
    differences,
    recorded_fields,
)
from zorkgpt.memory.storage.markdown import is_awaited
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.viewer.json_lines import JournalRecords, cut, episode_of, json_safe, turn_key, whole_number
from zorkgpt.viewer.memory_file import MemoryFile

_PATIENCE_S = 5.0
"""Maximum delay between a change in the journal and in the file."""
_END = 999_999
"""A turn after all others. Ephemeral memories end in it."""
_WHOLE_CHARACTERS = 5_000_000
"""Maximum length of a memory's text. Texts are not shortened, because users edit them."""
Thread = list[dict[str, Any]]
"""The versions of one memory. All but the first have only the changed fields."""
FROM_FILE = "file"
"""The source of a change that is only in the memory file."""


def disproved_at(thread: Thread) -> int | None:
    """Return the turn key at which a memory was invalidated. None if it was not, or if that was reverted."""
    at = None
    for version in thread:
        if "superseded_by" in version["set"]:
            at = version["at"] if version["set"]["superseded_by"] == INVALIDATION_MARKER else None
    return at


class MemoryThreads:
    """The journal of the memory file, by place. `refresh` reads new records.

    If the file differs from its journal, the file has priority: such memories get one more version with the source
    `FROM_FILE`. These versions are recomputed when either changes.
    """

    def __init__(self, database: SqliteDatabase, file: Path) -> None:
        self.file = MemoryFile(file)
        self.changes = 0
        """Incremented with every change."""
        self._database = database
        self._reset()

    def _reset(self) -> None:
        self.journal = JournalRecords(self._database)
        self._in_journal: dict[SubjectKey, _PlaceMemories] = {}
        self._in_file: dict[SubjectKey, _PlaceMemories] = {}
        """The places whose memories differ in the file."""
        self._ephemeral: dict[SubjectKey, dict[int, _PlaceMemories]] = {}
        """The ephemeral memories of each place, by episode."""
        self._is_compared = True
        self._awaited_since: float | None = None
        """When the file was first seen to be older than the journal (`time.monotonic`). None if it is not."""
        self.differing = 0
        """The number of memories that differ between the file and its journal."""
        self._now = (0, 0)
        """(episode, turn) of the last record."""
        self._trials: dict[tuple[int | str, int], list[dict[str, Any]]] = {}
        """(episode, turn) → the memories that the turn followed."""
        self._latest: dict[int, int] = {}
        """Episode → the latest turn so far."""

    def refresh(self, latest: tuple[int, int] = (0, 0)) -> None:
        """Read new records, and the file if it has changed.

        Args:
            latest: (episode, turn) of the latest turn of the run.
        """
        was_read = self.file.refresh()
        if self.journal.was_replaced():
            self._reset()
            was_read = True
        before = self.journal.end
        for record in self.journal.new():
            self._add_change(record, self._turn_of(record, latest))
            if (trial := Trial.of(record)) is not None:
                self._trials.setdefault((trial.episode, trial.turn), []).append(_trial(trial))
        has_new_rows = self.journal.end != before
        if has_new_rows:
            self._in_file, self.differing, self._is_compared = {}, 0, False
        self._is_compared = self._is_compared and not was_read
        is_due = not (self._is_compared or self._is_being_written())
        if is_due:
            self._compare(self.file.document, latest)
        self.changes += is_due or has_new_rows

    def _turn_of(self, record: HistoryRecord, latest: tuple[int, int]) -> tuple[int, int]:
        """Return (episode, turn) of the last record.

        If the turn of a change is unknown, a new memory belongs to the turn that it names, and any other change to the
        latest turn.
        """
        stamp, change = record.turn_stamp, record.change
        at = None if stamp is None else (stamp.episode, stamp.turn)
        if at is None and record.source not in UNDATED_SOURCES:
            first = _first_seen(change.after) if change.before is None else None
            at = first or max(self._now, latest)
        episode, turn = map(whole_number, at or self._now)
        return self._now if episode is None or turn is None else (episode, turn)

    @property
    def names(self) -> dict[SubjectKey, str]:
        """The name of each place that has memories."""
        names = {key: place.name for key, episodes in self._ephemeral.items() for place in episodes.values()}
        return names | {key: place.name for key, place in self._places().items()}

    def of_place(self, place: SubjectKey) -> list[Thread]:
        """Return the versions of every memory of a place."""
        lasting = self._in_file.get(place) or self._in_journal.get(place)
        ended = {"kind": "the episode ended", "set": {}, "gone": True}
        ephemeral = (
            [*thread, {"at": turn_key(episode, _END)} | ended]
            for episode, memories in self._ephemeral.get(place, {}).items()
            for thread in memories.threads
        )
        return [*(lasting.threads if lasting else ()), *ephemeral]

    def places(self) -> list[SubjectKey]:
        """Return every place that has memories, in order."""
        return sorted({*self._places(), *self._ephemeral}, key=place_order)

    def trials(self, episode: int, turn: int) -> list[dict[str, Any]]:
        """Return the memories that a turn followed, with the results."""
        return self._trials.get((episode, turn), [])

    def counts(self) -> tuple[Counter[int], Counter[int]] | None:
        """Return the number of memories learned and disproved in each episode. None if there are no memory files."""
        if self.journal.end == 0 and self.file.document is None:
            return None
        threads = list(chain.from_iterable(place.threads for place in self._places().values()))
        disproved = filter(None, map(disproved_at, threads))
        return Counter(episode_of(thread[0]["at"]) for thread in threads), Counter(map(episode_of, disproved))

    def _places(self) -> "dict[SubjectKey, _PlaceMemories]":
        return self._in_journal | self._in_file

    def _is_being_written(self) -> bool:
        """Return whether the journal has a change that is not in the file yet. The journal is written first."""
        try:
            is_older = not self.file.is_current or is_awaited(self._database, self.file.digest)
        except MemoryStoreError:
            is_older = False
        self._awaited_since = (self._awaited_since or time.monotonic()) if is_older else None
        # The process that wrote the record may have been killed before it wrote the file.
        return self._awaited_since is not None and time.monotonic() - self._awaited_since < _PATIENCE_S

    def _compare(self, document: Document | None, latest: tuple[int, int]) -> None:
        """Add the changes that are in the file but not in the journal."""
        self._in_file, self.differing, self._is_compared = {}, 0, True
        if document is None:
            return
        recorded = {key: place.memories for key, place in self._in_journal.items()}
        for change in differences(recorded, document):
            key = change.location_id
            if key not in self._in_file:
                self._in_file[key] = self._in_journal.get(key, _PlaceMemories()).copy()
            first = _first_seen(change.after) if change.before is None else None
            record = HistoryRecord("", change, FROM_FILE)
            self._in_file[key].add(record, first or max(self._now, latest))
            self.differing += 1

    def _add_change(self, record: HistoryRecord, stamp: tuple[int, int]) -> None:
        change = record.change
        self._now = stamp
        episode, turn = stamp
        # A turn replayed after a crash counts as the latest turn so far, to keep the order.
        self._latest[episode] = turn = max(turn, self._latest.get(episode, 0))
        if change.is_lasting:
            memories = self._in_journal.setdefault(change.location_id, _PlaceMemories())
        else:
            memories = self._ephemeral.setdefault(change.location_id, {}).setdefault(episode, _PlaceMemories())
        memories.add(record, (episode, turn))


class _PlaceMemories:
    """The memories of a place."""

    def __init__(self) -> None:
        self.name = ""
        self.memories: tuple[Memory, ...] = ()
        """The current memories."""
        self.threads: list[Thread] = []
        self._current: dict[str, _Current] = {}
        """The current state of each memory by its id."""

    def copy(self) -> "_PlaceMemories":
        """Return an independent copy."""
        new = _PlaceMemories()
        new.name, new.memories = self.name, self.memories
        copies = {id(thread): list(thread) for thread in self.threads}
        new.threads = list(copies.values())
        new._current = {
            key: current._replace(thread=copies[id(current.thread)]) for key, current in self._current.items()
        }
        return new

    def add(self, record: HistoryRecord, stamp: tuple[int, int]) -> None:
        """Add a version to the changed memory, or add a new memory."""
        change = record.change
        place, before, after = change.location_id, change.before, change.after
        self.memories = after_change(self.memories, change)
        self.name = cut(change.location_name, 200) or self.name
        current = self._current.pop(memory_id(place, before), None) if before is not None else None
        if current is None:
            if after is None:
                return
            current = _Current([], {})
            self.threads.append(current.thread)
        version = _version(record, turn_key(*stamp), current.fields)
        current.thread.append(version)
        if after is not None:
            self._current[memory_id(place, after)] = _Current(current.thread, current.fields | version["set"])


class _Current(NamedTuple):
    """The current state of a memory."""

    thread: Thread
    fields: dict[str, Any]
    """The fields after all versions of the thread."""


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "place": place_to_json(trial.location_id),
        "worked": trial.worked,
        "title": cut(trial.title, 500),
        "result": cut(trial.result, 500),
    }


def _first_seen(memory: Memory | None) -> tuple[int, int] | None:
    """Return (episode, turn) in which a memory was first seen. None if unknown or not numeric."""
    if memory is None:
        return None
    episode = memory.episode if memory.first_episode is None else memory.first_episode
    key, turn = episode_key(episode), memory.first_turn
    return (key, turn) if isinstance(key, int) and 0 <= key < _END and turn is not None and turn < _END else None


def _version(record: HistoryRecord, at: int, before: dict[str, Any]) -> dict[str, Any]:
    change, stamp = record.change, record.turn_stamp
    memory, other = change.after, change.other
    now = {} if memory is None else json_safe(DEFAULTS | recorded_fields(memory), _WHOLE_CHARACTERS)
    if memory is not None and (results := results_in_words(memory)):
        now["results"] = results
    version: dict[str, Any] = {"at": at, "kind": cut(change.kind, 40), "time": cut(record.at, 40)}
    if record.source != "agent":
        version["source"] = cut(record.source, 40)
    if change.reason:
        version["reason"] = cut(change.reason)
    if stamp is not None and change.kind not in COUNTED:
        version |= {name: cut(text) for name in ("action", "response") if (text := getattr(stamp, name))}
    if other is not None:
        version["other"] = {"title": cut(other.title), "text": cut(other.text)}
    version["set"] = {name: value for name, value in now.items() if name not in before or before[name] != value}
    if memory is not None:
        # Fields with their default value are omitted.
        version["set"] |= {name: None for name in before if name not in now}
    else:
        version["gone"] = True
    return version

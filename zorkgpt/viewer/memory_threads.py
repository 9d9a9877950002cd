"""The versions of each memory and the turns in which they were written, read from the record."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.extras import MissingExtra
from zorkgpt.memory.credit import results_in_words
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, SubjectKey, episode_key
from zorkgpt.memory.places import place_order, place_to_json
from zorkgpt.memory.storage.addresses import open_record
from zorkgpt.memory.storage.history import DEFAULTS, UNDATED_SOURCES, HistoryRecord, Trial, recorded_fields
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.postgres import PostgresDatabase, is_postgres
from zorkgpt.memory.storage.sqlite import SqliteDatabase
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.viewer.json_lines import cut, episode_of, is_foreign, json_safe, turn_key, whole_number

_RETRY_S = 10.0
"""How long to wait before a server that could not be reached is asked again."""
_END = 999_999
"""A turn after all others. Ephemeral memories end in it."""
_WHOLE_CHARACTERS = 5_000_000
"""Maximum length of a memory's text. Texts are not shortened, because users edit them."""
Thread = list[dict[str, Any]]
"""The versions of one memory, each with all fields of the `memory`.

The version that made a lasting memory is `learned`, the one that marked it as wrong is `disproved` unless that was
reverted, and one after which the memory does not exist is `gone`.
"""


class MemoryThreads:
    """The changes of the memories, by place. `refresh` reads new ones.

    An edit of `Memories.md` that is not recorded yet is shown, but not recorded.

    Args:
        folder: The story's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.memory = ""
        """The name of the memory file in the folder, or the address of the memory. "" before the first `refresh`."""
        self.changes = 0
        """Incremented with every change."""
        self._folder = folder
        self._database: SqliteDatabase | PostgresDatabase | None = None
        """The record. None if there is no regular file."""
        self._store: MarkdownStore | None = None
        """The memory file with the record. None if there is no regular file."""
        self._foreign: list[Path] = []
        self._trouble = ""
        """Why the record can't be read, or ""."""
        self._retry_at = 0.0
        self._reset()

    def _reset(self) -> None:
        self.changes += 1
        self._end = 0
        """The position of the last record that was read."""
        self._last = ""
        """The time of that record."""
        self._returned = 0
        """See `Journal.last_return`. A later return takes back changes that were read."""
        self._unreadable = 0
        """The number of invalid records."""
        self._lasting: dict[SubjectKey, _PlaceMemories] = {}
        self._ephemeral: dict[SubjectKey, dict[int, _PlaceMemories]] = {}
        """The ephemeral memories of each place, by episode."""
        self._now = (0, 0)
        """(episode, turn) of the last record."""
        self._trials: dict[tuple[int | str, int], list[dict[str, Any]]] = {}
        """(episode, turn) → the memories that the turn followed."""
        self._latest: dict[int, int] = {}
        """Episode → the latest turn so far."""

    def refresh(self, memory: str, latest: tuple[int, int] = (0, 0)) -> None:
        """Read new records, and the edits of the file.

        Args:
            memory: The name of the memory file in the folder, or the address of the memory.
            latest: (episode, turn) of the latest turn of the run.
        """
        if time.monotonic() < self._retry_at:
            return
        try:
            files = [] if is_postgres(memory) else [self._folder / f"{memory}.sqlite", self._folder / memory]
            foreign = list(filter(is_foreign, files))
            if memory != self.memory or foreign != self._foreign:
                self._open(memory, foreign)
            if self._store is not None:
                self._store.refresh()
            if self._database is not None:
                self._read(Journal(self._database), latest)
                is_damaged = isinstance(self._database, SqliteDatabase) and self._database.trouble
                self._trouble = "damaged" if is_damaged else ""
        except (MemoryStoreError, MissingExtra) as error:
            self._trouble = str(error)
            self._retry_at = time.monotonic() + _RETRY_S if is_postgres(memory) else 0.0

    def _open(self, memory: str, foreign: list[Path]) -> None:
        if self._database is not None:
            self._database.close()
        self.memory, self._foreign, self._database, self._store = memory, foreign, None, None
        self._reset()
        database = open_record(self._folder, memory)
        if isinstance(database, SqliteDatabase) and database.path in foreign:
            return
        if isinstance(database, SqliteDatabase) and database.path != self._folder / memory and not foreign:
            self._store = MarkdownStore(self._folder / memory, only_reads=True)
            database = self._store.database
        self._database = database

    def _read(self, journal: Journal, latest: tuple[int, int]) -> None:
        """Read new records, except those of turns that are played again."""
        is_same = journal.time_at(self._end) == self._last
        if not is_same or (self._end and journal.last_return() != self._returned):
            self._reset()
        before = self._end
        if not self._end:
            self._returned = journal.last_return()
        for position, record in journal.read(self._end):
            self._end = position
            if record is None:
                self._unreadable += 1
            elif not record.is_of_repeated_turn:
                self._add_change(record, self._turn_of(record, latest))
                if (trial := Trial.of(record)) is not None:
                    self._trials.setdefault((trial.episode, trial.turn), []).append(_trial(trial))
        self._last = journal.time_at(self._end)
        self.changes += self._end != before

    def damage(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name or the address of each part that can't be shown completely, with its problems."""
        files = {path.name: (0, "not a regular file") for path in self._foreign}
        if self._trouble or self._unreadable:
            files[self._name] = self._unreadable, self._trouble
        if (store := self._store) is not None:
            problems = () if store.trouble else store.document.problems()
            files[self.memory] = sum(problem.is_broken for problem in problems), store.trouble
        for name, (unreadable, trouble) in files.items():
            if unreadable or trouble:
                yield name, {"unreadable": unreadable, "trouble": trouble, "half_written": False}

    @property
    def _name(self) -> str:
        if isinstance(self._database, SqliteDatabase):
            return self._database.path.name
        return "the memory" if self._database is None else self._database.address

    @property
    def _has_record(self) -> bool:
        """Whether there is a readable record. Without one, the memories are those of the file."""
        database = self._database
        return database is not None and not (
            isinstance(database, SqliteDatabase) and (database.trouble or not database.exists())
        )

    def _turn_of(self, record: HistoryRecord, latest: tuple[int, int]) -> tuple[int, int]:
        """Return (episode, turn) of the last record.

        If the turn of a change is unknown, a new memory belongs to the turn that it names, and any other change to the
        latest turn.
        """
        stamp, change = record.turn_stamp, record.change
        at = None if stamp is None else (stamp.episode, stamp.turn)
        if at is None and (record.source not in UNDATED_SOURCES or not self._has_record):
            first = _first_seen(change.after) if change.before is None else None
            at = first or max(self._now, latest)
        episode, turn = map(whole_number, at or self._now)
        return self._now if episode is None or turn is None else (episode, turn)

    @property
    def names(self) -> dict[SubjectKey, str]:
        """The name of each place that has memories."""
        names = {key: place.name for key, episodes in self._ephemeral.items() for place in episodes.values()}
        return names | {key: place.name for key, place in self._lasting.items()}

    def of_place(self, place: SubjectKey) -> list[Thread]:
        """Return the versions of every memory of a place."""
        lasting = self._lasting.get(place)
        ended = {"kind": "the episode ended", "gone": True}
        ephemeral = (
            [*thread, {"at": turn_key(episode, _END), "memory": thread[-1]["memory"]} | ended]
            for episode, memories in self._ephemeral.get(place, {}).items()
            for thread in memories.threads
        )
        return [*(lasting.threads if lasting else ()), *ephemeral]

    def places(self) -> list[SubjectKey]:
        """Return every place that has memories, in order."""
        return sorted({*self._lasting, *self._ephemeral}, key=place_order)

    def trials(self, episode: int, turn: int) -> list[dict[str, Any]]:
        """Return the memories that a turn followed, with the results."""
        return self._trials.get((episode, turn), [])

    def counts(self) -> tuple[Counter[int], Counter[int]] | None:
        """Return the number of memories learned and disproved in each episode. None if there are no memory files."""
        if self._end == 0 and not self._has_record:
            return None
        versions = list(chain.from_iterable(chain(*(place.threads for place in self._lasting.values()))))
        learned, disproved = (
            Counter(episode_of(version["at"]) for version in versions if name in version)
            for name in ("learned", "disproved")
        )
        return learned, disproved

    def _add_change(self, record: HistoryRecord, stamp: tuple[int, int]) -> None:
        change = record.change
        self._now = stamp
        episode, turn = stamp
        # A turn replayed after a crash counts as the latest turn so far, to keep the order.
        self._latest[episode] = turn = max(turn, self._latest.get(episode, 0))
        if change.is_lasting:
            memories = self._lasting.setdefault(change.location_id, _PlaceMemories())
        else:
            memories = self._ephemeral.setdefault(change.location_id, {}).setdefault(episode, _PlaceMemories())
        memories.add(record, turn_key(episode, turn))


class _PlaceMemories:
    """The memories of a place."""

    def __init__(self) -> None:
        self.name = ""
        self.threads: list[Thread] = []
        self._current: dict[str, Thread] = {}
        """The thread of each memory by its current id."""

    def add(self, record: HistoryRecord, at: int) -> None:
        """Add a version to the changed memory, or add a new memory."""
        change = record.change
        before, after = change.before, change.after
        self.name = cut(change.location_name, 200) or self.name
        thread = self._current.pop(before.id, None) if before is not None else None
        if thread is None:
            if after is None:
                return
            thread = []
            self.threads.append(thread)
        thread.append(_version(record, at))
        _mark(thread, change.memory, is_lasting=change.is_lasting)
        if after is not None:
            self._current[after.id] = thread


def _mark(thread: Thread, memory: Memory, *, is_lasting: bool) -> None:
    """Mark the last version if it made a lasting memory or marked it as wrong, or if it reverted that."""
    if is_lasting and len(thread) == 1:
        thread[-1]["learned"] = True
    if memory.superseded_by != INVALIDATION_MARKER:
        for version in thread:
            version.pop("disproved", None)
    elif is_lasting and not any("disproved" in version for version in thread):
        thread[-1]["disproved"] = True


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


def _version(record: HistoryRecord, at: int) -> dict[str, Any]:
    change, other = record.change, record.change.other
    fields = json_safe(DEFAULTS | recorded_fields(change.memory), _WHOLE_CHARACTERS)
    if results := results_in_words(change.memory):
        fields["results"] = results
    version: dict[str, Any] = {"at": at, "kind": cut(change.kind, 40), "memory": fields}
    if record.source != "agent":
        version["source"] = cut(record.source, 40)
    if change.reason:
        version["reason"] = cut(change.reason)
    if other is not None:
        version["other"] = {"title": cut(other.title), "text": cut(other.text)}
    if change.after is None:
        version["gone"] = True
    return version

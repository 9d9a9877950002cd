"""Provenance: what taught a memory and what became of it, and what was remembered at any turn of any episode."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from zorkgpt.memory.models import (
    INVALIDATION_MARKER,
    Category,
    Memory,
    MemoryStatus,
    Persistence,
    PlaceKey,
    episode_key,
    fields_of,
)
from zorkgpt.memory.places import place_order
from zorkgpt.memory.storage.changes import Change, is_current
from zorkgpt.memory.storage.history import HistoryRecord
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.person_edits import JournalFollower
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.turn_span import TurnSpan
from zorkgpt.runlog.episodes import RUNS, episodes_in

LOG_FILE = "episode_log.jsonl"
_SIGNS = (b'"ephemeral"', b'"episode_ended"')
"""A line of a log without any of these tells nothing about memories, and is not parsed."""


@dataclass(frozen=True, slots=True)
class Showings:
    """The turns of an episode in which the player was shown a memory."""

    episode: int
    first_turn: int
    last_turn: int
    times: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """The story of the memories of one title at one location."""

    location_id: PlaceKey
    location_name: str
    title: str
    memory: Memory | None
    """The memory as it is now; None: it is no longer in the file."""
    records: tuple[HistoryRecord, ...]
    """Its changes, oldest first. The turn of the first one is what taught it."""
    shown: tuple[Showings, ...] = ()
    trials: tuple[Trial, ...] = ()
    """The last trials; the counts on the memory include all."""

    @property
    def made(self) -> HistoryRecord | None:
        """The record of its making; None: it was there before the history began, or is in no history."""
        return next((record for record in self.records if record.change.before is None), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "location_id": self.location_id,
            "location_name": self.location_name,
            "title": self.title,
            "memory": None if self.memory is None else fields_of(self.memory),
            "changes": [_plain(record) for record in self.records],
            "shown": [asdict(one) for one in self.shown],
            "trials": [asdict(one) for one in self.trials],
        }


def explain(
    store: Store, title: str, *, location_id: PlaceKey | None = None, runs: Path | None = None
) -> list[Provenance]:
    """Return the story of each memory with this title, whatever its case, by location.

    Args:
        location_id: of this location only.
        runs: the folder with a folder for each episode; `runs/` beside the memory file by default.
    """
    wanted = title.casefold().strip()
    found: dict[PlaceKey, list[HistoryRecord]] = {}
    for record in store.journal.records(location_id):
        place = record.change.location_id
        if location_id in (None, place) and wanted in map(str.casefold, _titles(record.change)):
            found.setdefault(place, []).append(record)
    for place, memories in store.cache.items():
        if location_id in (None, place) and any(one.title.casefold() == wanted for one in memories):
            found.setdefault(place, [])
    trials = list(store.trials.trials()) if found else []
    folder = store.path.parent / RUNS if runs is None else runs
    return [
        _provenance(store, place, wanted, tuple(found[place]), trials, folder)
        for place in sorted(found, key=place_order)
    ]


def _provenance(
    store: Store,
    place: PlaceKey,
    wanted: str,
    records: tuple[HistoryRecord, ...],
    trials: Iterable[Trial],
    runs: Path,
) -> Provenance:
    kept = [one for one in store.cache.get(place, ()) if one.title.casefold() == wanted]
    memory = next((one for one in kept if is_current(one)), kept[-1] if kept else None)
    title = memory.title if memory else _last_title(records, wanted)
    names = [section.name for section in store.document.sections_of(place)] + [
        one.change.location_name for one in records
    ]
    its = tuple(one for one in trials if one.location_id == place and one.title.casefold() == wanted)
    return Provenance(place, next(iter(names), ""), title, memory, records, tuple(_shown(runs, place, title)), its)


def _shown(runs: Path, location_id: PlaceKey, title: str) -> Iterator[Showings]:
    # As the log has it; only the lines that name the title are read closer.
    sign = json.dumps(f"] {title}:", ensure_ascii=False)[1:-1].encode(errors="backslashreplace")
    for episode in episodes_in(runs.parent) if runs.name == RUNS else ():
        turns = sorted(_turns(runs / str(episode) / LOG_FILE, sign, location_id, f"] {title}:"))
        if turns:
            yield Showings(episode, turns[0], turns[-1], len(turns))


def _turns(log: Path, sign: bytes, location_id: PlaceKey, mark: str) -> set[int]:
    found = set()
    try:
        with log.open("rb") as file:
            for line in file:
                row = _row(line) if sign in line else None
                if row and row.get("location_id") == location_id and mark in str(row.get("memory_shown")):
                    found.add(row.get("turn", 0))
    except OSError:
        return found
    return found


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _titles(change: Change) -> set[str]:
    return {memory.title for memory in (change.before, change.after) if memory is not None}


def _last_title(records: Iterable[HistoryRecord], wanted: str) -> str:
    memories = [one for record in records for one in (record.change.before, record.change.after) if one is not None]
    return next(one.title for one in reversed(memories) if one.title.casefold() == wanted)


def _plain(record: HistoryRecord) -> dict[str, Any]:
    change, stamp = record.change, record.turn_stamp
    return {
        "at": record.at,
        "kind": change.kind,
        "source": record.source,
        "reason": change.reason,
        "before": None if change.before is None else fields_of(change.before),
        "after": None if change.after is None else fields_of(change.after),
        "other": None if change.other is None else fields_of(change.other),
        **({} if stamp is None else asdict(stamp) | {"state": list(map(str, stamp.state))}),
    }


class EpisodeMemories:
    """The ephemeral memories of one episode as they stood after each turn; follows its log while it grows."""

    def __init__(self, log: Path, episode: int | str) -> None:
        self._log = log
        self._episode = episode
        self._read_bytes = 0
        self._states: dict[PlaceKey, list[tuple[int, tuple[Memory, ...]]]] = {}
        """For each location the turns of its changes, each with the memories from then on."""
        self.ended: str | None = None
        """The time of the end of the episode, as ISO 8601; None: it has not ended, or nobody knows."""

    def refresh(self) -> None:
        """Read what was added since; a log that cannot be read holds nothing."""
        try:
            if self._log.stat().st_size < self._read_bytes:
                self._read_bytes, self.ended = 0, None
                self._states.clear()
            with self._log.open("rb") as file:
                file.seek(self._read_bytes)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._read_bytes += whole
        for line in data[:whole].splitlines():
            if any(sign in line for sign in _SIGNS):
                self._take(line)

    def locations(self) -> Iterable[PlaceKey]:
        return self._states

    def at(self, location_id: PlaceKey, turn: int) -> tuple[Memory, ...]:
        """Return the memories of a location after a turn, with the superseded."""
        states = self._states.get(location_id, ())
        place = bisect_right(states, turn, key=lambda state: state[0])
        return states[place - 1][1] if place else ()

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            if row.get("event") == "episode_ended":
                self.ended = row.get("time")
                return
            for event in _ephemeral(row):
                self._change(int(row["turn"]), event)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # Half a line, or of another version: what is known stays.
            return

    def _change(self, turn: int, event: dict[str, Any]) -> None:
        states = self._states.setdefault(event["location_id"], [])
        # A turn that is played again after a crash takes the place of what came of it first.
        while states and states[-1][0] > turn:
            states.pop()
        kept = states[-1][1] if states else ()
        states.append((turn, _changed(kept, turn, event, self._episode)))


def _ephemeral(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (event for event in row.get("memory_events") or () if event.get("persistence") == Persistence.EPHEMERAL)


def _changed(kept: tuple[Memory, ...], turn: int, event: dict[str, Any], episode: int | str) -> tuple[Memory, ...]:
    kind, title, detail = event["kind"], event["title"], event.get("detail") or None
    if kind == "added":
        status = event.get("status") or MemoryStatus.ACTIVE
        text = event.get("text") or ""
        category = event.get("category") or Category.NOTE
        new = Memory(category, title, episode, str(turn), None, text, Persistence.EPHEMERAL, status)
        return (*kept, new)
    if kind == "removed":
        return tuple(memory for memory in kept if memory.title != title)
    places = [
        at for at, memory in enumerate(kept) if memory.title == title and memory.status != MemoryStatus.SUPERSEDED
    ]
    if not places or kind not in ("seen again", "superseded", "invalidated"):
        return kept
    old = kept[places[-1]]
    if kind == "seen again":
        turns = TurnSpan(TurnSpan.parse(old.turns).first, str(turn))
        new = replace(old, turns=str(turns), observation_count=old.observation_count + 1)
    elif kind == "superseded":
        new = replace(old, status=MemoryStatus.SUPERSEDED, superseded_by=detail, superseded_at_turn=turn)
    else:
        new = replace(
            old,
            status=MemoryStatus.SUPERSEDED,
            superseded_by=INVALIDATION_MARKER,
            superseded_at_turn=turn,
            invalidation_reason=detail,
        )
    return (*kept[: places[-1]], new, *kept[places[-1] + 1 :])


class AsOf:
    """An index of what was remembered at any turn; follows journal and logs while they grow.

    The journal tells of lasting memories, in the order in which they changed. What came of an episode and a turn is
    known of changes that a player made. A change by hand, or by a person's command, in the midst of an episode counts
    from the episode's next change on.

    Args:
        journal: of the memory.
        runs: the folder with a folder for each episode, whose logs tell of ephemeral memories; None: there are none.
        log_file: the name of such a log.
    """

    def __init__(self, journal: Journal, runs: Path | None = None, *, log_file: str = LOG_FILE) -> None:
        self._follower = JournalFollower(journal)
        self._runs = runs
        self._log_file = log_file
        self._records: list[HistoryRecord] = []
        self._numbers: dict[PlaceKey, list[int]] = {}
        """The numbers of the records of each location."""
        self._states: dict[PlaceKey, list[tuple[Memory, ...]]] = {}
        """The memories of each location after each of its records."""
        self._turns: dict[int | str, list[int]] = {}
        """The turn of each record of an episode; one that was played again counts as the latest so far."""
        self._rows: dict[int | str, list[int]] = {}
        """The numbers of the records of each episode."""
        self._names: dict[PlaceKey, str] = {}
        self._episodes: dict[int | str, EpisodeMemories] = {}

    @classmethod
    def of(cls, memory_file: Path | str) -> "AsOf":
        """Build the index of a memory file with its journal beside it, and `runs/` in the same folder."""
        path = Path(memory_file)
        return cls(Journal(sidecar(path)), path.parent / RUNS)

    def refresh(self) -> None:
        """Take in what was written since; cheap where nothing was.

        Raises:
            MemoryStoreError: the journal can't be read.
        """
        records, is_replaced = self._follower.read()
        if is_replaced:
            self._clear()
        for record in records:
            self._take(record)
        for episode in self._episodes.values():
            episode.refresh()

    def memories(self, location_id: PlaceKey, episode: int | str, turn: int) -> list[Memory]:
        """Return the memories of a location at the end of a turn, the lasting first, with the superseded."""
        lasting = self._state(location_id, self._record_count_at(episode, turn))
        return [*lasting, *self._of_episode(episode).at(location_id, turn)]

    def all_memories(self, episode: int | str, turn: int) -> dict[PlaceKey, list[Memory]]:
        """Return the memories of every location that had any, at the end of a turn."""
        cut, passing = self._record_count_at(episode, turn), self._of_episode(episode)
        found = {}
        for location_id in sorted({*self._states, *passing.locations()}, key=place_order):
            memories = [*self._state(location_id, cut), *passing.at(location_id, turn)]
            if memories:
                found[location_id] = memories
        return found

    def changes(self, location_id: PlaceKey, title: str, episode: int | str, turn: int) -> list[HistoryRecord]:
        """Return what had become of the memories of this title until the end of a turn."""
        numbers = self._numbers.get(location_id, [])
        upto = bisect_right(numbers, self._record_count_at(episode, turn) - 1)
        records = (self._records[number] for number in numbers[:upto])
        return [record for record in records if title in _titles(record.change)]

    def knows(self, episode: int | str) -> bool:
        """Return whether the episode was played: it changed something lasting, or has a folder with its log."""
        log = None if self._runs is None else self._runs / _folder(episode) / self._log_file
        return episode_key(episode) in self._turns or (log is not None and log.is_file())

    def name(self, location_id: PlaceKey) -> str:
        """Return what the location was called last."""
        return self._names.get(location_id, "")

    def _clear(self) -> None:
        self._records.clear()
        for index in (self._numbers, self._states, self._turns, self._rows, self._names, self._episodes):
            index.clear()

    def _take(self, record: HistoryRecord) -> None:
        change, number = record.change, len(self._records)
        self._records.append(record)
        self._numbers.setdefault(change.location_id, []).append(number)
        states = self._states.setdefault(change.location_id, [])
        states.append(_after(states[-1] if states else (), change))
        self._names[change.location_id] = change.location_name or self._names.get(change.location_id, "")
        if record.turn_stamp is not None:
            episode = episode_key(record.turn_stamp.episode)
            turns = self._turns.setdefault(episode, [])
            turns.append(max(record.turn_stamp.turn, turns[-1] if turns else 0))
            self._rows.setdefault(episode, []).append(number)

    def _record_count_at(self, episode: int | str, turn: int) -> int:
        """Return how many records there were at the end of a turn."""
        episode = episode_key(episode)
        turns, rows = self._turns.get(episode, []), self._rows.get(episode, [])
        known = bisect_right(turns, turn)
        if known < len(turns):
            return rows[known - 1] + 1 if known else rows[0]
        if known:
            return self._with_later_edits(rows[-1] + 1, self._of_episode(episode).ended)
        later = [first for other, (first, *_) in self._rows.items() if _is_later(other, episode)]
        return min(later, default=len(self._records))

    def _with_later_edits(self, cut: int, ended: str | None) -> int:
        """Move the cut behind what was changed by hand after the episode's last own change, while it ran."""
        while cut < len(self._records) and self._records[cut].turn_stamp is None:
            if ended is not None and self._records[cut].at[:19] > ended[:19]:
                break
            cut += 1
        return cut

    def _state(self, location_id: PlaceKey, cut: int) -> tuple[Memory, ...]:
        upto = bisect_right(self._numbers.get(location_id, []), cut - 1)
        return self._states[location_id][upto - 1] if upto else ()

    def _of_episode(self, episode: int | str) -> EpisodeMemories:
        episode = episode_key(episode)
        if episode not in self._episodes:
            folder = Path() if self._runs is None else self._runs / _folder(episode)
            self._episodes[episode] = EpisodeMemories(folder / self._log_file, episode)
            if self._runs is not None:
                self._episodes[episode].refresh()
        return self._episodes[episode]


def _after(memories: tuple[Memory, ...], change: Change) -> tuple[Memory, ...]:
    known = change.before is not None and change.before in memories
    at = memories.index(change.before) if known else len(memories)
    return (*memories[:at], *([change.after] if change.after is not None else []), *memories[at + 1 :])


def _is_later(episode: int | str, than: int | str) -> bool:
    return isinstance(episode, int) and isinstance(than, int) and episode > than


def _folder(episode: int | str) -> str:
    """Return the folder of an episode, whose name is data: it leads nowhere but into `runs`."""
    name = str(episode)
    return name if name not in ("", ".", "..") and "/" not in name and "\0" not in name else "_"

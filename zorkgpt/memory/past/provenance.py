"""Why something is remembered: what taught it, when it was shown, what came of following it, what became of it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zorkgpt.memory.evidence.trials import Trial, TrialFile
from zorkgpt.memory.models import Memory, fields_of
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.storage.history import Record
from zorkgpt.memory.storage.store import MemoryStore
from zorkgpt.runlog.episodes import RUNS, episodes_in

LOG_FILE = "episode_log.jsonl"


@dataclass(frozen=True, slots=True)
class Showings:
    """In which turns of an episode the player was shown a memory."""

    episode: int
    first_turn: int
    last_turn: int
    times: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """The story of the memories of one title at one location."""

    location_id: int
    location_name: str
    title: str
    memory: Memory | None
    """As it stands; None: it is not in the file any more."""
    records: tuple[Record, ...]
    """What became of it, oldest first. The first one, with its moment, is what taught it."""
    shown: tuple[Showings, ...] = ()
    trials: tuple[Trial, ...] = ()
    """The last ones; the counts on the memory are of all."""

    @property
    def made(self) -> Record | None:
        """None: it was there before the history began, or stands in no history."""
        return next((record for record in self.records if record.change.before is None), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "location_id": self.location_id,
            "location_name": self.location_name,
            "title": self.title,
            "memory": None if self.memory is None else fields_of(self.memory),
            "changes": [_plain(record) for record in self.records],
            "shown": [asdict(one) for one in self.shown],
            "trials": [asdict(one) for one in self.trials],
        }


def why(
    store: MemoryStore, title: str, *, location_id: int | None = None, runs: Path | None = None
) -> list[Provenance]:
    """The story of each memory of this title, whatever its case, by location; none if there never was one.

    Args:
        location_id: of this location only.
        runs: the folder with a folder for each episode; `runs/` beside the memory file by default.
    """
    wanted = title.casefold().strip()
    found: dict[int, list[Record]] = {}
    for record in store.history.records():
        place = record.change.location_id
        if location_id in (None, place) and wanted in _titles(record):
            found.setdefault(place, []).append(record)
    for place, memories in store.cache.items():
        if location_id in (None, place) and any(one.title.casefold() == wanted for one in memories):
            found.setdefault(place, [])
    trials = list(TrialFile(store.file.path.with_suffix(".trials.jsonl")).trials()) if found else []
    folder = store.file.path.parent / RUNS if runs is None else runs
    return [_provenance(store, place, wanted, tuple(found[place]), trials, folder) for place in sorted(found)]


def _provenance(
    store: MemoryStore, place: int, wanted: str, records: tuple[Record, ...], trials: Iterable[Trial], runs: Path
) -> Provenance:
    kept = [one for one in store.cache.get(place, ()) if one.title.casefold() == wanted]
    memory = next((one for one in kept if is_current(one)), kept[-1] if kept else None)
    title = memory.title if memory else _last_title(records, wanted)
    names = [section.name for section in store.document.of(place)] + [one.change.location_name for one in records]
    its = tuple(one for one in trials if one.location_id == place and one.title.casefold() == wanted)
    return Provenance(place, next(iter(names), ""), title, memory, records, tuple(_shown(runs, place, title)), its)


def _shown(runs: Path, location_id: int, title: str) -> Iterator[Showings]:
    # As the log has it; only the lines that name the title are read closer.
    sign = json.dumps(f"] {title}:", ensure_ascii=False)[1:-1].encode(errors="backslashreplace")
    for episode in episodes_in(runs.parent) if runs.name == RUNS else ():
        turns = sorted(_turns(runs / str(episode) / LOG_FILE, sign, location_id, f"] {title}:"))
        if turns:
            yield Showings(episode, turns[0], turns[-1], len(turns))


def _turns(log: Path, sign: bytes, location_id: int, mark: str) -> set[int]:
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


def _titles(record: Record) -> set[str]:
    change = record.change
    return {memory.title.casefold() for memory in (change.before, change.after) if memory is not None}


def _last_title(records: Iterable[Record], wanted: str) -> str:
    memories = [one for record in records for one in (record.change.before, record.change.after) if one is not None]
    return next(one.title for one in reversed(memories) if one.title.casefold() == wanted)


def _plain(record: Record) -> dict[str, Any]:
    change, moment = record.change, record.moment
    return {
        "at": record.at,
        "kind": change.kind,
        "source": record.source,
        "reason": change.reason,
        "before": None if change.before is None else fields_of(change.before),
        "after": None if change.after is None else fields_of(change.after),
        "other": None if change.other is None else fields_of(change.other),
        **({} if moment is None else asdict(moment) | {"state": list(map(str, moment.state))}),
    }

"""Provenance: where a memory comes from, when it was shown, its results and its changes."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zorkgpt.bounded import RECORD, json_object, lines_of
from zorkgpt.log_files import UNREADABLE, has_log, open_log
from zorkgpt.memory.models import Memory, SubjectKey, fields_of
from zorkgpt.memory.places import is_place, place_from_json, place_order, place_to_json
from zorkgpt.memory.storage.book import MemoryBook
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import HistoryRecord, Trial
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.run_folder import EPISODE_LOG, RUNS, episodes_in


@dataclass(frozen=True, slots=True)
class Showings:
    """The turns of an episode in which the player was shown a memory."""

    episode: int
    first_turn: int
    last_turn: int
    times: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """The history of the memories with one title at one location."""

    location_id: SubjectKey
    location_name: str
    title: str
    memory: Memory | None
    """The current memory. None if it was removed."""
    records: tuple[HistoryRecord, ...]
    """Its changes, oldest first."""
    shown: tuple[Showings, ...] = ()
    trials: tuple[Trial, ...] = ()
    """The trials among them. The counts of the memory include older ones."""

    @property
    def made(self) -> HistoryRecord | None:
        """The record of its creation. None if it is older than the history."""
        made = (record for record in self.records if record.change.before is None)
        return next((record for record in made if not record.is_of_repeated_turn), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "location_id": place_to_json(self.location_id),
            "location_name": self.location_name,
            "title": self.title,
            "memory": None if self.memory is None else fields_of(self.memory),
            "changes": [_plain(record) for record in self.records],
            "shown": [asdict(showings) for showings in self.shown],
            "trials": [trial.to_dict() for trial in self.trials],
        }


def explain(
    store: Store,
    title: str,
    book: MemoryBook,
    *,
    location_id: SubjectKey | None = None,
    runs: Path | None = None,
) -> list[Provenance]:
    """Return the history of the memories that have or had this title, ignoring case, for each location.

    Args:
        book: All current memories.
        location_id: Limits the result to this location.
        runs: The folder with a folder for each episode. Defaults to `runs/` beside the memory file.
    """
    folder = store.path.parent / RUNS if runs is None else runs
    records = records_about(store, title, location_id)
    return [
        _provenance(book, place, folded(title), records[place], folder) for place in sorted(records, key=place_order)
    ]


def records_about(
    store: Store, title: str, location_id: SubjectKey | None = None
) -> dict[SubjectKey, list[HistoryRecord]]:
    """Return the changes, oldest first, of the memories that have or had this title, ignoring case, by location."""
    journal = store.journal
    present = store.lasting.find(Filters(location_id, named=title, with_past=True))
    past = ((record.change.location_id, record.change.memory) for record in journal.past(title, location_id))
    titled = [(place, memory) for place, memory in present if folded(memory.title) == folded(title)]
    records: dict[SubjectKey, list[HistoryRecord]] = {}
    for place, id in {(place, memory.id) for place, memory in (*titled, *past)}:
        records.setdefault(place, []).extend(journal.history(place, id))
    return {place: sorted(each, key=lambda record: record.position) for place, each in records.items()}


def _provenance(
    book: MemoryBook,
    place: SubjectKey,
    wanted: str,
    records: list[HistoryRecord],
    runs: Path,
) -> Provenance:
    memories = [memory for memory in book.memories(place) if folded(memory.title) == wanted]
    memory = next(filter(is_current, memories), memories[-1] if memories else None)
    title = memory.title if memory else _last_title(records, wanted)
    names = [book.lasting.heading(place).name, *(record.change.location_name for record in records)]
    trials = tuple(filter(None, (Trial.of(record) for record in records if record.reverted_by is None)))
    shown = tuple(_shown(runs, place, title))
    return Provenance(place, next(filter(None, names), ""), title, memory, tuple(records), shown, trials)


def _shown(runs: Path, location_id: SubjectKey, title: str) -> Iterator[Showings]:
    for episode in episodes_in(runs.parent) if runs.name == RUNS else ():
        turns = sorted(_turns(runs / str(episode) / EPISODE_LOG, location_id, f"] {title}:"))
        if turns:
            yield Showings(episode, turns[0], turns[-1], len(turns))


def _turns(log: Path, location_id: SubjectKey, mark: str) -> set[int]:
    """Return the turns of a log in which a line of memory with this mark was shown."""
    # Parse only lines that contain the mark as JSON.
    mark_in_json = json.dumps(mark, ensure_ascii=False)[1:-1].encode(errors="backslashreplace")
    turns = set()
    with suppress(*UNREADABLE), open_log(log) as file:
        for line in lines_of(file, RECORD):
            row = json_object(line, RECORD) if mark_in_json in line else None
            # Memories of things and of the game can be shown at any place.
            is_there = row and (not is_place(location_id) or _place(row) == location_id)
            if row and is_there and mark in str(row.get("memory_shown")):
                turns.add(row.get("turn", 0))
    return turns


def _place(turn: dict[str, Any]) -> SubjectKey | None:
    match turn:
        case {"before": {"location": {"num": int() | str() | list() as place}}}:
            with suppress(TypeError, ValueError):
                return place_from_json(place)
    return None


def _last_title(records: Iterable[HistoryRecord], wanted: str) -> str:
    versions = [version for record in records for version in (record.change.before, record.change.after)]
    titles = [memory.title for memory in versions if memory is not None]
    return next(title for title in reversed(titles) if folded(title) == wanted)


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


def is_known(store: Store, episode: int | str) -> bool:
    """Return whether an episode has turns, changes or a log."""
    log = store.path.parent / RUNS / _folder(episode) / EPISODE_LOG
    return store.journal.knows(episode) or has_log(log)


def _folder(episode: int | str) -> str:
    """Return a safe folder name for an episode, which may be any text."""
    name = str(episode)
    return name if name not in ("", ".", "..") and "/" not in name and "\0" not in name else "_"

"""Trials: each time that the player did what a memory it was shown speaks of, and what that says of the memory."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any

from zorkgpt.files import write_file
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import checked_place

_TAIL_BYTES = 64 * 1024
LARGE = 2_000_000
"""The size in bytes from which the file is thinned out."""
_KEPT_TRIALS = 20
"""How many trials of each memory stay when the file is thinned out."""
_KEPT_EPISODES = 3
"""How many episodes are kept whole: one of them may be running."""
_ENOUGH_TRIALS = 2
"""How many trials it takes to judge a memory's reliability: once is chance."""
_LOW_SHARE, _HIGH_SHARE = 0.35, 0.65


@dataclass(frozen=True, slots=True)
class Trial:
    """One time that the player did what a memory speaks of."""

    episode: int | str
    turn: int
    location_id: PlaceKey
    title: str
    """The title of the memory, which had been shown before the turn."""
    action: str
    result: str
    """What came of it, by the Z-machine's facts."""
    worked: bool
    """Whether it is what the memory promises."""
    after: tuple[int, int] = (0, 0)
    """The memory's counts with this one: worked, tried."""


_FIELDS = tuple(field.name for field in fields(Trial))


class TrialFile:
    """`Memories.trials.jsonl`: a line for all trials that were counted in one write of the memory file.

    Changed only under the memory file's lock. A line is there before its counts are in the memory file, so that a kill
    in between can be told.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._now = now

    def size(self) -> int:
        """Return its length in bytes; 0 if there is no file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, trials: Iterable[Trial]) -> None:
        """Add a line with these trials.

        Raises:
            OSError: it can't be written.
        """
        line = self._line(trials)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            # A kill may have cut the last line short; ours begins on a line of its own.
            is_cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (b"\n" if is_cut else b"") + line)
        finally:
            os.close(descriptor)

    def trials(self) -> Iterator[Trial]:
        """Yield all trials, oldest first; lines that can't be read are passed over."""
        for batch in self._batches():
            yield from batch

    def last_batch(self) -> list[Trial]:
        """Return the trials of the last line; none if it is cut short or longer than anything that is written here."""
        try:
            with self.path.open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - _TAIL_BYTES))
                tail = file.read()
        except FileNotFoundError:
            return []
        return _batch(tail[:-1].rpartition(b"\n")[2]) if tail.endswith(b"\n") else []

    def thin_out(self) -> None:
        """Keep the last episodes, and of every memory the last trials; the counts are in the memory file.

        Raises:
            FileError: it can't be written; the file is as it was.
        """
        batches = list(self._batches())
        recent = list(dict.fromkeys(trial.episode for batch in reversed(batches) for trial in batch))[:_KEPT_EPISODES]
        left: defaultdict[tuple[PlaceKey, str], int] = defaultdict(lambda: _KEPT_TRIALS)
        kept: list[list[Trial]] = []
        for batch in reversed(batches):
            some: list[Trial] = []
            for trial in reversed(batch):
                left[trial.location_id, trial.title] -= 1
                if trial.episode in recent or left[trial.location_id, trial.title] >= 0:
                    some.insert(0, trial)
            if some:
                kept.insert(0, some)
        write_file(self.path, b"".join(map(self._line, kept)))

    def _line(self, trials: Iterable[Trial]) -> bytes:
        row = {"at": self._now().isoformat(timespec="seconds"), "trials": [_row(one) for one in trials]}
        return json.dumps(row).encode() + b"\n"

    def _batches(self) -> Iterator[list[Trial]]:
        try:
            with self.path.open("rb") as file:
                yield from filter(None, map(_batch, file))
        except FileNotFoundError:
            return


def _row(trial: Trial) -> dict[str, Any]:
    return {name: getattr(trial, name) for name in _FIELDS}


def counted(trials: Iterable[Trial], before: dict[tuple[PlaceKey, str], tuple[int, int]]) -> list[Trial]:
    """Return the trials with the counts after each of them, given those before, by location and title."""
    now = dict(before)
    found = []
    for trial in trials:
        worked, tried = now.get((trial.location_id, trial.title), (0, 0))
        now[trial.location_id, trial.title] = after = (worked + trial.worked, tried + 1)
        found.append(replace(trial, after=after))
    return found


def _batch(line: bytes) -> list[Trial]:
    try:
        return [trial_of(row) for row in json.loads(line)["trials"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def trial_of(row: dict[str, Any]) -> Trial:
    """Build a trial from stored values.

    Raises:
        KeyError, TypeError, ValueError: they are not those of a trial.
    """
    worked, tried = row["after"]
    fields_of_trial = {name: row[name] for name in _FIELDS if name != "after"}
    checked_place(row["location_id"])
    return Trial(**fields_of_trial, after=(int(worked), int(tried)))


class Reliability(IntEnum):
    """How a memory has stood the test, in the order in which memories are shown."""

    CONFIRMED = 0
    OPEN = 1
    REFUTED = 2


def reliability(memory: Memory) -> Reliability:
    """Return how often it worked, of the times that it was tried; open until it was tried twice.

    The share is estimated by Laplace's rule of succession: with one success and one failure added.
    """
    if memory.tried < _ENOUGH_TRIALS:
        return Reliability.OPEN
    share = (memory.worked + 1) / (memory.tried + 2)
    if share > _HIGH_SHARE:
        return Reliability.CONFIRMED
    return Reliability.REFUTED if share < _LOW_SHARE else Reliability.OPEN


def success_rate(memory: Memory) -> str:
    """Return `worked 5/9`; "" for a memory that was not tried often enough to say anything."""
    return f"worked {memory.worked}/{memory.tried}" if memory.tried >= _ENOUGH_TRIALS else ""

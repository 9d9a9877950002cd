"""The file of trials: each time that the player did what a memory it was shown speaks of, and what came of it."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_TAIL_BYTES = 64 * 1024
LARGE = 2_000_000
"""Bytes from which the file is thinned out."""
_KEPT_TRIALS = 20
"""Of each memory, the last ones, when the file is thinned out."""
_KEPT_EPISODES = 3
"""The last ones, which are kept whole: one of them may be running."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One of them."""

    episode: int | str
    turn: int
    location_id: int
    title: str
    """Of the memory, which had been shown before the turn."""
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
        """In bytes; 0 if there is none."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, trials: Iterable[Trial]) -> None:
        """Add a line.

        Raises:
            OSError: it can't be written.
        """
        line = json.dumps({"at": self._now().isoformat(timespec="seconds"), "trials": [_row(one) for one in trials]})
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            # A kill may have cut the last line short; ours begins on a line of its own.
            cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (b"\n" if cut else b"") + line.encode() + b"\n")
        finally:
            os.close(descriptor)

    def trials(self) -> Iterator[Trial]:
        """From the first on; lines that can't be read are passed over."""
        for batch in self._batches():
            yield from batch

    def last_batch(self) -> list[Trial]:
        """Those of the last line; none if it is cut short or longer than anything that is written here."""
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
            OSError: it can't be written; the file is as it was.
        """
        batches = list(self._batches())
        recent = list(dict.fromkeys(trial.episode for batch in reversed(batches) for trial in batch))[:_KEPT_EPISODES]
        left: defaultdict[tuple[int, str], int] = defaultdict(lambda: _KEPT_TRIALS)
        kept: list[list[Trial]] = []
        for batch in reversed(batches):
            some = []
            for trial in reversed(batch):
                left[trial.location_id, trial.title] -= 1
                if trial.episode in recent or left[trial.location_id, trial.title] >= 0:
                    some.insert(0, trial)
            if some:
                kept.insert(0, some)
        thinned = TrialFile(self.path.with_name(self.path.name + ".tmp"), now=self._now)
        thinned.path.unlink(missing_ok=True)
        for batch in kept:
            thinned.append(batch)
        os.replace(thinned.path, self.path)

    def _batches(self) -> Iterator[list[Trial]]:
        try:
            with self.path.open("rb") as file:
                yield from filter(None, map(_batch, file))
        except FileNotFoundError:
            return


def _row(trial: Trial) -> dict[str, Any]:
    return {name: getattr(trial, name) for name in _FIELDS}


def counted(trials: Iterable[Trial], before: dict[tuple[int, str], tuple[int, int]]) -> list[Trial]:
    """The trials with the counts after each of them, given those before, by location and title."""
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
    """The trial that was kept as these values.

    Raises:
        KeyError, TypeError, ValueError: they are none.
    """
    worked, tried = row["after"]
    names = ("episode", "turn", "location_id", "title", "action", "result", "worked")
    return Trial(*(row[name] for name in names), after=(int(worked), int(tried)))

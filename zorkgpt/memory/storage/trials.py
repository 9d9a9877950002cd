"""Trials: each time that the player did what a memory it was shown speaks of, and what that says of the memory."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zorkgpt.files import write_file
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.places import checked_place

_TAIL_BYTES = 64 * 1024
_LARGE = 2_000_000
"""The size in bytes from which the file is thinned out."""
_KEPT_TRIALS = 20
"""How many trials of each memory stay when the file is thinned out."""
_KEPT_EPISODES = 3
"""How many episodes are kept whole: one of them may be running."""


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
        self._seen_size: int | None = None
        """Its size after what was appended or looked at last; None: it was not looked at yet."""

    def size(self) -> int:
        """Return its length in bytes; 0 if there is no file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, trials: Sequence[Trial]) -> int:
        """Add a line with these trials; return how many of them stay if the change that counts them does not: all.

        Raises:
            OSError: it can't be written.
        """
        line = line_of(trials, self._now())
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            # A kill may have cut the last line short; ours begins on a line of its own.
            is_cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (b"\n" if is_cut else b"") + line)
        finally:
            os.close(descriptor)
        self._seen_size = self.size()
        return len(trials)

    def trials(self) -> Iterator[Trial]:
        """Yield all trials, oldest first; lines that can't be read are passed over."""
        for batch in self._batches():
            yield from batch

    def own_trials(self) -> Iterator[Trial]:
        """Yield all trials: whoever shares the file shares the numbers of its episodes."""
        return self.trials()

    def uncounted(self) -> list[Trial]:
        """Return the trials of the last line, if we did not append it: a kill may have kept them from the counts.

        Thins out a file that has grown long, the first time.

        Raises:
            OSError, FileError: it can't be read or written.
        """
        is_first, size = self._seen_size is None, self.size()
        if size == self._seen_size:
            return []
        last = self._last_batch()
        if is_first and size > _LARGE:
            self._thin_out()
        self._seen_size = self.size()
        return last

    def clean(self, change: Callable[[bytes], bytes]) -> None:
        """Put what `change` returns in the place of each line; b"" deletes it.

        Raises:
            OSError, FileError: it can't be read or written.
        """
        if self.path.is_file():
            data = self.path.read_bytes()
            cleaned = b"".join(map(change, data.splitlines(keepends=True)))
            if cleaned != data:
                write_file(self.path, cleaned)

    def _last_batch(self) -> list[Trial]:
        """Return the trials of the last line; none if it is cut short or longer than anything that is written here."""
        try:
            with self.path.open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - _TAIL_BYTES))
                tail = file.read()
        except FileNotFoundError:
            return []
        return batch_of(tail[:-1].rpartition(b"\n")[2]) if tail.endswith(b"\n") else []

    def _thin_out(self) -> None:
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
        write_file(self.path, b"".join(line_of(batch, self._now()) for batch in kept))

    def _batches(self) -> Iterator[list[Trial]]:
        try:
            with self.path.open("rb") as file:
                yield from filter(None, map(batch_of, file))
        except FileNotFoundError:
            return


def line_of(trials: Iterable[Trial], at: datetime) -> bytes:
    """Return the line that stands for trials that are counted in one write."""
    row = {"at": at.isoformat(timespec="seconds"), "trials": [_row(one) for one in trials]}
    return json.dumps(row).encode() + b"\n"


def batch_of(line: bytes | str) -> list[Trial]:
    """Return the trials of a line; none if it can't be read."""
    try:
        return [trial_of(row) for row in json.loads(line)["trials"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def _row(trial: Trial) -> dict[str, Any]:
    return {name: getattr(trial, name) for name in _FIELDS}


def trial_of(row: dict[str, Any]) -> Trial:
    """Build a trial from stored values.

    Raises:
        KeyError, TypeError, ValueError: they are not those of a trial.
    """
    worked, tried = row["after"]
    fields_of_trial = {name: row[name] for name in _FIELDS if name != "after"}
    checked_place(row["location_id"])
    return Trial(**fields_of_trial, after=(int(worked), int(tried)))

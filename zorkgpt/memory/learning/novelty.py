"""What was judged before is not judged again: the outcomes that were asked about, and what each led to."""

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from zorkgpt.memory.learning.synthesis import SynthesisRequest
from zorkgpt.memory.learning.wording import noticed_changes, noticed_moves

_KEY_LENGTH = 32


def key_of(request: SynthesisRequest, judge: str) -> str:
    """The same for the same outcome: place, action, response and what the Z-machine says has changed.

    Turn, score so far and what is carried besides are left out: they differ every time and change nothing.

    Args:
        judge: who is asked; what one has judged is new to another.
    """
    turn = request.context
    before, after = Counter(turn.inventory_before), Counter(turn.inventory_after)
    change: dict[str, Any] = {
        "score": turn.score_delta,
        "to": turn.location_after if turn.location_changed else None,
        "gained": sorted((after - before).elements()),
        "lost": sorted((before - after).elements()),
        "died": turn.died,
        "refused": turn.nothing_changed,
        "moved": sorted(
            [move.number, move.origin_number or 0, move.destination_number or 0, move.number in request.handled]
            for move in noticed_moves(request)
        ),
        "changed": sorted([one.number, one.attribute, one.value] for one in noticed_changes(request)),
    }
    # The first look at a place tells the same wherever the player came from.
    action = "" if request.arrival else " ".join(request.action.lower().split())
    if request.arrival:
        change = {"moved": change["moved"], "changed": change["changed"]}
    told = json.dumps([judge, request.location_id, request.arrival, action, request.response, change], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:_KEY_LENGTH]


class Judged:
    """The titles that each outcome led to, in a file of one line each; what is lost of it is judged once more.

    With what held for the episode only goes what is needed to take it over into the next one.

    Several processes may append to it, and each sees the others' lines.
    """

    def __init__(self, path: Path, log: logging.Logger) -> None:
        self._path = path
        self._log = log
        self._led_to: dict[str, tuple[str, ...]] = {}
        self._again: dict[str, Any] = {}
        self._read_bytes = 0
        self.failures = 0

    def led_to(self, key: str) -> tuple[str, ...] | None:
        """The titles of the memories that it led to, () if there was nothing to remember; None: not judged yet."""
        self._catch_up()
        return self._led_to.get(key)

    def again(self, key: str) -> Any:
        """As it was kept, in JSON values that somebody may have edited; None: nothing was."""
        self._catch_up()
        return self._again.get(key)

    def keep(self, key: str, titles: tuple[str, ...], again: dict[str, Any] | None = None) -> None:
        """Remember a judgement, here and on disk.

        Args:
            again: in JSON values, what to take over when the same comes about in another episode.
        """
        self._catch_up()
        row = {"key": key, "led_to": titles} | ({"again": again} if again else {})
        self._note(row, titles)
        line = json.dumps(row).encode() + b"\n"
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                size = os.fstat(descriptor).st_size
                # A kill may have cut the last line short; ours begins on a line of its own.
                cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
                os.write(descriptor, b"\n" + line if cut else line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._fail("a judgement was not written down", error)

    def judge_anew(self, titles: Collection[str]) -> None:
        """No other episode is to take over what led to one of these."""
        if titles:
            led_to = {key: self._led_to[key] for key in self._again}
            for key, those in led_to.items():
                if not set(titles).isdisjoint(those):
                    self.keep(key, those)

    def _catch_up(self) -> None:
        """Read what was appended since; a file that was replaced by a shorter one from its beginning."""
        try:
            size = self._path.stat().st_size
            if size == self._read_bytes:
                return
            if size < self._read_bytes:
                self._forget()
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                found = file.read()
        except FileNotFoundError:
            if self._read_bytes:
                self._forget()
            return
        except OSError as error:
            self._fail("judgements not read", error)
            return
        whole = found.rfind(b"\n") + 1
        self._read_bytes += whole
        for line in found[:whole].splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            titles = tuple(row["led_to"])
            well_formed = isinstance(row["key"], str) and all(isinstance(title, str) for title in titles)
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        if well_formed:
            self._note(row, titles)

    def _note(self, row: dict[str, Any], titles: tuple[str, ...]) -> None:
        self._led_to[row["key"]] = titles
        # Of most there is nothing to take over, and those that there is are looked through.
        if (again := row.get("again")) is not None:
            self._again[row["key"]] = again
        else:
            self._again.pop(row["key"], None)

    def _forget(self) -> None:
        self._read_bytes = 0
        self._led_to.clear()
        self._again.clear()

    def _fail(self, what: str, error: OSError) -> None:
        if not self.failures:
            self._log.warning(what, extra={"path": str(self._path), "reason": str(error)})
        self.failures += 1

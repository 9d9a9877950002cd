"""The objectives of the world on disk, across episodes and shared by every process that plays in the same folder."""

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from zorkgpt.encoding import as_json
from zorkgpt.errors import ObjectivesFileError, reason_of
from zorkgpt.files import AtomicFile, Stamp
from zorkgpt.objectives.models import Objective, merged
from zorkgpt.objectives.plain import kept, objective_of

log = logging.getLogger("zorkgpt.objectives")

VERSION = 1
_MOST_KEPT = 300
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


class ObjectivesFile:
    """`objectives.json`. What stands in it is read again only when somebody else has changed it.

    A file that holds no objectives is set aside under another name, so that nothing writes over it.

    Both methods raise:
        FileError: the file can't be locked, read or written; it is what it was.
        ObjectivesFileError: a later version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._stamp: Stamp = ()
        self._holds: list[Objective] = []
        """With this stamp."""

    def load(self) -> list[Objective]:
        """What earlier episodes left; nothing if there is no file."""
        try:
            return list(self._now())
        except _DAMAGE:
            # Looked at again under the lock: only one of several processes moves it.
            with self._file.locked():
                return list(self._undamaged())

    def save(self, objectives: Iterable[Objective]) -> None:
        """Write them together with those that the file holds, whole or not at all."""
        with self._file.locked():
            before = self._undamaged()
            after = _joined([*before, *objectives])
            if [kept(one) for one in after] != [kept(one) for one in before]:
                self._stamp, self._holds = self._file.write(_rendered(after)) or (), after

    def _now(self) -> list[Objective]:
        if not self._stamp or self._file.stamp() != self._stamp:
            data, stamp = self._file.read()
            self._holds, self._stamp = [] if data is None else _parsed(data, self._file.path), stamp
        return self._holds

    def _undamaged(self) -> list[Objective]:
        """The objectives that it holds; none if it is damaged, and then it is out of the way."""
        try:
            return self._now()
        except _DAMAGE as error:
            aside = self._file.set_aside()
            self._file.path.unlink(missing_ok=True)
            extra = {"path": str(self._file.path), "set_aside": str(aside or ""), "reason": reason_of(error)}
            log.warning("the objectives file is damaged and was set aside", extra=extra)
            return []


def _joined(objectives: Iterable[Objective]) -> list[Objective]:
    """One for each key; of too many those go first that were never reached and are the oldest."""
    by_key: dict[str, Objective] = {}
    for one in objectives:
        by_key[one.key] = merged(by_key[one.key], one) if one.key in by_key else one
    worth = sorted(by_key.values(), key=lambda one: (bool(one.evidence), one.origin), reverse=True)
    return sorted(worth[:_MOST_KEPT], key=lambda one: (one.origin, one.key))


def _parsed(data: bytes, path: Path) -> list[Objective]:
    state = json.loads(data.decode("utf-8"))
    version = state["metadata"]["version"]
    if float(version) > VERSION:
        raise ObjectivesFileError(
            f"{path} was written by a later version of this program: its format is {version}, "
            f"and formats up to {VERSION} are known here. Use that version, or another --workdir. The file is kept."
        )
    return _joined(objective_of(value) for value in state["objectives"])


def _rendered(objectives: list[Objective]) -> bytes:
    metadata = {
        "version": VERSION,
        "total_objectives": len(objectives),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return as_json({"objectives": [kept(one) for one in objectives], "metadata": metadata}, indented=True)

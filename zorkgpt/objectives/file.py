"""The objectives of the world on disk, across episodes and shared by every process that plays in the same folder."""

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zorkgpt.errors import ObjectivesFileError
from zorkgpt.memory.file import MemoryFile
from zorkgpt.objectives.models import Objective, merged
from zorkgpt.objectives.plain import kept, objective_of

log = logging.getLogger("zorkgpt.objectives")

VERSION = 1
_MOST_KEPT = 300
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


def load_objectives(path: Path) -> list[Objective]:
    """What earlier episodes left; nothing if there is no file.

    A file that holds no objectives is set aside under another name, so that nothing writes over it.

    Raises:
        MemoryStoreError: the file can't be read.
        ObjectivesFileError: a later version wrote it.
    """
    file = MemoryFile(path)
    data, _ = file.read()
    if data is None:
        return []
    try:
        return _parsed(data, path)
    except _DAMAGE:
        # Looked at again under the lock: only one of several processes moves it.
        with file.locked():
            data, _ = file.read()
            return [] if data is None else _understood(file, data)


def save_objectives(path: Path, objectives: Iterable[Objective]) -> None:
    """Write them together with those that the file holds, whole or not at all.

    Raises:
        MemoryStoreError: the file can't be locked, read or written; it is what it was.
        ObjectivesFileError: a later version wrote it.
    """
    file = MemoryFile(path)
    with file.locked():
        data, _ = file.read()
        before = [] if data is None else _understood(file, data)
        after = _joined([*before, *objectives])
        if [kept(one) for one in after] != [kept(one) for one in before]:
            file.write(_rendered(after))


def _joined(objectives: Iterable[Objective]) -> list[Objective]:
    """One for each key; of too many those go first that were never reached and are the oldest."""
    by_key: dict[str, Objective] = {}
    for one in objectives:
        by_key[one.key] = merged(by_key[one.key], one) if one.key in by_key else one
    worth = sorted(by_key.values(), key=lambda one: (bool(one.evidence), one.origin), reverse=True)
    return sorted(worth[:_MOST_KEPT], key=lambda one: (one.origin, one.key))


def _understood(file: MemoryFile, data: bytes) -> list[Objective]:
    """The objectives of these bytes; none if they are damaged, and then the file is out of the way."""
    try:
        return _parsed(data, file.path)
    except _DAMAGE as error:
        aside = file.set_aside()
        file.path.unlink(missing_ok=True)
        log.warning(
            "the objectives file is damaged and was set aside", extra={"path": str(aside), "reason": repr(error)}
        )
        return []


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
    state: dict[str, Any] = {
        "objectives": [kept(one) for one in objectives],
        "metadata": {
            "version": VERSION,
            "total_objectives": len(objectives),
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }
    # A lone half of a surrogate pair, which JSON can hold, is no valid UTF-8.
    return json.dumps(state, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")

"""A file that is missing or damaged gets back what is known to have stood in it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.file import MemoryFile

log = get_logger(__name__)

_LOOKS, _BETWEEN_LOOKS_S = 5, 0.05
"""An editor that is just saving may have emptied the file, or not put it in its place yet."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A file was not as it was left, and has been replaced."""

    path: Path
    was: Literal["missing", "damaged"]
    set_aside: Path | None
    """Where what was found is kept; None: nothing was found."""
    backup: Path

    @property
    def way_out(self) -> str:
        """For whoever had deleted it on purpose."""
        return f"To begin anew instead, delete both {self.path.name} and {self.backup.name} in {self.path.parent}."

    def describe(self) -> str:
        aside = f" (set aside as {self.set_aside})" if self.set_aside else ""
        return f"{self.path} was {self.was}{aside}; its backup has taken its place. {self.way_out}"


def reread_or_recover(
    file: MemoryFile, reread: Callable[[], bool], rescue: Callable[[bytes | None], bytes | None]
) -> Recovery | None:
    """Read the file again; what is missing or damaged is set aside and replaced. None: it was as it should be.

    Args:
        reread: takes the file over; False if it is missing or damaged.
        rescue: of the content, None if the file is missing: what is to take its place; None if nothing better is known.
    """
    for _ in range(_LOOKS):
        if reread():
            return None
        time.sleep(_BETWEEN_LOOKS_S)
    data, _ = file.read()
    rescued, recovery = rescue(data), None
    if rescued is not None:
        aside = file.set_aside() if data else None
        file.restore(rescued)
        recovery = Recovery(file.path, "missing" if data is None else "damaged", aside, file.backup)
        extra = {"path": str(file.path), "was": recovery.was, "set_aside": str(aside or "")}
        log.warning("a file was recovered from its backup", extra=extra | {"way_out": recovery.way_out})
    reread()
    return recovery

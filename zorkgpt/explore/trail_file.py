"""A trail beside the log that it was made from, a hundredth of its size; it can be deleted."""

import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from zorkgpt.errors import FileError
from zorkgpt.explore.trail import Trail
from zorkgpt.files import write_file
from zorkgpt.runlog.events import Returned

log = logging.getLogger("zorkgpt.explore")

FILE_NAME = "trail.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class KeptTrail:
    """What returning needs to know of an episode that is over."""

    story_sha256: str
    seed: int
    player: str
    trail: Trail
    returned: Returned | None
    """How its own return went; None: it began at the beginning."""
    log_bytes: int
    """Of the log that it was made from; another length, and it is made again."""
    version: int = VERSION


_FORMAT = TypeAdapter(KeptTrail)


def load_trail(path: Path, log_bytes: int) -> KeptTrail | None:
    """The trail that is kept here; None if there is none, or none of this log."""
    try:
        kept = _FORMAT.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # It is only a copy: made again, and written over.
        return None
    return kept if (kept.version, kept.log_bytes) == (VERSION, log_bytes) else None


def save_trail(path: Path, kept: KeptTrail) -> None:
    """Write it, whole or not at all; where that can't be done, the log is read again the next time."""
    try:
        write_file(path, _FORMAT.dump_json(kept), durable=False)
    except FileError as error:
        log.warning("a trail could not be kept", extra={"path": str(path), "reason": str(error)})

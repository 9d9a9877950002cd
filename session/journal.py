"""The journal of an episode: its opening and decisions, to play the turns since a checkpoint again."""

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from game_interface.models import Observation
from session.history import Extraction, Rejection
from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of the game."""

    text: str
    observation: Observation
    extraction: Extraction


@dataclass(frozen=True, slots=True)
class TurnDecision:
    """The action of a turn and how it was chosen, recorded before it is played."""

    turn: int
    action: str
    reasoning: str
    player: str
    """Who chose the action, as in `TurnRecord`."""
    rejections: tuple[Rejection, ...] = ()
    score: float | None = None
    """The critic's score of the action."""
    notes: dict[str, Any] = field(default_factory=dict)
    """The changes of the player's notes since the last turn. See `zorkgpt.player.Player.changed_notes`."""
    noted: tuple[dict[str, str], ...] = ()
    """The facts that the player noted with a tool. See `zorkgpt.context.tools.ToolNotes`."""


JournalEntry = Opening | TurnDecision
_KINDS: dict[str, type[JournalEntry]] = {"opening": Opening, "decided": TurnDecision}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class JournalContent:
    """The content of a journal."""

    opening: Opening
    decided: dict[int, TurnDecision]
    """The last decision of each turn."""


class TurnJournal:
    """Appends to the journal of an episode: one line per entry, with a checksum and a JSON object, unbuffered.

    An incomplete last line, from a killed process, is removed first.

    Raises:
        OSError: If it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            data = path.read_bytes()
            if not data.endswith(b"\n"):
                os.truncate(path, data.rfind(b"\n") + 1)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def write(self, entry: JournalEntry) -> None:
        """Append an entry."""
        body = as_json({_NAMES[type(entry)]: entry})
        line = memoryview(b"%08x %s\n" % (zlib.crc32(body), body))
        while line:
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_journal(path: Path) -> JournalContent:
    """Return the content of a journal, without an incomplete last line.

    Raises:
        CheckpointError: If it is missing or damaged.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"The journal {path} can't be read: {error.strerror}.") from None
    opening: Opening | None = None
    decided: dict[int, TurnDecision] = {}
    for entry in _entries(data, path):
        if isinstance(entry, Opening):
            opening = entry
        else:
            decided[entry.turn] = entry
    if opening is None:
        raise CheckpointError(f"The journal {path} lacks the opening.")
    return JournalContent(opening, decided)


def _entries(data: bytes, path: Path) -> Iterator[JournalEntry]:
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            checksum, body = line[:8], line[9:]
            if int(checksum, 16) != zlib.crc32(body):
                raise ValueError("wrong checksum")
            ((name, fields),) = parse_json(body, RECORD).items()
            yield _adapter(name).validate_python(fields)
        except (ValueError, KeyError, AttributeError, ValidationError) as error:
            reason = str(error).partition("\n")[0]
            raise CheckpointError(f"The journal {path} is damaged in line {number}: {reason}.") from None


@cache
def _adapter(name: str) -> TypeAdapter[JournalEntry]:
    return TypeAdapter(_KINDS[name])

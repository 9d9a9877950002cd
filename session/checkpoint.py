"""The checkpoint of an episode: one value in a file with a checksum, always replaced as a whole."""

import base64
import zlib
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zorkgpt.bounded import SAVED_FILE, parse_json, read_file
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, reason_of
from zorkgpt.files import write_file

VERSION = 2
_HEAD = b'{"crc32": "%08x", "checkpoint": '
_HEAD_LENGTH = len(_HEAD % 0)


class Snapshot(Protocol):
    """Something whose state a checkpoint holds."""

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as plain values for JSON."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Take on a state that `snapshot` returned.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If it is no such state.
            CheckpointError: If it can't be restored; the message says why.
        """
        ...


class Run(BaseModel):
    """The story, the player and the options of an episode, with which it has to be resumed."""

    model_config = ConfigDict(frozen=True)

    story: str = Field(pattern="^[0-9a-f]{64}$")
    """The sha256 of the story file."""
    story_path: str
    title: str
    seed: int = Field(ge=1)
    player: str
    remember: bool
    max_turns: int = Field(ge=1)
    walkthrough: str | None = None


class Checkpoint(BaseModel):
    """The end of a turn, with everything that can't be rebuilt from the journal."""

    model_config = ConfigDict(frozen=True)

    version: int
    episode: int = Field(ge=1)
    turn: int = Field(ge=0)
    """The last turn that it contains."""
    run: Run
    game: str
    """The interpreter's saved state, random generator included, as base64."""
    log_bytes: int = Field(ge=0)
    """The length of the episode's log."""
    snapshots: dict[str, dict[str, Any]]
    """The state of every `Snapshot`, by its name in `orchestration.assembly`."""

    @property
    def game_state(self) -> bytes:
        """Return the interpreter's saved state."""
        return base64.b64decode(self.game)


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace the checkpoint: as a whole, or not at all if the process is killed. It is not flushed to disk.

    Raises:
        FileError: If it can't be written; the one before stands.
    """
    body = as_json({"version": VERSION} | content)
    data = b"%s%s}\n" % (_HEAD % zlib.crc32(body), body)
    write_file(path, data, durable=False)


def remove_checkpoint(path: Path) -> None:
    """Delete the checkpoint, and what a killed writer left of the next one."""
    for name in (path, *path.parent.glob(f"{path.name}.*")):
        name.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint, if it is whole and of a known version. The file is never changed.

    Raises:
        CheckpointError: If it is not; the message says why and what to do.
    """
    try:
        data = read_file(path, SAVED_FILE)
    except OSError as error:
        raise CheckpointError(f"The checkpoint {path} can't be read: {error.strerror}.") from None
    body = data[_HEAD_LENGTH:-2]
    if data != b"%s%s}\n" % (_HEAD % zlib.crc32(body), body):
        raise CheckpointError(f"The checkpoint {path} is damaged or incomplete, and unchanged. Start a new episode.")
    try:
        content = parse_json(body, SAVED_FILE, finite=True)
        if content["version"] > VERSION:
            raise CheckpointError(
                f"The checkpoint {path} was written by a later version of this program: its format is "
                f"{content['version']}, and formats up to {VERSION} are known here. Use that version."
            )
        return Checkpoint.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise CheckpointError(f"The checkpoint {path} lacks a part: {where}: {problem['msg']}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"The checkpoint {path} is no checkpoint: {reason_of(error)}.") from None


def as_text(state: bytes) -> str:
    """Return the interpreter's saved state as base64."""
    return base64.b64encode(state).decode("ascii")

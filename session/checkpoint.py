"""The checkpoint of an episode: a file with a checksum, which is always replaced atomically."""

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
    """A part of a run whose state is saved in checkpoints."""

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: If `state` is malformed.
            CheckpointError: If it can't be restored.
        """
        ...


class Run(BaseModel):
    """The story, player and options of an episode, which must be the same when it is resumed."""

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
    """The state at the end of a turn, as far as it can't be rebuilt from the journal."""

    model_config = ConfigDict(frozen=True)

    version: int
    episode: int = Field(ge=1)
    turn: int = Field(ge=0)
    """The last turn before it."""
    run: Run
    game: str
    """The interpreter's saved state, including its random generator, as base64."""
    log_bytes: int = Field(ge=0)
    """The length of the episode's log."""
    snapshots: dict[str, dict[str, Any]]
    """The state of every `Snapshot`, by its name in `orchestration.assembly`."""

    @property
    def game_state(self) -> bytes:
        """The interpreter's saved state."""
        return base64.b64decode(self.game)


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace the checkpoint atomically, without flushing it to disk.

    Raises:
        FileError: If it can't be written. The previous one is unchanged.
    """
    body = as_json({"version": VERSION} | content)
    data = b"%s%s}\n" % (_HEAD % zlib.crc32(body), body)
    write_file(path, data, durable=False)


def remove_checkpoint(path: Path) -> None:
    """Delete the checkpoint, and temporary files of a killed process."""
    for name in (path, *path.parent.glob(f"{path.name}.*")):
        name.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint. The file is never changed.

    Raises:
        CheckpointError: If it is missing, damaged or of a later version.
    """
    try:
        data = read_file(path, SAVED_FILE)
    except OSError as error:
        raise CheckpointError(f"The checkpoint {path} can't be read: {error.strerror}.") from None
    body = data[_HEAD_LENGTH:-2]
    if data != b"%s%s}\n" % (_HEAD % zlib.crc32(body), body):
        raise CheckpointError(f"The checkpoint {path} is damaged or incomplete. Start a new episode.")
    try:
        content = parse_json(body, SAVED_FILE, finite=True)
        if content["version"] > VERSION:
            raise CheckpointError(
                f"The checkpoint {path} was written by a later version of this program. Its format is "
                f"{content['version']}, but this version only reads formats up to {VERSION}. Use the later version."
            )
        return Checkpoint.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise CheckpointError(f"The checkpoint {path} lacks a part: {where}: {problem['msg']}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"The checkpoint {path} is malformed: {reason_of(error)}.") from None


def as_text(state: bytes) -> str:
    """Return the interpreter's saved state as base64."""
    return base64.b64encode(state).decode("ascii")

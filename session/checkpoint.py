"""Where an episode can go on: one value, kept as a checked text that is replaced as a whole."""

import base64
import json
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, reason_of

FILE_NAME = "checkpoint.json"
VERSION = 1
_HEAD = b'{"crc32": "%08x", "checkpoint": '
_HEAD_LENGTH = len(_HEAD % 0)


class Run(BaseModel):
    """What an episode is played with, and has to be resumed with."""

    model_config = ConfigDict(frozen=True)

    story: str = Field(pattern="^[0-9a-f]{64}$")
    """sha256 of the story file."""
    story_path: str
    title: str
    seed: int = Field(ge=1)
    player: str
    remember: bool
    max_turns: int = Field(ge=1)
    explore: str = "none"
    walkthrough: str | None = None


class Checkpoint(BaseModel):
    """The end of a turn, with everything that can't be told from the journal."""

    model_config = ConfigDict(frozen=True)

    version: int
    episode: int = Field(ge=1)
    turn: int = Field(ge=0)
    """The last one that it contains."""
    run: Run
    game: str
    """The interpreter's saved state, random generator included, as base64."""
    log_bytes: int = Field(ge=0)
    """Of the episode's log."""
    memory: dict[str, Any] | None = None
    """`SimpleMemoryManager.snapshot()`; None: nothing is remembered."""
    files: dict[str, dict[str, Any]] = {}
    """By name, the marks of the files that are put back, see `Rollback`."""
    summary: tuple[str, int, int] = ("", 0, 0)
    """Of the turns that the prompt has no room for: the text, up to which turn, and when it was asked for."""
    managers: dict[str, dict[str, Any]] = {}
    """By class, the `to_dict()` of those that have one."""

    @property
    def game_state(self) -> bytes:
        return base64.b64decode(self.game)


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Replace the checkpoint. Whole or not at all when the process is killed; it is not flushed to disk.

    Raises:
        OSError: it can't be written; the one before stands.
    """
    body = as_json({"version": VERSION} | content)
    data = b"%s%s}\n" % (_HEAD % zlib.crc32(body), body)
    temporary = f"{path}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
    _put_in_place(temporary, path)


def _put_in_place(temporary: str, path: Path) -> None:
    """Let it be the checkpoint, and the one before be what the next is written over.

    The space that a file has already is written in a fraction of the time that new space takes. What stands in the
    place of the checkpoint is never written to.
    """
    spare = f"{path}.spare"
    with suppress(FileNotFoundError):
        os.unlink(spare)
    # Where there are no second names, every checkpoint takes new space.
    with suppress(OSError):
        os.link(path, spare)
    os.replace(temporary, path)
    with suppress(FileNotFoundError):
        os.replace(spare, temporary)


def remove_checkpoint(path: Path) -> None:
    """There is nothing to go on from any longer."""
    for name in (path, f"{path}.tmp", f"{path}.spare"):
        with suppress(FileNotFoundError):
            os.unlink(name)


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint, if it is whole and of a known version. The file is never changed.

    Raises:
        CheckpointError: it is not; the message says why and what to do.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"The checkpoint {path} can't be read: {error.strerror}.") from None
    body = data[_HEAD_LENGTH:-2]
    if data != b"%s%s}\n" % (_HEAD % zlib.crc32(body), body):
        raise CheckpointError(f"The checkpoint {path} is damaged or cut short. The file is left as it is; play anew.")
    try:
        content = json.loads(body)
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
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"The checkpoint {path} is no checkpoint: {reason_of(error)}.") from None


def as_text(state: bytes) -> str:
    return base64.b64encode(state).decode("ascii")

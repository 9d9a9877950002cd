"""A saved moment as bytes: stamped with its story, guarded by a checksum, readable by any process."""

import struct
import zlib
from dataclasses import dataclass

from zorkgpt.errors import StateError

_MAGIC = b"ZGPTSAV1"
_HEAD = struct.Struct(">8s32sI?")


@dataclass(frozen=True, slots=True)
class SavedState:
    """The interpreter's state, and whether the game had ended by then."""

    interpreter: bytes
    finished: bool


def pack(state: SavedState, story_sha256: str) -> bytes:
    return (
        _HEAD.pack(_MAGIC, bytes.fromhex(story_sha256), zlib.crc32(state.interpreter), state.finished)
        + state.interpreter
    )


def unpack(saved: bytes, story_sha256: str) -> SavedState:
    """The state, if it is whole and of this story.

    Raises:
        StateError: it is not. Nothing of it has reached the interpreter, which another story's state would hang.
    """
    if not isinstance(saved, bytes) or len(saved) < _HEAD.size or not saved.startswith(_MAGIC):
        raise StateError("This is not a saved state. Pass the value that save_state() returned, unchanged.")
    _, stamp, checksum, finished = _HEAD.unpack_from(saved)
    if stamp.hex() != story_sha256:
        raise StateError(
            f"The saved state is of another story (sha256 {stamp.hex()[:12]}…, not {story_sha256[:12]}…). "
            "Load the story that it was saved from."
        )
    interpreter = saved[_HEAD.size :]
    if zlib.crc32(interpreter) != checksum:
        raise StateError(f"The saved state of {len(saved)} bytes is damaged. Use an earlier one.")
    return SavedState(interpreter, finished)

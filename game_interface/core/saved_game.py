"""The saved state of a game as bytes, with a header that finds damage."""

import struct
import zlib
from dataclasses import dataclass

from game_interface.core.causes import RecentStates
from game_interface.core.worker import state_size
from zorkgpt.errors import StateError

_MAGIC = b"ZGPTSAV2"
_HEADER = struct.Struct(">8s32sI?H")
"""Magic number, the story's sha256, CRC-32 of the rest, whether the game has ended, and the number of revealed things.

Then come the numbers of these things, of two bytes each, the interpreter's state, and the recent states."""


@dataclass(frozen=True, slots=True)
class SavedGame:
    """Everything that is needed to continue a game."""

    state: bytes
    """The interpreter's state."""
    recent: RecentStates
    revealed: frozenset[int]
    """The numbers of the things that the text has revealed."""
    finished: bool
    """The game had ended."""

    def packed(self, story_sha256: str) -> bytes:
        """Return the saved game as bytes."""
        revealed = sorted(self.revealed)
        content = struct.pack(f">{len(revealed)}H", *revealed) + self.state + self.recent.packed(self.state)
        stamp = bytes.fromhex(story_sha256)
        return _HEADER.pack(_MAGIC, stamp, zlib.crc32(content), self.finished, len(revealed)) + content

    @classmethod
    def unpacked(cls, saved: bytes, story_sha256: str) -> "SavedGame":
        """Read what `packed` returned.

        Raises:
            StateError: If it is damaged or of another story, which would hang the interpreter.
        """
        if not isinstance(saved, bytes) or len(saved) < _HEADER.size or not saved.startswith(_MAGIC):
            raise StateError("This is not a saved state. Pass the value that save_state() returned, unchanged.")
        _, stamp, checksum, finished, count = _HEADER.unpack_from(saved)
        if stamp.hex() != story_sha256:
            raise StateError(
                f"The saved state is of another story (sha256 {stamp.hex()[:12]}…, not {story_sha256[:12]}…). "
                "Load the story that it was saved from."
            )
        content = saved[_HEADER.size :]
        if zlib.crc32(content) != checksum:
            raise StateError(f"The saved state of {len(saved)} bytes is damaged. Use an earlier one.")
        states = content[2 * count :]
        state = states[: state_size(states)]
        recent = RecentStates.unpacked(states[len(state) :], state)
        return cls(state, recent, frozenset(struct.unpack_from(f">{count}H", content)), finished)

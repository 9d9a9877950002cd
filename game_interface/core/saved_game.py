"""The format of saved games, with a checksum."""

import struct
import zlib
from dataclasses import dataclass

from game_interface.core.causes import RecentStates
from game_interface.core.worker import state_size
from zorkgpt.errors import StateError

_MAGIC = b"ZGPTSAV2"
_HEADER = struct.Struct(">8s32sI?H")
"""The magic number, the story's sha256, the CRC-32 of the rest, whether the game is over, and the number of revealed
objects.

The numbers of these objects (two bytes each), the interpreter's state and the recent states follow."""


@dataclass(frozen=True, slots=True)
class SavedGame:
    """The complete state of a game."""

    state: bytes
    """The interpreter's state."""
    recent: RecentStates
    revealed: frozenset[int]
    """The objects that the text has revealed."""
    finished: bool
    """Whether the game is over."""

    def packed(self, story_sha256: str) -> bytes:
        """Return the saved game as bytes."""
        revealed = sorted(self.revealed)
        content = struct.pack(f">{len(revealed)}H", *revealed) + self.state + self.recent.packed(self.state)
        stamp = bytes.fromhex(story_sha256)
        return _HEADER.pack(_MAGIC, stamp, zlib.crc32(content), self.finished, len(revealed)) + content

    @classmethod
    def unpacked(cls, saved: bytes, story_sha256: str) -> "SavedGame":
        """Read the value of `packed`.

        Raises:
            StateError: If the value is damaged or belongs to another story, which would hang the interpreter.
        """
        if not isinstance(saved, bytes) or len(saved) < _HEADER.size or not saved.startswith(_MAGIC):
            raise StateError("This is not a saved state. Pass the unchanged value of save_state().")
        _, stamp, checksum, finished, count = _HEADER.unpack_from(saved)
        if stamp.hex() != story_sha256:
            raise StateError(
                f"The saved state belongs to another story (sha256 {stamp.hex()[:12]}…, not {story_sha256[:12]}…). "
                "Load the story that it was saved from."
            )
        content = saved[_HEADER.size :]
        if zlib.crc32(content) != checksum:
            raise StateError(f"The saved state of {len(saved)} bytes is damaged. Use an earlier one.")
        states = content[2 * count :]
        state = states[: state_size(states)]
        recent = RecentStates.unpacked(states[len(state) :], state)
        return cls(state, recent, frozenset(struct.unpack_from(f">{count}H", content)), finished)

"""The format of saved games, with a checksum."""

import json
import struct
import zlib
from dataclasses import dataclass

from game_interface.core.causes import RecentState, RecentStates
from game_interface.core.worker import state_size
from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.errors import StateError

_MAGIC = b"ZGPTSAV3"
_HEADER = struct.Struct(">8s32sII")
"""The magic number, the story's sha256, the CRC-32 of the rest, and the size of the numbers in bytes.

The numbers (JSON), the interpreter's state and the recent states follow. These are compressed as differences from the
interpreter's state."""


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
        elsewhere = self.recent.elsewhere
        recent = [*([elsewhere] if elsewhere else []), *self.recent.here]
        states = [[each.room, each.moves, each.turn, len(each.state)] for each in recent]
        numbers = [self.finished, sorted(self.revealed), self.recent.turn, elsewhere is not None, states]
        head = json.dumps(numbers).encode()
        differences = b"".join(_difference(each.state, self.state) for each in recent)
        content = head + self.state + zlib.compress(differences, 1)
        return _HEADER.pack(_MAGIC, bytes.fromhex(story_sha256), zlib.crc32(content), len(head)) + content

    @classmethod
    def unpacked(cls, saved: bytes, story_sha256: str) -> "SavedGame":
        """Read the value of `packed`.

        Raises:
            StateError: If the value is damaged or belongs to another story, which would hang the interpreter.
        """
        if not isinstance(saved, bytes) or len(saved) < _HEADER.size or not saved.startswith(_MAGIC):
            raise StateError("This is not a saved state. Pass the unchanged value of save_state().")
        _, stamp, checksum, head_size = _HEADER.unpack_from(saved)
        if stamp.hex() != story_sha256:
            raise StateError(
                f"The saved state belongs to another story (sha256 {stamp.hex()[:12]}…, not {story_sha256[:12]}…). "
                "Load the story that it was saved from."
            )
        content = saved[_HEADER.size :]
        if zlib.crc32(content) != checksum:
            raise StateError(f"The saved state of {len(saved)} bytes is damaged. Use an earlier one.")
        finished, revealed, turn, has_elsewhere, states = parse_json(content[:head_size], SAVED_FILE)
        end = head_size + state_size(content[head_size:])
        state, differences, at = content[head_size:end], zlib.decompress(content[end:]), 0
        recent = RecentStates()
        recent.turn = turn
        for room, moves, before, size in states:
            recent.here.append(RecentState(_difference(differences[at : at + size], state), room, moves, before))
            at += size
            if has_elsewhere and recent.elsewhere is None:
                recent.elsewhere = recent.here.pop()
        return cls(state, recent, frozenset(revealed), finished)


def _difference(state: bytes, present: bytes) -> bytes:
    """Return the exclusive or of both states, which restores the state when it is applied again."""
    mask = present[: len(state)].ljust(len(state), b"\0")
    return (int.from_bytes(state, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(state), "big")

"""The interpreter process: loads one story and answers requests over a socket until its parent is gone.

Started as a program with a socket's file descriptor, its parent's id, the story's path and the seed. It imports nothing
of the project but `sandbox`, so that it starts quickly and nothing can go wrong in it but Jericho. Standard output is
no channel: the interpreter itself writes there.

A message is a length (4 bytes, big-endian) and that many bytes; a request is a letter and an argument, see `_answer`.
"""

import contextlib
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, TypeAlias

from game_interface.core import sandbox

_FrotzState: TypeAlias = tuple[Any, ...]
"""As `FrotzEnv.get_state` returns it: memory and stack as numpy arrays, six numbers, the random generator, the text."""

LENGTH = struct.Struct(">I")
MAX_MESSAGE = 16 << 20
"""Bytes; a message is at most a few times as large as a story."""
HELLO = struct.Struct(">?hh")
"""The second message. The first one, sent before the story is touched, is what `sandbox.restrict` could not do.

Supported by Jericho's own table; player object (0 if unknown); maximum score (0 if unknown)."""
SNAPSHOT = struct.Struct(">IIII????hi8q")
"""Bytes of text, of memory, of the stack's used end and of the narrative; whether the whole memory follows, or what
changed in it; game over, won, emulator halted; score, moves (of supported games); the registers, as in `STATE`.

Behind it come the text, the memory, the stack's end and the narrative. What changed in memory is the addresses, two
bytes each, and then the byte at each."""
STATE = struct.Struct(">III8q")
"""Bytes of memory, stack and narrative; then pc, sp, fp, frames, opcode, and the random generator's three numbers."""
COMPARISON = struct.Struct(">?qIII")
"""Whether the surplus of random numbers is known; the surplus; how many addresses differ; bytes of what the control
changed, and of what the action changed. Behind it come these three, changes as in `SNAPSHOT`."""

_PARENT_CHECK_S = 0.5
_MOST_DRAWS = 64
_RNG_FACTOR, _RNG_RANGE = 0x015A4E35, 1 << 32
"""The interpreter's random generator is linear congruential, modulo 2**32."""


def receive(channel: socket.socket) -> bytes:
    """Return the next message.

    Raises:
        EOFError: If the other side is gone.
        TimeoutError: If the socket's time limit passed.
        ValueError: If it is too large.
    """
    size = LENGTH.unpack(_receive_exactly(channel, LENGTH.size))[0]
    if size > MAX_MESSAGE:
        raise ValueError(f"a message of {size} bytes")
    return _receive_exactly(channel, size)


def _receive_exactly(channel: socket.socket, size: int) -> bytes:
    parts = bytearray(size)
    view, got = memoryview(parts), 0
    while got < size:
        count = channel.recv_into(view[got:])
        if count == 0:
            raise EOFError
        got += count
    return bytes(parts)


def send(channel: socket.socket, message: bytes) -> None:
    """Send a message."""
    channel.sendall(LENGTH.pack(len(message)) + message)


class _LoadedStory:
    """A story in Jericho, with requests and answers in bytes."""

    def __init__(self, path: str, seed: int) -> None:
        warnings.simplefilter("ignore")
        from jericho import FrotzEnv

        self._env = FrotzEnv(path, seed=seed)
        self._library = self._env.frotz_lib
        self._supported = self._env.is_fully_supported
        self._before: _FrotzState | None = None
        """The state before the last step; None if the last request was not a step."""
        self._now: _FrotzState = ()
        self._branches: dict[tuple[bool, int, str | None, tuple[str, ...]], tuple[_FrotzState, Any]] = {}
        """What `_branch` found since the last step."""
        self._loaded = b""
        """The state that was loaded last."""
        self._known: Any = None
        """The memory as the parent knows it; None if it does not."""

    def hello(self) -> bytes:
        if not self._supported:
            return HELLO.pack(False, 0, 0)
        return HELLO.pack(True, self._env.player_obj_num, self._env.get_max_score())

    def reset(self, seed: int) -> bytes:
        self._env.seed(seed)
        return self._snapshot(self._env.reset()[0])

    def step(self, command: bytes) -> bytes:
        before = self._now
        answer = self._snapshot(self._run(command).decode("cp1252", "replace"))
        self._before = before
        return answer

    def peek(self, command: bytes) -> bytes:
        """Return what a command would print; the game does not move."""
        try:
            return self._run(command).decode("cp1252", "replace").encode()
        finally:
            self._env.set_state(self._now)

    def load(self, state: bytes) -> bytes:
        """Go to a state; b"" for the one that was loaded last."""
        import numpy

        state = self._loaded = state or self._loaded
        memory, stack, narrative, pc, sp, fp, frames, opcode, *rng = STATE.unpack_from(state)
        at = STATE.size
        ram = numpy.frombuffer(state, numpy.uint8, memory, at).copy()
        piled = numpy.frombuffer(state, numpy.uint8, stack, at + memory).copy()
        text = state[at + memory + stack : at + memory + stack + narrative]
        self._env.set_state((ram, piled, pc, sp, fp, frames, opcode, tuple(rng), text))
        self._known = ram
        return self._snapshot("")

    def compare(self, asked: dict[str, Any]) -> bytes:
        """Return the differences between an action and a control played from one state; the game does not move.

        The arguments are those of `Worker.compare`.
        """
        now, action, then, advance = self._now, asked["action"], tuple(asked["then"]), asked["rng_advance"]
        start = self._before if action is None or asked["from_last_step"] else now
        if start is None:
            return b""
        try:
            if action is None:
                done, settled = self._branch(now, 0, None, then)
            else:
                done, settled = self._played(_with_rng_advanced(start, advance), action, then)
            other, other_settled = self._branch(start, advance, asked["control"], then)
            begun = _with_rng_advanced(start, advance)
            by_action, by_control = _draws_between(begun, done), _draws_between(begun, other)
            surplus = None if by_action is None or by_control is None else by_action - by_control
            if surplus is not None and surplus > 0:
                # What the action drew for itself must not change what chance brings to the rest of the world.
                other, other_settled = self._branch(start, advance + surplus, asked["control"], then)
            differing = (settled != other_settled).nonzero()[0]
            control, changed = _changed(start[0], other[0]), _changed(start[0], done[0]) if action is not None else b""
            numbers = (surplus is not None, surplus or 0, len(differing), len(control), len(changed))
            return b"".join((COMPARISON.pack(*numbers), differing.astype(">u2").tobytes(), control, changed))
        finally:
            self._env.set_state(now)

    def _branch(
        self, start: _FrotzState, rng_advance: int, command: str | None, then: tuple[str, ...]
    ) -> tuple[_FrotzState, Any]:
        """Return what `_played` returns. The same branch, as of a control, is played once until the game moves."""
        key = (start is self._now, rng_advance, command, then)
        if key not in self._branches:
            self._branches[key] = self._played(_with_rng_advanced(start, rng_advance), command, then)
        return self._branches[key]

    def _played(self, start: _FrotzState, command: str | None, then: tuple[str, ...]) -> tuple[_FrotzState, Any]:
        """Return the state after the command, and the memory after the settling commands that follow it."""
        done = start
        if command is not None or then:
            self._env.set_state(start)
        if command is not None:
            self._run(command.encode("ascii"))
            done = self._env.get_state()
        for following in then:
            self._run(following.encode("ascii"))
        return done, self._env.get_state()[0] if then else done[0]

    def _run(self, command: bytes) -> bytes:
        """Play a command from the present state, and return all that it prints."""
        # Not `env.step`: it decodes strictly, and a story may print any byte.
        printed = bytes(self._library.step(command + b"\n"))
        if not printed.endswith(b"\n") and not self._env._emulator_halted():
            printed += self._pending_output()
        return printed

    def _pending_output(self) -> bytes:
        """Return the last word that was printed, if the interpreter holds it back.

        It does so where no space and no line's end follows it, as after the question at the end of a game. It would
        print it before the next response, be that one of another state.
        """
        now = self._env.get_state()
        answers = []
        for _ in range(2):
            answers.append(bytes(self._library.step(b"\n")))
            self._env.set_state(now)
        with_the_word, without = answers
        return with_the_word.removesuffix(without) if with_the_word.endswith(without) else b""

    def _snapshot(self, text: str) -> bytes:
        self._before, self._now, self._branches = None, self._env.get_state(), {}
        ram, stack, pc, sp, fp, frames, opcode, rng, narrative = self._now
        if not 0 <= 2 * sp <= len(stack):
            raise RuntimeError("the story has left its stack")
        stack[: 2 * sp] = 0  # it grows downwards: leftovers of earlier calls are no part of the state
        whole = self._known is None
        memory = ram.tobytes() if whole else _changed(self._known, ram)
        self._known = ram
        used = stack[2 * sp :].tobytes()
        encoded = text.encode()
        over = won = False
        score = moves = 0
        if self._supported:
            over, won = self._env.game_over(), self._env.victory()
            score, moves = self._env.get_score(), self._env.get_moves()
        sizes = (len(encoded), len(memory), len(used), len(narrative))
        told = (whole, over, won, self._env._emulator_halted(), score, moves)
        head = SNAPSHOT.pack(*sizes, *told, pc, sp, fp, frames, opcode, *map(int, rng))
        return b"".join((head, encoded, memory, used, narrative))


def _draws_between(start: _FrotzState, end: _FrotzState) -> int | None:
    """Return how many random numbers were drawn between two states; None if unknown."""
    (value, *others), (wanted, *others_then) = start[7], end[7]
    value, wanted = int(value) % _RNG_RANGE, int(wanted) % _RNG_RANGE
    for count in range(_MOST_DRAWS if others == others_then else 0):
        if value == wanted:
            return count
        value = (_RNG_FACTOR * value + 1) % _RNG_RANGE
    return None


def _with_rng_advanced(state: _FrotzState, count: int) -> _FrotzState:
    """Return the state as if this many random numbers had been drawn."""
    value, *others = state[7]
    return (*state[:7], (rng_after(int(value), count), *others), *state[8:])


def rng_after(value: int, count: int) -> int:
    """Return the random generator's first number after this many random numbers were drawn."""
    for _ in range(count):
        value = (_RNG_FACTOR * value + 1) % _RNG_RANGE
    return value - _RNG_RANGE if value >= _RNG_RANGE // 2 else value


def _changed(before: Any, after: Any) -> bytes:
    """Return the addresses in memory whose bytes differ, two bytes each, and these bytes afterwards."""
    where = (before != after).nonzero()[0]
    return bytes(where.astype(">u2").tobytes() + after[where].tobytes())


def _answer(interpreter: _LoadedStory, request: bytes) -> bytes:
    kind, argument = request[:1], request[1:]
    if kind == b"S":
        return interpreter.step(argument)
    if kind == b"P":
        return interpreter.peek(argument)
    if kind == b"L":
        return interpreter.load(argument)
    if kind == b"R":
        return interpreter.reset(int(argument))
    if kind == b"C":
        return interpreter.compare(json.loads(argument))
    raise ValueError(f"unknown request {kind!r}")


def _exit_with_parent(parent: int, folder: Path) -> None:
    """End this process when its parent has ended, even if the interpreter hangs."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main(descriptor: str, parent: str, path: str, seed: str) -> None:
    """Serve requests until the parent closes the socket or ends."""
    folder = Path(path).parent
    channel = socket.socket(fileno=int(descriptor))
    with contextlib.suppress(EOFError, OSError):
        # The slow part, which is not to be counted as the story's time.
        import jericho
        import numpy

        missing = sandbox.restrict(folder, [Path(module.__path__[0]).parent for module in (jericho, numpy)])
        threading.Thread(target=_exit_with_parent, args=(int(parent), folder), daemon=True).start()
        send(channel, ", ".join(missing).encode())
        interpreter = _LoadedStory(path, int(seed))
        send(channel, interpreter.hello())
        while True:
            send(channel, _answer(interpreter, receive(channel)))
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # Jericho's own clean-up at interpreter exit has nothing left to save


if __name__ == "__main__":
    main(*sys.argv[1:])

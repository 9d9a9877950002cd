"""The interpreter process: loads a story and answers requests over a socket until its parent exits.

The arguments are the socket's file descriptor, the parent's process id and the path of the story. From the project,
this process imports only `sandbox`, so that it starts quickly. Messages can't use standard output, because the
interpreter writes there.

A message is a length (4 bytes, big-endian) followed by that many bytes. A request is a letter and an argument; see
`_answer`.
"""

import ctypes
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
"""The value of `FrotzEnv.get_state`: memory and stack (numpy arrays), pc, sp, fp, frames, opcode, the three numbers of
the random generator, and the narrative (bytes)."""

LENGTH = struct.Struct(">I")
MAX_MESSAGE = 16 << 20
"""Maximum bytes of a message."""
HELLO = struct.Struct(">?hh")
"""Whether Jericho supports the game, the player object and the maximum score (0 if unknown).

This is the second message. The first one, sent before the story is loaded, has the value of `sandbox.restrict`."""
SNAPSHOT = struct.Struct(">I??hi")
"""The size of the text in bytes; whether the game is over, and won; score and moves (of supported games).

The text and the state follow."""
STATE = struct.Struct(">III8q")
"""The sizes in bytes of memory, stack and narrative; pc, sp, fp, frames, opcode; the three numbers of the random
generator. The memory, the stack and the narrative follow."""
COMPARISON = struct.Struct(">?qII")
"""Whether the surplus of random numbers is known; the surplus; the number of differing addresses; the size of a memory.

The differing addresses (two bytes each) and the memories after the control and after the action follow. If the action
is the last step, the second one is empty."""

QUIT = 0xBA
"""The opcode of the instruction that ends a story: Z-Machine Standard 1.1, section 14. It is the opcode of every state
after the end."""
_FIRST_WITHOUT_OPERANDS = 0xB0
_HAS_QUIT = 2
"""A value of Jericho's flag `emulator_halted` that Jericho does not use."""

_PARENT_CHECK_S = 0.5
_MAX_DRAWS = 64
_RNG_FACTOR, _RNG_RANGE = 0x015A4E35, 1 << 32
"""The interpreter's random generator is linear congruential."""


def receive(channel: socket.socket) -> bytes:
    """Return the next message.

    Raises:
        EOFError: If the connection is closed.
        TimeoutError: If the socket's timeout expired.
        ValueError: If the message is too large.
    """
    size = LENGTH.unpack(_receive_exactly(channel, LENGTH.size))[0]
    if size > MAX_MESSAGE:
        raise ValueError(f"a message of {size} bytes")
    return _receive_exactly(channel, size)


def _receive_exactly(channel: socket.socket, size: int) -> bytes:
    buffer = bytearray(size)
    view, received = memoryview(buffer), 0
    while received < size:
        count = channel.recv_into(view[received:])
        if count == 0:
            raise EOFError
        received += count
    return bytes(buffer)


def send(channel: socket.socket, message: bytes) -> None:
    """Send a message."""
    channel.sendall(LENGTH.pack(len(message)) + message)


class _InterpreterBroken(Exception):
    """The interpreter can't be used any more."""


class _LoadedStory:
    """A story loaded in Jericho. Each public method answers one kind of request."""

    def __init__(self, path: str) -> None:
        warnings.simplefilter("ignore")
        from jericho import FrotzEnv

        self._env = FrotzEnv(path, seed=1)  # without a seed, Jericho may use the clock
        self._library = self._env.frotz_lib
        self._halted = ctypes.c_int.in_dll(self._library, "emulator_halted")
        """0 while the story runs, 1 after a runtime error, or `_HAS_QUIT`."""
        self._quit = ctypes.CFUNCTYPE(None)(self._on_quit)
        opcodes = (ctypes.c_void_p * 16).in_dll(self._library, "op0_opcodes")
        opcodes[QUIT - _FIRST_WITHOUT_OPERANDS] = ctypes.cast(self._quit, ctypes.c_void_p).value
        self._supported = self._env.is_fully_supported
        self._before: _FrotzState | None = None
        """The state before the last step. None if the last request was not a step."""
        self._now: _FrotzState = ()
        self._branches: dict[tuple[bool, int, str | None, tuple[str, ...]], tuple[_FrotzState, Any]] = {}
        """The results of `_branch` since the last step."""

    def hello(self) -> bytes:
        if not self._supported:
            return HELLO.pack(False, 0, 0)
        return HELLO.pack(True, self._env.player_obj_num, self._env.get_max_score())

    def reset(self, seed: int) -> bytes:
        """Restart the story. Seed 0 means the seed of Jericho's walkthrough, or 1 without one."""
        self._env.seed(seed or self._env.bindings.get("seed") or 1)
        text = self._env.reset()[0]
        self._check_halted()
        return self._snapshot(text)

    def step(self, command: bytes) -> bytes:
        before = self._now
        answer = self._snapshot(self._run(command).decode("cp1252", "replace"))
        self._before = before
        return answer

    def peek(self, command: bytes) -> bytes:
        """Return the text that a command would print. The state does not change."""
        try:
            return self._run(command).decode("cp1252", "replace").encode()
        finally:
            self._env.set_state(self._now)

    def load(self, state: bytes) -> bytes:
        """Restore a state."""
        import numpy

        memory, stack, narrative, pc, sp, fp, frames, opcode, *rng = STATE.unpack_from(state)
        at = STATE.size
        memory_array = numpy.frombuffer(state, numpy.uint8, memory, at).copy()
        stack_array = numpy.frombuffer(state, numpy.uint8, stack, at + memory).copy()
        text = state[at + memory + stack : at + memory + stack + narrative]
        self._env.set_state((memory_array, stack_array, pc, sp, fp, frames, opcode, tuple(rng), text))
        return self._snapshot("")

    def compare(self, asked: dict[str, Any]) -> bytes:
        """Compare an action with a control command played from the same state. The state does not change.

        The arguments are those of `Worker.compare`.
        """
        now, action, then, advance = self._now, asked["action"], tuple(asked["then"]), asked["rng_advance"]
        start = self._before if action is None or asked["from_last_step"] else now
        if start is None:
            return b""
        try:
            # The state after the last step is already known.
            origin, skipped = (now, 0) if action is None else (start, advance)
            acted, acted_memory = self._branch(origin, skipped, action, then)
            idle, idle_memory = self._branch(start, advance, asked["control"], then)
            advanced = _with_rng_advanced(start, advance)
            action_draws, control_draws = _draws_between(advanced, acted), _draws_between(advanced, idle)
            surplus = None if action_draws is None or control_draws is None else action_draws - control_draws
            if surplus is not None and surplus > 0:
                # Skip the numbers that the action drew, so that the rest of the world draws the same in both branches.
                idle, idle_memory = self._branch(start, advance + surplus, asked["control"], then)
            differing = (acted_memory != idle_memory).nonzero()[0]
            head = COMPARISON.pack(surplus is not None, surplus or 0, len(differing), len(now[0]))
            by_action = b"" if action is None else acted[0]
            return b"".join((head, differing.astype(">u2"), idle[0], by_action))
        finally:
            self._env.set_state(now)

    def _branch(
        self, start: _FrotzState, rng_advance: int, command: str | None, then: tuple[str, ...]
    ) -> tuple[_FrotzState, Any]:
        """Return the result of `_played`, cached until the next step."""
        key = (start is self._now, rng_advance, command, then)
        if key not in self._branches:
            self._branches[key] = self._played(_with_rng_advanced(start, rng_advance), command, then)
        return self._branches[key]

    def _played(self, start: _FrotzState, command: str | None, then: tuple[str, ...]) -> tuple[_FrotzState, Any]:
        """Play a command and then the settling commands.

        Returns:
            The state after the command, and the memory after the settling commands.
        """
        after = start
        if command is not None or then:
            self._env.set_state(start)
        if command is not None:
            self._run(command.encode("ascii"))
            after = self._env.get_state()
        for settling in then:
            self._run(settling.encode("ascii"))
        return after, self._env.get_state()[0] if then else after[0]

    def _run(self, command: bytes) -> bytes:
        """Play a command and return everything that it prints."""
        printed = self._step(command)
        if not printed.endswith(b"\n") and self._library.get_opcode() != QUIT:
            printed += self._pending_output()
        return printed

    def _step(self, command: bytes) -> bytes:
        # `env.step` fails if the story prints bytes that can't be decoded.
        printed = bytes(self._library.step(command + b"\n"))
        self._check_halted()
        return printed

    def _on_quit(self) -> None:
        """Execute the instruction `quit`.

        Jericho's own implementation does not stop: it continues with whatever follows the instruction. This one stays
        at the instruction, so that the state shows the end, and makes Jericho return from the command.
        """
        self._library.flush_buffer()
        self._library.setPC(self._library.getPC() - 1)
        self._halted.value = _HAS_QUIT

    def _check_halted(self) -> None:
        """Continue after the end of a story, and raise an error if the emulator halted.

        Jericho halts only on a runtime error. After that, it answers no command, even if another state is loaded.
        """
        if self._halted.value == _HAS_QUIT:
            self._halted.value = 0
        elif self._halted.value:
            raise _InterpreterBroken("the emulator halted on a runtime error of the story")

    def _pending_output(self) -> bytes:
        """Return the last printed word if the interpreter still buffers it, and clear the buffer.

        The interpreter buffers a word until a space or a newline follows, for example after the question at the end of
        a game. The word would be printed before the next response, even in another state.
        """
        now = self._env.get_state()
        responses = []
        for _ in range(2):
            responses.append(self._step(b""))
            self._env.set_state(now)
        with_word, without_word = responses
        return with_word.removesuffix(without_word) if with_word.endswith(without_word) else b""

    def _snapshot(self, text: str) -> bytes:
        self._before, self._now, self._branches = None, self._env.get_state(), {}
        ram, stack, pc, sp, fp, frames, opcode, rng, narrative = self._now
        if not 0 <= 2 * sp <= len(stack):
            raise _InterpreterBroken("the stack pointer is outside the stack")
        stack[: 2 * sp] = 0  # the stack grows downwards, so this part only has leftovers of earlier calls
        encoded = text.encode()
        over = won = False
        score = moves = 0
        if self._supported:
            over, won = self._env.game_over(), self._env.victory()
            score, moves = self._env.get_score(), self._env.get_moves()
        head = SNAPSHOT.pack(len(encoded), over, won, score, moves)
        sizes = len(ram), len(stack), len(narrative)
        state = STATE.pack(*sizes, pc, sp, fp, frames, opcode, *map(int, rng))
        return b"".join((head, encoded, state, ram, stack, narrative))


def _draws_between(start: _FrotzState, end: _FrotzState) -> int | None:
    """Return how many random numbers were drawn between two states. None if unknown."""
    (value, *start_others), (end_value, *end_others) = start[7], end[7]
    value, end_value = int(value) % _RNG_RANGE, int(end_value) % _RNG_RANGE
    for count in range(_MAX_DRAWS if start_others == end_others else 0):
        if value == end_value:
            return count
        value = (_RNG_FACTOR * value + 1) % _RNG_RANGE
    return None


def _with_rng_advanced(state: _FrotzState, count: int) -> _FrotzState:
    """Return the state after this many more random numbers were drawn."""
    value, *others = state[7]
    return (*state[:7], (rng_after(int(value), count), *others), *state[8:])


def rng_after(value: int, count: int) -> int:
    """Return the first number of the random generator after this many more random numbers were drawn."""
    for _ in range(count):
        value = (_RNG_FACTOR * value + 1) % _RNG_RANGE
    return value - _RNG_RANGE if value >= _RNG_RANGE // 2 else value


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
    """Exit when the parent has exited, even if the interpreter hangs."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main(descriptor: str, parent: str, path: str) -> None:
    """Serve requests until the parent closes the socket or exits, or until the interpreter is broken."""
    folder = Path(path).parent
    channel = socket.socket(fileno=int(descriptor))
    try:
        # These imports are slow and must not count towards the time limit of the story.
        import jericho
        import numpy

        missing = sandbox.restrict(folder, [Path(module.__path__[0]).parent for module in (jericho, numpy)])
        threading.Thread(target=_exit_with_parent, args=(int(parent), folder), daemon=True).start()
        send(channel, ", ".join(missing).encode())
        interpreter = _LoadedStory(path)
        send(channel, interpreter.hello())
        while True:
            send(channel, _answer(interpreter, receive(channel)))
    except _InterpreterBroken as error:
        # The parent reads the output and removes the folder.
        print(error, file=sys.stderr, flush=True)
        status = 1
    except (EOFError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        status = 0
    os._exit(status)  # skip Jericho's cleanup


if __name__ == "__main__":
    main(*sys.argv[1:])

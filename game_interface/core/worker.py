"""Run the interpreter in a process of its own, with a time limit on every request."""

import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from game_interface.core import child
from zorkgpt.errors import InterpreterError
from zorkgpt.log import get_logger

log = get_logger(__name__)

Parsed = TypeVar("Parsed")

START_LIMIT_S = 30.0
"""Time for Python and Jericho to load, on a slow disk; the story's own time comes after that."""
_LAST_OUTPUT_BYTES = 300
RNG_ADVANCES = (5, 11, 17, 23, 31, 41, 53, 67, 79, 97, 113, 131)
"""How far the random generator is advanced, to see other outcomes of chance."""
_MOST_STACK = 1 << 15
"""Words; the stacks of interpreters are smaller."""
_WORKING_DIRECTORY = "work"
_RNG = 8
"""Where `child.STATE` holds the random generator's first number."""
_INHERITED = re.compile(
    r"PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|LD_LIBRARY_PATH|PYTHON\w+", re.IGNORECASE
)
"""The environment variables that the interpreter process gets: none that could hold a key."""


class WorkerFailure(Exception):
    """The interpreter process hung or died; it is gone, and the next request starts a new one."""


@dataclass(frozen=True, slots=True)
class InterpreterState:
    """The state of the interpreter after one request."""

    text: str
    memory: bytes
    """The story's dynamic memory."""
    stack: bytes
    """The used end of the stack, which grows downwards."""
    narrative: bytes
    """What Jericho keeps of the text."""
    registers: tuple[int, ...]
    """As in `child.STATE`, the random generator included."""
    game_over: bool
    """Jericho's flag. This one and the next three are only set for games that Jericho knows."""
    victory: bool
    score: int
    moves: int
    halted: bool

    @property
    def place(self) -> tuple[int, int]:
        """The address of the instruction that reads what is typed next, and the depth of routine calls there."""
        return self.registers[0], self.registers[3]

    @property
    def instruction(self) -> int:
        """The number of the instruction that reads what is typed next."""
        return self.registers[4]

    @property
    def state(self) -> bytes:
        """Everything that `load` needs."""
        unused = 2 * self.registers[1]
        sizes = (len(self.memory), unused + len(self.stack), len(self.narrative))
        head = child.STATE.pack(*sizes, *self.registers)
        return b"".join((head, self.memory, bytes(unused), self.stack, self.narrative))

    @classmethod
    def unpack(cls, answer: bytes, known: bytes, memory_size: int) -> "InterpreterState":
        """Read an answer of the interpreter process.

        Args:
            known: The memory before the request.
            memory_size: The bytes of the story's dynamic memory.

        Raises:
            ValueError, IndexError, struct.error: If it is none.
        """
        *sizes, whole, over, won, halted, score, moves = (head := child.SNAPSHOT.unpack_from(answer))[:10]
        parts, at = [], child.SNAPSHOT.size
        for size in sizes:
            parts.append(answer[at : at + size])
            at += size
        if len(answer) != at or not 0 <= head[11] < _MOST_STACK:
            raise ValueError("the parts of the answer don't fit")
        text, memory, stack, narrative = parts
        if not whole:
            memory = _with_changes(known, memory)
        if len(memory) != memory_size:
            raise ValueError(f"a memory of {len(memory)} bytes")
        return cls(text.decode(), memory, stack, narrative, head[10:], over, won, score, moves, halted)


def state_size(state: bytes) -> int:
    """Return the number of bytes of the state at the beginning of these bytes."""
    memory, stack, narrative, *_ = child.STATE.unpack_from(state)
    return int(child.STATE.size + memory + stack + narrative)


def with_rng_advanced(state: bytes, count: int) -> bytes:
    """Return the state as if this many random numbers had been drawn."""
    numbers = list(child.STATE.unpack_from(state))
    numbers[_RNG] = child.rng_after(numbers[_RNG], count)
    return child.STATE.pack(*numbers) + state[child.STATE.size :]


def _with_changes(memory: bytes, changed: bytes) -> bytes:
    if not changed:
        return memory
    result = bytearray(memory)
    for address, byte in _changes(changed).items():
        result[address] = byte
    return bytes(result)


def _changes(changed: bytes) -> dict[int, int]:
    """Return address → byte of what `child` packed."""
    count = len(changed) // 3
    return dict(zip(_addresses(changed[: 2 * count]), changed[2 * count :], strict=True))


def _addresses(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(packed) // 2}H", packed)


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """An action compared with a control command that was played from the same state."""

    differing: tuple[int, ...]
    """Addresses whose bytes differ between the two branches, after the same settling commands."""
    surplus_draws: int | None
    """How many more random numbers the action drew than the control; None if unknown."""
    control: dict[int, int]
    """What the control changed in memory: address → byte."""
    action: dict[int, int]
    """What the action changed in memory; empty if it is the last step."""

    @classmethod
    def unpack(cls, answer: bytes) -> "BranchComparison":
        """Read an answer of the interpreter process.

        Raises:
            ValueError, struct.error: If it is none.
        """
        is_known, surplus, differing, control, action = child.COMPARISON.unpack_from(answer)
        begins = child.COMPARISON.size, child.COMPARISON.size + 2 * differing
        return cls(
            _addresses(answer[begins[0] : begins[1]]),
            surplus if is_known else None,
            control=_changes(answer[begins[1] : begins[1] + control]),
            action=_changes(answer[begins[1] + control : begins[1] + control + action]),
        )


@dataclass(frozen=True, slots=True)
class _WorkerProcess:
    """A running interpreter process."""

    process: subprocess.Popen[bytes]
    channel: socket.socket


class Worker:
    """One interpreter process with one story. Whatever happens to it, this process goes on.

    The story is copied to a temporary folder, under a name that the interpreter accepts, with an empty working
    directory beside it: neither a removed story file nor a `chdir` nor a file that the story writes does any harm.
    `sandbox` says what else the process can't do.

    Raises:
        WorkerFailure: If the process hung or died, in every method but `kill`.
    """

    def __init__(self, story: bytes, *, seed: int, time_limit_s: float) -> None:
        self._story = story
        self.seed = seed
        self.time_limit_s = time_limit_s
        self._connection: _WorkerProcess | None = None
        self._folder: Path | None = None
        self._loaded = b""
        """The state that was loaded last, which the process keeps."""
        self._memory = b""
        """The story's memory after the last request, which the process answers with what changed in it."""
        self.supported = False
        """Whether Jericho knows the game."""
        self.player_object = 0
        self.max_score = 0

    @property
    def pid(self) -> int | None:
        """The id of the process; None if none is running."""
        return self._connection.process.pid if self._connection else None

    def _start(self) -> _WorkerProcess:
        """Start a process with the story loaded; an old one is killed."""
        self.kill()
        self._folder, path = self._copy_story()
        ours, theirs = socket.socketpair()
        with theirs, open(self._folder / "output.txt", "wb") as output:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    child.__file__,
                    str(theirs.fileno()),
                    str(os.getpid()),
                    str(path),
                    str(self.seed),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=path.with_name(_WORKING_DIRECTORY),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for the parent
                env=_child_environment(self._folder),
            )
        connection = self._connection = _WorkerProcess(process, ours)
        _log_missing(self._receive(connection, START_LIMIT_S))
        hello = self._receive(connection, self.time_limit_s)
        self.supported, self.player_object, self.max_score = self._parsed(hello, child.HELLO.unpack)
        return connection

    def _copy_story(self) -> tuple[Path, Path]:
        """Return a new temporary folder, and the story's path in it."""
        folder: Path | None = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="zorkgpt-story-"))
            # The header tells the version; the name only needs a dot and the letter z.
            path = folder / "story.z5"
            path.write_bytes(self._story)
            path.with_name(_WORKING_DIRECTORY).mkdir()
        except OSError as error:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise InterpreterError(
                f"The story can't be put into {tempfile.gettempdir()}: {error.strerror}. "
                "Make room there, or name another folder in TMPDIR."
            ) from None
        return folder, path

    def reset(self) -> InterpreterState:
        """Restart the story."""
        opening = self._state_after(b"R%d" % self.seed)
        if opening.halted:
            # A story can damage the interpreter beyond what a restart repairs.
            self.kill()
            opening = self._state_after(b"R%d" % self.seed)
        return opening

    def step(self, command: bytes) -> InterpreterState:
        """Play one command. It is not checked here, see `clean_command`."""
        return self._state_after(b"S" + command)

    def peek(self, command: bytes) -> str:
        """Return what a command would print; the game does not move."""
        return self._parsed(self._ask(b"P" + command), bytes.decode)

    def load(self, state: bytes) -> InterpreterState:
        """Go to a state of this story."""
        size = child.STATE.unpack_from(state)[0]
        known = state[child.STATE.size : child.STATE.size + size]
        loaded = self._state_after(b"L" if state == self._loaded else b"L" + state, known)
        self._loaded = state
        return loaded

    def _state_after(self, request: bytes, known: bytes | None = None) -> InterpreterState:
        """Return the state after a request.

        Args:
            known: The memory that the request sets; None if it sets none.
        """
        answer = self._ask(request)
        memory = self._memory if known is None else known
        # The header says where dynamic memory ends: Z-Machine Standard 1.1, section 11.
        size = int.from_bytes(self._story[14:16], "big")
        after = self._parsed(answer, lambda answer: InterpreterState.unpack(answer, memory, size))
        self._memory = after.memory
        return after

    def _parsed(self, answer: bytes, parse: Callable[[bytes], Parsed]) -> Parsed:
        """Return the parsed answer. A story may have taken over the process that sent it."""
        try:
            return parse(answer)
        except (ValueError, IndexError, struct.error):
            raise self._failure("sent an answer that can't be read and was killed") from None

    def compare(
        self,
        control: str,
        then: tuple[str, ...],
        *,
        action: str | None = None,
        from_last_step: bool = False,
        rng_advance: int = 0,
    ) -> BranchComparison | None:
        """Compare the last step, or another action, with a control; the game does not move.

        Args:
            control: A command without effect.
            then: Settling commands that follow both, to overwrite what the parser keeps of a command.
            action: Played from the current state; None for the last step.
            from_last_step: The action is played from the state before the last step instead.
            rng_advance: How many random numbers are drawn before both.

        Returns:
            None if there was no step to compare.
        """
        asked = {
            "control": control,
            "then": then,
            "action": action,
            "from_last_step": from_last_step,
            "rng_advance": rng_advance,
        }
        answer = self._ask(b"C" + json.dumps(asked).encode())
        if not answer:
            return None
        return self._parsed(answer, BranchComparison.unpack)

    def _ask(self, request: bytes) -> bytes:
        connection = self._connection or self._start()
        try:
            connection.channel.settimeout(self.time_limit_s)
            child.send(connection.channel, request)
        except OSError as error:
            raise self._failure(f"can't be reached ({error})") from None
        return self._receive(connection, self.time_limit_s)

    def _receive(self, connection: _WorkerProcess, limit_s: float) -> bytes:
        # The limit applies to each part of a message; there are few, and a stall in one is enough to kill.
        connection.channel.settimeout(limit_s)
        try:
            return child.receive(connection.channel)
        except TimeoutError:
            raise self._failure(f"gave no answer within {limit_s:g} s and was killed") from None
        except ValueError as error:
            raise self._failure(f"sent {error} and was killed") from None
        except (EOFError, OSError):
            raise self._failure(f"died ({_exit_reason(connection.process)})") from None

    def _failure(self, what: str) -> WorkerFailure:
        output = self._last_output()
        self.kill()
        return WorkerFailure(f"the interpreter {what}{f', saying: {output}' if output else ''}")

    def _last_output(self) -> str:
        """Return the last line that the process wrote to its standard output or error; "" for none."""
        if self._folder is None:
            return ""
        with contextlib.suppress(OSError):
            tail = (self._folder / "output.txt").read_bytes()[-_LAST_OUTPUT_BYTES:].decode(errors="replace")
            lines = [line.strip() for line in tail.splitlines() if line.strip()]
            return lines[-1] if lines else ""
        return ""

    def kill(self) -> None:
        """End the process, if there is one, and remove its folder."""
        if self._connection:
            self._connection.channel.close()
            self._connection.process.kill()
            self._connection.process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._connection = self._folder = None
        self._loaded = b""


def _child_environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)}
    own = {
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
        "TMPDIR": str(folder),
        "OPENBLAS_NUM_THREADS": "1",  # Landlock does not restrict threads that run already
    }
    return inherited | own


@cache
def _log_missing(protections: bytes) -> None:
    """Log, once, which protections of `sandbox` the system lacks."""
    if protections:
        names = protections.decode(errors="replace")
        log.info("the interpreter runs without some protections", extra={"missing": names})


def _exit_reason(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout=2)
        return f"signal {-code}" if code < 0 else f"exit code {code}"
    return "it closed the connection"

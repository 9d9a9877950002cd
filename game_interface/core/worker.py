"""Run the interpreter in a separate process, with a time limit for each request."""

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
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from game_interface.core import child
from zorkgpt.errors import InterpreterError
from zorkgpt.extras import require
from zorkgpt.log import get_logger

log = get_logger(__name__)

Parsed = TypeVar("Parsed")

START_LIMIT_S = 30.0
"""Time limit for Python and Jericho to load. Loading the story has the time limit of a request."""
_LAST_OUTPUT_BYTES = 300
RNG_ADVANCES = (5, 11, 17, 23, 31, 41, 53, 67, 79, 97, 113, 131)
"""How many random numbers to skip, to see other outcomes of chance."""
PROGRAM = child.__file__
"""The program of the interpreter process."""
_WORKING_DIRECTORY = "work"
_RNG = 8
"""Index of the random generator's first number in `child.STATE`."""
_INHERITED = re.compile(
    r"PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|LD_LIBRARY_PATH|PYTHON\w+", re.IGNORECASE
)
"""The environment variables that the interpreter process inherits. Others could contain keys."""


class WorkerFailure(Exception):
    """The interpreter process hung, died or halted. The next request starts a new one."""


@dataclass(frozen=True, slots=True)
class InterpreterState:
    """The state of the interpreter after one request."""

    text: str
    state: bytes
    """The argument for `Worker.load`: see `child.STATE`."""
    memory: bytes
    """The story's dynamic memory."""
    place: tuple[int, int]
    """The address of the instruction that reads the next input, and the depth of routine calls there."""
    instruction: int
    """The opcode of the instruction that reads the next input."""
    game_over: bool
    """Jericho's flag. It is set only for games that Jericho supports, like the next three fields."""
    victory: bool
    score: int
    moves: int

    @property
    def has_quit(self) -> bool:
        """Whether the story has ended itself, so that it reads no more input."""
        return self.instruction == child.QUIT

    @classmethod
    def unpack(cls, answer: bytes, memory_size: int) -> "InterpreterState":
        """Read an answer of the interpreter process.

        Args:
            memory_size: The size of the story's dynamic memory in bytes.

        Raises:
            ValueError, struct.error: If the answer is damaged.
        """
        text_size, *rest = child.SNAPSHOT.unpack_from(answer)
        end = child.SNAPSHOT.size + text_size
        text, state = answer[child.SNAPSHOT.size : end], answer[end:]
        size, _, _, address, _, _, depth, opcode, *_ = child.STATE.unpack_from(state)
        if size != memory_size or state_size(state) != len(state):
            raise ValueError("an answer with wrong sizes")
        memory = state[child.STATE.size : child.STATE.size + size]
        return cls(text.decode(), state, memory, (address, depth), opcode, *rest)


def state_size(state: bytes) -> int:
    """Return the size in bytes of the interpreter state that these bytes start with."""
    memory, stack, narrative, *_ = child.STATE.unpack_from(state)
    return int(child.STATE.size + memory + stack + narrative)


def with_rng_advanced(state: bytes, count: int) -> bytes:
    """Return the state after this many more random numbers were drawn."""
    numbers = list(child.STATE.unpack_from(state))
    numbers[_RNG] = child.rng_after(numbers[_RNG], count)
    return child.STATE.pack(*numbers) + state[child.STATE.size :]


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """An action compared with a control command played from the same state."""

    differing: tuple[int, ...]
    """Addresses where the memory of the two branches differs after the settling commands."""
    surplus_draws: int | None
    """How many more random numbers the action drew than the control. None if unknown."""
    control: bytes
    """The story's memory after the control."""
    action: bytes
    """The story's memory after the action. Empty if the action is the last step."""

    @classmethod
    def unpack(cls, answer: bytes) -> "BranchComparison":
        """Read an answer of the interpreter process.

        Raises:
            ValueError, struct.error: If the answer is damaged.
        """
        is_known, surplus, count, size = child.COMPARISON.unpack_from(answer)
        differing = struct.unpack_from(f">{count}H", answer, child.COMPARISON.size)
        memories = answer[child.COMPARISON.size + 2 * count :]
        if len(memories) not in (size, 2 * size):
            raise ValueError("an answer with wrong sizes")
        return cls(differing, surplus if is_known else None, control=memories[:size], action=memories[size:])


@dataclass(frozen=True, slots=True)
class _WorkerProcess:
    """A running interpreter process."""

    process: subprocess.Popen[bytes]
    channel: socket.socket


class Worker:
    """Plays one story in an interpreter process, which may hang or crash without harm to this process.

    The next request after a failure starts a new process.

    The process gets a copy of the story in a temporary folder, and an empty working directory. So it does not depend on
    the original file, and files that the story writes are removed. `sandbox` describes further restrictions.

    Args:
        seed: See `JerichoInterface`.
        name: The story file, for messages.

    Raises:
        WorkerFailure: In every method but `kill`, `restart` and `restore`, if the process hung, died or halted.
    """

    def __init__(self, story: bytes, *, seed: int | None, time_limit_s: float, name: str | Path = "") -> None:
        self._story, self._name = story, name
        self.seed = seed
        self.time_limit_s = time_limit_s
        self._connection: _WorkerProcess | None = None
        self._folder: Path | None = None
        self.supported = False
        """Whether Jericho supports the game."""
        self.player_object = 0
        self.max_score = 0

    @property
    def pid(self) -> int | None:
        """The id of the process. None if it is not running."""
        return self._connection.process.pid if self._connection else None

    def _start(self) -> _WorkerProcess:
        """Start a process and load the story. Kills the previous process."""
        self.kill()
        self._folder, path = self._copy_story()
        ours, theirs = socket.socketpair()
        with theirs, open(self._folder / "output.txt", "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", PROGRAM, str(theirs.fileno()), str(os.getpid()), str(path)],
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
        """Copy the story to a new temporary folder. Return the folder and the path of the copy."""
        folder: Path | None = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="zorkgpt-story-"))
            # Jericho reads the version from the header. The name only needs a dot followed by "z".
            path = folder / "story.z5"
            path.write_bytes(self._story)
            path.with_name(_WORKING_DIRECTORY).mkdir()
        except OSError as error:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise InterpreterError(
                f"The story can't be copied to {tempfile.gettempdir()}: {error.strerror}. "
                "Free some space, or set TMPDIR to another folder."
            ) from None
        return folder, path

    def reset(self) -> InterpreterState:
        """Restart the story."""
        return self._state_after(b"R%d" % (self.seed or 0))

    def restart(self) -> InterpreterState:
        """Restart the story, in another new process if the first one fails.

        Raises:
            InterpreterError: If the story can't be started.
        """
        try:
            return _with_retry(self.reset)
        except WorkerFailure as failure:
            require("game")
            raise InterpreterError(
                f"The story {self._name} can't be started: {failure}. It may be damaged. Get a new copy."
            ) from failure

    def restore(self, state: bytes) -> InterpreterState:
        """Restore a state of this story, in a new process if necessary.

        Raises:
            InterpreterError: If the interpreter can't be restarted.
        """
        try:
            return _with_retry(partial(self.load, state))
        except WorkerFailure as failure:
            raise InterpreterError(
                f"The interpreter for {self._name} can't be restarted: {failure}. Start the episode again."
            ) from failure

    def step(self, command: bytes) -> InterpreterState:
        """Play a command. The command must have passed `clean_command`."""
        return self._state_after(b"S" + command)

    def peek(self, command: bytes) -> str:
        """Return the text that a command would print. The state does not change."""
        return self._parsed(self._request(b"P" + command), bytes.decode)

    def load(self, state: bytes) -> InterpreterState:
        """Restore a state of this story."""
        return self._state_after(b"L" + state)

    def _state_after(self, request: bytes) -> InterpreterState:
        # The header has the end of dynamic memory: Z-Machine Standard 1.1, section 11.
        size = int.from_bytes(self._story[14:16], "big")
        return self._parsed(self._request(request), lambda answer: InterpreterState.unpack(answer, size))

    def _parsed(self, answer: bytes, parse: Callable[[bytes], Parsed]) -> Parsed:
        """Parse an answer, which may be malicious: a story may have taken over the process."""
        try:
            return parse(answer)
        except (ValueError, struct.error):
            raise self._failure("sent an invalid answer and was killed") from None

    def compare(
        self,
        control: str,
        then: tuple[str, ...],
        *,
        action: str | None = None,
        from_last_step: bool = False,
        rng_advance: int = 0,
    ) -> BranchComparison | None:
        """Compare the last step, or another action, with a control command. The state does not change.

        Args:
            control: A command without effect.
            then: Settling commands, played after both, which overwrite the parser's copy of the command.
            action: Played from the current state. Defaults to the last step.
            from_last_step: Play the action from the state before the last step instead.
            rng_advance: How many random numbers to skip before both.

        Returns:
            None if there was no step to compare.
        """
        arguments = {
            "control": control,
            "then": then,
            "action": action,
            "from_last_step": from_last_step,
            "rng_advance": rng_advance,
        }
        answer = self._request(b"C" + json.dumps(arguments).encode())
        return self._parsed(answer, BranchComparison.unpack) if answer else None

    def _request(self, request: bytes) -> bytes:
        connection = self._connection or self._start()
        try:
            connection.channel.settimeout(self.time_limit_s)
            child.send(connection.channel, request)
        except OSError as error:
            raise self._failure(f"can't be reached ({error})") from None
        return self._receive(connection, self.time_limit_s)

    def _receive(self, connection: _WorkerProcess, limit_s: float) -> bytes:
        # The limit applies to each part of a message. There are only a few.
        connection.channel.settimeout(limit_s)
        try:
            return child.receive(connection.channel)
        except TimeoutError:
            raise self._failure(f"gave no answer within {limit_s:g} s and was killed") from None
        except ValueError as error:
            raise self._failure(f"sent {error} and was killed") from None
        except (EOFError, OSError):
            raise self._failure(f"died ({_exit_reason(connection.process)})") from None

    def _failure(self, reason: str) -> WorkerFailure:
        output = self._last_output()
        self.kill()
        return WorkerFailure(f"the interpreter {reason}{f', saying: {output}' if output else ''}")

    def _last_output(self) -> str:
        """Return the last line that the process wrote to standard output or error. "" if there is none."""
        if self._folder is None:
            return ""
        with contextlib.suppress(OSError):
            tail = (self._folder / "output.txt").read_bytes()[-_LAST_OUTPUT_BYTES:].decode(errors="replace")
            lines = [line.strip() for line in tail.splitlines() if line.strip()]
            return lines[-1] if lines else ""
        return ""

    def kill(self) -> None:
        """Kill the process if it is running, and remove its folder."""
        if self._connection:
            self._connection.channel.close()
            self._connection.process.kill()
            self._connection.process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._connection = self._folder = None


def _with_retry(request: Callable[[], InterpreterState]) -> InterpreterState:
    try:
        return request()
    except WorkerFailure:
        return request()


def _child_environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)}
    own = {
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
        "TMPDIR": str(folder),
        "OPENBLAS_NUM_THREADS": "1",  # Landlock does not restrict threads that are already running
    }
    return inherited | own


@cache
def _log_missing(protections: bytes) -> None:
    """Log the protections that the system lacks, once per process."""
    if protections:
        log.info("sandbox incomplete", extra={"missing": protections.decode(errors="replace")})


def _exit_reason(process: subprocess.Popen[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout=2)
        return f"signal {-code}" if code < 0 else f"exit code {code}"
    return "it closed the connection"

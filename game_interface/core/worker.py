"""The interpreter in a process of its own, with a time limit on every request."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from game_interface.core import child
from zorkgpt.errors import InterpreterError

START_LIMIT_S = 30.0
"""For Python and Jericho to be loaded, on a slow disk; the story comes after that."""
_LAST_WORDS = 300


class WorkerFailure(Exception):
    """The interpreter's process hung or died; it is gone, and `restart` brings a new one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The interpreter after one request."""

    text: str
    memory: bytes
    """The story's changeable memory."""
    state: bytes
    """Everything that `load` needs, the random generator included."""
    game_over: bool
    """Jericho's flag; of the games that it knows only. So are the next three."""
    victory: bool
    score: int
    moves: int
    halted: bool

    @classmethod
    def unpack(cls, answer: bytes) -> "Snapshot":
        text_size, state_size, over, won, halted, score, moves = child.SNAPSHOT.unpack_from(answer)
        at = child.SNAPSHOT.size + text_size
        text = answer[child.SNAPSHOT.size : at].decode()
        memory_size = child.STATE.unpack_from(answer, at)[0]
        begin = at + child.STATE.size
        memory = answer[begin : begin + memory_size]
        return cls(text, memory, answer[at : at + state_size], over, won, score, moves, halted)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An action beside a control that was played from the same state."""

    left: tuple[int, ...]
    """Addresses whose bytes differ between the two, after the same commands have followed both."""
    drawn: int | None
    """How many random numbers the action drew more than the control; None: that can't be told."""
    control: dict[int, int]
    """What the control changed in the memory: address → byte."""
    action: dict[int, int]
    """What the action did; empty for the step that was played last."""


class Worker:
    """One interpreter, one story. Whatever happens to it, this process goes on.

    The story is written to a folder of the worker's own, under a name that the interpreter can bear, and that folder is
    its working directory: neither a removed story file nor a `chdir` nor a file that the story writes touches anything.

    Raises:
        WorkerFailure: from every method but `kill`, if the process hung or died. It is then gone.
    """

    def __init__(self, story: bytes, *, seed: int, time_limit_s: float) -> None:
        self._story = story
        self.seed = seed
        self.time_limit_s = time_limit_s
        self._process: subprocess.Popen | None = None
        self._channel: socket.socket | None = None
        self._folder: Path | None = None
        self.supported = False
        self.player_object = 0
        self.max_score = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def restart(self) -> None:
        """A fresh process with the story loaded; the old one, if any, is killed."""
        self.kill()
        path = self._put_story()
        ours, theirs = socket.socketpair()
        with theirs, open(self._folder / "output.txt", "wb") as output:
            self._process = subprocess.Popen(
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
                cwd=self._folder,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for the parent
                env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path)},
            )
        self._channel = ours
        self._receive(START_LIMIT_S)
        self.supported, self.player_object, self.max_score = child.HELLO.unpack(self._receive(self.time_limit_s))

    def _put_story(self) -> Path:
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="zorkgpt-story-"))
            # The header tells the version; the name only has to have a dot and the letter z.
            path = self._folder / "story.z5"
            path.write_bytes(self._story)
        except OSError as error:
            self.kill()
            raise InterpreterError(
                f"The story can't be put into {tempfile.gettempdir()}: {error.strerror}. "
                "Make room there, or name another folder in TMPDIR."
            ) from None
        return path

    def reset(self) -> Snapshot:
        """From the story's beginning."""
        return Snapshot.unpack(self._ask(b"R%d" % self.seed))

    def step(self, command: bytes) -> Snapshot:
        """One command, unchecked: the gate is elsewhere."""
        return Snapshot.unpack(self._ask(b"S" + command))

    def load(self, state: bytes) -> Snapshot:
        """Go to a state of this story."""
        return Snapshot.unpack(self._ask(b"L" + state))

    def compare(
        self, control: str, then: tuple[str, ...], *, action: str | None = None, again: bool = False, turns: int = 0
    ) -> Comparison | None:
        """The last step, or another action, beside a control; the game stays where it is.

        Args:
            then: commands that follow both, so that what the parser keeps of a command is overwritten.
            action: played from where the game is; None: the last step.
            again: the action is played from where the last step began.
            turns: random numbers that are drawn before both.

        Returns:
            None if there was no step to compare.
        """
        asked = {"control": control, "then": then, "action": action, "again": again, "turns": turns}
        told = json.loads(self._ask(b"C" + json.dumps(asked).encode()))
        if told is None:
            return None
        changed = {which: dict(zip(*told[which], strict=True)) for which in ("control", "action") if which in told}
        return Comparison(tuple(told["left"]), told["drawn"], changed["control"], changed.get("action", {}))

    def _ask(self, request: bytes) -> bytes:
        if self._channel is None:
            self.restart()
        try:
            self._channel.settimeout(self.time_limit_s)
            child.send(self._channel, request)
        except OSError as error:
            raise self._failure(f"can't be reached ({error})") from None
        return self._receive(self.time_limit_s)

    def _receive(self, limit_s: float) -> bytes:
        # The limit is for each part of a message; there are few, and a stall in one is enough to kill.
        self._channel.settimeout(limit_s)
        try:
            return child.receive(self._channel)
        except TimeoutError:
            raise self._failure(f"gave no answer within {limit_s:g} s and was killed") from None
        except (EOFError, OSError):
            raise self._failure("died") from None

    def _failure(self, what: str) -> WorkerFailure:
        if what == "died":
            what = f"died ({self._how_it_ended()})"
        words = self._last_words()
        self.kill()
        return WorkerFailure(f"the interpreter {what}{f', saying: {words}' if words else ''}")

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=2)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "it closed the connection"

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            said = (self._folder / "output.txt").read_bytes()[-_LAST_WORDS:].decode(errors="replace")
            lines = [line.strip() for line in said.splitlines() if line.strip()]
            return lines[-1] if lines else ""
        return ""

    def kill(self) -> None:
        """End the process, if there is one, and remove its folder."""
        if self._channel:
            self._channel.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._channel = self._folder = None

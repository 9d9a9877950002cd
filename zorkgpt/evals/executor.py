"""Executors of the tasks of an evaluation, and one that uses processes of this machine."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from zorkgpt.errors import ZorkGPTError, reason_of
from zorkgpt.evals.runs import TurnCounter

_FORKS = get_context("forkserver")
"""Forks each process from one that has imported what tasks need, which takes longer than a short task."""
_PATIENCE_S = 30.0
"""How long an interrupted task may take to save itself."""


class Task(Protocol):
    """Something to play in a folder of its own. Called again, it continues from the files there."""

    @property
    def name(self) -> str:
        """A unique name."""
        ...

    @property
    def root(self) -> Path:
        """The folder of the evaluation, some levels above its own."""
        ...

    @property
    def folder(self) -> Path:
        """The folder that it writes."""
        ...

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The other files and folders that it reads; they don't change."""
        ...

    def moved(self, root: Path, places: Mapping[Path, Path]) -> "Task":
        """Return the same task for another machine, with another root and other paths of the inputs."""
        ...

    def play(self, count: TurnCounter) -> None:
        """Play the rest of it.

        Raises:
            ZorkGPTError: If it can't be played to its end.
        """
        ...


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """News of a task."""

    task: Task
    turns: int | None = None
    """The number of its turns so far; None if it has ended."""
    failure: str = ""
    """Why it ended unfinished; "" if it is finished."""
    is_lost: bool = False
    """Whether its worker died, so that it can be tried again."""


class Executor(Protocol):
    """Plays tasks somewhere."""

    slots: int
    """The number of tasks that it plays at the same time."""

    def submit(self, task: Task) -> None:
        """Start a task."""
        ...

    def events(self, timeout_s: float | None) -> Sequence[TaskEvent]:
        """Wait for news and return it; empty after the timeout."""
        ...

    def stop(self, task: Task) -> None:
        """Stop a task. It sends no more events."""
        ...

    def close(self) -> None:
        """Stop all tasks, which save what they have played if they can."""
        ...


@dataclass
class _Playing:
    """A task that is being played."""

    task: Task
    process: ForkServerProcess
    pipe: Connection
    failure: str | None = None
    """None until it reports how it ended."""


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep a new fork server from importing a folder of the current directory that is called zorkgpt."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


class ProcessExecutor:
    """Plays each task in a process of this machine, so that a failure ends no other task."""

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._playing: list[_Playing] = []
        _FORKS.set_forkserver_preload(["zorkgpt.evals.generations"])

    def submit(self, task: Task) -> None:
        ours, theirs = _FORKS.Pipe(duplex=False)
        process = _FORKS.Process(target=play_in_process, args=(task, theirs))
        with _safe_path():
            process.start()
        theirs.close()
        self._playing.append(_Playing(task, process, ours))

    def events(self, timeout_s: float | None) -> list[TaskEvent]:
        ready = wait([one.pipe for one in self._playing], timeout_s)
        return [event for one in list(self._playing) if one.pipe in ready and (event := self._next_event(one))]

    def _next_event(self, one: _Playing) -> TaskEvent | None:
        try:
            message: Any = one.pipe.recv()
        except (EOFError, OSError):
            self._forget(one)
            is_lost = one.failure is None
            return TaskEvent(one.task, failure="its process died" if is_lost else one.failure or "", is_lost=is_lost)
        if isinstance(message, int):
            return TaskEvent(one.task, message)
        one.failure = message
        return None

    def stop(self, task: Task) -> None:
        for one in [one for one in self._playing if one.task is task]:
            one.process.terminate()
            one.process.join(_PATIENCE_S)
            one.process.kill()
            self._forget(one)

    def close(self) -> None:
        for one in self._playing:
            one.process.terminate()
        for one in list(self._playing):
            one.process.join(_PATIENCE_S)
            one.process.kill()
            self._forget(one)

    def _forget(self, one: _Playing) -> None:
        one.process.join()
        one.pipe.close()
        self._playing.remove(one)


def play_in_process(task: Task, pipe: Connection) -> None:
    """Play a task in this process. Send the number of played turns, and finally why it failed, "" if it did not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    parent = parent_process()

    def count(turns: int) -> None:
        if parent is not None and not parent.is_alive():
            # The parent is gone; what was played is kept for the next time.
            raise KeyboardInterrupt
        pipe.send(turns)

    try:
        pipe.send(failure_of(task, count))
    except KeyboardInterrupt:
        os._exit(130)


def failure_of(task: Task, count: TurnCounter) -> str:
    """Play a task and return why it failed; "" if it did not."""
    try:
        task.play(count)
    except ZorkGPTError as error:
        return str(error)
    except Exception as error:
        return reason_of(error)
    return ""


def _interrupted(number: int, frame: FrameType | None) -> None:
    # A second signal would interrupt the saving.
    for each in (signal.SIGINT, signal.SIGTERM):
        # What is ignored altogether while a signal is on its way is reported as an error.
        signal.signal(each, lambda number, frame: None)
    raise KeyboardInterrupt

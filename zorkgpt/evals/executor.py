"""The interface of executors, which play the tasks of an evaluation, and one that uses processes of this machine."""

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
"""Forks each process from a server that has already imported the modules, which takes longer than a short task."""
_SAVE_TIMEOUT_S = 30.0
"""Maximum time for an interrupted task to save its progress."""


class Task(Protocol):
    """A part of an evaluation that is played in its own folder. If played again, it continues from its files."""

    @property
    def name(self) -> str:
        """A unique name."""
        ...

    @property
    def root(self) -> Path:
        """The folder of the evaluation, which contains `folder`."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the task. It writes nothing elsewhere."""
        ...

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Other files and folders that the task reads. They don't change."""
        ...

    def moved(self, root: Path, places: Mapping[Path, Path]) -> "Task":
        """Return the same task for another machine, with other paths of the root and the inputs."""
        ...

    def play(self, count: TurnCounter) -> None:
        """Play the remaining turns.

        Raises:
            ZorkGPTError: If the task can't be finished.
        """
        ...


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """The progress or the end of a task."""

    task: Task
    turns: int | None = None
    """Turns so far. None if the task has ended."""
    failure: str = ""
    """Why the task failed, or "" if it did not."""
    is_lost: bool = False
    """Whether the worker died, so that the task can be retried."""


class Executor(Protocol):
    """An executor of tasks."""

    slots: int
    """Maximum number of tasks played at the same time."""

    def submit(self, task: Task) -> None:
        """Start a task."""
        ...

    def events(self, timeout_s: float | None) -> Sequence[TaskEvent]:
        """Wait for events and return them. Empty after the timeout."""
        ...

    def stop(self, task: Task) -> None:
        """Stop a task. It sends no more events."""
        ...

    def close(self) -> None:
        """Stop all tasks. They save their progress if they can."""
        ...


@dataclass
class _RunningTask:
    """A running task and its process."""

    task: Task
    process: ForkServerProcess
    pipe: Connection
    failure: str | None = None
    """None until the process reports the end of the task."""


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep a new fork server from importing a folder named zorkgpt in the current directory."""
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
    """An executor that plays each task in its own process, so that a crash doesn't affect other tasks."""

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._running: list[_RunningTask] = []
        _FORKS.set_forkserver_preload(["zorkgpt.evals.generations"])

    def submit(self, task: Task) -> None:
        ours, theirs = _FORKS.Pipe(duplex=False)
        process = _FORKS.Process(target=play_in_process, args=(task, theirs))
        with _safe_path():
            process.start()
        theirs.close()
        self._running.append(_RunningTask(task, process, ours))

    def events(self, timeout_s: float | None) -> list[TaskEvent]:
        ready = wait([running.pipe for running in self._running], timeout_s)
        events = [self._next_event(running) for running in list(self._running) if running.pipe in ready]
        return [event for event in events if event is not None]

    def _next_event(self, running: _RunningTask) -> TaskEvent | None:
        try:
            message: Any = running.pipe.recv()
        except (EOFError, OSError):
            self._remove(running)
            if running.failure is None:
                return TaskEvent(running.task, failure="its process died", is_lost=True)
            return TaskEvent(running.task, failure=running.failure)
        if isinstance(message, int):
            return TaskEvent(running.task, message)
        running.failure = message
        return None

    def stop(self, task: Task) -> None:
        self._stop([running for running in self._running if running.task is task])

    def close(self) -> None:
        self._stop(list(self._running))

    def _stop(self, tasks: Sequence[_RunningTask]) -> None:
        for running in tasks:
            running.process.terminate()
        for running in tasks:
            running.process.join(_SAVE_TIMEOUT_S)
            running.process.kill()
            self._remove(running)

    def _remove(self, running: _RunningTask) -> None:
        running.process.join()
        running.pipe.close()
        self._running.remove(running)


def play_in_process(task: Task, pipe: Connection) -> None:
    """Play a task in this process. Send the turns so far, and at the end why the task failed, or ""."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    parent = parent_process()

    def count(turns: int) -> None:
        if parent is not None and not parent.is_alive():
            # The parent has died. Stop like an interrupted task, which saves its progress.
            raise KeyboardInterrupt
        pipe.send(turns)

    try:
        pipe.send(failure_of(task, count))
    except KeyboardInterrupt:
        os._exit(130)


def failure_of(task: Task, count: TurnCounter) -> str:
    """Play a task. Return why it failed, or "" if it did not."""
    try:
        task.play(count)
    except ZorkGPTError as error:
        return str(error)
    except Exception as error:
        return reason_of(error)
    return ""


def _interrupted(number: int, frame: FrameType | None) -> None:
    # Ignore further signals, which would disturb saving. Not SIG_IGN, because Python reports an error if a pending
    # signal has no handler.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: None)
    raise KeyboardInterrupt

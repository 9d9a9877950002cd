"""What plays the tasks of an evaluation, and the one that does so in processes of this machine."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from zorkgpt.errors import ZorkGPTError, reason_of
from zorkgpt.evals.runs import TurnCounter

_SPAWN = get_context("spawn")
_PATIENCE_S = 30.0
"""How long an interrupted task may take to save itself."""


class Task(Protocol):
    """Something to be played in a folder of its own: called again with what it has left there, it goes on."""

    @property
    def name(self) -> str:
        """What tells it from all others."""
        ...

    @property
    def root(self) -> Path:
        """The folder that holds its own folder, some levels up."""
        ...

    @property
    def folder(self) -> Path:
        """What it writes."""
        ...

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files and folders that it reads besides, and nobody changes."""
        ...

    def moved(self, root: Path, places: Mapping[Path, Path]) -> "Task":
        """Return the same task for another machine: with another root, and each input where it lies there."""
        ...

    def play(self, count: TurnCounter) -> None:
        """Play what is left of it.

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
    """Why it has ended before it was finished; "" if it was."""
    is_lost: bool = False
    """Whether its worker died, so that it is worth another try."""


class Executor(Protocol):
    """Plays tasks somewhere."""

    slots: int
    """How many it plays at the same time."""

    def submit(self, task: Task) -> None:
        """Begin to play a task."""
        ...

    def events(self, timeout_s: float | None) -> Sequence[TaskEvent]:
        """Wait for news, and return them; none: nothing happened in this time."""
        ...

    def stop(self, task: Task) -> None:
        """End a task, of which nothing is to be heard any more."""
        ...

    def close(self) -> None:
        """End all tasks, with what they have played saved, as far as that can be done."""
        ...


@dataclass
class _Playing:
    """A task that is being played."""

    task: Task
    process: SpawnProcess
    pipe: Connection
    failure: str | None = None
    """None until it reports how it ended."""


class ProcessExecutor:
    """Plays each task in a process of this machine: one that fails or dies ends none of the others."""

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._playing: list[_Playing] = []

    def submit(self, task: Task) -> None:
        ours, theirs = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(target=play_in_process, args=(task, theirs))
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
    """Play a task in this process, and send the turns that are over; at the end why it failed, or "" if it did not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    parent = parent_process()

    def count(turns: int) -> None:
        if parent is not None and not parent.is_alive():
            # Nobody is left to take the result; what is played is kept for the next time.
            raise KeyboardInterrupt
        pipe.send(turns)

    try:
        pipe.send(failure_of(task, count))
    except KeyboardInterrupt:
        os._exit(130)


def failure_of(task: Task, count: TurnCounter) -> str:
    """Play a task, and return why that failed; "" if it did not."""
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

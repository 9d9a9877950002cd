"""The interface of executors, which play the runs of an evaluation, and one that uses processes of this machine."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from types import FrameType
from typing import Any, Protocol

from zorkgpt.errors import ZorkGPTError, reason_of
from zorkgpt.evals.runs import EvaluationRun, TurnCounter

_FORKS = get_context("forkserver")
"""Forks each process from a server that has already imported the modules, which takes longer than a short run."""
_SAVE_TIMEOUT_S = 30.0
"""Maximum time for an interrupted run to save its progress."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """The progress or the end of a run."""

    run: EvaluationRun
    turns: int | None = None
    """Turns so far. None if the run has ended."""
    failure: str = ""
    """Why the run failed, or "" if it did not."""
    is_lost: bool = False
    """Whether the worker died, so that the run can be retried."""


class Executor(Protocol):
    """An executor of runs."""

    slots: int
    """Maximum number of runs played at the same time."""

    def submit(self, run: EvaluationRun) -> None:
        """Start a run, or continue it from its files."""
        ...

    def events(self, timeout_s: float | None) -> Sequence[RunEvent]:
        """Wait for events and return them. Empty after the timeout."""
        ...

    def stop(self, run: EvaluationRun) -> None:
        """Stop a run. It sends no more events."""
        ...

    def close(self) -> None:
        """Stop all runs. They save their progress if they can."""
        ...


@dataclass
class _Process:
    """A running process and its run."""

    run: EvaluationRun
    process: ForkServerProcess
    pipe: Connection
    failure: str | None = None
    """None until the process reports the end of the run."""


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
    """An executor that plays each run in its own process, so that a crash doesn't affect other runs."""

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._running: list[_Process] = []
        _FORKS.set_forkserver_preload(["zorkgpt.evals.runs"])

    def submit(self, run: EvaluationRun) -> None:
        ours, theirs = _FORKS.Pipe(duplex=False)
        process = _FORKS.Process(target=play_in_process, args=(run, theirs))
        with _safe_path():
            process.start()
        theirs.close()
        self._running.append(_Process(run, process, ours))

    def events(self, timeout_s: float | None) -> list[RunEvent]:
        ready = wait([running.pipe for running in self._running], timeout_s)
        events = [self._next_event(running) for running in list(self._running) if running.pipe in ready]
        return [event for event in events if event is not None]

    def _next_event(self, running: _Process) -> RunEvent | None:
        try:
            message: Any = running.pipe.recv()
        except (EOFError, OSError):
            self._remove(running)
            if running.failure is None:
                return RunEvent(running.run, failure="its process died", is_lost=True)
            return RunEvent(running.run, failure=running.failure)
        if isinstance(message, int):
            return RunEvent(running.run, message)
        running.failure = message
        return None

    def stop(self, run: EvaluationRun) -> None:
        self._stop([running for running in self._running if running.run is run])

    def close(self) -> None:
        self._stop(list(self._running))

    def _stop(self, processes: Sequence[_Process]) -> None:
        for running in processes:
            running.process.terminate()
        for running in processes:
            running.process.join(_SAVE_TIMEOUT_S)
            running.process.kill()
            self._remove(running)

    def _remove(self, running: _Process) -> None:
        running.process.join()
        running.pipe.close()
        self._running.remove(running)


def play_in_process(run: EvaluationRun, pipe: Connection) -> None:
    """Play a run in this process. Send the turns so far, and at the end why the task failed, or ""."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    parent = parent_process()

    def count(turns: int) -> None:
        if parent is not None and not parent.is_alive():
            # The parent has died. Stop like an interrupted run, which saves its progress.
            raise KeyboardInterrupt
        pipe.send(turns)

    try:
        pipe.send(failure_of(run, count))
    except KeyboardInterrupt:
        os._exit(130)


def failure_of(run: EvaluationRun, count: TurnCounter) -> str:
    """Play a run. Return why it failed, or "" if it did not."""
    try:
        run.play(count)
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

"""Play the runs of an evaluation: the interface of executors, and one that uses processes of this machine.

Lost runs are retried and slow ones stopped. Failures don't affect other runs.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from threading import Lock
from types import FrameType
from typing import Any, Protocol

from zorkgpt.errors import EvaluationFailed, ZorkGPTError, reason_of
from zorkgpt.evals.runs import EvaluationRun, TurnCounter
from zorkgpt.log import get_logger

_FORKS = get_context("forkserver")
"""Forks each process from a server that has already imported the modules, which takes longer than a short run."""
_SAVE_TIMEOUT_S = 30.0
"""Maximum time for an interrupted run to save its progress."""


class WorkerLost(EvaluationFailed):
    """The worker of a run died, so the run can be retried."""


class Executor(Protocol):
    """An executor of runs. The methods may be called from any thread."""

    slots: int
    """Maximum number of runs played at the same time."""

    def play(self, run: EvaluationRun, count: TurnCounter, limit_s: float | None) -> str:
        """Play a run, or continue it from its files. Return why it failed, or "" if it did not.

        Args:
            limit_s: The run is stopped after this time. None for no limit.

        Raises:
            WorkerLost: If the worker died, or the executor was closed.
        """
        ...

    def close(self) -> None:
        """Stop all runs. They save their progress if they can."""
        ...


def too_slow(limit_s: float | None) -> str:
    """Return why a run failed that was stopped after this time."""
    return f"it took longer than {limit_s:g} seconds"


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
        self._running: set[ForkServerProcess] = set()
        self._is_closed = False
        self._lock = Lock()
        """Held while a process is started."""
        _FORKS.set_forkserver_preload(["zorkgpt.evals.runs"])

    def play(self, run: EvaluationRun, count: TurnCounter, limit_s: float | None) -> str:
        ends, (process, pipe) = time.monotonic() + (limit_s or 0), self._start(run)
        try:
            while pipe.poll(None if limit_s is None else max(0.0, ends - time.monotonic())):
                message: Any = pipe.recv()
                if isinstance(message, str):
                    process.join(_SAVE_TIMEOUT_S)
                    return message
                count(message)
            return too_slow(limit_s)
        except (EOFError, OSError):
            raise WorkerLost("its process died") from None
        finally:
            process.terminate()
            process.join(_SAVE_TIMEOUT_S)
            process.kill()
            process.join()
            pipe.close()
            self._running.discard(process)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for process in list(self._running):
                process.terminate()

    def _start(self, run: EvaluationRun) -> tuple[ForkServerProcess, Connection]:
        with self._lock:
            if self._is_closed:
                raise WorkerLost("it was stopped")
            ours, theirs = _FORKS.Pipe(duplex=False)
            process = _FORKS.Process(target=play_in_process, args=(run, theirs))
            with _safe_path():
                process.start()
            theirs.close()
            self._running.add(process)
        return process, ours


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


def failure_of(run: EvaluationRun, count: TurnCounter = lambda turns: None) -> str:
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


log = get_logger(__name__)

_MAX_TRIES = 3
"""Attempts at a run whose worker dies."""
Progress = Callable[[EvaluationRun, int], None]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run."""

    run: EvaluationRun
    failure: str = ""
    """Why the run is unfinished, or "" if it is finished."""


def play_all(
    runs: Sequence[EvaluationRun],
    *,
    executor: Executor,
    progress: Progress,
    ended: Callable[[RunOutcome], None],
    limit_s: float | None = None,
) -> list[RunOutcome]:
    """Play all unfinished runs. Return the outcome of each run, in order.

    Args:
        executor: Plays them. It is closed when this returns.
        progress: Called with the number of turns played in a run, from any thread.
        ended: Called when a run ends.
        limit_s: Timeout of a run. None for no limit.

    Raises:
        KeyboardInterrupt: If interrupted. Every run has saved its progress.
    """
    finished = {run.folder for run in runs if run.is_finished}
    for run in runs:
        progress(run, run.protocol.max_turns if run.folder in finished else 0)
    outcomes = dict.fromkeys(finished, "")
    with ThreadPoolExecutor(executor.slots) as threads:
        waiting = [run for run in runs if run.folder not in finished]
        played = [threads.submit(_play, run, executor, progress, limit_s) for run in waiting]
        try:
            for future in as_completed(played):
                outcome = future.result()
                outcomes[outcome.run.folder] = outcome.failure
                ended(outcome)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            executor.close()
    return [RunOutcome(run, outcomes[run.folder]) for run in runs]


def _play(run: EvaluationRun, executor: Executor, progress: Progress, limit_s: float | None) -> RunOutcome:
    failure = ""
    for _ in range(_MAX_TRIES):
        try:
            failure = executor.play(run, partial(progress, run), limit_s)
        except WorkerLost as error:
            log.warning("worker lost, retrying its run", extra={"run": str(run.folder)})
            failure = str(error)
            continue
        if not failure:
            progress(run, run.protocol.max_turns)
        break
    return RunOutcome(run, failure)

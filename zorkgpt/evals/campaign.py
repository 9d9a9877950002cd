"""Play the runs of an evaluation. Lost tasks are retried and slow ones stopped; failures don't affect other runs."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zorkgpt.errors import ZorkGPTError, reason_of
from zorkgpt.evals.executor import Executor, Task, TaskEvent
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.log import get_logger

log = get_logger(__name__)

_MAX_TRIES = 3
"""Attempts at a task whose worker dies."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run."""

    run: EvaluationRun
    failure: str = ""
    """Why the run is unfinished, or "" if it is finished."""


class CampaignWatcher(Protocol):
    """An observer of the runs of an evaluation."""

    def progress(self, run: EvaluationRun, turns: int) -> None:
        """Called with the number of turns played in a run."""

    def ended(self, outcome: RunOutcome) -> None:
        """Called when a run ends."""


def play_all(
    runs: Sequence[EvaluationRun], *, executor: Executor, watcher: CampaignWatcher, limit_s: float | None = None
) -> list[RunOutcome]:
    """Play all unfinished runs. Return the outcome of each run, in order.

    Args:
        executor: Plays the tasks. It is closed when this returns.
        limit_s: Timeout of a task. None for no limit.

    Raises:
        KeyboardInterrupt: If interrupted. Every run has saved its progress.
    """
    campaign = _Campaign(executor, watcher, limit_s)
    try:
        for run in runs:
            campaign.begin(run)
        campaign.play()
    finally:
        executor.close()
    return [campaign.outcomes[run.folder] for run in runs]


@dataclass
class _RunState:
    """An unfinished run."""

    run: EvaluationRun
    failures: dict[str, str] = field(default_factory=dict)
    """Name of a failed task → the reason."""
    turns: dict[str, int] = field(default_factory=dict)
    """Name of a scheduled task → its turns so far."""
    before: int = 0
    """Turns of finished tasks."""


@dataclass
class _Started:
    """A running task."""

    task: Task
    state: _RunState
    deadline: float
    """On the clock `time.monotonic`."""


class _Campaign:
    def __init__(self, executor: Executor, watcher: CampaignWatcher, limit_s: float | None) -> None:
        self.outcomes: dict[Path, RunOutcome] = {}
        self._executor = executor
        self._watcher = watcher
        self._limit_s = limit_s
        self._waiting: deque[tuple[Task, _RunState]] = deque()
        self._started: dict[str, _Started] = {}
        self._tries: dict[str, int] = {}

    def begin(self, run: EvaluationRun) -> None:
        """Add a run. The end of a finished run is not reported again."""
        self._watcher.progress(run, run.finished_turns())
        if run.is_finished:
            self.outcomes[run.folder] = RunOutcome(run)
        else:
            self._schedule(_RunState(run))

    def play(self) -> None:
        """Play until all runs have ended."""
        while self._waiting or self._started:
            while self._waiting and len(self._started) < self._executor.slots:
                self._start(*self._waiting.popleft())
            for event in self._executor.events(self._time_left()):
                self._process_event(event)
            self._stop_overdue_tasks()

    def _schedule(self, state: _RunState) -> None:
        """Schedule the next tasks of a run, or end it."""
        try:
            tasks = state.run.next_tasks(state.failures)
        except ZorkGPTError as error:
            self._end(state, str(error))
            return
        except Exception as error:
            log.warning("run failed", extra={"run": str(state.run.folder)}, exc_info=True)
            self._end(state, reason_of(error))
            return
        state.turns, state.before = {task.name: 0 for task in tasks}, state.run.finished_turns()
        self._waiting.extend((task, state) for task in tasks)
        if not tasks:
            self._end(state, "")

    def _end(self, state: _RunState, failure: str) -> None:
        self.outcomes[state.run.folder] = outcome = RunOutcome(state.run, failure)
        if not failure:
            self._watcher.progress(state.run, state.run.protocol.max_turns)
        self._watcher.ended(outcome)

    def _start(self, task: Task, state: _RunState) -> None:
        self._tries[task.name] = self._tries.get(task.name, 0) + 1
        deadline = float("inf") if self._limit_s is None else time.monotonic() + self._limit_s
        self._started[task.name] = _Started(task, state, deadline)
        self._executor.submit(task)

    def _process_event(self, event: TaskEvent) -> None:
        started = self._started.get(event.task.name)
        if started is None:
            return
        state = started.state
        if event.turns is not None:
            state.turns[event.task.name] = event.turns
            self._watcher.progress(state.run, state.before + sum(state.turns.values()))
            return
        del self._started[event.task.name]
        if event.is_lost and self._tries[event.task.name] < _MAX_TRIES:
            log.warning("worker lost, retrying its task", extra={"task": event.task.name})
            self._waiting.appendleft((event.task, state))
            return
        self._close(event.task, state, event.failure)

    def _close(self, task: Task, state: _RunState, failure: str) -> None:
        if failure:
            state.failures[task.name] = failure
        is_running = any(started.state is state for started in self._started.values())
        is_waiting = any(other is state for _, other in self._waiting)
        if not is_running and not is_waiting:
            self._schedule(state)

    def _time_left(self) -> float | None:
        deadline = min((started.deadline for started in self._started.values()), default=float("inf"))
        return None if deadline == float("inf") else max(0.0, deadline - time.monotonic())

    def _stop_overdue_tasks(self) -> None:
        now = time.monotonic()
        for started in [started for started in self._started.values() if started.deadline <= now]:
            del self._started[started.task.name]
            self._executor.stop(started.task)
            self._close(started.task, started.state, f"it took longer than {self._limit_s:g} seconds")

"""Play the runs of an evaluation. Lost runs are retried and slow ones stopped; failures don't affect other runs."""

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zorkgpt.evals.executor import Executor, RunEvent
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.log import get_logger

log = get_logger(__name__)

_MAX_TRIES = 3
"""Attempts at a run whose worker dies."""


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
        executor: Plays them. It is closed when this returns.
        limit_s: Timeout of a run. None for no limit.

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


class _Campaign:
    def __init__(self, executor: Executor, watcher: CampaignWatcher, limit_s: float | None) -> None:
        self.outcomes: dict[Path, RunOutcome] = {}
        self._executor = executor
        self._watcher = watcher
        self._limit_s = limit_s
        self._waiting: deque[EvaluationRun] = deque()
        self._deadlines: dict[Path, float] = {}
        """Folder of a running run → its deadline on the clock `time.monotonic`."""
        self._running: dict[Path, EvaluationRun] = {}
        self._tries: Counter[Path] = Counter()

    def begin(self, run: EvaluationRun) -> None:
        """Add a run. The end of a finished run is not reported again."""
        if run.is_finished:
            self._watcher.progress(run, run.protocol.max_turns)
            self.outcomes[run.folder] = RunOutcome(run)
        else:
            self._watcher.progress(run, 0)
            self._waiting.append(run)

    def play(self) -> None:
        """Play until all runs have ended."""
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._executor.slots:
                self._start(self._waiting.popleft())
            for event in self._executor.events(self._time_left()):
                self._process_event(event)
            self._stop_overdue_runs()

    def _start(self, run: EvaluationRun) -> None:
        self._tries[run.folder] += 1
        self._deadlines[run.folder] = float("inf") if self._limit_s is None else time.monotonic() + self._limit_s
        self._running[run.folder] = run
        self._executor.submit(run)

    def _process_event(self, event: RunEvent) -> None:
        run = event.run
        if run.folder not in self._running:
            return
        if event.turns is not None:
            self._watcher.progress(run, event.turns)
            return
        del self._running[run.folder]
        if event.is_lost and self._tries[run.folder] < _MAX_TRIES:
            log.warning("worker lost, retrying its run", extra={"run": str(run.folder)})
            self._waiting.appendleft(run)
            return
        self._end(run, event.failure)

    def _end(self, run: EvaluationRun, failure: str) -> None:
        self.outcomes[run.folder] = outcome = RunOutcome(run, failure)
        if not failure:
            self._watcher.progress(run, run.protocol.max_turns)
        self._watcher.ended(outcome)

    def _time_left(self) -> float | None:
        deadline = min((self._deadlines[folder] for folder in self._running), default=float("inf"))
        return None if deadline == float("inf") else max(0.0, deadline - time.monotonic())

    def _stop_overdue_runs(self) -> None:
        now = time.monotonic()
        for folder, run in [*self._running.items()]:
            if self._deadlines[folder] <= now:
                del self._running[folder]
                self._executor.stop(run)
                self._end(run, f"it took longer than {self._limit_s:g} seconds")

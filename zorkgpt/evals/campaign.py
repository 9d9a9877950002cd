"""Play the runs of an evaluation. Lost runs are retried and slow ones stopped; failures don't affect other runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial

from zorkgpt.evals.executor import Executor, WorkerLost
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.log import get_logger

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

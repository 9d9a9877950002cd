"""Plays the runs of an evaluation, each in a process of its own: one that fails or dies ends none of the others."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from zorkgpt.errors import ZorkGPTError, reason_of
from zorkgpt.evals.runs import EvaluationRun

_SPAWN = get_context("spawn")
_PATIENCE_S = 30.0
"""How long an interrupted run may take to save itself."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended."""

    run: EvaluationRun
    failure: str = ""
    """Why it is not finished; "" if it is."""


class CampaignWatcher(Protocol):
    """Follows the runs of an evaluation."""

    def progress(self, run: EvaluationRun, turns: int) -> None:
        """Take note of how many turns of a run are over."""

    def ended(self, outcome: RunOutcome) -> None:
        """Take note of the end of a run."""


@dataclass
class _Playing:
    """A run that is being played."""

    run: EvaluationRun
    process: SpawnProcess
    pipe: Connection
    failure: str = "its process died"


def play_all(
    runs: Sequence[EvaluationRun],
    *,
    jobs: int,
    watcher: CampaignWatcher,
) -> list[RunOutcome]:
    """Play all runs that are not finished, and return how each of them ended, in their order.

    Args:
        jobs: how many are played at the same time.

    Raises:
        KeyboardInterrupt: it was pressed; every run has saved what it had.
    """
    outcomes: dict[Path, RunOutcome] = {}
    waiting = []
    for run in runs:
        if run.is_finished:
            outcomes[run.folder] = RunOutcome(run)
            watcher.progress(run, run.protocol.most_turns)
        else:
            waiting.append(run)
    playing: list[_Playing] = []
    try:
        while waiting or playing:
            while waiting and len(playing) < jobs:
                playing.append(_begin(waiting.pop(0)))
            for one in _heard(playing, watcher):
                playing.remove(one)
                outcomes[one.run.folder] = outcome = RunOutcome(one.run, one.failure)
                watcher.ended(outcome)
    except BaseException:
        _interrupt(playing)
        raise
    return [outcomes[run.folder] for run in runs]


def _begin(run: EvaluationRun) -> _Playing:
    ours, theirs = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=play_in_process, args=(run, theirs))
    process.start()
    theirs.close()
    return _Playing(run, process, ours)


def _heard(playing: Sequence[_Playing], watcher: CampaignWatcher) -> list[_Playing]:
    """Wait for news of the runs, and return those that have ended."""
    ready = wait([one.pipe for one in playing])
    ended = []
    for one in playing:
        if one.pipe not in ready:
            continue
        try:
            message: Any = one.pipe.recv()
        except (EOFError, OSError):
            one.process.join()
            one.pipe.close()
            ended.append(one)
            continue
        if isinstance(message, int):
            watcher.progress(one.run, message)
        else:
            one.failure = message
    return ended


def _interrupt(playing: Sequence[_Playing]) -> None:
    """Let every run save itself and end."""
    for one in playing:
        one.process.terminate()
    for one in playing:
        one.process.join(_PATIENCE_S)
        if one.process.is_alive():
            one.process.kill()


def play_in_process(run: EvaluationRun, pipe: Connection) -> None:
    """Play a run in this process, and send the turns that are over; at the end why it failed, or "" if it did not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    parent = parent_process()

    def count(turns: int) -> None:
        if parent is not None and not parent.is_alive():
            # Nobody is left to take the result; what is played is kept for the next time.
            raise KeyboardInterrupt
        pipe.send(turns)

    try:
        run.play(count)
        pipe.send("")
    except KeyboardInterrupt:
        os._exit(130)
    except ZorkGPTError as error:
        pipe.send(str(error))
    except Exception as error:
        pipe.send(reason_of(error))


def _interrupted(number: int, frame: FrameType | None) -> None:
    # A second signal would interrupt the saving.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt

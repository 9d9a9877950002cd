"""Tests of many runs, each in its own process."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tests.fixtures.evaluations import a_run
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.campaign import RunOutcome, play_all
from zorkgpt.evals.executor import ProcessExecutor
from zorkgpt.evals.metrics import figures_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_forks")]


class Watch:
    """A watcher that records progress and may kill the process of a run."""

    def __init__(self, kill_at: tuple[Path, int] | None = None) -> None:
        self.kill_at = kill_at
        self.killed = 0
        self.outcomes: list[RunOutcome] = []
        self.turns: dict[Path, int] = {}

    def progress(self, run, turns: int) -> None:
        self.turns[run.folder] = turns
        if self.kill_at == (run.folder, turns):
            self.killed += 1
            [process] = multiprocessing.active_children()
            os.kill(process.pid, signal.SIGKILL)

    def ended(self, outcome: RunOutcome) -> None:
        self.outcomes.append(outcome)


def test_run_whose_process_keeps_dying_fails_alone(tmp_path):
    runs = [a_run(tmp_path, "learning-2x10", ablation) for ablation in (Ablation.ON, Ablation.OFF)]
    # Each new process plays the first turn again, because nothing was saved.
    watch = Watch(kill_at=(runs[0].folder, 10))
    outcomes = play_all(runs, executor=ProcessExecutor(1), watcher=watch)
    assert outcomes == [RunOutcome(runs[0], "its process died"), RunOutcome(runs[1])]
    assert watch.outcomes == outcomes
    assert watch.killed == 3
    assert watch.turns[runs[1].folder] == 20
    again = play_all(runs, executor=ProcessExecutor(1), watcher=Watch())
    assert again == [RunOutcome(run) for run in runs]
    assert [episode.turns for episode in figures_of(runs[0]).episodes] == [10, 10]


def test_missing_story_is_a_failure(tmp_path, bundled_story):
    game = tmp_path / "story.z5"
    game.write_bytes(bundled_story.read_bytes())
    gone, there = a_run(tmp_path, "learning-1x5", game=game), a_run(tmp_path, "learning-1x5")
    assert not gone.is_finished
    game.unlink()
    first, second = play_all([gone, there], executor=ProcessExecutor(2), watcher=Watch())
    assert first.failure.startswith(f"No story file at {game}.")
    assert second == RunOutcome(there)

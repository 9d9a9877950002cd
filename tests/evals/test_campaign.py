"""Tests of many runs, each in its own process."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.evaluations import a_run
from tests.fixtures.runs import turns_of
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import ProcessExecutor, RunOutcome, play_all
from zorkgpt.evals.metrics import figures_of
from zorkgpt.evals.ray_executor import RayExecutor, play_on_worker
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.evals.storage import ResultStore

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
    outcomes = play_all(runs, executor=ProcessExecutor(1), progress=watch.progress, ended=watch.ended)
    assert outcomes == [RunOutcome(runs[0], "its process died"), RunOutcome(runs[1])]
    assert watch.outcomes == outcomes
    assert watch.killed == 3
    assert watch.turns[runs[1].folder] == 20
    again = play_all(runs, executor=ProcessExecutor(1), progress=Watch().progress, ended=Watch().ended)
    assert again == [RunOutcome(run) for run in runs]
    assert [episode.turns for episode in figures_of(runs[0]).episodes] == [10, 10]


def actions(run: EvaluationRun) -> list[list[str]]:
    """Return the actions of each episode."""
    return [[turn.action for turn in turns_of(files.workdir, files.number)] for files in run.played()]


def test_run_over_the_time_limit_fails(tmp_path):
    run = a_run(tmp_path, "learning-1x20")
    # The limit is shorter than the start of a process.
    [outcome] = play_all(
        [run], executor=ProcessExecutor(1), progress=Watch().progress, ended=Watch().ended, limit_s=0.01
    )
    assert outcome == RunOutcome(run, "it took longer than 0.01 seconds")
    assert not run.is_finished


@dataclass(frozen=True)
class KilledOnce(EvaluationRun):
    """A run whose worker is killed once, after 10 turns."""

    marker: Path | None = None

    def play(self, count=lambda turns: None) -> None:
        def counted(turns: int) -> None:
            if turns == 10 and not self.marker.exists():
                self.marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            count(turns)

        super().play(counted)


def test_lost_ray_worker_does_not_change_the_result(tmp_path):
    expected = a_run(tmp_path / "expected", "learning-2x13")
    expected.play()
    run = a_run(tmp_path / "killed", "learning-2x13", kind=KilledOnce, marker=tmp_path / "marker")
    watch = Watch()
    assert play_all([run], executor=RayExecutor("local", 2), progress=watch.progress, ended=watch.ended) == [
        RunOutcome(run)
    ]
    assert (tmp_path / "marker").exists()
    assert watch.turns == {run.folder: 26}
    assert actions(run) == actions(expected)


def interrupt_after_the_first_episode(turns: int) -> None:
    if turns > 13:
        raise KeyboardInterrupt


def test_worker_needs_only_its_inputs_and_the_store(tmp_path):
    expected, run = a_run(tmp_path / "expected", "learning-2x13"), a_run(tmp_path / "sent", "learning-2x13")
    expected.play()
    store = f"file://{tmp_path}/store"
    inputs = {path: path.read_bytes() for path in run.inputs}
    begun = a_run(tmp_path / "begun", "learning-2x13")
    with pytest.raises(KeyboardInterrupt):
        begun.play(interrupt_after_the_first_episode)
    ResultStore(store).keep(begun.root, begun.folder)
    assert play_on_worker(run, inputs, store) == ""
    assert not run.folder.exists()
    ResultStore(store).fetch(run.root, run.folder)
    assert run.is_finished
    assert actions(run) == actions(expected)


def test_missing_story_is_a_failure(tmp_path, bundled_story):
    game = tmp_path / "story.z5"
    game.write_bytes(bundled_story.read_bytes())
    gone, there = a_run(tmp_path, "learning-1x5", game=game), a_run(tmp_path, "learning-1x5")
    assert not gone.is_finished
    game.unlink()
    first, second = play_all([gone, there], executor=ProcessExecutor(2), progress=Watch().progress, ended=Watch().ended)
    assert first.failure.startswith(f"No story file at {game}.")
    assert second == RunOutcome(there)

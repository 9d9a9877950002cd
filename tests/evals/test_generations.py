"""Tests of generations: episodes that start from the same snapshot and are merged into the next."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fixtures.evaluations import a_run
from tests.fixtures.runs import turns_of
from zorkgpt.errors import ConfigurationError
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.campaign import RunOutcome, play_all
from zorkgpt.evals.executor import ProcessExecutor, Task
from zorkgpt.evals.generations import EpisodeTask, GenerationRun, undone_before
from zorkgpt.evals.metrics import figures_of
from zorkgpt.evals.ray_executor import RayExecutor, packed, play_on_worker, unpack
from zorkgpt.evals.report import report
from zorkgpt.evals.results import results_of
from zorkgpt.evals.truth import read_shown
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.lasting import EVERY
from zorkgpt.memory.storage.markdown import MarkdownStore

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_forks")]

PROTOCOL = "generations-2x2x13"


def generations(root: Path, protocol: str = PROTOCOL, **options) -> GenerationRun:
    return a_run(root, protocol, kind=GenerationRun, **options)


class Watch:
    """A watcher that records progress and kills a process after a number of turns."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.kill_at = kill_at
        self.turns: list[int] = []
        self.outcomes: list[RunOutcome] = []

    def progress(self, run, turns: int) -> None:
        self.turns.append(turns)
        if self.kill_at is not None and turns >= self.kill_at:
            self.kill_at = None
            [process, *_] = multiprocessing.active_children()
            os.kill(process.pid, signal.SIGKILL)

    def ended(self, outcome: RunOutcome) -> None:
        self.outcomes.append(outcome)


def actions(run: GenerationRun) -> list[str]:
    """Return the actions of the first episode."""
    return [turn.action for turn in turns_of(run.workdir(1))]


def snapshot_files(run: GenerationRun) -> dict[str, bytes]:
    """Return the files of all snapshots with their contents."""
    folder = run.folder / "snapshots"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def sequential(tmp_path_factory) -> GenerationRun:
    """A run whose episodes were played one after another in this process."""
    run = generations(tmp_path_factory.mktemp("whole"))
    while tasks := run.next_tasks({}):
        for task in tasks:
            task.play(lambda turns: None)
    return run


def test_episodes_start_from_the_snapshot_of_the_generation_before(sequential):
    episodes = figures_of(sequential).episodes
    assert [(episode.episode, episode.seed) for episode in episodes] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    # Memories are shown from the second generation on.
    assert [episode.shown > 0 for episode in episodes[2:]] == [True, True]
    first, second = (MarkdownStore(sequential.snapshot(number) / "Memories.md").lasting.document for number in (1, 2))
    counts = [memory.observation_count for _, memory in first.find(EVERY)]
    assert max(counts) == 2
    assert {3, 4} <= {episode for section in second.sections for episode in section.episodes}
    names = {path.partition("/")[2] for path in snapshot_files(sequential) if path.startswith("2/")}
    assert names >= {"Memories.md", "Memories.md.sqlite", "knowledgebase.md", "map_state.json", "objectives.json"}
    assert names >= {f"runs/{number}/trail.json" for number in (1, 2, 3, 4)}


def test_finished_generations_are_not_played_again(sequential):
    watch = Watch()
    assert play_all([sequential], executor=ProcessExecutor(1), watcher=watch) == [RunOutcome(sequential)]
    assert (watch.turns, watch.outcomes) == ([52], [])


def test_killed_process_and_number_of_jobs_do_not_change_snapshots(tmp_path, sequential):
    run = generations(tmp_path)
    watch = Watch(kill_at=15)
    assert play_all([run], executor=ProcessExecutor(2), watcher=watch) == [RunOutcome(run)]
    assert watch.kill_at is None
    assert snapshot_files(run) == snapshot_files(sequential)


@dataclass(frozen=True)
class KilledOnce:
    """A task whose worker is killed once, after `at` turns."""

    task: Task
    marker: Path
    at: int = 10

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def root(self) -> Path:
        return self.task.root

    @property
    def folder(self) -> Path:
        return self.task.folder

    @property
    def inputs(self) -> tuple[Path, ...]:
        return self.task.inputs

    def moved(self, root, places) -> "KilledOnce":
        return KilledOnce(self.task.moved(root, places), self.marker, self.at)

    def play(self, count) -> None:
        def counted(turns: int) -> None:
            if turns == self.at and not self.marker.exists():
                self.marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            count(turns)

        self.task.play(counted)


class Killing(GenerationRun):
    """A run in which the worker of one episode is killed."""

    def next_tasks(self, failures) -> list[Task]:
        first, *others = [*super().next_tasks(failures), None]
        marker = self.root / "killed"
        return [KilledOnce(first, marker), *others[:-1]] if first is not None else []


def test_lost_ray_worker_does_not_change_snapshots(tmp_path, sequential):
    run = a_run(tmp_path, PROTOCOL, kind=Killing)
    watch = Watch()
    assert play_all([run], executor=RayExecutor("local", 2), watcher=watch) == [RunOutcome(run)]
    assert (tmp_path / "killed").exists()
    assert snapshot_files(run) == snapshot_files(sequential)
    assert [episode.score for episode in figures_of(run).episodes] == [
        episode.score for episode in figures_of(sequential).episodes
    ]


def test_worker_needs_only_its_inputs(tmp_path, sequential):
    run = generations(tmp_path)
    [first, _] = run.next_tasks({})
    *_, (failure, data) = play_on_worker(first, b"", *((path, packed(path)) for path in first.inputs))
    assert failure == ""
    unpack(data, first.folder)
    assert actions(run) == actions(sequential)


def test_episode_over_the_time_limit_fails(tmp_path):
    run = generations(tmp_path, "generations-1x1x20")
    # The limit is shorter than the start of a process.
    [outcome] = play_all([run], executor=ProcessExecutor(1), watcher=Watch(), limit_s=0.01)
    assert "the first because: it took longer than 0.01 seconds" in outcome.failure
    assert not run.is_finished


def test_generation_continues_without_a_failed_episode(tmp_path):
    run = generations(tmp_path, "generations-1x2x4")
    first, second = run.next_tasks({})
    first.play(lambda turns: None)
    assert run.next_tasks({second.name: "the model is gone"}) == []
    assert run.is_finished
    assert [episode.episode for episode in figures_of(run).episodes] == [1]
    assert isinstance(first, EpisodeTask)


def test_episode_after_a_failed_one_keeps_its_number(tmp_path):
    run = generations(tmp_path, "generations-1x2x4")
    first, second = run.next_tasks({})
    second.play(lambda turns: None)
    assert run.next_tasks({first.name: "the model is gone"}) == []
    figures = figures_of(run)
    assert [score.episode for score in figures.episodes] == [2]
    assert figures.episodes[0].directory.startswith(run.workdir(2).relative_to(run.root).as_posix())
    results = results_of([RunOutcome(run)])
    assert [score is not None for score in results.stories[0].scores[Ablation.ON]] == [False, True]
    page = report(results, {run.workdir(2): run.workdir(2).with_suffix(".html")})
    assert "/episode-2.html#2:" in page


def test_ablations_between_episodes_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="Ablations for generations-2x2x13: on, off, no-audit"):
        generations(tmp_path, ablation=Ablation.SHUFFLED).check()


def test_undone_memories_are_passed_to_the_next_generation(tmp_path):
    run = generations(tmp_path, "generations-2x2x4")
    dropped = Memory(
        "NOTE", "Knife dropped", 1, "3", 0, "The knife lies here.", "ephemeral", claims=(Claim(Relation.HERE, 7),)
    )
    for number, task in enumerate(run.next_tasks({}), 1):
        task.play(lambda turns: None)
        state = SimpleNamespace(episode_id=number, turn_count=3)
        with SimpleMemoryManager.open(run.workdir(number) / "Memories.md", game_state=state) as manager:
            manager.add_memory(9, "Shed", dropped)
    second, _ = run.next_tasks({})
    assert [(undone.key, undone.memory) for undone in undone_before(run.snapshot(1))] == [
        ((9, "Knife dropped", "The knife lies here."), dropped)
    ]
    second.play(lambda turns: None)
    [begun, *_] = read_shown(run.workdir(3) / "runs" / "3")
    assert begun.undone_before == [[9, "Knife dropped", "The knife lies here."]]

"""Tests of one run: its episodes, resuming, and what it refuses."""

import json

import pytest

from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from tests.fixtures.evaluations import TO_THE_ORCHARD, a_run
from tests.fixtures.saved import write_checkpoint
from zorkgpt.errors import ConfigurationError, EvaluationFailed
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import figures_of
from zorkgpt.evals.protocols import EvaluationProtocol
from zorkgpt.runlog.episodes import last_end, playing_lock, read_episode
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted

pytestmark = pytest.mark.slow


def without_times(run) -> list[dict]:
    """Return the figures of a run without times and folders."""
    figures = []
    for episode in figures_of(run).episodes:
        values = {name: getattr(episode, name) for name in episode.__dataclass_fields__}
        figures.append({name: value for name, value in values.items() if "seconds" not in name and name != "parts_s"})
    return figures


class StopAt:
    """Raises KeyboardInterrupt after a number of turns."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def __call__(self, turns: int) -> None:
        if turns == self.turns:
            raise KeyboardInterrupt


@pytest.mark.parametrize("ablation", [Ablation.ON, Ablation.FROZEN, Ablation.SHUFFLED])
def test_interrupted_run_resumes(tmp_path, ablation):
    whole = a_run(tmp_path / "whole", "learning-2x15", ablation)
    whole.play()
    # In the first episode, a run is the same with all ablations.
    for at in (7, 20) if ablation is Ablation.ON else (20,):
        cut = a_run(tmp_path / str(at), "learning-2x15", ablation)
        with pytest.raises(KeyboardInterrupt):
            cut.play(StopAt(at))
        assert not cut.is_finished
        cut.play()
        assert cut.is_finished
        assert without_times(cut) == without_times(whole)


def test_finished_run_is_not_played_again(tmp_path):
    run = a_run(tmp_path, "learning-2x10")
    progress = []
    run.play(progress.append)
    logs = [files.directory / "episode_log.jsonl" for files in run.played()]
    before = [path.stat().st_mtime_ns for path in logs]
    run.play(progress.append)
    assert [path.stat().st_mtime_ns for path in logs] == before
    assert progress == [*range(11), *range(10, 21), 20, 20]


def test_reseeded_episodes_log_their_seeds(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 3, 4, (1,), "area", reseeds=True)
    run = a_run(tmp_path, protocol, seed=5)
    run.play()
    starts = [read_episode(files.workdir, files.number)[0] for files in run.played()]
    assert [event.seed for event in starts if isinstance(event, EpisodeStarted)] == [5, 6, 7]


def test_story_that_ends_is_restarted_within_the_turn_limit(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 1, 60, (1,), "best", restarts=True)
    run = a_run(tmp_path, protocol)
    run.play()
    ends = [last_end(read_episode(files.workdir, files.number)) for files in run.played()]
    assert sum(end.turns for end in ends) == 60
    assert [end.reason for end in ends][-1] == "turn limit"
    assert {end.reason for end in ends[:-1]} <= {"death"}


def test_victory_is_not_restarted(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 1, 60, (1,), "best", restarts=True)
    run = a_run(tmp_path, protocol)
    run.play()
    files = run.played()[-1]
    log = files.directory / "episode_log.jsonl"
    *lines, last = log.read_text().splitlines()
    won = json.loads(last) | {"reason": "victory", "turns": 5, "score": 100, "max_score": 100}
    log.write_text("\n".join([*lines, json.dumps(won)]) + "\n")
    assert isinstance(last_end(read_episode(files.workdir, files.number)), EpisodeEnded)
    assert run.turns_left(run.played()) == 0


def test_too_few_commands_are_a_failure(tmp_path):
    run = a_run(tmp_path, "learning-1x20", commands=TO_THE_ORCHARD)
    with pytest.raises(EvaluationFailed, match=r"Episode 1 ended \(player stopped\): "):
        run.play()
    assert not run.is_finished


def test_damaged_checkpoint_is_an_error_with_advice(tmp_path):
    run = a_run(tmp_path, "learning-1x20")
    with pytest.raises(KeyboardInterrupt):
        run.play(StopAt(15))
    write_checkpoint(run.workdir(1), "{")
    with pytest.raises(
        EvaluationFailed, match=f"Episode 1 was interrupted and can't be resumed: .* delete {run.folder}\\."
    ):
        run.play()


def test_run_of_another_process_is_an_error_with_advice(tmp_path):
    run = a_run(tmp_path, "learning-1x20")
    with pytest.raises(KeyboardInterrupt):
        run.play(StopAt(15))
    with playing_lock(run.workdir(1) / "runs" / "1").acquire(), pytest.raises(EvaluationFailed) as error:
        run.play()
    assert str(error.value) == (
        "Episode 1 is being played by another process. When it has ended, run the same command to continue."
    )


def test_another_player_cannot_continue_a_run(tmp_path):
    a_run(tmp_path, "learning-1x4").play()
    other = a_run(tmp_path, "learning-1x4", choice=PlayerChoice("walkthrough", "a test", None))
    with pytest.raises(ConfigurationError, match="was started with another value of player: .* --out"):
        other.play()


def test_relevant_settings_cannot_change(tmp_path):
    budget = GameConfiguration(max_tokens_per_location=50)
    run = a_run(tmp_path, "learning-1x4", config=budget)
    run.play()
    settings = json.loads((run.folder / "run.json").read_bytes())["settings"]
    assert settings == {"simple_memory.max_tokens_per_location": 50}
    a_run(tmp_path, "learning-1x4", config=GameConfiguration(max_tokens_per_location=50, timeout_s=9.0)).check()
    with pytest.raises(ConfigurationError, match="another value of settings: .*50.* not {}.* --out"):
        a_run(tmp_path, "learning-1x4").check()


def test_run_file_without_versions_is_damaged(tmp_path):
    run = a_run(tmp_path, "learning-1x4")
    run.play()
    description = json.loads((run.folder / "run.json").read_bytes())
    (run.folder / "run.json").write_text(json.dumps(description | {"versions": 7}))
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged\. Delete the folder"):
        run.check()


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_damaged_run_file_is_an_error_with_advice(tmp_path, content):
    run = a_run(tmp_path, "learning-1x4")
    run.folder.mkdir(parents=True)
    (run.folder / "run.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged\. Delete the folder"):
        run.check()


def test_run_file_describes_the_run(tmp_path):
    run = a_run(tmp_path, "learning-1x4")
    run.play()
    description = json.loads((run.folder / "run.json").read_bytes())
    assert (description["seed"], description["ablation"], description["player"], description["embeddings"]) == (
        1,
        "on",
        "rules",
        "none",
    )
    assert description["story"]["sha256"] == run.story.sha256
    assert {"zorkgpt", "python", "jericho"} <= description["versions"].keys()
    assert description["handicaps"] == {
        "valid_actions": False,
        "clues": False,
        "walkthrough": False,
        "object_tree": True,
        "counterfactuals": True,
    }

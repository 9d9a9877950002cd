"""One run: its episodes, how it goes on after it was cut short, and what it refuses."""

import json

import pytest

from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from tests.fixtures.evaluations import TO_THE_ORCHARD, a_run
from zorkgpt.errors import ConfigurationError, EvaluationFailed
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import figures_of
from zorkgpt.evals.protocols import EvaluationProtocol
from zorkgpt.runlog.episodes import last_end, playing_lock, read_episode
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted

pytestmark = pytest.mark.slow


def untimed(run) -> list[dict]:
    """The figures of a run without its times and its folder."""
    found = []
    for one in figures_of(run).episodes:
        values = {name: getattr(one, name) for name in one.__dataclass_fields__}
        found.append({name: value for name, value in values.items() if "seconds" not in name and name != "parts_s"})
    return found


class StopAt:
    """Presses Ctrl-C when so many turns of a run are over."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def __call__(self, turns: int) -> None:
        if turns == self.turns:
            raise KeyboardInterrupt


@pytest.mark.parametrize("ablation", [Ablation.ON, Ablation.FROZEN, Ablation.SHUFFLED])
def test_a_run_that_was_cut_short_comes_to_the_same(tmp_path, ablation):
    whole = a_run(tmp_path / "whole", "learning-2x15", ablation)
    whole.play()
    # In its first episode a run is the same with all of them.
    for at in (7, 20) if ablation is Ablation.ON else (20,):
        cut = a_run(tmp_path / str(at), "learning-2x15", ablation)
        with pytest.raises(KeyboardInterrupt):
            cut.play(StopAt(at))
        assert not cut.is_finished
        cut.play()
        assert cut.is_finished
        assert untimed(cut) == untimed(whole)


def test_what_is_finished_is_not_played_again(tmp_path):
    run = a_run(tmp_path, "learning-2x10")
    told = []
    run.play(told.append)
    logs = [files.directory / "episode_log.jsonl" for files in run.played()]
    before = [path.stat().st_mtime_ns for path in logs]
    run.play(told.append)
    assert [path.stat().st_mtime_ns for path in logs] == before
    assert told == [*range(11), *range(10, 21), 20, 20]


def test_episodes_that_are_reseeded_say_so_in_their_logs(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 3, 4, (1,), "area", reseeds=True)
    run = a_run(tmp_path, protocol, seed=5)
    run.play()
    begun = [read_episode(files.workdir, files.number)[0] for files in run.played()]
    assert [event.seed for event in begun if isinstance(event, EpisodeStarted)] == [5, 6, 7]


def test_a_story_that_ends_begins_again_with_the_turns_that_are_left(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 1, 60, (1,), "best", restarts=True)
    run = a_run(tmp_path, protocol)
    run.play()
    ends = [last_end(read_episode(files.workdir, files.number)) for files in run.played()]
    assert sum(end.turns for end in ends) == 60
    assert [end.reason for end in ends][-1] == "turn limit"
    assert {end.reason for end in ends[:-1]} <= {"death"}


def test_a_full_score_is_not_played_on(tmp_path):
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


def test_an_episode_without_enough_commands_is_a_failure_that_is_named(tmp_path):
    run = a_run(tmp_path, "learning-1x20", commands=TO_THE_ORCHARD)
    with pytest.raises(EvaluationFailed, match=r"Episode 1 ended \(player stopped\): "):
        run.play()
    assert not run.is_finished


def test_a_damaged_checkpoint_is_told_with_the_way_out(tmp_path):
    run = a_run(tmp_path, "learning-1x20")
    with pytest.raises(KeyboardInterrupt):
        run.play(StopAt(15))
    (run.workdir(1) / "runs" / "1" / "checkpoint.json").write_text("{")
    with pytest.raises(
        EvaluationFailed, match=f"Episode 1 was interrupted and can't be resumed: .* delete {run.folder}\\."
    ):
        run.play()


def test_a_run_that_another_process_plays_is_not_advised_to_be_deleted(tmp_path):
    run = a_run(tmp_path, "learning-1x20")
    with pytest.raises(KeyboardInterrupt):
        run.play(StopAt(15))
    with playing_lock(run.workdir(1) / "runs" / "1").acquire(), pytest.raises(EvaluationFailed) as told:
        run.play()
    assert str(told.value) == (
        "Episode 1 is being played by another process. When it has ended, run the same command to continue."
    )


def test_another_player_can_not_go_on_with_a_run(tmp_path):
    a_run(tmp_path, "learning-1x4").play()
    other = a_run(tmp_path, "learning-1x4", choice=PlayerChoice("search", "a test", None))
    with pytest.raises(ConfigurationError, match="was started with another value of player: .* --out"):
        other.play()


def test_other_settings_can_not_go_on_with_a_run_unless_they_change_nothing(tmp_path):
    budget = GameConfiguration(max_tokens_per_location=50)
    begun = a_run(tmp_path, "learning-1x4", config=budget)
    begun.play()
    told = json.loads((begun.folder / "run.json").read_bytes())["settings"]
    assert told == {"simple_memory.max_tokens_per_location": 50}
    a_run(tmp_path, "learning-1x4", config=GameConfiguration(max_tokens_per_location=50, timeout_s=9.0)).check()
    with pytest.raises(ConfigurationError, match="another value of settings: .*50.* not {}.* --out"):
        a_run(tmp_path, "learning-1x4").check()


def test_a_run_file_without_versions_is_damaged(tmp_path):
    run = a_run(tmp_path, "learning-1x4")
    run.play()
    told = json.loads((run.folder / "run.json").read_bytes())
    (run.folder / "run.json").write_text(json.dumps(told | {"versions": 7}))
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged\. Delete the folder"):
        run.check()


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_damaged_run_file_is_told_with_the_way_out(tmp_path, content):
    run = a_run(tmp_path, "learning-1x4")
    run.folder.mkdir(parents=True)
    (run.folder / "run.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged\. Delete the folder"):
        run.check()


def test_rules_play_without_embeddings_and_the_run_says_so(tmp_path):
    run = a_run(tmp_path, "learning-1x4")
    run.play()
    told = json.loads((run.folder / "run.json").read_bytes())
    assert (told["seed"], told["ablation"], told["player"], told["embeddings"]) == (1, "on", "rules", "none")
    assert told["story"]["sha256"] == run.story.sha256
    assert {"zorkgpt", "python", "jericho"} <= told["versions"].keys()
    assert told["handicaps"] == {
        "valid_actions": False,
        "clues": False,
        "walkthrough": False,
        "object_tree": True,
        "counterfactuals": True,
        "saved_states": False,
    }

"""Tests of the summary at the end of a run: scores, repeated mistakes and useful memories."""

import io
import json
import tempfile

import pytest
from rich.console import Console

from game_interface.story import find_story
from session.history import TurnRecord
from session.outcome import failed
from tests.fixtures.command_line import command
from tests.fixtures.runs import RULES, a_run, a_walkthrough
from zorkgpt.cli.control import control_episode
from zorkgpt.cli.summary import Learning, learning_of, summary_of, write_summary
from zorkgpt.memory.storage.markdown import read_document
from zorkgpt.run_folder import EPISODE_LOG
from zorkgpt.runlog.episodes import read_episode


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Play three episodes and return what a summary is made from."""
    workdir = tmp_path_factory.mktemp("played")
    with a_run(workdir, turns=40) as run:
        ended = [run.play_episode() for _ in range(3)]
    return workdir, run.services, ended


def learned(workdir) -> Learning:
    return learning_of(workdir, EPISODE_LOG, workdir / "Memories.md")


def summary_text(played, columns: int, control=()) -> list[str]:
    workdir, services, ended = played
    learning = learning_of(workdir, EPISODE_LOG, workdir / "Memories.md", control)
    console = Console(width=columns, height=24, file=io.StringIO())
    summary = summary_of(
        services.config, services.game.story, RULES, ended, remembered=True, damaged=[], learning=learning
    )
    write_summary(console, summary)
    return console.file.getvalue().splitlines()


def test_useful_memories_are_sorted_by_points(played):
    memories = learned(played[0]).memories
    assert 0 < len(memories) <= 3
    for memory in memories:
        assert memory.followed >= memory.worked > 0
    assert [entry.points for entry in memories] == sorted((entry.points for entry in memories), reverse=True)
    assert memories[0].points > 0


@pytest.mark.slow
def test_death_that_a_memory_foresaw_is_not_useful(tmp_path):
    to_the_bead = ("read the letter", "north", "west", "west", "north", "west", "south", "take amber bead")
    back = ("north", "east", "south", "east", "east", "north", "west", "northeast")
    steps = (*to_the_bead, *back, "eat berries")
    with a_walkthrough(tmp_path, *steps) as run:
        assert [run.play_episode().deaths for _ in range(3)] == [1, 1, 1]
    deadly = next(each for each in read_document(tmp_path / "Memories.md").memories(43) if each.category == "DANGER")
    assert (deadly.title, deadly.tried, deadly.worked) == ("eat berries: you died", 2, 2)
    useful = [(memory.title, memory.place, memory.worked, memory.points) for memory in learned(tmp_path).memories]
    assert useful == [
        ("take amber bead: +4 points", "Marsh", 2, 8),
        ("read the letter: +1 point", "Causeway End", 2, 2),
    ]


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_summary_has_one_score_bar_per_episode(played, columns):
    lines = summary_text(played, columns)
    bars = [line for line in lines if "█" in line]
    assert len(bars) == 3
    assert max(map(len, bars)) <= columns
    lengths = [line.count("█") for line in bars]
    assert lengths == sorted(lengths)
    assert learned(played[0]).memories[0].title in "\n".join(lines)


def test_summary_compares_mistakes_with_and_without_memory(played):
    workdir = played[0]
    first = read_episode(workdir, 1, EPISODE_LOG)
    later = [entry.failures for entry in learned(workdir).episodes[1:]]
    turns = [event for event in first if isinstance(event, TurnRecord)]
    failures = sum(failed(turn.transition) for turn in turns)
    # An episode that plays like the first repeats all of its failures.
    with_memory = sum(count.repeated for count in later) / sum(count.actions for count in later)
    lines = summary_text(played, 80, control=first)
    assert f"Repeated mistakes: {with_memory:.0%} of actions with memory, {failures / len(turns):.0%} without" in lines
    assert f"  Without: {failures} of {len(turns)} actions in a control episode without memory." in lines
    assert len(lines) < 24


def test_summary_without_control_episode_shows_no_comparison(played):
    lines = summary_text(played, 80)
    assert any(line.startswith("Repeated mistakes: ") and "without" not in line for line in lines)


def test_summary_does_not_recommend_viewing_a_deleted_folder(played, tmp_path):
    _, services, ended = played
    gone = services.config.with_workdir(tmp_path / "gone")
    summary = summary_of(
        gone, services.game.story, RULES, ended, remembered=True, damaged=[], learning=Learning((), ())
    )
    console = Console(width=200, file=io.StringIO())
    write_summary(console, summary)
    assert f"{tmp_path / 'gone'} no longer exists" in console.file.getvalue()
    assert " view " not in console.file.getvalue()


@pytest.mark.slow
def test_control_episode_plays_without_memory_and_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with control_episode(find_story("slackwater").path, 1, 9, EPISODE_LOG) as events_of_control:
        turns = [event for event in events_of_control() if isinstance(event, TurnRecord)]
    assert len(turns) == 9
    assert not any(turn.memory_shown for turn in turns)
    assert list(tmp_path.iterdir()) == []


def test_interrupted_control_episode_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(KeyboardInterrupt), control_episode(find_story("slackwater").path, 1, 500, EPISODE_LOG):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_failed_control_episode_is_logged_once(tmp_path, caplog):
    with control_episode(tmp_path / "nowhere.z5", 1, 30, EPISODE_LOG) as events_of_control:
        assert events_of_control() == ()
    assert [record.message for record in caplog.records] == ["control episode failed"]


def test_empty_folder_has_no_learning_summary(tmp_path):
    assert learned(tmp_path) == Learning((), ())


@pytest.mark.slow
def test_rules_player_plays_ten_episodes_by_default(tmp_path):
    done = command("--workdir", str(tmp_path), "--max-turns", "4", "--json")
    summary = json.loads(done.stdout)
    assert [episode["episode"] for episode in summary["episodes"]] == list(range(1, 11))
    assert {memory["worked"] > 0 for memory in summary["memories_that_helped"]} == {True}

"""What the summary says of learning: the curve, what memory avoided and gained, and the memories that did most."""

import io
import json

import pytest
from rich.console import Console

from tests.fixtures.command_line import command
from tests.fixtures.runs import RULES, a_run
from zorkgpt.cli.learning import Learning, learning_of, levels_to_compare
from zorkgpt.cli.summary import summary_of, write_summary
from zorkgpt.runlog.episodes import EPISODE_LOG


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Three episodes, with the configuration and the story that the summary needs."""
    workdir = tmp_path_factory.mktemp("played")
    with a_run(workdir, turns=60) as run:
        ended = [run.play_episode() for _ in range(3)]
    return workdir, run.services, ended


def learned(workdir) -> Learning:
    return learning_of(workdir, EPISODE_LOG, workdir / "Memories.md")


def test_the_turns_to_each_score_fall_from_episode_to_episode(played):
    episodes = learned(played[0]).episodes
    assert [one.end.episode for one in episodes] == [1, 2, 3]
    levels = levels_to_compare(episodes, 4)
    assert levels
    for level in levels:
        turns = [one.turns_to(level) for one in episodes if one.turns_to(level) is not None]
        assert turns == sorted(turns, reverse=True)
    assert episodes[0].turns_to(10_000) is None


def test_the_memories_that_did_most_were_shown_before_they_were_followed(played):
    memories = learned(played[0]).memories
    assert 0 < len(memories) <= 3
    for memory in memories:
        assert memory.shown >= memory.followed >= memory.worked > 0
    assert [one.points for one in memories] == sorted((one.points for one in memories), reverse=True)
    assert memories[0].points > 0


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_summary_draws_the_curve_within_any_width(played, columns):
    workdir, services, ended = played
    learning = learned(workdir)
    console = Console(width=columns, file=io.StringIO())
    summary = summary_of(
        services.config, services.game.story, RULES, ended, remembered=True, damaged=[], learning=learning
    )
    write_summary(console, summary, learning)
    lines = console.file.getvalue().splitlines()
    curve = [line for line in lines if "█" in line]
    assert len(curve) == 3
    assert max(map(len, curve)) <= columns
    lengths = [line.count("█") for line in curve]
    assert lengths == sorted(lengths)
    assert any(line.startswith("  Turns to ") for line in lines)
    assert learning.memories[0].title in console.file.getvalue()


def test_a_folder_without_episodes_shows_nothing(tmp_path):
    assert learned(tmp_path) == Learning((), ())


@pytest.mark.slow
def test_without_a_model_five_episodes_are_the_default(tmp_path):
    done = command("--workdir", str(tmp_path), "--max-turns", "10", "--json")
    summary = json.loads(done.stdout)
    assert [episode["episode"] for episode in summary["episodes"]] == [1, 2, 3, 4, 5]
    assert all(memory["worked"] > 0 for memory in summary["memories_that_helped"])

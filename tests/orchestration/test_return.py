"""Episodes that go on where an earlier one was: the commands are played again, never a state restored."""

import json
import logging
from dataclasses import replace

import pytest

from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.runs import a_run, a_walkthrough
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import Returned

TURNS = 50


def a_returning_run(workdir, *, turns=TURNS, llm=None, kind="rules", watchers=(), **run_options):
    config = GameConfiguration(
        zork_game_workdir=str(workdir),
        max_turns_per_episode=turns,
        embedding_provider="none",
        explore="return",
        enable_critic=llm is None,
    )
    return assemble(config, RunOptions(PlayerChoice(kind, "a test", None), **run_options), watchers, llm=llm)


def turns_of(workdir, episode):
    return [event for event in read_episode(workdir, episode) if isinstance(event, TurnRecord)]


def return_of(workdir, episode):
    return next((event for event in read_episode(workdir, episode) if isinstance(event, Returned)), None)


def test_the_second_episode_goes_back_to_what_the_first_one_found(tmp_path):
    with a_returning_run(tmp_path) as run:
        run.play_episode()
        run.play_episode()
    returned = return_of(tmp_path, 2)
    replayed, own = turns_of(tmp_path, 2)[: returned.turn], turns_of(tmp_path, 2)[returned.turn :]
    origin = turns_of(tmp_path, 1)[returned.from_turn - 1]
    assert return_of(tmp_path, 1) is None
    assert returned.arrived
    assert (returned.from_episode, returned.commands) == (1, len(replayed))
    assert {turn.player for turn in replayed} == {"return"}
    assert {turn.player for turn in own} == {"rules"}
    reached, wanted = replayed[-1].after, origin.after
    assert (reached.location, reached.score) == (wanted.location, wanted.score)
    assert {item.num for item in reached.inventory} >= {item.num for item in wanted.inventory}
    assert wanted.score > turns_of(tmp_path, 1)[0].after.score
    assert "Going back to" in replayed[0].reasoning


@pytest.mark.slow
def test_the_replayed_turns_count_against_the_limit_and_are_fewer_than_those_of_the_first_time(tmp_path):
    with a_returning_run(tmp_path, seed=2) as run:
        run.play_episode()
        end = run.play_episode()
    returned = return_of(tmp_path, 2)
    assert end.turns == len(turns_of(tmp_path, 2)) <= TURNS
    assert returned.shortened
    assert returned.commands < returned.from_turn


@pytest.mark.slow
def test_the_same_logs_give_the_same_return_in_another_process_as_well(tmp_path):
    for folder in ("a", "b"):
        with a_returning_run(tmp_path / folder) as run:
            run.play_episode()
            if folder == "a":
                run.play_episode()
    with a_returning_run(tmp_path / "b") as run:
        run.play_episode()
    first, second = ([turn.action for turn in turns_of(tmp_path / folder, 2)] for folder in ("a", "b"))
    assert first == second


@pytest.mark.slow
def test_without_the_short_copies_of_the_logs_the_return_is_the_same(tmp_path):
    for folder in ("a", "b"):
        with a_returning_run(tmp_path / folder) as run:
            run.play_episode()
            run.play_episode()
        if folder == "b":
            copy = run_directory(tmp_path / folder, 1) / "trail.json"
            assert copy.is_file()
            copy.unlink()
        with a_returning_run(tmp_path / folder) as run:
            run.play_episode()
    first, second = ([turn.action for turn in turns_of(tmp_path / folder, 3)] for folder in ("a", "b"))
    assert first == second


@pytest.mark.slow
def test_memory_counts_what_is_replayed_once_and_learns_nothing_new_of_it(tmp_path):
    with a_returning_run(tmp_path) as run:
        run.play_episode()
        known = {title for _, title in _titles(run)}
        run.reset_episode()
        for _ in range(run_length(run)):
            run.process_turn()
        titles = _titles(run)
        assert len(titles) == len(set(titles))
        assert {title for _, title in titles} == known


def run_length(run):
    status = next(manager for manager in run.managers.in_order if manager.get_status()["type"] == "return")
    return len(status.journey.route.steps)


def _titles(run):
    cache = run.simple_memory.memory_cache
    return [(place, memory.title) for place, memories in cache.items() for memory in memories]


@pytest.mark.slow
def test_nothing_is_returned_to_across_seeds_and_that_is_said(tmp_path, caplog):
    with a_returning_run(tmp_path, seed=1) as run:
        run.play_episode()
    with caplog.at_level(logging.WARNING), a_returning_run(tmp_path, seed=2) as run:
        run.play_episode()
    assert return_of(tmp_path, 2) is None
    assert {turn.player for turn in turns_of(tmp_path, 2)} == {"rules"}
    assert "no return: every earlier episode had another seed" in caplog.text


@pytest.mark.slow
def test_a_walkthrough_is_nothing_to_return_to(tmp_path):
    with a_walkthrough(tmp_path, "north", "north", "east", "take clapper", turns=4) as run:
        run.play_episode()
    with a_returning_run(tmp_path, turns=3) as run:
        run.play_episode()
    assert {turn.player for turn in turns_of(tmp_path, 2)} == {"rules"}


@pytest.mark.slow
def test_a_way_that_leads_elsewhere_is_left_and_the_player_goes_on(tmp_path):
    with a_returning_run(tmp_path) as run:
        run.play_episode()
    _claim_that_all_steps_led_to(tmp_path, place=999)
    with a_returning_run(tmp_path) as run:
        end = run.play_episode()
        status = next(manager for manager in run.managers.in_order if manager.get_status()["type"] == "return")
    returned = return_of(tmp_path, 2)
    assert (returned.arrived, returned.turn) == (False, 1)
    assert "the player was not at" in returned.difference
    assert status.get_status()["metrics"]["diverged"] == 1
    assert end.turns > 1
    assert [turn.player for turn in turns_of(tmp_path, 2)] == ["return", *["rules"] * (end.turns - 1)]


def _claim_that_all_steps_led_to(workdir, place):
    """As another version of the interpreter might have it: the moves of the log end in another room."""
    log = run_directory(workdir, 1) / "episode_log.jsonl"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for line in lines:
        if line["event"] == "turn_played":
            line["after"]["location"]["num"] = place
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.mark.slow
def test_a_log_that_is_damaged_is_no_obstacle(tmp_path):
    with a_returning_run(tmp_path) as run:
        run.play_episode()
    log = run_directory(tmp_path, 1) / "episode_log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:10], b"\xff{not json\n", *lines[10:]]))
    with a_returning_run(tmp_path) as run:
        assert run.play_episode().reason in ("turn limit", "death")


@pytest.mark.slow
def test_a_model_is_told_what_was_played_for_it_and_asked_only_afterwards(tmp_path):
    with a_run(tmp_path, turns=TURNS) as run:
        run.play_episode()
    llm = ScriptedLLM(
        lambda messages, role: {"agent": "Looking.\nACTION: look"}.get(role, '{"should_remember": false}')
    )
    with a_returning_run(tmp_path, llm=llm, kind="model") as run:
        run.play_episode()
    returned = return_of(tmp_path, 2)
    asked = [call for call in llm.calls if call.role == "agent"]
    assert returned.arrived
    assert len(asked) == TURNS - returned.commands
    assert f"(command {returned.commands} of {returned.commands})" in asked[0].prompt
    assert [turn.player for turn in turns_of(tmp_path, 2)][returned.turn - 1 : returned.turn + 1] == ["return", "model"]


@pytest.mark.slow
def test_what_is_returned_to_is_what_no_other_way_of_playing_changes(tmp_path):
    """Without the policy the episode is what it always was."""
    with a_run(tmp_path / "a", turns=30) as run:
        run.play_episode()
    with a_returning_run(tmp_path / "b", turns=30) as run:
        run.play_episode()
    first, second = (turns_of(tmp_path / folder, 1) for folder in ("a", "b"))
    assert [replace(turn, duration_s=0) for turn in first] == [replace(turn, duration_s=0) for turn in second]

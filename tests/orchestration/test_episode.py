"""Tests of whole episodes with the real Z-machine."""

import json
import os
import signal
import threading
import time

import pytest

from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.memory import memory
from tests.fixtures.runs import CtrlC, a_run, a_walkthrough, turns_of
from zorkgpt.errors import ConfigurationError
from zorkgpt.memory.models import Thing
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import DeduplicationMetrics, EpisodeEnded, EpisodeStarted, KnowledgeUpdated
from zorkgpt.world.tries import tries_at

pytestmark = pytest.mark.slow


def test_log_contains_all_turns_and_the_end(tmp_path):
    with a_run(tmp_path, turns=7) as run:
        run.play_episode()
    events = read_episode(tmp_path, 1)
    at_the_end = [KnowledgeUpdated, DeduplicationMetrics, EpisodeEnded]
    assert [type(event) for event in events] == [EpisodeStarted, *[TurnRecord] * 7, *at_the_end]
    assert [event.turn for event in events[1:-3]] == list(range(1, 8))
    assert events[0].story["bundled"] is True
    assert events[-1].reason == "turn limit"


def test_end_counts_memories_of_things(tmp_path):
    with a_run(tmp_path, turns=1) as run:
        run.simple_memory.add_memory(Thing(901), "Lamp", memory("Lamp: shines", persistence="core"))
        end = run.play_episode()
        located = run.simple_memory.all_memories()
    assert end.memories["core"] == sum(each.memory.persistence == "core" for each in located) > 0
    assert any(each.location_id == Thing(901) for each in located)


def test_second_episode_uses_memories_of_the_first(tmp_path):
    with a_run(tmp_path, turns=15) as run:
        first = run.play_episode()
    with a_run(tmp_path, turns=3) as run:
        start = run.simple_memory.get_location_memory(start_location(tmp_path))
        second = run.play_episode()
    assert (first.episode, second.episode) == (1, 2)
    assert start
    assert read_episode(tmp_path, 2)[1].memory_shown


def start_location(workdir) -> int:
    return read_episode(workdir, 1)[0].location_id


def test_failures_and_plain_exits_are_no_memories(tmp_path):
    with a_walkthrough(tmp_path, "north", "push east") as run:
        step = run.process_turn().transition
        source, destination = step.before.location.num, step.after.location.num
        run.process_turn()
        assert run.services.map.graph.exits(source) == {"north": destination}
        assert "push east" in tries_at(run.game_state.experience, destination).failed
        assert [memory.title for memory in run.simple_memory.memory_cache[source]] == ["Starts here"]
        assert run.simple_memory.get_location_memory(destination) == ""


def test_contents_of_a_new_location_are_remembered(tmp_path):
    with a_walkthrough(tmp_path, "north", "north", "east", "northwest") as run:
        for _ in range(4):
            step = run.process_turn().transition
        there = run.simple_memory.memory_cache[step.after.location.num]
        assert [(memory.title, memory.persistence) for memory in there] == [("Starts here", "core")]
        assert there[0].text == "Small window (closed), black berries."


def test_dropped_thing_is_forgotten_next_episode(tmp_path):
    with a_walkthrough(tmp_path, "take penny", "drop penny", "look") as run:
        run.reset_episode()
        for _ in range(2):
            run.process_turn()
        place = run.game_state.current_room_id
        assert "Now here: Copper penny. [session]" in run.simple_memory.get_location_memory(place)
        run.reset_episode()
        assert "Now here" not in run.simple_memory.get_location_memory(place)
        assert "On the milestone: copper penny. [spawn]" in run.simple_memory.get_location_memory(place)


def test_given_action_replaces_the_players(tmp_path):
    with a_run(tmp_path) as run:
        record = run.process_turn("inventory")
    assert (record.transition.action, record.player, record.turn) == ("inventory", "given", 1)


def test_refused_command_takes_a_turn_and_teaches_nothing(tmp_path):
    with a_run(tmp_path) as run:
        run.reset_episode()
        record = run.process_turn("save")
        assert record.transition.refused
        assert record.memory_events == ()


def test_run_without_memory_leaves_only_its_log_and_record(tmp_path):
    with a_run(tmp_path, turns=5, remember=False) as run:
        run.play_episode()
        assert run.simple_memory is None
    names = {entry.name for entry in tmp_path.iterdir()}
    assert names == {"Memories.md.sqlite", "current_state.json", "runs", "story.json"}


def test_ctrl_c_saves_log_state_and_map(tmp_path):
    with a_run(tmp_path, watchers=(CtrlC(4),)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    end = read_episode(tmp_path, 1)[-1]
    assert (end.reason, end.turns) == ("interrupted", 4)
    assert json.loads((tmp_path / "current_state.json").read_text())["turn"] == 4
    assert json.loads((tmp_path / "map_state.json").read_text())["rooms"]


def test_dead_interpreter_is_replaced(tmp_path):
    with a_run(tmp_path) as run:
        run.process_turn("look")
        children = child_processes(os.getpid())
        for child in children:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.1)
        record = run.process_turn("north")
        assert children
        assert record.transition.fault
        assert run.process_turn("north").transition.fault is None


def child_processes(parent: int) -> list[int]:
    found = []
    for thread in threading.enumerate():
        if thread.native_id:
            path = f"/proc/{parent}/task/{thread.native_id}/children"
            with open(path) as file:
                found += [int(number) for number in file.read().split()]
    return found


def test_concurrent_runs_get_different_episode_numbers(tmp_path):
    with a_run(tmp_path) as first, a_run(tmp_path) as second:
        first.reset_episode()
        second.reset_episode()
        assert (first.game_state.episode_id, second.game_state.episode_id) == (1, 2)


def test_same_seed_plays_the_same_episode(tmp_path):
    logs = []
    for folder in ("a", "b"):
        with a_run(tmp_path / folder, turns=40, seed=3) as run:
            run.play_episode()
        logs.append([(turn.action, turn.response, turn.memory_shown) for turn in turns_of(tmp_path / folder)])
    assert logs[0] == logs[1]


def test_automatic_player_choice_is_explained():
    rules = choose_player("auto", GameConfiguration())
    assert (rules.kind, rules.models) == ("rules", None)
    assert "no model is configured" in rules.why
    model = choose_player("auto", GameConfiguration(agent_model="m"))
    assert model.kind == "model"
    assert "m is configured" in model.why


def test_api_key_alone_does_not_choose_the_model_player():
    choice = choose_player("auto", GameConfiguration(client_api_key="sk-x"))
    assert choice.kind == "rules"
    assert "a key is set, but no model is named" in choice.why


@pytest.mark.parametrize(
    ("asked", "settings"),
    [("model", {}), ("auto", {"client_base_url": "http://x/v1"}), ("model", {"client_base_url": "http://x/v1"})],
)
def test_model_player_without_a_model_is_refused(asked, settings):
    with pytest.raises(ConfigurationError, match="--model"):
        choose_player(asked, GameConfiguration(**settings))

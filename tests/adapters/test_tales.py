"""Tests of the agent for tale-suite, played by rules and by a model."""

import argparse
import json
import sys

import pytest

from game_interface.models import Location
from tests.fixtures.chat_server import Answer, ChatServer, Status
from tests.fixtures.small_world import WALKTHROUGH
from tests.fixtures.tales_suite import evaluate, is_installed, loaded, stand_in
from zorkgpt.adapters.text_game import headings_in, location_of
from zorkgpt.errors import ZorkGPTError
from zorkgpt.runlog.episodes import last_end, read_episode


@pytest.fixture
def suite(monkeypatch, tmp_path):
    """The agent's module, loaded like the suite does, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    if not is_installed():
        for name, module in stand_in().items():
            monkeypatch.setitem(sys.modules, name, module)
    return loaded()


@pytest.fixture
def agent_class(suite):
    _, klass, _ = sys.modules["tales.agent"].AGENTS["zorkgpt"]
    return klass


def test_agent_is_registered_once_with_its_options(suite, agent_class):
    assert loaded().NAME == "zorkgpt"
    _, _, add_arguments = sys.modules["tales.agent"].AGENTS["zorkgpt"]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = vars(parser.parse_args(["--llm", "some/model", "--base-url", "http://localhost:1/v1", "--no-memory"]))
    agent = agent_class(**given, nb_steps=100, envs=["Lighthouse"], game_seed=None)
    assert agent.uid == "ZorkGPT_some-model_s1_nomemory"
    assert (agent.params["llm"], agent.params["memory"]) == ("some/model", False)
    assert agent_class(**vars(parser.parse_args([]))).params["player"] == "rules, no language model"


def test_deadly_action_is_avoided_after_the_restart(agent_class, tmp_path):
    agent, rows, _ = evaluate(agent_class, 60, player="rules")
    agent.close()
    deaths = [number for number, (_, text, _) in enumerate(rows) if "You have died" in text]
    assert len(deaths) == 1
    folder = tmp_path / "game_files/tales/Lighthouse/1"
    assert "[DANGER - PERMANENT] down: you died, cause unknown" in (folder / "Memories.md").read_text()
    first, second = (last_end(read_episode(folder, number)) for number in (1, 2))
    assert (first.reason, second.reason) == ("death", "player stopped")
    assert all(stats["nb_tokens"] == 0 for _, _, stats in rows)


def test_evaluation_starts_without_memories_unless_a_folder_is_given(agent_class, tmp_path):
    for _ in range(2):
        evaluate(agent_class, 3, player="rules")[0].close()
    assert sorted(path.name for path in (tmp_path / "game_files/tales/Lighthouse").iterdir()) == ["1", "2"]
    for _ in range(2):
        agent, _, _ = evaluate(agent_class, 3, player="rules", workdir=tmp_path / "kept")
        agent.close()
    assert agent.uid == "ZorkGPT_rules_s1_kept"
    assert sorted(path.name for path in (tmp_path / "kept/Lighthouse/runs").iterdir()) == ["1", "2"]


def test_model_plays_and_its_tokens_are_counted(agent_class, tmp_path):
    commands = iter(WALKTHROUGH)

    def answer(asked):
        if "should_remember" in asked.prompt:
            return Answer(json.dumps({"should_remember": False}))
        return Answer(f"ACTION: {next(commands)}" if "ACTION:" in asked.prompt else "{}")

    with ChatServer(answer) as server:
        given = {"player": "model", "llm": server.model, "base_url": server.url}
        agent, rows, highest = evaluate(agent_class, 20, **given)
        agent.close()
    assert [action for action, _, _ in rows] == list(WALKTHROUGH)
    assert highest == 15
    assert all(stats["nb_tokens_prompt"] >= 10 and stats["nb_tokens_response"] >= 5 for _, _, stats in rows)
    assert all(stats["nb_tokens"] == stats["nb_tokens_prompt"] + stats["nb_tokens_response"] for _, _, stats in rows)


def test_unreachable_model_ends_the_game_with_a_reason(agent_class):
    with (
        ChatServer(lambda asked: Status(401, "no such key")) as server,
        pytest.raises(ZorkGPTError, match="no such key"),
    ):
        evaluate(agent_class, 5, player="model", llm=server.model, base_url=server.url)


def test_acting_before_a_game_is_refused(agent_class):
    with pytest.raises(ZorkGPTError, match=r"reset\(\) before act\(\)"):
        agent_class().act("", 0, False, {})


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Behind House\nYou are behind the white house.", ["Behind House"]),
        ("-= Scullery =-\nWell, here we are in a scullery.", ["Scullery"]),
        ("STORY\nCopyright 1981. All rights reserved.\nRelease 3 / Serial number 8\n\nEnd of the Lane\nA lane.", None),
        ("Taken.", []),
        ("You are carrying:\n  A brass lantern", []),
        ("*** You have died ***", []),
        ("Which do you mean?", []),
    ],
)
def test_place_is_the_heading_of_its_text(text, headings):
    found = headings_in(text)
    assert found == headings if headings is not None else found[-1] == "End of the Lane"


def test_same_heading_is_the_same_place():
    assert location_of("Behind  House").num == location_of("behind house").num != location_of("Kitchen").num
    assert isinstance(location_of(""), Location)

"""Tests of a story as a Gymnasium environment."""

import json

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from game_interface.core.jericho_interface import JerichoInterface
from zorkgpt.adapters.gymnasium import ENVIRONMENT_ID, LONGEST_OBSERVATION, ZMachineEnv
from zorkgpt.errors import ConfigurationError, StoryFileNotFound

pytestmark = pytest.mark.slow

ALWAYS_KNOWN = {"location", "inventory", "visible", "score", "max_score", "moves", "died", "victory", "seed"}


@pytest.fixture
def env(bundled_story):
    env = ZMachineEnv(bundled_story, seed=1)
    yield env
    env.close()


@pytest.fixture(scope="module")
def shared_env(bundled_story):
    env = ZMachineEnv(bundled_story, seed=1)
    yield env
    env.close()


@pytest.fixture
def walkthrough(bundled_story) -> list[str]:
    return bundled_story.with_suffix(".walkthrough.txt").read_text(encoding="utf-8").splitlines()


def play(env: gymnasium.Env, commands: list[str]) -> list[tuple]:
    return [env.step(command) for command in commands]


@pytest.mark.filterwarnings("error")
def test_gymnasium_checker_finds_no_problems(bundled_story):
    env = gymnasium.make(ENVIRONMENT_ID, story=bundled_story)
    check_env(env.unwrapped)
    env.close()


def test_walkthrough_earns_every_point_and_terminates(env, walkthrough):
    env.reset()
    steps = play(env, walkthrough)
    *before, (_, _, terminated, truncated, info) = steps
    assert not any(step[2] or step[3] for step in before)
    assert (terminated, truncated, info["victory"], info["died"]) == (True, False, True, False)
    assert sum(step[1] for step in steps) == info["score"] == info["max_score"] == 100


def test_step_limit_truncates(bundled_story, walkthrough):
    env = ZMachineEnv(bundled_story, seed=1, max_steps=3)
    for _ in range(2):
        env.reset()
        assert [step[2:4] for step in play(env, ["look"] * 3)] == [(False, False), (False, False), (False, True)]
    env.close()

    env = ZMachineEnv(bundled_story, seed=1, max_steps=len(walkthrough))
    env.reset()
    assert play(env, walkthrough)[-1][2:4] == (True, False)
    env.close()


def test_info_is_json_without_hints(env, walkthrough):
    _, info = env.reset()
    infos = [info, *(step[4] for step in play(env, walkthrough))]
    for step_info in infos:
        assert json.loads(json.dumps(step_info)) == step_info
        assert ALWAYS_KNOWN <= step_info.keys() <= ALWAYS_KNOWN | {"question"}
    assert info["location"] == {"num": 30, "name": "Causeway End"}
    assert info["inventory"] == [{"num": 137, "name": "solicitors' letter"}]


@pytest.mark.parametrize("action", ["save", "look. look", "x" * 81, "中", "", 5])
def test_refused_command_is_a_step_with_a_reason(shared_env, action):
    _, before = shared_env.reset()
    text, reward, terminated, truncated, info = shared_env.step(action)
    assert text
    assert shared_env.observation_space.contains(text)
    assert (reward, terminated, truncated) == (0, False, False)
    assert info == before | {"refused": info["refused"]}
    assert ALWAYS_KNOWN | {"refused"} == info.keys()


def test_same_seed_gives_the_same_games(bundled_story):
    commands = ["north", "wait", "look"]

    def games(env: ZMachineEnv) -> list:
        begun = [env.reset(seed=7)]
        first = play(env, commands)
        return [begun, first, env.reset(), play(env, commands)]

    one, other = ZMachineEnv(bundled_story, seed=1), ZMachineEnv(bundled_story, seed=2)
    assert one.reset()[1]["seed"] != other.reset()[1]["seed"]
    played = games(one)
    assert games(other) == played
    assert played[0][0][1]["seed"] != played[2][1]["seed"]
    one.close()
    other.close()


def test_seed_in_info_reproduces_the_game(zork1):
    env = ZMachineEnv(zork1, seed=3)
    commands = ["north", "north", "up", *["wait"] * 12]
    _, info = env.reset()
    texts = [step[0] for step in play(env, commands)]
    env.close()
    with JerichoInterface(zork1, seed=info["seed"]) as game:
        assert [game.act(command).response for command in commands] == texts


def test_command_after_a_sampled_one_is_played(env):
    env.reset()
    env.action_space.seed(0)
    for _ in range(20):
        text, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(text)
    assert "Causeway End" in env.step("look")[0]


@pytest.mark.parametrize("options", [{}, {"vector_kwargs": {"shared_memory": False}}])
def test_environments_run_in_parallel(bundled_story, options):
    mode = "async" if options else "sync"
    envs = gymnasium.make_vec(ENVIRONMENT_ID, num_envs=2, vectorization_mode=mode, story=bundled_story, **options)
    envs.reset(seed=1)
    texts, *_, info = envs.step(("take penny", "save"))
    assert texts[0] == "Taken."
    assert [len(things) for things in info["inventory"]] == [2, 1]
    assert list(info["_refused"]) == [False, True]
    envs.close()


def test_render_shows_the_last_text(bundled_story):
    env = ZMachineEnv(bundled_story, seed=1, render_mode="ansi")
    env.reset()
    text, *_ = env.step("inventory")
    assert env.render() == text == "You're carrying:\n  a solicitors' letter"
    env.close()


def test_step_before_reset_is_an_error(env):
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"Call reset\(\)"):
        env.step("look")


@pytest.mark.parametrize("wrong", [{"max_steps": 0}, {"max_steps": 1.5}, {"render_mode": "human"}])
def test_value_out_of_range_is_named(bundled_story, wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ConfigurationError, match=f"{name} is {value!r}"):
        ZMachineEnv(bundled_story, **wrong)


def test_missing_story_is_an_error(tmp_path):
    with pytest.raises(StoryFileNotFound, match=r"none\.z5"):
        ZMachineEnv(tmp_path / "none.z5")


def test_any_text_is_within_the_observation_space(env):
    for text in ("x" * (LONGEST_OBSERVATION + 1), "a\tb\x00c\N{NO-BREAK SPACE}d\u4e2d\u00e9"):
        assert env.observation_space.contains(env._shown(text))

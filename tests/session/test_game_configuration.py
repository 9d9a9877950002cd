"""Tests of settings: types, layers and errors."""

import logging

import pytest

from session.game_configuration import FLAT_NAMES, GameConfiguration
from zorkgpt.errors import ConfigurationError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults():
    config = GameConfiguration()
    assert config.show_persistence_markers is True
    assert config.debug_ephemeral is False
    assert config.memory_file == "Memories.md"
    assert config.max_tokens_per_location == 300
    assert config.zork_game_workdir == "game_files"
    assert config.max_turns_per_episode == 500
    assert config.enable_semantic_deduplication is True
    assert config.deduplication_similarity_threshold == 0.85
    assert config.embedding_provider == "auto"
    assert config.embedding_batch_size == 32
    assert config.room_description_age_window == 10
    assert config.memory_sampling.temperature == 0.3
    assert config.get_memory_history_window() == 3


def test_flat_names_read_their_tables():
    config = GameConfiguration()
    for name, (table, key) in FLAT_NAMES.items():
        assert getattr(config, name) == getattr(getattr(config, table), key)


def test_flat_names_and_tables_can_be_mixed():
    config = GameConfiguration.from_config({"max_turns_per_episode": 7, "memory": {"debug_ephemeral": True}})
    assert (config.orchestrator.max_turns_per_episode, config.memory.debug_ephemeral) == (7, True)


def test_arguments_override_environment_and_file(tmp_path):
    file = write(
        tmp_path / "pyproject.toml",
        "[tool.zorkgpt.orchestrator]\nmax_turns_per_episode = 10\nknowledge_update_interval = 20\n"
        "[tool.zorkgpt.gameplay]\nturn_delay_seconds = 1.5\n",
    )
    environment = {
        "ZORKGPT_ORCHESTRATOR__MAX_TURNS_PER_EPISODE": "11",
        "ZORKGPT_GAMEPLAY__TURN_DELAY_SECONDS": "2.5",
        "ZORKGPT_ZORK1": "no setting: it has no double underscore",
    }
    config = GameConfiguration.load(
        pyproject=file, environment=environment, arguments={"turn_delay_seconds": 0.5, "memory_file": None}
    )
    assert config.knowledge_update_interval == 20
    assert config.max_turns_per_episode == 11
    assert config.turn_delay_seconds == 0.5
    assert config.memory_file == "Memories.md"


def test_openai_variables_are_the_last_resort(tmp_path):
    file = write(tmp_path / "pyproject.toml", "")
    usual = {"OPENAI_API_KEY": "sk-usual", "OPENAI_BASE_URL": "http://usual/v1"}
    config = GameConfiguration.load(pyproject=file, environment=usual)
    assert config.client_api_key.get_secret_value() == "sk-usual"
    assert config.client_base_url == "http://usual/v1"
    own = usual | {"ZORKGPT_LLM__CLIENT_API_KEY": "sk-own"}
    config = GameConfiguration.load(pyproject=file, environment=own, arguments={"client_base_url": "http://mine/v1"})
    assert config.client_api_key.get_secret_value() == "sk-own"
    assert config.client_base_url == "http://mine/v1"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"max_turns": 3}, "'max_turns'.*'max_turns_per_episode'"),
        ({"memory": {"debug_ephmeral": True}}, "'memory.debug_ephmeral'.*'memory.debug_ephemeral'"),
        ({"memory": 3}, r"\[memory\] is 3"),
        ({"max_turns_per_episode": 0}, "'orchestrator.max_turns_per_episode' is 0"),
        ({"max_turns_per_episode": "many"}, "'orchestrator.max_turns_per_episode' is 'many'"),
        ({"embedding_provider": "magic"}, "'memory_deduplication.provider' is 'magic'"),
        ({"turn_delay_seconds": float("inf")}, "'gameplay.turn_delay_seconds' is inf"),
        ({"turn_delay_seconds": 1e300}, "'gameplay.turn_delay_seconds' is 1e.300: .* less than or equal to 86400"),
        ({"client_base_url": "notaurl"}, "'llm.client_base_url' is 'notaurl'.*address of a server"),
        ({"memory_file": "../elsewhere.md"}, "'simple_memory.memory_file' is '../elsewhere.md': must be a plain"),
        ({"map_state_file": "a\nb"}, "must be a plain file name"),
    ],
)
def test_invalid_setting_is_named(given, named):
    with pytest.raises(ConfigurationError, match=named):
        GameConfiguration(**given)


@pytest.mark.parametrize(
    ("variable", "suggested"),
    [
        ("ZORKGPT_GAMPLAY__TURN_DELAY_SECONDS", "gameplay.turn_delay_seconds"),
        ("ZORKGPT_GAMEPLAY_ENABLE_CRITIC", "ZORKGPT_GAMEPLAY__ENABLE_CRITIC, with two underscores"),
    ],
)
def test_misspelled_variable_is_ignored_with_a_warning(variable, suggested, tmp_path, caplog):
    file = write(tmp_path / "pyproject.toml", "")
    config = GameConfiguration.load(pyproject=file, environment={variable: "1"})
    assert config == GameConfiguration()
    [warning] = caplog.messages
    assert f"'{variable}' is unknown" in warning
    assert suggested in warning


def test_variables_of_other_programs_are_ignored():
    assert GameConfiguration.load(environment={"ZORKGPT_ZORK1": "zork1.z5"}) == GameConfiguration.load(environment={})


@pytest.mark.parametrize("name", ["Memories.md", "memories.MD", "episode_log.jsonl", "Story.json", "best_line.json"])
def test_files_have_different_names(name):
    with pytest.raises(ConfigurationError, match="Two files of the working directory are named"):
        GameConfiguration(map_state_file=name)


def test_unknown_names_in_the_file_cause_one_warning(tmp_path, caplog):
    file = write(
        tmp_path / "pyproject.toml",
        "[tool.zorkgpt.memroy]\ndebug_ephemeral = true\n[tool.zorkgpt.retry]\nmax_retries = 5\n"
        "[tool.zorkgpt.gameplay]\nturn_delay = 3\nturn_delay_seconds = 1.5\n",
    )
    configs = [GameConfiguration.load(pyproject=file, environment={}) for _ in range(2)]
    assert configs == [GameConfiguration(turn_delay_seconds=1.5)] * 2
    [warning] = caplog.messages
    assert "'memroy' is unknown. Did you mean 'memory'?" in warning
    assert "'retry' is unknown. See docs/configuration.md" in warning
    assert "'gameplay.turn_delay' is unknown. Did you mean 'gameplay.turn_delay_seconds'?" in warning


def test_unknown_names_in_a_dict_cause_a_warning(caplog):
    config = GameConfiguration.from_config({"max_turn": 3, "memory": {"debug_ephmeral": True, "debug_ephemeral": True}})
    assert config == GameConfiguration(debug_ephemeral=True)
    [warning] = caplog.messages
    assert "'max_turn' is unknown. Did you mean 'max_turns_per_episode'?" in warning
    assert "'memory.debug_ephmeral' is unknown. Did you mean 'memory.debug_ephemeral'?" in warning


def test_invalid_value_in_the_file_is_an_error(tmp_path):
    file = write(tmp_path / "pyproject.toml", "[tool.zorkgpt]\nmax_turns_per_episode = 0\nother = 1\n")
    with pytest.raises(ConfigurationError, match="'orchestrator.max_turns_per_episode' is 0"):
        GameConfiguration.load(pyproject=file, environment={})


def test_file_that_is_not_toml_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml can't be read as TOML"):
        GameConfiguration.load(pyproject=write(tmp_path / "pyproject.toml", "[tool"), environment={})


def test_key_is_not_in_errors_or_text():
    with pytest.raises(ConfigurationError) as error:
        GameConfiguration(client_api_key=["sk-secret"])
    assert "sk-secret" not in str(error.value)
    assert "sk-secret" not in repr(GameConfiguration(client_api_key="sk-secret"))


@pytest.mark.parametrize(("window", "used", "warnings"), [(0, 3, 1), (-2, 3, 1), (1, 1, 0), (10, 10, 0), (11, 11, 1)])
def test_history_window_has_bounds(window, used, warnings, caplog):
    config = GameConfiguration(memory_history_window=window)
    with caplog.at_level(logging.WARNING):
        assert config.get_memory_history_window() == used
    assert len(caplog.records) == warnings

"""The managers and the state of an episode, as the specification shows them."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

import inspect
from pathlib import Path

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from managers.base import BaseManager
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.log import get_logger

LOGGER = get_logger("specification")


@pytest.fixture
def config(tmp_path: Path) -> GameConfiguration:
    return GameConfiguration(zork_game_workdir=str(tmp_path), room_description_age_window=10)


@pytest.fixture
def game_state() -> GameState:
    state = GameState()
    state.turn_count = 10
    state.current_room_id = 15
    state.current_room_name_for_map = "West of House"
    return state


@pytest.fixture
def context_manager(config: GameConfiguration, game_state: GameState) -> ContextManager:
    return ContextManager(LOGGER, config, game_state)


@pytest.mark.parametrize("manager", [MapManager, ContextManager, StateManager, SimpleMemoryManager])
def test_managers_share_attributes_and_lifecycle(manager: type, config: GameConfiguration, game_state: GameState):
    made = manager(LOGGER, config, game_state)
    assert isinstance(made, BaseManager)
    assert (made.logger, made.config, made.game_state) == (LOGGER, config, game_state)
    made.reset()
    made.process_periodic_update()
    status = made.get_status()
    assert set(status) == {"type", "metrics"}


@pytest.mark.parametrize("manager", [EpisodeSynthesizer, KnowledgeManager, ObjectiveManager])
def test_other_managers_take_the_same_arguments_first(manager: type):
    assert issubclass(manager, BaseManager)
    assert list(inspect.signature(manager).parameters)[:3] == ["logger", "config", "game_state"]


def test_reasoning_is_shown_with_the_responses(context_manager: ContextManager, game_state: GameState):
    assert context_manager.get_recent_reasoning_formatted() == ""
    for turn, action, response in ((47, "go north", "A forest."), (48, "examine trees", "Ordinary pine trees.")):
        context_manager.add_reasoning(turn=turn, reasoning=f"Try to {action}.", action=action)
        game_state.action_history.append((action, response))
    first = game_state.action_reasoning_history[0]
    assert (first["turn"], first["reasoning"], first["action"]) == (47, "Try to go north.", "go north")
    assert first["timestamp"].endswith("+00:00")
    expected = """## Previous Reasoning and Actions

Turn 47:
Reasoning: Try to go north.
Action: go north
Response: A forest.

Turn 48:
Reasoning: Try to examine trees.
Action: examine trees
Response: Ordinary pine trees."""
    assert context_manager.get_recent_reasoning_formatted(num_turns=3) == expected
    assert context_manager.get_recent_reasoning_formatted(num_turns=1).startswith(
        "## Previous Reasoning and Actions\n\nTurn 48:"
    )
    game_state.reset_episode(2)
    assert context_manager.get_recent_reasoning_formatted() == ""


@pytest.mark.parametrize(
    ("turn", "place", "age"), [(10, 15, 0), (12, 15, 2), (20, 15, 10), (21, 15, None), (12, 9, None)]
)
def test_room_description_is_in_both_contexts_while_it_is_recent(
    context_manager: ContextManager, game_state: GameState, turn: int, place: int, age: int | None
):
    game_state.last_room_description = "You are standing in an open field."
    game_state.last_room_description_turn = 10
    game_state.last_room_description_location_id = 15
    game_state.turn_count = turn
    agent = context_manager.get_agent_context("Taken.", ["lamp"], "West of House", place)
    critic = context_manager.get_critic_context("Taken.", "go north", "West of House", place)
    text = None if age is None else game_state.last_room_description
    for context in (agent, critic):
        assert (context.get("room_description"), context.get("room_description_age")) == (text, age)
        assert (context["game_state"], context["current_location"]) == ("Taken.", "West of House")
    assert (agent["inventory"], critic["proposed_action"]) == (["lamp"], "go north")


def test_agent_context_contains_the_objects_of_the_game(context_manager: ContextManager, zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        interface.send_command("open mailbox")
        interface.send_command("take leaflet")
        context = context_manager.get_agent_context(
            "Taken.", ["leaflet"], "West of House", 180, jericho_interface=interface
        )
    (leaflet,) = context["inventory_objects"]
    assert (leaflet["name"], leaflet["attributes"]["readable"]) == ("leaflet", True)
    mailbox = next(each for each in context["visible_objects"] if each["name"] == "small mailbox")
    assert (mailbox["attributes"]["container"], mailbox["attributes"]["open"]) == (True, True)
    assert "take" in context["action_vocabulary"]

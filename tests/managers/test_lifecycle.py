"""Tests of the life cycle that all managers share."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from managers.base import BaseManager
from managers.context_manager import ContextManager
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.state_manager import StateManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from tests.fixtures.runs import a_run, a_walkthrough
from tests.fixtures.walkthrough import get_bundled_walkthrough

pytestmark = pytest.mark.slow

MADE_OF_THREE = {
    "context": ContextManager,
    "knowledge": KnowledgeManager,
    "map": MapManager,
    "objective": ObjectiveManager,
    "progress": ProgressManager,
    "rejection": RejectionManager,
    "state": StateManager,
}
LIFECYCLE = ("reset", "process_turn", "process_periodic_update", "get_status")


@pytest.fixture(scope="module")
def turns(tmp_path_factory) -> list[TurnRecord]:
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path_factory.mktemp("run"), *commands, turns=len(commands)) as run:
        run.play_episode()
        return list(run.services.state.history.recent(len(commands)))


def live(workdir: Path, turns: list[TurnRecord], make: Callable[..., BaseManager]) -> tuple[BaseManager, GameState]:
    """Take a manager through an episode. Return it with its state."""
    state = GameState()
    manager = make(logging.getLogger("tests"), GameConfiguration(zork_game_workdir=str(workdir)), state)
    state.reset_episode(1)
    manager.reset()
    for record in turns:
        state.turn_count = record.turn
        state.add_experience(record)
        state.record(record)
        manager.process_turn(record)
        manager.process_periodic_update()
    return manager, state


@pytest.mark.parametrize("kind", MADE_OF_THREE)
def test_manager_works_alone(tmp_path, turns, kind):
    manager, state = live(tmp_path, turns, MADE_OF_THREE[kind])
    status = manager.get_status()
    assert list(status) == ["type", "metrics"]
    assert status["type"] == kind
    state.reset_episode(2)
    manager.reset()
    assert manager.get_status()["type"] == kind


def test_episode_parts_share_a_life_cycle(tmp_path):
    with a_run(tmp_path, turns=2) as run:
        run.play_episode()
        for manager in (*run.managers.in_order, run._episodes):
            assert [name for name in LIFECYCLE if not callable(getattr(manager, name, None))] == []
            assert list(manager.get_status()) == ["type", "metrics"]


def test_objectives_default_to_rules(tmp_path, turns):
    manager, _ = live(tmp_path, turns[:20], ObjectiveManager)
    assert manager.lines()


def test_knowledge_uses_processed_turns(tmp_path, turns):
    manager, _ = live(tmp_path, turns, KnowledgeManager)
    assert manager.synthesize_inter_episode_wisdom()
    _, insights = (tmp_path / "knowledgebase.md").read_text(encoding="utf-8").split("## CROSS-EPISODE INSIGHTS")
    played = len(get_bundled_walkthrough())
    assert f"Episode 1 scored 100 points in {played} turns, in this order: “" in insights

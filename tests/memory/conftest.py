"""Fixtures for tests of the memory."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import Answers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a memory file that does not exist yet."""
    return tmp_path / "Memories.md"


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=3, turn_count=12, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(home, state):
    def made(*answers):
        synthesizer = Answers(*answers)
        manager = home.open(logger=logging.getLogger("test"), game_state=state, synthesizer=synthesizer)
        # For assertions on the questions.
        manager.synthesizer = synthesizer
        return manager

    return made

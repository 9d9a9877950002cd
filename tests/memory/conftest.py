"""A memory to play with, and the running game that it asks."""

import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import Answers
from zorkgpt.memory.manager import SimpleMemoryManager


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=3, turn_count=12, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(tmp_path, state):
    def made(*answers):
        config = SimpleNamespace(zork_game_workdir=tmp_path)
        return SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=Answers(*answers))

    return made

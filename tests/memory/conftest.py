"""A memory to play with, and the running game that it asks."""

import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import Answers


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=3, turn_count=12, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(home, state):
    def made(*answers):
        synthesizer = Answers(*answers)
        manager = home.open(logger=logging.getLogger("test"), game_state=state, synthesizer=synthesizer)
        # For assertions on the questions that were asked.
        manager.synthesizer = synthesizer
        return manager

    return made

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
        return home.open(logger=logging.getLogger("test"), game_state=state, synthesizer=Answers(*answers))

    return made

"""The settings of the memory, as read from any object."""

import logging

import pytest

from session.game_configuration import GameConfiguration
from zorkgpt.memory.settings import checked_window, settings_of


def test_an_object_without_settings_gets_the_defaults_of_the_configuration():
    assert settings_of(object(), provider="auto") == settings_of(GameConfiguration())


@pytest.mark.parametrize(
    ("given", "used", "warning"),
    [
        (1, 1, ""),
        (10, 10, ""),
        (0, 3, "memory_history_window is under 1"),
        (-1, 3, "memory_history_window is under 1"),
        (11, 11, "memory_history_window is over 10, so every prompt is long"),
        (None, 3, ""),
        (True, 3, ""),
    ],
)
def test_the_window_is_at_least_one_turn(given, used, warning, caplog):
    with caplog.at_level(logging.WARNING):
        assert checked_window(given) == used
    assert caplog.messages == [warning] * bool(warning)

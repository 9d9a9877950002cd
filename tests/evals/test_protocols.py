"""Tests of protocol names."""

from dataclasses import FrozenInstanceError

import pytest

from zorkgpt.errors import ConfigurationError
from zorkgpt.evals.protocols import FIXED, protocol_named


def test_published_protocols():
    settings = {
        protocol.name: (protocol.episodes, protocol.turns, protocol.headline, protocol.reseeds, protocol.restarts)
        for protocol in FIXED
    }
    assert settings == {
        "tales-100": (1, 100, "best", False, True),
        "textquests-500": (1, 500, "best", False, False),
        "jericho-1000": (1, 1000, "area", False, False),
        "jttl-50": (50, 110, "area", True, False),
    }
    assert len(next(protocol for protocol in FIXED if protocol.name == "jericho-1000").seeds) == 3


def test_learning_protocol_takes_its_length_from_its_name():
    usual, short = protocol_named("learning-5"), protocol_named("learning-8x200")
    assert (usual.episodes, usual.turns, usual.max_turns) == (5, 300, 1500)
    assert (short.name, short.episodes, short.turns) == ("learning-8x200", 8, 200)


def test_only_jttl_changes_the_seed_per_episode():
    jttl, learning = protocol_named("jttl-50"), protocol_named("learning-3")
    assert [jttl.seed_of(7, episode) for episode in (1, 2, 50)] == [7, 8, 56]
    assert [learning.seed_of(7, episode) for episode in (1, 2, 3)] == [7, 7, 7]


@pytest.mark.parametrize("name", ["", "jttl", "learning-0", "learning-2x0", "learning--1", "learning-5x", "jttl-50 "])
def test_unknown_protocol_is_refused(name):
    with pytest.raises(ConfigurationError, match="tales-100, textquests-500, jericho-1000, jttl-50, learning-K"):
        protocol_named(name)


def test_protocol_is_frozen():
    with pytest.raises(FrozenInstanceError):
        protocol_named("jttl-50").turns = 5

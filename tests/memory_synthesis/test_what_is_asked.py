"""Which turns of whole games are asked about: none of those that matter is left out."""

import pytest

from benchmarks.triggers import episodes, first_refusals
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough

pytestmark = pytest.mark.slow


def test_every_turn_that_matters_of_a_whole_game_is_asked_about(zork1):
    commands = get_zork1_walkthrough()
    (first,) = episodes(str(zork1), ZORK1_SEED, 1, len(commands), commands)
    eventful = [turn for turn in first if turn.eventful]
    sights = [turn for turn in first if turn.first_sight]
    assert [turn.record.transition.action for turn in eventful if not turn.asked] == []
    assert [turn.record.transition.action for turn in sights if turn.questions < 2] == []
    assert (len(eventful) >= 110, len([turn for turn in sights if not turn.eventful]) >= 79) == (True, True)


def test_every_first_refusal_of_the_offline_player_is_asked_about():
    played = episodes(None, 1, 2, 400, None)
    assert [turn.record.transition.action for turn in first_refusals(played) if not turn.asked] == []

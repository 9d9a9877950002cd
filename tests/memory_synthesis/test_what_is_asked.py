"""Which turns of whole games are asked about: fewer by the episode, and none of those that matter left out."""

import pytest

from benchmarks.triggers import episodes, first_refusals
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough

pytestmark = pytest.mark.slow


def share(turns):
    return sum(turn.asked for turn in turns) / len(turns)


def test_every_turn_that_matters_of_a_whole_game_is_asked_about(zork1):
    commands = get_zork1_walkthrough()
    first, second = episodes(str(zork1), ZORK1_SEED, 2, len(commands), commands, only_once=True)
    eventful = [turn for turn in first if turn.eventful]
    sights = [turn for turn in first if turn.first_sight]
    assert [turn.record.transition.action for turn in eventful if not turn.asked] == []
    assert [turn.record.transition.action for turn in sights if turn.questions < 2] == []
    assert (len(eventful) >= 110, len([turn for turn in sights if not turn.eventful]) >= 79) == (True, True)
    assert share(second) < 0.25 < share(first)


def test_the_offline_player_asks_less_and_less_and_every_first_refusal():
    played = episodes(None, 1, 5, 400, None, only_once=True)
    assert [turn.record.transition.action for turn in first_refusals(played) if not turn.asked] == []
    assert share(played[-1]) <= 0.25 < share(played[0])

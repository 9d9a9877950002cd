"""Tests of which turns of whole games are asked about."""

import pytest

from benchmarks.memory_questions import questions
from benchmarks.triggers import episodes, first_refusals
from tests.fixtures.walkthrough import ZORK1_SEED, bundled_story_path, get_bundled_walkthrough, get_zork1_walkthrough

pytestmark = pytest.mark.slow


def test_important_turns_of_a_whole_game_are_asked_about(zork1):
    commands = get_zork1_walkthrough()
    (first,) = episodes(str(zork1), ZORK1_SEED, 1, len(commands), commands)
    eventful = [turn for turn in first if turn.eventful]
    sights = [turn for turn in first if turn.first_sight]
    assert [turn.record.transition.action for turn in eventful if not turn.asked] == []
    assert [turn.record.transition.action for turn in sights if not turn.asked] == []
    assert (len(eventful) >= 110, len([turn for turn in sights if not turn.eventful]) >= 79) == (True, True)


def test_first_refusals_of_the_rules_player_are_asked_about():
    refusals = first_refusals(episodes(None, 1, 2, 200, None))
    assert len(refusals) > 40
    assert [turn.record.transition.action for turn in refusals if not turn.asked] == []


@pytest.mark.parametrize(
    ("story", "most"),
    [("bundled", (65, 29)), ("zork1", (49, 9))],
)
def test_known_outcomes_are_not_asked_about(story, most, request):
    if story == "zork1":
        path, commands, seed = request.getfixturevalue("zork1"), get_zork1_walkthrough()[:90], ZORK1_SEED
    else:
        path, commands, seed = bundled_story_path(), get_bundled_walkthrough(), 1
    first, second = questions(path, commands, seed, 2)
    assert (len(first) <= most[0], len(second) <= most[1]) == (True, True)
    for question in (*first, *second):
        assert "\n- You carry " in question.user or ": carried" in question.user
    for session in (first, second):
        turns = [question.record.turn for question in session if question.record]
        assert len(turns) == len(set(turns))

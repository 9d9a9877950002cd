"""Tests of checking proposals against what was seen."""

import pytest

from tests.fixtures.objectives import THINGS, at, known
from zorkgpt.objectives.finder import NewObjective
from zorkgpt.objectives.models import Condition, ConditionKind, EpisodeTurn, Objective, Scope

NOW = EpisodeTurn(1, 15)


def of(text: str = "Do it", *, seen=None, **proposal) -> Objective | None:
    return NewObjective(text=text, **proposal).objective(seen or known(), NOW)


def test_thing_can_be_named_by_number_or_name():
    by_number = of("Take the lamp", kind="holds", thing=10, scope="world", places=[1, "Cellar", 99])
    assert by_number == Objective(
        "Take the lamp",
        Condition(ConditionKind.HOLDS, thing=10, text="you carry the brass lamp"),
        NOW,
        Scope.WORLD,
        places=(1, 2),
        progressed=15,
    )
    assert of(kind="holds", thing=" Brass LAMP ").condition == by_number.condition
    assert of(kind="holds", thing="10").condition == by_number.condition


@pytest.mark.parametrize(
    "proposal",
    [
        {"kind": "holds", "thing": 77},
        {"kind": "holds", "thing": "golden crown"},
        {"kind": "holds", "thing": None},
        {"kind": "holds", "thing": 1},
        {"kind": "opened", "thing": "²"},
        {"kind": "visited", "place": 99},
        {"kind": "at", "place": "Nowhere"},
        {"kind": "thing_at", "thing": 10, "place": 99},
        {"kind": "thing_at", "thing": 10, "place": 10},
        {"kind": "way_tried", "place": 1, "way": " "},
        {"kind": "way_tried", "place": 99, "way": "north"},
        {"kind": "score", "points": None},
        {"kind": "score", "points": -5},
        {"kind": "score", "points": 101},
        {"kind": "something else"},
    ],
    ids=str,
)
def test_condition_on_something_unseen_becomes_words(proposal):
    assert of("Do it", done_when="The game says so.", **proposal).condition == Condition(
        ConditionKind.TEXT, text="The game says so."
    )


def test_ambiguous_name_is_not_resolved():
    twins = known(things=THINGS | {12: "Brass Lamp"})
    assert of(kind="holds", thing="brass lamp", seen=twins).condition.kind is ConditionKind.TEXT
    assert of(kind="holds", thing=12, seen=twins).condition.thing == 12


@pytest.mark.parametrize(
    "proposal",
    [
        {"kind": "at", "place": 1},
        {"kind": "visited", "place": 1},
        {"kind": "thing_at", "thing": 10, "place": 1},
        {"text": "  \n "},
        {"text": "?!"},
    ],
    ids=str,
)
def test_reached_or_empty_proposal_is_dropped(proposal):
    assert of(**proposal) is None


def test_score_that_is_reached_is_no_objective():
    assert of(kind="score", points=10, seen=known(now=at(score=25))) is None
    assert of(kind="score", points=35, scope="world", seen=known(now=at(score=25))).condition.points == 35


def test_equal_objectives_have_the_same_key():
    same = [of("Take the lamp", kind="holds", thing=10), of("Get light!", kind="holds", thing="brass lamp")]
    ways = [of(kind="way_tried", place=1, way="north"), of(kind="way_tried", place=1, way=" North")]
    words = [of("Find out who lives here."), of("find out WHO lives here", done_when="Somebody answers.")]
    for first, other in (same, ways, words):
        assert first.key == other.key
    assert len({pair[0].key for pair in (same, ways, words)}) == 3


def test_long_text_becomes_a_short_line():
    one = of("Look\n\n# at this\n" * 15, done_when="x " * 150)
    assert "\n" not in one.text
    assert len(one.text) <= 200
    assert len(one.condition.text) <= 200

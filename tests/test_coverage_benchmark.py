"""Tests of the coverage benchmark."""

from dataclasses import replace

import pytest

from benchmarks.coverage import Death, Run, VisitedPlace, dangers, play, table, uncovered
from game_interface.models import Location
from tests.fixtures import own_stories
from tests.fixtures.turns import KITCHEN, a_turn
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.losses import LossCause
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import LocatedMemory

ATTIC = Location(6, "Attic")


def memory(where: int, category: str = "NOTE", action: str = "", claims: tuple[Claim, ...] = ()) -> LocatedMemory:
    kept = Memory(category, f"{action} at {where}", 1, "1", 0, "A text.", "permanent", action=action, claims=claims)
    return LocatedMemory(where, "", kept)


def test_place_is_covered_by_its_memories_and_things():
    places = [
        VisitedPlace(1, "Attic"),
        VisitedPlace(2, "Barn", visible={20: "hat"}),
        VisitedPlace(3, "Cellar", visible={30: "cask"}),
    ]
    believed = [memory(1, claims=(Claim(Relation.HERE, 20, "hat"),))]

    assert uncovered(places, believed) == [places[2]]


def test_danger_survived_three_times_is_not_useful():
    believed = [
        memory(KITCHEN.num, "DANGER", "eat cake"),
        memory(ATTIC.num, "DANGER", "eat cake"),
        memory(KITCHEN.num, "DANGER", "go down", (Claim(Relation.DARK),)),
        memory(KITCHEN.num, "NOTE", "eat cake"),
    ]
    records = [a_turn(1, "eat cake", died=True), *(a_turn(number, "Eat  cake") for number in (2, 3, 4))]
    records += [a_turn(number, "eat cake", place=ATTIC) for number in (5, 6)]
    records += [a_turn(number, "go down") for number in (7, 8, 9)]

    count, in_vain = dangers(believed, records)

    assert count == 3
    assert [line.partition(" (")[2] for line in in_vain] == ["survived 3, died 1)"]


def test_death_is_repeated_only_after_the_previous_episode():
    run = Run("a story", 1, deaths=[Death(episode, 9, 5, "Kitchen", "eat cake") for episode in (1, 2, 4)])

    assert [death.episode for death in run.repeated] == [2]


@pytest.mark.parametrize(
    ("cause", "same", "other"),
    [
        (LossCause.CREATURE, {"place": 6, "action": "wait"}, {"creature": 8}),
        (LossCause.PLACE, {"action": "wait", "creature": None}, {"place": 6}),
        (LossCause.CLOCK, {"place": 6, "action": "wait"}, {"sentence": "You starve."}),
        (LossCause.ACTION, {"creature": None}, {"action": "wait"}),
    ],
)
def test_death_is_repeated_by_the_same_cause(cause, same, other):
    first = Death(1, 9, 5, "Kitchen", "eat cake", cause, 7, "You fall.")

    assert Run("a story", 1, deaths=[first, replace(first, episode=2, **same)]).repeated
    assert not Run("a story", 1, deaths=[first, replace(first, episode=2, **other)]).repeated


def test_small_story_is_covered():
    run = play(str(own_stories.compiled("lantern")), 1, 2, 20)

    assert len(run.kb) == len(run.scores) == 2
    assert 0 < run.covered[-1] == run.visited[-1] - len(run.uncovered)
    assert [row[0] for row in table([run], 2)["rows"]] == ["lantern", "all"]

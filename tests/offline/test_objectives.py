"""Tests of objectives found by rules."""

from dataclasses import replace

import pytest

from tests.fixtures.objectives import CELLAR, CHEST, HALL, LAMP, at, known, turn, wanted
from zorkgpt.memory.models import Memory
from zorkgpt.objectives.finder import Situation
from zorkgpt.objectives.models import ObjectiveStatus, Scope
from zorkgpt.offline.objectives import RuleObjectiveFinder

EMPTY = at(visible=())


def situation(*turns, **changed) -> Situation:
    made = {"episode": 2, "turn": 15, "known": known(), "turns": turns or (turn(15, before=EMPTY),)}
    return Situation(**made | changed)


def texts(finder: RuleObjectiveFinder, seen: Situation) -> list[str]:
    discovery = finder.discover(seen)
    assert discovery.reached == ()
    assert {objective.scope for objective in discovery.new} <= {Scope.WORLD}
    return [objective.text for objective in discovery.new]


def test_untried_exits_nearest_first():
    seen = situation(untried={2: ("up",), 1: ("north", "south"), 3: ("west",)})
    assert texts(RuleObjectiveFinder(), seen) == [
        "Try up from Cellar",
        "Try north from Hall",
    ]


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ({}, ["Take brass lamp", "Take oak chest"]),
        ({"carried": {LAMP.num}}, ["Take oak chest"]),
        ({"objectives": (wanted("Light", kind="holds", thing=10),)}, ["Take oak chest"]),
        ({"settled": (wanted("Light", kind="holds", thing=10),)}, ["Take oak chest"]),
    ],
)
def test_seen_things_that_were_not_taken(seen, found):
    assert texts(RuleObjectiveFinder(), situation(turn(14), **seen)) == found


def test_fixed_things_are_no_objective():
    attributes = {CHEST.num: {"takeable": False, "openable": True, "open": False}, LAMP.num: {"takeable": True}}
    finder = RuleObjectiveFinder(attributes_of=lambda thing: attributes[thing])
    assert texts(finder, situation(turn(14))) == ["Take brass lamp", "Open oak chest"]


def test_refused_actions():
    seen = situation(turn(13, "take the lamp"), turn(14, "open chest"), turn(15, "unlock chest"))
    assert texts(RuleObjectiveFinder(), seen) == ["Take oak chest", "Open oak chest"]


def scored(action: str, episode: int) -> Memory:
    return Memory("SUCCESS", f"{action}: +5 points", episode, "4", 5, "Done.", "permanent", action=action)


def test_scores_of_earlier_episodes():
    kept = {1: [scored("take lamp", 1)], 2: [scored("dig", 2)]}
    finder = RuleObjectiveFinder(lambda place: kept.get(place, ()))
    assert texts(finder, situation()) == ["Score at Hall again with “take lamp”"]
    assert texts(finder, situation(scored={1})) == []


def test_refining_keeps_points_before_things_before_exits():
    way = wanted("Try north", kind="way_tried", place=1, way="north")
    stale = replace(wanted("Take the chest", kind="holds", thing=11), status=ObjectiveStatus.STALE)
    take = wanted("Take the lamp", kind="holds", thing=10)
    points = wanted("Score in the cellar", kind="scored_at", place=2)
    seen = situation(objectives=(way, stale, take, points))
    kept = {most: RuleObjectiveFinder().discover(replace(seen, most=most)).kept for most in (None, 2, 9)}
    assert kept == {None: (), 2: (points.key, take.key), 9: (points.key, take.key, way.key)}


def test_refused_command_yields_no_objective():
    seen = situation(turn(15, "look", before=at(CELLAR), after=at(HALL), refused="Not now."))
    assert texts(RuleObjectiveFinder(), seen) == []

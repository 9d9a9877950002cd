"""Tests of when an objective is reached, according to the game state."""

import pytest

from game_interface.models import Item, Location
from tests.fixtures.objectives import CELLAR, CHEST, LAMP, a_book, at, seen_on, turn, walked, wanted
from tests.fixtures.walkthrough import turn_of
from zorkgpt.memory.objects import AttributeChange, ObjectMove
from zorkgpt.objectives.finder import SeenWorld
from zorkgpt.objectives.models import ObjectiveStatus


def ended(records, kind: str, **proposal) -> tuple[ObjectiveStatus, list[int]]:
    """Return status and turns of evidence of an objective that exists from the start."""
    rooms, things = seen_on(records)
    seen = SeenWorld(records[0].transition.before, rooms, things, (), 100)
    one = wanted("Do it", kind=kind, seen=seen, **proposal)
    assert one.condition.checkable
    tracker = a_book(one, stale_after=1000)
    for record in records:
        tracker.update(record)
    after = tracker.objectives[one.key]
    return after.status, [shown.turn.turn for shown in after.evidence]


BACK_IN_THE_HALL = ("fill bottle", "south", "south")
"""The way to the open chest, into which the bead and the handbell then go by themselves."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("proposal", "landmarks"),
    [
        ({"kind": "holds", "thing": "storm lamp"}, ("take lamp",)),
        ({"kind": "holds", "thing": "tide glass"}, ("take tide glass",)),
        ({"kind": "holds", "thing": "brine"}, ("fill bottle",)),
        ({"kind": "opened", "thing": "small window"}, ("open window",)),
        ({"kind": "opened", "thing": "oak door"}, ("open oak door",)),
        ({"kind": "thing_at", "thing": "amber bead", "place": "sea chest"}, BACK_IN_THE_HALL),
        ({"kind": "thing_at", "thing": "tide glass", "place": "sea chest"}, ("take tide glass", "down")),
        ({"kind": "thing_at", "thing": "silver handbell", "place": "Hall"}, BACK_IN_THE_HALL),
        ({"kind": "scored_at", "place": "Salt Gallery"}, ("take salt rose",)),
        ({"kind": "scored_at", "place": "Toll Arch"}, ("pour brine on troll",)),
        ({"kind": "way_tried", "place": "Toll Arch", "way": "N"}, ("pour brine on troll", "north")),
        ({"kind": "visited", "place": "Strongroom"}, ("say ebbandry", "east")),
        ({"kind": "at", "place": "Counting Room"}, ("open chest", "west")),
        ({"kind": "score", "points": 50}, BACK_IN_THE_HALL),
        ({"kind": "score", "points": 100}, ("take tide glass", "down")),
    ],
    ids=str,
)
def test_walkthrough_reaches_objectives_in_the_right_turn(proposal, landmarks):
    records = walked()
    number = turn_of([record.transition.action for record in records], *landmarks)
    assert ended(records, **proposal) == (ObjectiveStatus.REACHED, [number])


@pytest.mark.parametrize(
    "proposal",
    [
        {"kind": "holds", "thing": "sea chest"},
        {"kind": "opened", "thing": "front door"},
        {"kind": "thing_at", "thing": "storm lamp", "place": "sea chest"},
        {"kind": "thing_at", "thing": "storm lamp", "place": "Hall"},
        {"kind": "way_tried", "place": "Hall", "way": "east"},
        {"kind": "scored_at", "place": "Culvert"},
    ],
    ids=str,
)
def test_unachieved_objectives_are_never_reached(proposal):
    assert ended(walked(), **proposal) == (ObjectiveStatus.OPEN, [])


def test_events_out_of_sight_reach_nothing():
    # A bird flies from place to place by itself, and the walkthrough never sees it.
    records = walked()
    flights = [move for record in records for move in record.transition.moved if move.name == "jackdaw"]
    assert len(flights) > 20
    for flight in {flight.destination_number: flight for flight in flights}.values():
        place = flight.destination_number
        seen = SeenWorld(at(), {place: flight.destination}, {flight.number: flight.name}, (), 100)
        one = wanted("Meet it", kind="thing_at", thing=flight.number, place=place, seen=seen)
        tracker = a_book(one, stale_after=1000)
        for record in records:
            tracker.update(record)
        assert tracker.objectives[one.key].status is ObjectiveStatus.OPEN


def test_refused_command_reaches_nothing():
    tracker = a_book(wanted("Go down", kind="way_tried", place=1, way="down"))
    tracker.update(turn(1, "down", refused="Not now."))
    tracker.update(turn(2, "down", fault="It hung."))
    assert [objective.status for objective in tracker.pursued()] == [ObjectiveStatus.OPEN]
    tracker.update(turn(3, "go d"))
    assert tracker.pursued() == []


def test_thing_is_where_its_container_is():
    inside = Item(12, "coin", CHEST.num)
    coin = wanted("Leave the coin", kind="thing_at", thing=12, place=11, seen=_with(inside))
    tracker = a_book(coin)
    tracker.update(turn(1, "put coin in chest", before=at(carried=[inside]), after=at(visible=(CHEST, inside))))
    assert tracker.objectives[coin.key].status is ObjectiveStatus.REACHED


def _with(item: Item) -> SeenWorld:
    return SeenWorld(at(), {1: "Hall"}, {CHEST.num: CHEST.name, item.num: item.name}, {1}, 100)


def test_unknown_state_reaches_nothing():
    tracker = a_book(wanted("Get ten points", kind="score", points=10), wanted("Take the lamp", kind="holds", thing=10))
    unknown = type(at())(None, None, None, None, None, None)
    tracker.update(turn(1, before=unknown, after=unknown))
    assert [objective.status for objective in tracker.pursued()] == [ObjectiveStatus.OPEN, ObjectiveStatus.OPEN]


def test_unknown_attribute_is_not_an_opening():
    one = wanted("Open the chest", kind="opened", thing=11)
    tracker = a_book(one)
    tracker.update(turn(1, changed=(AttributeChange(CHEST.num, CHEST.name, "attribute 11", True),)))
    tracker.update(turn(2, changed=(AttributeChange(CHEST.num, CHEST.name, "open", False),)))
    assert tracker.objectives[one.key].status is ObjectiveStatus.OPEN
    tracker.update(turn(3, changed=(AttributeChange(CHEST.num, CHEST.name, "open", True),)))
    assert tracker.objectives[one.key].status is ObjectiveStatus.REACHED


def test_thing_moved_out_of_sight_is_not_there():
    one = wanted("Have the lamp in the cellar", kind="thing_at", thing=10, place=2)
    tracker = a_book(one)
    away = ObjectMove(LAMP.num, LAMP.name, None, "nowhere", CELLAR.num, "Cellar")
    tracker.update(turn(1, before=at(Location(3, "Attic"), visible=()), moved=(away,)))
    assert tracker.objectives[one.key].status is ObjectiveStatus.OPEN


def test_points_elsewhere_reach_no_local_objective():
    tracker = a_book(
        wanted("Score here", kind="scored_at", place=1), wanted("Ring", kind="scored_at", place=1, way="ring bell")
    )
    tracker.update(turn(1, "down", after=at(CELLAR, score=25)))
    tracker.update(turn(2, "wait", before=at(score=25), after=at(score=30)))
    assert [objective.status for objective in tracker.objectives.values()] == [
        ObjectiveStatus.REACHED,
        ObjectiveStatus.OPEN,
    ]
    tracker.update(turn(3, "Ring  bell", before=at(score=30), after=at(score=35)))
    assert [objective.status for objective in tracker.objectives.values()] == [ObjectiveStatus.REACHED] * 2

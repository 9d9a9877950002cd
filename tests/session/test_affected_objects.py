"""Tests of which objects an action affected."""

from dataclasses import replace

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import affected_objects, had_effect
from zorkgpt.memory.objects import AttributeChange, ObjectMove

HALL, YARD = Location(1, "Hall"), Location(2, "Yard")
DOOR, CAT = Item(7, "oak door", 0), Item(9, "sleepy cat", 2)
NOW = Observation(HALL, (), (), (), score=0, moves=0)
OPENED = AttributeChange(DOOR.num, DOOR.name, "open", True)


def test_named_object_without_a_room_is_affected():
    step = Transition(NOW, "open door", "The door opens.", NOW, changed=(OPENED,))
    assert affected_objects(step) == (Item(7, "oak door"),)
    assert had_effect(step)


def test_spontaneous_changes_are_not_effects():
    wandered = ObjectMove(CAT.num, CAT.name, 2, "Yard", 3, "Lane", by_itself=True)
    step = Transition(NOW, "push wall", "Nothing.", NOW, moved=(wandered,))
    assert affected_objects(step) == ()
    assert not had_effect(step)


def test_walk_affects_nothing_but_score_and_inventory():
    walked = Transition(NOW, "north", "Yard", replace(NOW, location=YARD), changed=(OPENED,))
    assert not had_effect(walked)
    assert had_effect(replace(walked, after=replace(NOW, location=YARD, score=5)))
    assert had_effect(replace(walked, after=replace(NOW, location=YARD, inventory=(CAT,))))

"""Whether an action did anything, by ground truth."""

from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import failed, is_passive, moved_or_had_effect, world_changed
from zorkgpt.memory.objects import AttributeChange, ObjectMove

LAMP, CAT = Item(7, "lamp", 1), Item(9, "sleepy cat", 2)
HERE = Observation(Location(1, "Here"), (), (LAMP,), (), score=0, moves=1)
REMOVED = ObjectMove(LAMP.num, LAMP.name, None, "nowhere", None, "nowhere")
NOTHING = Transition(before=HERE, action="push wall", response="Nothing.", after=replace(HERE, moves=2))


def test_an_action_that_changes_nothing_failed():
    assert failed(NOTHING)


@pytest.mark.parametrize("action", ["look", "x lamp", "Examine lamp", "wait", "z", "inventory", "read sign", ""])
def test_looking_and_waiting_never_fail(action):
    assert is_passive(action)
    assert not failed(replace(NOTHING, action=action))


@pytest.mark.parametrize(
    "change",
    [
        {"after": replace(HERE, location=Location(2, "There"))},
        {"after": replace(HERE, score=5)},
        {"after": replace(HERE, inventory=(LAMP,))},
        {"after": replace(HERE, vehicle=Location(9, "boat"))},
        {"moved": (REMOVED,)},
        {"changed": (AttributeChange(LAMP.num, LAMP.name, "on", True),)},
        {"died": True},
        {"finished": True},
    ],
)
def test_what_the_action_changed_is_an_outcome(change):
    assert not failed(replace(NOTHING, **change))


def test_what_comes_about_by_itself_is_no_outcome():
    wandered = ObjectMove(CAT.num, CAT.name, 2, "Yard", 3, "Lane", by_itself=True)
    assert failed(replace(NOTHING, moved=(wandered,)))
    assert failed(replace(NOTHING, changed=(AttributeChange(CAT.num, CAT.name, "awake", True, by_itself=True),)))


def test_what_the_action_changed_in_another_room_is_an_outcome():
    opened = AttributeChange(9, "far gate", "open", True)
    assert not failed(replace(NOTHING, changed=(opened,)))


def test_what_changed_something_that_has_no_name_did_not_fail():
    step = replace(NOTHING, unnamed_change=True)
    assert not failed(step)
    assert moved_or_had_effect(step)
    assert world_changed(step)


def test_where_the_story_does_not_tell_what_is_in_sight_any_change_is_an_outcome():
    unknown = replace(HERE, location=None, inventory=None, carried=None, visible=None)
    step = replace(NOTHING, before=unknown, after=unknown, moved=(REMOVED,))
    assert not failed(step)

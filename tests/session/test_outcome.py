"""Tests of whether an action had an effect."""

from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import failed, is_passive, moved_or_had_effect, world_changed
from zorkgpt.memory.objects import AttributeChange, ObjectMove

LAMP, CAT = Item(7, "lamp", 1), Item(9, "sleepy cat", 2)
HERE = Observation(Location(1, "Here"), (), (LAMP,), (), score=0, moves=1)
REMOVED = ObjectMove(LAMP.num, LAMP.name, None, "nowhere", None, "nowhere")
NOTHING = Transition(before=HERE, action="push wall", response="Nothing.", after=replace(HERE, moves=2))


def test_action_without_a_change_failed():
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
def test_changes_by_the_action_are_effects(change):
    assert not failed(replace(NOTHING, **change))


def test_spontaneous_changes_are_not_effects():
    wandered = ObjectMove(CAT.num, CAT.name, 2, "Yard", 3, "Lane", by_itself=True)
    assert failed(replace(NOTHING, moved=(wandered,)))
    assert failed(replace(NOTHING, changed=(AttributeChange(CAT.num, CAT.name, "awake", True, by_itself=True),)))


def test_changes_in_another_room_are_effects():
    opened = AttributeChange(9, "far gate", "open", True)
    assert not failed(replace(NOTHING, changed=(opened,)))


def test_unnamed_change_is_not_a_failure():
    step = replace(NOTHING, unnamed_change=True)
    assert not failed(step)
    assert moved_or_had_effect(step)
    assert world_changed(step)


def test_any_change_is_an_effect_if_visible_things_are_unknown():
    unknown = replace(HERE, location=None, inventory=None, carried=None, visible=None)
    step = replace(NOTHING, before=unknown, after=unknown, moved=(REMOVED,))
    assert not failed(step)

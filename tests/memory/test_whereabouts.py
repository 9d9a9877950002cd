"""What a memory says about where a thing lies, and whether the agent has put it there."""

import pytest

from zorkgpt.memory.models import ObjectMoved, ZMachineContext
from zorkgpt.memory.whereabouts import Handled, says_where

HALL, KITCHEN, PLAYER, CASE = 5, 6, 1, 9


@pytest.mark.parametrize(
    "text",
    [
        "The sword is in the Kitchen.",
        "Sword lies here.",
        "There is a sword on the table.",
        "You can find the elvish sword in the Kitchen.",
        "Sword in Kitchen",
        "I left the sword here.",
        "On the table lies the elvish sword.",
        "It is dark. The sword was dropped at this spot.",
    ],
)
def test_a_plain_statement_says_where_a_thing_lies(text):
    assert says_where(text, "elvish sword")


@pytest.mark.parametrize(
    "text",
    [
        "If the sword is in the case the score rises.",
        "The sword glows when the troll is near.",
        "The sword is now on.",
        "The rusty sword is in the attic.",
        "The jackdaw sees the sword in your hand.",
        "The sword does not fit in the case.",
        "A troll is here.",
        "",
    ],
)
def test_rules_and_other_things_do_not(text):
    assert not says_where(text, "elvish sword")


def moved(origin, destination, at, *, carried):
    held = ("elvish sword",)
    return ZMachineContext(
        location_before=at,
        inventory_before=() if carried else held,
        inventory_after=held if carried else (),
        moved=(ObjectMoved(20, "elvish sword", origin, "origin", destination, "destination"),),
    )


TAKEN = moved(HALL, PLAYER, HALL, carried=True)
DROPPED = moved(PLAYER, KITCHEN, KITCHEN, carried=False)


@pytest.mark.parametrize(
    ("turns", "place", "expected"),
    [
        ([TAKEN], HALL, None),
        ([TAKEN, DROPPED], KITCHEN, "elvish sword"),
        ([TAKEN, DROPPED, moved(KITCHEN, PLAYER, KITCHEN, carried=True)], KITCHEN, "elvish sword"),
        ([TAKEN, moved(PLAYER, CASE, HALL, carried=False)], HALL, "elvish sword"),
        ([TAKEN, moved(PLAYER, HALL, HALL, carried=False)], HALL, None),
    ],
    ids=["where it began", "dropped elsewhere", "taken up again", "in another thing", "put back"],
)
def test_the_agent_s_own_doing_is_known_from_the_object_tree(turns, place, expected):
    handled = Handled()
    for turn in turns:
        handled.note("do something", turn)
    assert handled.put_there(place, "The sword is here.") == expected


def test_what_others_carry_about_is_not_the_agent_s_doing():
    handled = Handled()
    theft = ZMachineContext(location_before=HALL, moved=(ObjectMoved(20, "elvish sword", KITCHEN, "", 30, "thief"),))
    handled.note("wait", theft)
    assert 20 not in handled
    handled.note("push sword", theft)
    assert handled.numbers() == {20}

"""Tests of exits and directions in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.directions import DIRECTIONS, exits_in, exits_opened


@pytest.mark.parametrize(
    ("text", "exits"),
    [
        ("A sunken lane leads north, between banks. South, the causeway goes back.", ("north", "south")),
        ("Paths lead southwest to the yard and south-east to the orchard.", ("southwest", "southeast")),
        ("Southward the water bends towards a sluice.", ("south",)),
        ("A passage leads to the west and a dark staircase can be seen leading upward.", ("west", "up")),
        ("A dark chimney leads down and to the east is a small window which is open.", ("east", "down")),
        ("There is an ascending staircase to the west.", ("west", "up")),
        ("In the middle of the floor is a trap door, shut.", ("down",)),
        ("Above you is more cliff, which appears climbable.", ("up",)),
        ("A large tree with some low branches stands here.", ("up",)),
        ("In one corner of the house there is a small window which is slightly ajar.", ("in",)),
        ("The only path leads out.", ("out",)),
        ("You are on the south edge of a canyon.", ()),
        ("You are standing in an open field west of a white house.", ()),
        ("A cobbled yard on the west side of the house.", ()),
        ("On the east wall is an inscription. The west wall is solid granite.", ()),
        ("A narrow stairway leads down at the north end of the room.", ("north", "down")),
        ("To the east, the wall of the church breaks the wind.", ()),
        ("Growling, the dog follows you to the East Side of the Church.", ()),
        ("There is no path to the east.", ()),
        ("The cliffs are stretching from north to south.", ()),
        ("A path runs from north to south.", ("north", "south")),
        ("A jackdaw comes down out of the sky.", ()),
        ("", ()),
    ],
)
def test_exits_in_a_description(text, exits):
    assert exits_in(text) == exits


@pytest.mark.parametrize(
    ("text", "exits"),
    [
        ("The door reluctantly opens to reveal a rickety staircase descending into darkness.", ("down",)),
        ("With great effort, you open the window far enough to allow entry.", ("in",)),
        ("You can't go north.", ()),
        ("The troll steps to the east.", ()),
    ],
)
def test_opened_exits_in_a_response(text, exits):
    assert exits_opened(text) == exits


@given(st.text() | st.lists(st.sampled_from([*DIRECTIONS, "of", "the", "wall", "leads", "."])).map(" ".join))
def test_exits_are_sorted_directions(text):
    found = exits_in(text)
    assert [way for way in DIRECTIONS if way in found] == list(found)
    assert set(exits_opened(text)) <= set(found)

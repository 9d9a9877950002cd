"""Tests of commands that a text suggests."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures import own_stories
from zorkgpt.offline.advice import advice_in


@pytest.fixture(scope="module")
def bedroom():
    with JerichoInterface(own_stories.compiled("bedroom")) as game:
        game.reset()
        yield game


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("You should get out of bed first.", ("get out of bed",)),
        ("You\nmust  get out of\nbed, before you go.", ("get out of bed",)),
        ("You’d better wait.", ("wait",)),
        ('Somebody says, "push the bed!"', ("push the bed",)),
        ('A sign: "WAIT"', ("wait",)),
        ("You should take.", ()),
        ("You must tell me how to do that to a bed.", ()),
        ("You could fly to the moon.", ()),
        ("You should push the elephant.", ()),
        ("You get up.", ()),
        ("", ()),
    ],
)
def test_suggested_commands_are_accepted_by_the_story(bedroom, text, advice):
    assert advice_in(text, bedroom.language, bedroom.scene()) == advice


def test_nothing_is_suggested_without_a_grammar(bedroom):
    assert advice_in("You should get out of bed first.", None, bedroom.scene()) == ()

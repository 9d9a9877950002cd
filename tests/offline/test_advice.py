"""What the rules take from a text as worth a try."""

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
def test_what_a_text_suggests_is_a_command_that_the_story_accepts(bedroom, text, advice):
    assert advice_in(text, bedroom.language, bedroom.scene()) == advice


def test_without_a_grammar_nothing_is_taken_for_a_command(bedroom):
    assert advice_in("You should get out of bed first.", None, bedroom.scene()) == ()

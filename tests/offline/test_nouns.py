"""Tests of names and mentions, by a story's own dictionary."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Language
from tests.fixtures import own_stories
from zorkgpt.offline.nouns import Nouns

pytestmark = pytest.mark.slow


@pytest.fixture
def play():
    games = []

    def started(story, *commands):
        game = JerichoInterface(story, seed=1)
        games.append(game)
        game.reset()
        for command in commands:
            step = game.act(command)
        return game, step

    yield started
    for game in games:
        game.close()


def nouns_of(game: JerichoInterface) -> Nouns:
    return Nouns(game.language.words, game.language)


def test_name_consists_of_words_that_mean_the_thing(play, zork1):
    game, step = play(zork1, "north", "north", "up")
    named = {item.name: nouns_of(game).name(item) for item in step.after.visible}
    assert named == {"bird's nest": "nest", "jewel-encrusted egg": "encrusted egg"}


def test_mentions_exclude_directions(play, zork1):
    game, step = play(zork1, "north", "east")
    mentioned = list(nouns_of(game).mentioned(step.response, game.scene(), step.after.visible))
    assert "window" in mentioned
    assert "north" not in mentioned


def test_things_have_names_in_a_story_with_unknown_attributes(play):
    game, step = play(own_stories.compiled("sealed"), "look")
    scene = game.scene()
    assert step.after.visible
    assert {item.num for item in step.after.visible} <= scene.here
    assert scene.attributes == {}


def test_names_in_sight_are_accepted_by_the_parser(play, bundled_story):
    game, step = play(bundled_story, "north", "north", "east")
    for item in step.after.visible:
        name = nouns_of(game).name(item)
        assert name
        assert "can't see" not in game.act(f"examine {name}").response


def test_of_in_a_name_is_not_an_adjective():
    words = frozenset({"set", "of", "keys"})
    language = Language(9, words, {}, {word: frozenset({40}) for word in words})
    assert Nouns(words, language).name(Item(40, "set of keys")) == "keys"

"""Tests of every implementation of the `Game` protocol."""

import inspect

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.game import Game
from tests.fixtures.small_world import WALKTHROUGH, SmallWorld
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.errors import GameClosed, StateError

pytestmark = pytest.mark.slow


@pytest.fixture(params=["jericho", "small world"])
def game(request, bundled_story):
    made: Game = SmallWorld() if request.param == "small world" else JerichoInterface(bundled_story)
    yield made
    made.close()


@pytest.fixture
def commands(game) -> list[str]:
    return list(WALKTHROUGH) if isinstance(game, SmallWorld) else get_bundled_walkthrough()[:25]


def test_game_implements_every_protocol_member(game):
    for name, member in vars(Game).items():
        if not name.startswith("_"):
            theirs = getattr(type(game), name, None) or getattr(game, name)
            if callable(member):
                required = [
                    each for each in inspect.signature(theirs).parameters.values() if each.default is each.empty
                ]
                assert len(required) == len(inspect.signature(member).parameters), name


def test_new_games_start_in_the_same_state(game, commands):
    opening, beginning = game.reset(), game.observe()
    game.act(commands[0])
    assert (game.reset(), game.observe()) == (opening, beginning)
    assert opening.strip()


def test_transition_starts_where_the_last_one_ended(game, commands):
    game.reset()
    now = game.observe()
    for command in commands:
        step = game.act(command)
        assert (step.before, step.action) == (now, command)
        now = game.observe()
        assert step.after == now
        assert (step.refused, step.fault) == (None, None)


def test_same_commands_give_the_same_game(game, commands):
    runs = []
    for _ in range(2):
        game.reset()
        runs.append([game.act(command) for command in commands])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("action", ["", "   "])
def test_refused_command_leaves_the_game_unchanged(game, action):
    game.reset()
    before = game.observe()
    step = game.act(action)
    assert step.refused
    assert step.response == step.refused
    assert step.before == step.after == before == game.observe()


def test_saved_state_restores_everything(game, commands):
    game.reset()
    for command in commands[:5]:
        game.act(command)
    saved, things, objects = game.save_state(), game.things(), game.all_objects()
    rest = [game.act(command) for command in commands[5:]]
    game.restore_state(saved)
    assert (game.things(), game.all_objects()) == (things, objects)
    assert [game.act(command) for command in commands[5:]] == rest


@pytest.mark.parametrize("saved", [b"", b"{}", b"no state at all", bytes(200)])
def test_damaged_state_is_refused(game, commands, saved):
    game.reset()
    game.act(commands[0])
    before = game.observe()
    with pytest.raises(StateError):
        game.restore_state(saved)
    assert game.observe() == before


def test_visible_and_carried_things_are_in_scope(game, commands):
    game.reset()
    for command in commands:
        if game.act(command).finished:
            break
        now, scene = game.observe(), game.scene()
        numbers = {item.num for item in (*now.visible, *now.carried)}
        assert numbers <= scene.in_scope
        assert numbers <= {thing.number for thing in game.things()}
        assert {item.num for item in now.inventory} == scene.held <= scene.carried
        assert all(game.get_object_attributes(number) == scene.attributes[number] for number in numbers)


def test_all_objects_are_in_the_room_where_they_are_seen(game, commands):
    game.reset()
    for command in commands[:10]:
        game.act(command)
        now = game.observe()
        placed = {each.number: each for each in game.all_objects()}
        assert placed.keys().isdisjoint(item.num for item in now.carried)
        assert {placed[item.num].room for item in now.visible if item.name} <= {now.location.num}


def test_story_summary(game):
    summary = game.story.summary()
    assert summary["sha256"] == game.story.sha256
    assert len(bytes.fromhex(game.story.sha256)) == 32
    assert game.get_max_score() > 0


def test_closed_game_raises(game):
    game.reset()
    game.close()
    game.close()
    for question in (game.reset, game.observe, game.scene, game.things, game.save_state, lambda: game.act("look")):
        with pytest.raises(GameClosed):
            question()

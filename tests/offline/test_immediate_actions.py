"""What the explorer does at once: fight, see to light, make room in its hands, get out of what does not go."""

import json
from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation, Scene
from zorkgpt.offline.candidates import Nouns
from zorkgpt.offline.dangers import LostFights
from zorkgpt.offline.immediate_actions import (
    is_stuck_aboard,
    is_threatened,
    item_to_drop,
    next_blow,
    update_after_last_turn,
    weapon_in_sight,
)
from zorkgpt.offline.phrases import is_dark, is_hostile, is_laden
from zorkgpt.offline.state import ExplorerState, LastTurn
from zorkgpt.player import PlayerContext

CAVE = Location(1, "Cave")
OGRE, SWORD, CLUB, STONE = Item(5, "ugly ogre", 1), Item(6, "sword", 4), Item(7, "club", 4), Item(8, "round stone", 4)
NOW = Observation(CAVE, (STONE, SWORD, CLUB), (STONE, SWORD, CLUB), (OGRE,), score=10, moves=3)
CONTEXT = PlayerContext(observation=NOW, response="The ogre swings its fist at you.", turn=4, max_turns=50)
MARKS = {5: {"animate": True}, 6: {"weapon": True}, 7: {"weapon": True}, 8: {"weapon": False}}
SCENE = Scene(frozenset({6, 7, 8}), frozenset({6, 7, 8}), frozenset({5}), frozenset({5, 6, 7, 8}), attributes=MARKS)
NOUNS = Nouns()
NONE_LOST = LostFights()


def after(action: str, *, score: int = 10, aboard: bool = False) -> ExplorerState:
    return ExplorerState(last=LastTurn(CAVE.num, action, score, aboard))


def test_whoever_attacks_is_fought_with_a_weapon():
    assert next_blow(ExplorerState(), CONTEXT, NOUNS, SCENE, NONE_LOST) == "attack ugly ogre with sword"


def test_a_weapon_that_somebody_died_with_comes_second():
    strike = next_blow(ExplorerState(), CONTEXT, NOUNS, SCENE, LostFights(["attack ugly ogre with sword"]))
    assert strike == "attack ugly ogre with club"


def test_a_weapon_that_somebody_died_with_more_than_once_is_not_tried_again():
    lost = ["attack ugly ogre with sword"]
    assert (
        next_blow(ExplorerState(), CONTEXT, NOUNS, SCENE, LostFights(lost, hopeless=lost))
        == "attack ugly ogre with club"
    )
    one_weapon = replace(CONTEXT, observation=replace(NOW, inventory=(STONE, SWORD)))
    assert next_blow(ExplorerState(), one_weapon, NOUNS, SCENE, LostFights(lost, hopeless=lost)) is None


def test_who_killed_elsewhere_roams_about_and_is_not_fought():
    assert next_blow(ExplorerState(), CONTEXT, NOUNS, SCENE, LostFights(roaming=["ugly ogre"])) is None
    assert is_threatened(ExplorerState(), CONTEXT, NOUNS, SCENE, NONE_LOST)
    assert not is_threatened(ExplorerState(), replace(CONTEXT, response="It grins."), NOUNS, SCENE, NONE_LOST)


def test_who_killed_before_is_an_enemy_at_sight():
    quiet = replace(CONTEXT, response="An ogre sits here, knitting.")
    known = LostFights(killers={"ugly ogre"})
    assert next_blow(ExplorerState(), quiet, NOUNS, SCENE, known) == "attack ugly ogre with sword"
    assert is_threatened(ExplorerState(), quiet, NOUNS, SCENE, known)


def test_a_fight_without_chance_ends_and_one_with_chance_goes_on():
    state, answers = after("attack ugly ogre with sword"), ("It shrugs.\nIt grows angry.", "It shrugs.\nIt snarls.")
    for said in (*answers, "It shrugs.\nIt comes nearer."):
        assert next_blow(state, CONTEXT, NOUNS, SCENE, NONE_LOST) == "attack ugly ogre with sword"
        update_after_last_turn(state, CAVE.num, replace(CONTEXT, response=said), ())
    assert next_blow(state, CONTEXT, NOUNS, SCENE, NONE_LOST) is None
    assert is_threatened(state, CONTEXT, NOUNS, SCENE, NONE_LOST)
    update_after_last_turn(state, CAVE.num, replace(CONTEXT, response="It staggers."), ())
    assert next_blow(state, CONTEXT, NOUNS, SCENE, NONE_LOST) == "attack ugly ogre with sword"


def test_a_weapon_that_lies_here_is_taken_up_by_whoever_has_none():
    lies = Observation(CAVE, (STONE,), (STONE,), (OGRE, Item(6, "sword", 1)), score=10, moves=3)
    wielded = replace(lies, visible=(OGRE, Item(6, "sword", 5)))
    sights = [replace(CONTEXT, observation=now) for now in (lies, wielded, replace(lies, inventory=(CLUB,)))]
    assert [weapon_in_sight(context, NOUNS, SCENE) for context in sights] == ["sword", None, None]


def test_a_fight_goes_on_until_nobody_stands_there():
    state = after("attack ugly ogre with sword")
    assert (
        next_blow(state, replace(CONTEXT, response="It grins."), NOUNS, SCENE, NONE_LOST)
        == "attack ugly ogre with sword"
    )
    gone = replace(CONTEXT, observation=replace(NOW, visible=()), response="It runs.")
    assert next_blow(state, gone, NOUNS, SCENE, NONE_LOST) is None


def test_whoever_does_no_harm_is_left_alone():
    assert (
        next_blow(ExplorerState(), replace(CONTEXT, response="An ogre sits here, knitting."), NOUNS, SCENE, NONE_LOST)
        is None
    )
    assert (
        next_blow(ExplorerState(), replace(CONTEXT, response="Blood drips from the roof."), NOUNS, SCENE, NONE_LOST)
        is None
    )


def test_who_was_hostile_here_is_fought_on_after_a_turn_without_blows():
    state = ExplorerState()
    assert is_threatened(state, CONTEXT, NOUNS, SCENE, NONE_LOST)
    state.last = LastTurn(CAVE.num, "wait", 10, False)
    assert (
        next_blow(state, replace(CONTEXT, response="It grins."), NOUNS, SCENE, NONE_LOST)
        == "attack ugly ogre with sword"
    )


def test_a_fight_that_leads_to_nothing_ends():
    state = ExplorerState()
    strikes = [next_blow(state, CONTEXT, NOUNS, SCENE, NONE_LOST) for _ in range(40)]
    assert strikes[0] is not None
    assert strikes[-1] is None


def test_what_is_good_for_nothing_makes_room_for_something_else():
    state = after("take ring")
    update_after_last_turn(state, CAVE.num, replace(CONTEXT, response="Your load is too heavy."), ("stone",))
    assert state.wanted == "take ring"
    assert item_to_drop(state, CONTEXT, NOUNS, SCENE) == "round stone"
    state.valued.add("round stone")
    assert item_to_drop(state, CONTEXT, NOUNS, SCENE) is None


def test_a_tool_is_left_behind_only_where_a_way_is_too_narrow_for_it():
    laden = replace(CONTEXT, response="You can't get up there with what you're carrying.")
    state = after("up")
    update_after_last_turn(state, CAVE.num, laden, ("sword", "club"))
    armed = replace(laden, observation=replace(NOW, inventory=(SWORD, CLUB)))
    assert item_to_drop(state, laden, NOUNS, SCENE) == "round stone"
    assert item_to_drop(state, armed, NOUNS, SCENE) == "sword"
    state.wanted = "take ring"
    assert item_to_drop(state, armed, NOUNS, SCENE) is None


def test_of_several_things_that_were_worth_points_one_is_left_behind_for_a_narrow_way():
    laden = replace(CONTEXT, response="You can't get up there with what you're carrying.")
    state = replace(after("climb chimney"), valued={"round stone", "sword"}, walking=(CAVE.num, "climb chimney"))
    update_after_last_turn(state, CAVE.num, laden, ("round stone", "sword"))
    both, one = (replace(laden, observation=replace(NOW, inventory=held)) for held in ((STONE, SWORD), (STONE,)))
    assert [item_to_drop(state, context, NOUNS, SCENE) for context in (both, one)] == ["sword", None]


@pytest.mark.parametrize(
    ("action", "score", "held", "remembered"),
    [
        ("take ring", 5, ("ring",), {"valued": {"ring"}}),
        ("put ring in box", 5, (), {"given_up": {"ring"}}),
        ("put ring in box", 10, (), {"take_back": "ring"}),
        ("put ring on big table", 10, (), {"take_back": "ring"}),
    ],
)
def test_points_tell_what_a_thing_is_worth_and_where_it_belongs(action, score, held, remembered):
    state = after(action, score=score)
    update_after_last_turn(state, CAVE.num, CONTEXT, held)
    assert {name: getattr(state, name) for name in remembered} == remembered


def test_what_was_switched_on_gives_light_while_it_is_held():
    state = after("turn on lamp")
    update_after_last_turn(state, CAVE.num, replace(CONTEXT, changed=(Item(9, "lamp", 4),)), ("lamp",))
    state.held = ("lamp",)
    assert state.lit
    state.held = ()
    assert not state.lit


def test_a_vehicle_that_does_not_go_there_is_left():
    boat = replace(CONTEXT, observation=replace(NOW, vehicle=Location(30, "boat")))
    assert is_stuck_aboard(after("north", aboard=True), CAVE.num, boat)
    assert not is_stuck_aboard(after("out", aboard=True), CAVE.num, boat)
    assert not is_stuck_aboard(after("north", aboard=True), CAVE.num, CONTEXT)


@pytest.mark.parametrize("text", ["It is pitch black.", "It's too dark to see!", "It is now very dark in here."])
def test_storytellers_say_when_it_is_dark(text):
    assert is_dark(text)


@pytest.mark.parametrize("text", ["A staircase descends into darkness.", "You are in a dark and damp cellar."])
def test_what_only_looks_dark_from_here_is_not(text):
    assert not is_dark(text)


def test_the_usual_words_of_loads_and_fights_are_known():
    assert is_laden("You're carrying too many things already.")
    assert not is_laden("Taken.")
    assert is_hostile("The guard attacks!")
    assert not is_hostile("The guard yawns.")


def test_a_mind_comes_back_as_it_was():
    state = ExplorerState(
        7, (1, "north"), LastTurn(1, "put ring in box", None, True), ("lamp",), "lamp", 3, "take x", "y", "up"
    )
    state.valued, state.useful, state.given_up = {"ring", "egg"}, {"lamp"}, {"leaf"}
    state.blows, state.holders = {"attack ogre with club": 2}, {1: ["in box"]}
    state.replies, state.commands, state.repeats, state.proposed = {"ogre": ("It shrugs.", 2)}, 6, [3, 5], "north"
    assert ExplorerState.from_dict(json.loads(json.dumps(state.to_dict()))) == state

"""What the rules player does before it explores: fight, make light, make room in its hands, leave what is stuck."""

from collections import Counter
from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation, Scene
from tests.fixtures.rules import a_turn, an_episode
from zorkgpt.offline import behaviors
from zorkgpt.offline.command_record import CommandRecord
from zorkgpt.offline.experience import Experience
from zorkgpt.offline.notes import EpisodeNotes, LastTurn
from zorkgpt.offline.observing import observe_result
from zorkgpt.offline.phrases import is_dark, is_hostile, is_laden
from zorkgpt.offline.scoring_plan import ScoringStep
from zorkgpt.offline.view import Episode
from zorkgpt.player import PlayerContext
from zorkgpt.world.movement import Move, MoveKind

CAVE = Location(1, "Cave")
OGRE, SWORD, CLUB, STONE = Item(5, "ugly ogre", 1), Item(6, "sword", 4), Item(7, "club", 4), Item(8, "round stone", 4)
NOW = Observation(CAVE, (STONE, SWORD, CLUB), (STONE, SWORD, CLUB), (OGRE,), score=10, moves=3)
CONTEXT = PlayerContext(observation=NOW, response="The ogre swings its fist at you.", turn=4, max_turns=50)
QUIET = replace(CONTEXT, response="An ogre sits here, knitting.")
MARKS = {5: {"animate": True}, 6: {"weapon": True}, 7: {"weapon": True}, 8: {"weapon": False}}
SCENE = Scene(frozenset({6, 7, 8}), frozenset({6, 7, 8}), frozenset({5}), frozenset({5, 6, 7, 8}), attributes=MARKS)
LADEN = replace(CONTEXT, response="You can't get up there with what you're carrying.")
STRIKE = "attack ugly ogre with sword"


def after(action: str, *, score: int = 10, aboard: bool = False) -> Episode:
    return an_episode(notes=EpisodeNotes(last=LastTurn(CAVE.num, action, score, aboard)))


def chosen(behavior: behaviors.Behavior, context: PlayerContext, episode: Episode | None = None) -> str | None:
    decision = behavior(a_turn(context, episode or an_episode(), scene=SCENE))
    return decision and decision.action


def observed(episode: Episode, context: PlayerContext) -> EpisodeNotes:
    observe_result(a_turn(context, episode, scene=SCENE))
    return episode.notes


# Fights


def test_whoever_attacks_is_fought_with_a_weapon():
    assert chosen(behaviors.fight, CONTEXT) == STRIKE


@pytest.mark.parametrize("response", ["An ogre sits here, knitting.", "Blood drips from the roof."])
def test_whoever_does_no_harm_is_left_alone(response):
    assert chosen(behaviors.fight, replace(CONTEXT, response=response)) is None


def test_a_fight_goes_on_until_nobody_stands_there():
    assert chosen(behaviors.fight, replace(CONTEXT, response="It grins."), after(STRIKE)) == STRIKE
    gone = replace(CONTEXT, observation=replace(NOW, visible=()), response="It runs.")
    assert chosen(behaviors.fight, gone, after(STRIKE)) is None


def test_who_was_hostile_here_is_fought_on_after_a_turn_without_blows():
    episode = an_episode()
    assert chosen(behaviors.fight, CONTEXT, episode) == STRIKE
    episode.notes.last = LastTurn(CAVE.num, "wait", 10, False)
    assert chosen(behaviors.fight, replace(CONTEXT, response="It grins."), episode) == STRIKE


def test_a_useless_weapon_is_not_tried_again():
    context = replace(CONTEXT, failed_here=(STRIKE,))
    assert chosen(behaviors.fight, context) == "attack ugly ogre with club"


def blows(record: CommandRecord) -> int:
    """Return the number of blows with the sword before the player stops, if none has an effect."""
    episode = an_episode(experience=Experience(record=record))
    while chosen(behaviors.fight, CONTEXT, episode) == STRIKE:
        episode.notes.last = LastTurn(CAVE.num, STRIKE, 10, False)
        observed(episode, replace(CONTEXT, response="It staggers."))
    return episode.notes.record.tries[STRIKE]


def test_the_number_of_blows_depends_on_the_record_of_earlier_fights():
    lost, won = (CommandRecord(tries=Counter({STRIKE: 10}), successes=Counter({STRIKE: times})) for times in (0, 2))
    assert blows(lost) < blows(CommandRecord()) < blows(won)


def test_a_blow_with_an_effect_counts_as_a_success():
    episode = after(STRIKE)
    observed(episode, replace(CONTEXT, changed=(OGRE,)))
    assert episode.notes.record.successes == {STRIKE: 1}


@pytest.mark.parametrize(("killed_at", "expected"), [(2, None), (CAVE.num, STRIKE)])
def test_who_killed_elsewhere_roams_about_and_is_not_fought(killed_at, expected):
    episode = an_episode()
    episode.graph.add_move(Move(killed_at, STRIKE, killed_at, MoveKind.DIED))
    assert chosen(behaviors.fight, QUIET, episode) == expected


def test_a_weapon_that_lies_here_is_taken_up_by_whoever_has_none():
    lies = Observation(CAVE, (STONE,), (STONE,), (OGRE, Item(6, "sword", 1)), score=10, moves=3)
    wielded = replace(lies, visible=(OGRE, Item(6, "sword", 5)))
    sights = [replace(CONTEXT, observation=now) for now in (lies, wielded, replace(lies, inventory=(CLUB,)))]
    assert [chosen(behaviors.take_weapon, context) for context in sights] == ["take sword", None, None]


# Hands


def test_what_is_good_for_nothing_makes_room_for_something_else():
    heavy = replace(CONTEXT, response="Your load is too heavy.")
    episode = after("take ring")
    assert observed(episode, heavy).wanted == "take ring"
    assert chosen(behaviors.make_room, heavy, episode) == "drop round stone"
    episode = after("take ring")
    observed(episode, heavy).valued.add("round stone")
    assert chosen(behaviors.make_room, heavy, episode) is None


def test_a_tool_is_left_behind_only_where_a_way_is_too_narrow_for_it():
    armed = replace(LADEN, observation=replace(NOW, inventory=(SWORD, CLUB)))
    for action, context, dropped in (("up", LADEN, "drop round stone"), ("up", armed, "drop sword")):
        episode = after(action)
        observed(episode, context)
        assert chosen(behaviors.make_room, context, episode) == dropped
    episode = after("take ring")
    observed(episode, armed)
    assert chosen(behaviors.make_room, armed, episode) is None


def test_of_several_things_that_were_worth_points_one_is_left_behind_for_a_narrow_way():
    dropped = []
    for held in ((STONE, SWORD), (STONE,)):
        context = replace(LADEN, observation=replace(NOW, inventory=held))
        episode = after("climb chimney")
        episode.notes.valued, episode.notes.walking = {"round stone", "sword"}, (CAVE.num, "climb chimney")
        observed(episode, context)
        dropped.append(chosen(behaviors.make_room, context, episode))
    assert dropped == ["drop sword", None]


@pytest.mark.parametrize(
    ("action", "score", "held", "expected"),
    [
        ("take ring", 5, (Item(9, "ring"),), {"valued": {"ring"}}),
        ("put ring in box", 5, (), {"given_up": {"ring"}}),
        ("put ring in box", 10, (), {"take_back": "ring"}),
        ("put ring on big table", 10, (), {"take_back": "ring"}),
    ],
)
def test_points_tell_what_a_thing_is_worth_and_where_it_belongs(action, score, held, expected):
    episode = after(action, score=score)
    notes = observed(episode, replace(CONTEXT, observation=replace(NOW, inventory=held)))
    assert {name: getattr(notes, name) for name in expected} == expected
    assert chosen(behaviors.take_back, CONTEXT, episode) == ("take ring" if "take_back" in expected else None)


# Light and vehicles


def test_what_was_switched_on_gives_light_while_it_is_held():
    notes = observed(after("turn on lamp"), replace(CONTEXT, changed=(Item(9, "lamp", 4),)))
    notes.held = ("lamp",)
    assert notes.lit
    notes.held = ()
    assert not notes.lit


def test_a_vehicle_that_does_not_go_there_is_left():
    boat = replace(CONTEXT, observation=replace(NOW, vehicle=Location(30, "boat")))
    assert chosen(behaviors.leave_vehicle, boat, after("north", aboard=True)) == "out"
    assert chosen(behaviors.leave_vehicle, boat, after("out", aboard=True)) is None
    assert chosen(behaviors.leave_vehicle, CONTEXT, after("north", aboard=True)) is None


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


# Victory


def test_a_known_victory_waits_as_long_as_points_are_missing_and_turns_are_left():
    known = Experience(steps=(ScoringStep(CAVE.num, "go home", 4, wins=True),))
    for most, turn, expected in ((100, 4, None), (100, 50, "go home"), (14, 4, "go home"), (None, 4, "go home")):
        context = replace(QUIET, max_score=most, turn=turn)
        assert chosen(behaviors.follow_plan, context, an_episode(experience=known)) == expected


@pytest.mark.parametrize(("deadline", "expected"), [(40, None), (4, "go home")])
def test_a_known_victory_is_not_postponed_past_a_deadline(deadline, expected):
    known = Experience(steps=(ScoringStep(CAVE.num, "go home", 4, wins=True),), deadline=deadline)
    assert chosen(behaviors.follow_plan, replace(QUIET, max_score=100), an_episode(experience=known)) == expected

"""Tests of what the rules player does before it explores: fights, hands, light, vehicles and victory."""

from dataclasses import replace

import pytest

from game_interface.models import Item, Location, Observation, Scene
from session.experience import ActionResult
from tests.fixtures.rules import a_turn, an_episode
from zorkgpt.offline import behaviors
from zorkgpt.offline.experience import PastEpisodes
from zorkgpt.offline.notes import EpisodeNotes
from zorkgpt.offline.observing import observe_result
from zorkgpt.offline.phrases import is_dark, is_hostile, is_laden
from zorkgpt.offline.scoring_plan import ScoringStep
from zorkgpt.offline.view import Episode
from zorkgpt.player import PlayerContext
from zorkgpt.record.experience import Experience, ExperienceRow
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


def played(episode: Episode, action: str, *, points: int = 0, outcome: int = 0) -> None:
    experience = episode.past.experience
    row = ExperienceRow(2, 1, CAVE.num, action, outcome=outcome, points=points, reached=CAVE.num)
    experience.add(row)


def after(action: str, *, points: int = 0, outcome: int = 0) -> Episode:
    episode = an_episode()
    played(episode, action, points=points, outcome=outcome)
    return episode


def action_of(behavior: behaviors.Behavior, context: PlayerContext, episode: Episode | None = None) -> str | None:
    decision = behavior(a_turn(context, episode or an_episode(), scene=SCENE))
    return decision and decision.action


def observed(episode: Episode, context: PlayerContext) -> EpisodeNotes:
    observe_result(a_turn(context, episode, scene=SCENE))
    return episode.notes


# Fights


def test_attacker_is_fought_with_a_weapon():
    assert action_of(behaviors.fight, CONTEXT) == STRIKE


@pytest.mark.parametrize("response", ["An ogre sits here, knitting.", "Blood drips from the roof."])
def test_harmless_creature_is_left_alone(response):
    assert action_of(behaviors.fight, replace(CONTEXT, response=response)) is None


def test_fight_continues_until_the_enemy_is_gone():
    assert action_of(behaviors.fight, replace(CONTEXT, response="It grins."), after(STRIKE)) == STRIKE
    gone = replace(CONTEXT, observation=replace(NOW, visible=()), response="It runs.")
    assert action_of(behaviors.fight, gone, after(STRIKE)) is None


def test_hostile_creature_is_fought_after_a_quiet_turn():
    episode = an_episode()
    assert action_of(behaviors.fight, CONTEXT, episode) == STRIKE
    played(episode, "wait")
    assert action_of(behaviors.fight, replace(CONTEXT, response="It grins."), episode) == STRIKE


def test_failed_weapon_is_not_tried_again():
    context = replace(CONTEXT, failed_here=(STRIKE,))
    assert action_of(behaviors.fight, context) == "attack ugly ogre with club"


def blows(*earlier: int) -> int:
    """Return the number of blows with the sword before the player stops, if none has an effect.

    Args:
        earlier: The outcomes of the blows of earlier episodes.
    """
    before = Experience()
    for outcome in earlier:
        before.add(ExperienceRow(1, 1, CAVE.num, STRIKE, outcome=outcome))
    experience = Experience(before)
    episode = an_episode(past=PastEpisodes(experience))
    while action_of(behaviors.fight, CONTEXT, episode) == STRIKE:
        played(episode, STRIKE)
        observed(episode, replace(CONTEXT, response="It staggers."))
    return len(experience.rows)


def test_number_of_blows_depends_on_earlier_fights():
    assert blows(*[0] * 10) < blows() < blows(*[0] * 8, ActionResult.AFFECTED, ActionResult.AFFECTED)


@pytest.mark.parametrize(("killed_at", "expected"), [(2, None), (CAVE.num, STRIKE)])
def test_creature_that_killed_elsewhere_is_not_attacked(killed_at, expected):
    episode = an_episode()
    episode.graph.add_move(Move(killed_at, STRIKE, killed_at, MoveKind.DIED))
    assert action_of(behaviors.fight, QUIET, episode) == expected


# Hands


def test_useless_thing_is_dropped_for_another():
    heavy = replace(CONTEXT, response="Your load is too heavy.")
    episode = after("take ring")
    assert observed(episode, heavy).wanted == "take ring"
    assert action_of(behaviors.make_room, heavy, episode) == "drop round stone"
    episode = after("take ring")
    observed(episode, heavy).valued.add("round stone")
    assert action_of(behaviors.make_room, heavy, episode) is None


def test_tool_is_dropped_only_for_a_narrow_exit():
    armed = replace(LADEN, observation=replace(NOW, inventory=(SWORD, CLUB)))
    for action, context, dropped in (("up", LADEN, "drop round stone"), ("up", armed, "drop sword")):
        episode = after(action)
        observed(episode, context)
        assert action_of(behaviors.make_room, context, episode) == dropped
    episode = after("take ring")
    observed(episode, armed)
    assert action_of(behaviors.make_room, armed, episode) is None


def test_one_of_several_valuable_things_is_dropped_for_a_narrow_exit():
    dropped = []
    for held in ((STONE, SWORD), (STONE,)):
        context = replace(LADEN, observation=replace(NOW, inventory=held))
        episode = after("climb chimney")
        episode.notes.valued, episode.notes.walking = {"round stone", "sword"}, (CAVE.num, "climb chimney")
        observed(episode, context)
        dropped.append(action_of(behaviors.make_room, context, episode))
    assert dropped == ["drop sword", None]


@pytest.mark.parametrize(
    ("action", "points", "held", "expected"),
    [
        ("take ring", 5, (Item(9, "ring"),), {"valued": {"ring"}}),
        ("put ring in box", 5, (), {"given_up": {"ring"}}),
        ("put ring in box", 0, (), {"take_back": "ring"}),
        ("put ring on big table", 0, (), {"take_back": "ring"}),
    ],
)
def test_points_show_value_and_destination_of_a_thing(action, points, held, expected):
    episode = after(action, points=points)
    notes = observed(episode, replace(CONTEXT, observation=replace(NOW, inventory=held)))
    assert {name: getattr(notes, name) for name in expected} == expected
    assert action_of(behaviors.take_back, CONTEXT, episode) == ("take ring" if "take_back" in expected else None)


# Light and vehicles


def test_lit_thing_gives_light_while_held():
    notes = observed(after("turn on lamp"), replace(CONTEXT, changed=(Item(9, "lamp", 4),)))
    notes.held = ("lamp",)
    assert notes.lit
    notes.held = ()
    assert not notes.lit


def test_vehicle_is_left_where_it_cannot_go():
    boat = replace(CONTEXT, observation=replace(NOW, vehicle=Location(30, "boat")))
    assert action_of(behaviors.leave_vehicle, boat, after("north")) == "out"
    assert action_of(behaviors.leave_vehicle, boat, after("in", outcome=ActionResult.WORKED)) is None
    assert action_of(behaviors.leave_vehicle, boat, after("out")) is None
    assert action_of(behaviors.leave_vehicle, CONTEXT, after("north")) is None


@pytest.mark.parametrize("text", ["It is pitch black.", "It's too dark to see!", "It is now very dark in here."])
def test_darkness_is_recognized(text):
    assert is_dark(text)


@pytest.mark.parametrize("text", ["A staircase descends into darkness.", "You are in a dark and damp cellar."])
def test_mention_of_darkness_is_not_darkness(text):
    assert not is_dark(text)


def test_load_and_fight_phrases_are_recognized():
    assert is_laden("You're carrying too many things already.")
    assert not is_laden("Taken.")
    assert is_hostile("The guard attacks!")
    assert not is_hostile("The guard yawns.")


# Victory


def test_victory_is_postponed_while_points_are_missing():
    known = PastEpisodes(steps=(ScoringStep(CAVE.num, "go home", 4, wins=True),))
    for most, turn, expected in ((100, 4, None), (100, 50, "go home"), (14, 4, "go home"), (None, 4, "go home")):
        context = replace(QUIET, max_score=most, turn=turn)
        assert action_of(behaviors.follow_plan, context, an_episode(past=known)) == expected


@pytest.mark.parametrize(("deadline", "expected"), [(40, None), (4, "go home")])
def test_victory_is_not_postponed_past_a_deadline(deadline, expected):
    known = PastEpisodes(steps=(ScoringStep(CAVE.num, "go home", 4, wins=True),), deadline=deadline)
    assert action_of(behaviors.follow_plan, replace(QUIET, max_score=100), an_episode(past=known)) == expected

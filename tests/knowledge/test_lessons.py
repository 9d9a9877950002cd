"""What turns teach by rules alone, and what they say of lines that are there."""

import pytest

from tests.knowledge.parts import a_line, a_turn
from zorkgpt.knowledge.synthesis import EpisodeStory, LookBack
from zorkgpt.offline.lessons import RuleKnowledge

KILLS = "“go in” at Kitchen (5) kills: It bites."


def learned(*turns, known=(), earlier=()):
    return RuleKnowledge().lessons(LookBack(1, turns, known, earlier))


def new(*turns, **fields) -> list[tuple[str, str]]:
    return [(lesson.section, lesson.text) for lesson in learned(*turns, **fields).new]


def test_a_death_is_a_danger_and_points_are_a_solution():
    dead = a_turn(3, "Go  In", "It bites.\nYou die.", died=True)
    points = a_turn(2, "take lamp", "Taken.", score=5)
    assert new(points, dead) == [
        ("dangers", "“go in” at Kitchen (5) kills: It bites. You die."),
        ("puzzles", "“take lamp” at Kitchen (5) scores 5: Taken."),
    ]


def test_the_same_death_in_other_words_is_no_second_danger():
    dead = a_turn(3, "go in", "It bites hard.", died=True)
    answer = learned(dead, dead, known=(a_line(KILLS),))
    assert (answer.new, answer.borne_out) == ([], [1])


def test_a_command_that_never_reaches_the_game_is_syntax():
    assert new(a_turn(1, "save", "Saving is not for players.", refused="no")) == [
        ("syntax", "“save” is not accepted: Saving is not for players.")
    ]


def test_a_verb_that_always_comes_to_the_same_nothing_is_syntax():
    tries = [a_turn(at, f"push {what}", f"Pushing the {what} is no use.", failed=True) for at, what in enumerate("abc")]
    assert new(*tries) == [("syntax", "“push …” does nothing: Pushing the … is no use.")]
    assert new(tries[2], earlier=tries[:2]) == [("syntax", "“push …” does nothing: Pushing the … is no use.")]


@pytest.mark.parametrize(
    "other",
    [
        a_turn(9, "push door", "It opens."),
        a_turn(9, "push door", "It is locked.", failed=True),
    ],
    ids=["it worked once", "it failed in other words"],
)
def test_a_verb_that_differs_once_is_no_rule(other):
    tries = [a_turn(at, f"push {what}", "No use.", failed=True) for at, what in enumerate("abc")]
    assert new(*tries, other) == []


@pytest.mark.parametrize(
    ("text", "turn", "outcome"),
    [
        (KILLS, a_turn(7, "go in", died=True), "borne out"),
        (KILLS, a_turn(7, "go in"), "contradicted"),
        (KILLS, a_turn(7, "go in", location_id=6), "open"),
        (KILLS, a_turn(7, "go out"), "open"),
        (KILLS, a_turn(7, "go in", fault="hung"), "open"),
        ("“take lamp” at Kitchen (5) scores 5: Taken.", a_turn(7, "take lamp", score=5), "borne out"),
        ("“take lamp” at Kitchen (5) scores 5: Taken.", a_turn(7, "take lamp", failed=True), "contradicted"),
        ("“take lamp” at Kitchen (5) scores 5: Taken.", a_turn(7, "take lamp"), "open"),
        ("“push …” does nothing: No use.", a_turn(7, "push bell", failed=True), "borne out"),
        ("“push …” does nothing: No use.", a_turn(7, "push bell", "No use."), "borne out"),
        ("“push …” does nothing: No use.", a_turn(7, "push bell", "Ding."), "contradicted"),
        ("“push …” does nothing: No use.", a_turn(7, "push"), "open"),
        ("“push wall” does nothing: No use.", a_turn(7, "push wall", failed=True, location_id=9), "borne out"),
        ("“save” is not accepted: No.", a_turn(7, "save", refused="no"), "borne out"),
        ("Lamps burn out.", a_turn(7, "go in"), "open"),
    ],
)
def test_what_a_turn_says_of_a_line_in_the_rules_own_form(text, turn, outcome):
    answer = learned(turn, known=(a_line(text),))
    found = "borne out" if answer.borne_out else "contradicted" if answer.contradicted else "open"
    assert found == outcome


def test_points_are_given_once_so_a_second_try_says_nothing():
    line = a_line("“take lamp” at Kitchen (5) scores 5: Taken.")
    again = a_turn(8, "take lamp", failed=True)
    assert learned(again, known=(line,), earlier=(a_turn(2, "take lamp", score=5),)).contradicted == []
    assert learned(a_turn(2, "take lamp", score=5), again, known=(line,)).contradicted == []


def test_an_episode_teaches_where_death_came_and_the_most_points():
    story = EpisodeStory(
        1, "death", (a_turn(1, "take lamp", score=5), a_turn(2, "take gem", score=9), a_turn(3, "go in", died=True))
    )
    assert [(one.section, one.text) for one in RuleKnowledge().wisdom(story).new] == [
        ("death_patterns", "Death comes at Kitchen (5) by “go in”."),
        ("discoveries", "The most points at once, 9, came at Kitchen (5) by “take gem”."),
    ]

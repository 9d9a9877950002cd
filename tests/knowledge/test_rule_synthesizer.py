"""Tests of what rules learn from turns, and what turns say about existing lines."""

from dataclasses import replace

import pytest

from game_interface.models import Item
from tests.fixtures.knowledge import a_line
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.synthesis import EpisodeReview, TurnReview
from zorkgpt.memory.models import Memory
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer

LAMP = Item(9, "brass lamp", 1)
BELL = Item(8, "silver bell", 5)


def learned(*turns, known=(), earlier=()):
    return RuleKnowledgeSynthesizer().lessons(TurnReview(2, turns, known, earlier))


def new(*turns, **fields) -> list[tuple[str, str]]:
    return [(lesson.section, lesson.text) for lesson in learned(*turns, **fields).new]


# New lines


def test_events_at_one_place_are_left_to_memories():
    assert new(a_turn(3, "go in", "It bites.", died=True), a_turn(4, "take lamp", "Taken.", score=5)) == []


def test_refused_command_teaches_syntax():
    assert new(a_turn(1, "save", "Saving is not for players.", refused="no")) == [
        ("syntax", "“save” is not accepted: Saving is not for players.")
    ]


def test_command_form_that_worked_teaches_syntax():
    attempts = [
        a_turn(1, "put silver bell in brass lamp", carried=[LAMP], visible=[BELL]),
        a_turn(2, "put lamp in bell", carried=[LAMP], visible=[BELL]),
        a_turn(3, "take lamp", visible=[LAMP]),
        a_turn(4, "take lamp", visible=[LAMP]),
        a_turn(5, "wave lamp", carried=[LAMP], effective=False),
        a_turn(6, "wave bell", carried=[BELL], effective=False),
    ]
    form = ("syntax", "The parser understands “put … in …”, for example “put silver bell in brass lamp”.")
    assert new(*attempts) == [form]
    assert new(attempts[1], earlier=attempts[:1]) == [form]
    known = (a_line(form[1]),)
    assert (new(*attempts, known=known), learned(*attempts, known=known).confirmed) == ([], [1])


def test_parser_refusal_teaches_nothing():
    attempts = [
        a_turn(at, f"push {what}", "That does nothing.", effective=False) for at, what in enumerate(("a", "b", "c"))
    ]
    assert new(*attempts) == []


def test_number_of_command_forms_is_limited():
    verbs = [f"verb{number}" for number in range(12)]
    attempts = [a_turn(1, f"{verb} {what}", carried=[LAMP, BELL]) for verb in verbs for what in ("lamp", "bell")]
    assert len(new(*attempts)) == 8


# Verdicts on existing lines


def verdict_on(text: str, *turns) -> str:
    """Return what the turns of a second episode say about a line of the first."""
    answer = learned(*turns, known=(a_line(text),))
    return "confirmed" if answer.confirmed else "contradicted" if answer.contradicted else "open"


@pytest.mark.parametrize(
    ("text", "turn", "outcome"),
    [
        ("“save” is not accepted: No.", a_turn(7, "save", refused="no"), "confirmed"),
        ("“save” is not accepted: No.", a_turn(7, "save"), "contradicted"),
        ("“save” is not accepted: No.", a_turn(7, "save", fault="hung"), "open"),
        ("“save” is not accepted: No.", a_turn(7, "restore"), "open"),
        ("The parser understands “push …”, for example “push wall”.", a_turn(7, "push", effective=False), "open"),
        ("Lamps burn out.", a_turn(7, "go in"), "open"),
    ],
)
def test_verdict_of_a_turn_on_a_line(text, turn, outcome):
    assert verdict_on(text, turn) == outcome


def test_refusal_outweighs_an_acceptance():
    assert verdict_on("“save” is not accepted: No.", a_turn(7, "save"), a_turn(8, "save", refused="no")) == "confirmed"


# Whole episodes


def test_best_episode_teaches_the_order_of_its_points():
    story = EpisodeReview(
        3,
        "turn limit",
        (a_turn(1, "take lamp", score=5), a_turn(2, "take gem", score_before=5, score=9)),
        learned_until=2,
    )
    [insight] = RuleKnowledgeSynthesizer().wisdom(story).new
    assert insight.text == (
        "Episode 3 scored 9 points in 2 turns, in this order: “take lamp” at Kitchen (5), “take gem” at Kitchen (5)."
    )
    known: Memory = a_line(insight.text)
    assert RuleKnowledgeSynthesizer().wisdom(replace(story, known=(known,))).new == []
    slower = a_line(insight.text.replace("in 2 turns", "in 3 turns"))
    assert RuleKnowledgeSynthesizer().wisdom(replace(story, known=(slower,))).new == [insight]


def test_last_turns_of_an_episode_teach_like_others():
    turns = (a_turn(1, "save", "No saving.", refused="no"), a_turn(2, "undo", "No undoing.", refused="no"))
    answer = RuleKnowledgeSynthesizer().wisdom(EpisodeReview(1, "death", turns, learned_until=1))
    assert [(lesson.section, lesson.turns) for lesson in answer.new] == [("syntax", [2])]


def test_long_order_says_how_much_is_missing():
    turns = tuple(a_turn(at, f"take thing number {at}", score_before=at - 1, score=at) for at in range(1, 31))
    [insight] = RuleKnowledgeSynthesizer().wisdom(EpisodeReview(1, "turn limit", turns, learned_until=30)).new
    assert len(insight.text) <= 400
    assert insight.text.endswith(" more.")

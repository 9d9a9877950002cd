"""Tests of what rules learn from turns, and what turns say about existing lines."""

from dataclasses import replace

from game_interface.models import Item
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.lines import Lessons
from zorkgpt.knowledge.synthesis import Review
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer

LAMP = Item(9, "brass lamp", 1)
BELL = Item(8, "silver bell", 5)


def learned(*turns, **fields) -> Lessons:
    return RuleKnowledgeSynthesizer().lessons(Review(turns, **fields))


def new(*turns, **fields) -> list[tuple[str, str]]:
    return [(line.category, line.text) for line, _ in learned(*turns, **fields).new]


# New lines


def test_events_at_one_place_are_left_to_memories():
    assert new(a_turn(3, "go in", "It bites.", died=True), a_turn(4, "take lamp", "Taken.", score=5)) == []


def test_refused_command_teaches_syntax():
    assert new(a_turn(1, "save", "Saving is not for players.", refused="no")) == [
        ("COMMAND SYNTAX", "“save” is not accepted: Saving is not for players.")
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
    form = ("COMMAND SYNTAX", "The parser understands “put … in …”.")
    assert new(*attempts) == [form]
    assert new(*attempts, learned_until=1) == [form]
    assert new(*attempts, learned_until=2) == []


def test_parser_refusal_teaches_nothing():
    attempts = [
        a_turn(at, f"push {what}", "That does nothing.", effective=False) for at, what in enumerate(("a", "b", "c"))
    ]
    assert new(*attempts) == []


def test_number_of_command_forms_is_limited():
    verbs = [f"verb{number}" for number in range(12)]
    attempts = [a_turn(1, f"{verb} {what}", carried=[LAMP, BELL]) for verb in verbs for what in ("lamp", "bell")]
    assert len(new(*attempts)) == 12
    known = [line for line, _ in learned(*attempts).new]
    assert [line for line, _ in learned(*attempts, known=tuple(known[:10])).new] == known


# Whole episodes


def test_best_episode_teaches_the_order_of_its_points():
    turns = a_turn(1, "take lamp", score=5), a_turn(2, "take gem", score_before=5, score=9)
    [(best, replaced)] = learned(*turns, learned_until=2, reason="turn limit").new
    assert (best.category, replaced) == ("CROSS-EPISODE INSIGHTS", None)
    assert best.text == (
        "Episode 1 scored 9 points in 2 turns, in this order: “take lamp” at Kitchen (5), “take gem” at Kitchen (5)."
    )

    def replaces(*played) -> bool:
        """Return whether the line about a second episode replaces that about the first."""
        second = [replace(turn, episode=2) for turn in played]
        lessons = learned(*second, known=(best,), reason="death")
        return [old for _, old in lessons.new] == [best]

    assert not replaces(*turns)
    assert not replaces(*turns, a_turn(3, score_before=9, score=9))
    assert not replaces(a_turn(1, score=8))
    assert replaces(a_turn(1, score=9))
    assert replaces(*turns, a_turn(3, score_before=9, score=10))


def test_last_turns_of_an_episode_teach_like_others():
    turns = (a_turn(1, "save", "No saving.", refused="no"), a_turn(2, "undo", "No undoing.", refused="no"))
    [(line, _)] = learned(*turns, learned_until=1, reason="death").new
    assert line.text == "“undo” is not accepted: No undoing."


def test_long_order_says_how_much_is_missing():
    turns = [a_turn(at, f"take thing number {at}", score_before=at - 1, score=at) for at in range(1, 31)]
    [(best, _)] = learned(*turns, learned_until=30, reason="turn limit").new
    assert len(best.text) <= 400
    assert best.text.endswith(" more.")

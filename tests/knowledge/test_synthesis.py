"""Tests of turning a model's answer into lessons, checked against the facts of turns."""

from dataclasses import replace

import pytest

from tests.fixtures.knowledge import a_line
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.lines import KnowledgeSection, Lessons
from zorkgpt.knowledge.synthesis import ModelKnowledgeSynthesizer, Review
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.models import Memory


def answered(answer: dict, *turns, **fields) -> Lessons:
    """Return the lessons of a model's answer about turns."""
    return ModelKnowledgeSynthesizer(ScriptedLLM([answer])).lessons(Review(turns, **fields))


def judged(line: Memory, named: list[int], *turns, **fields) -> tuple[list[str], dict[str, int]]:
    """Return the reasons why turns of a second episode contradict a line, and what is ignored."""
    answer = {"contradicted": [{"number": 1, "reason": "It was otherwise.", "turns": named}]}
    lessons = answered(answer, *(replace(turn, episode=2) for turn in turns), known=(line,), **fields)
    return [reason for _, reason in lessons.contradicted], {k: n for k, n in lessons.ignored.items() if n}


def learned(section: str, *turns, shown_by: int = 1) -> Memory:
    """Return a line that was learned from turns."""
    lesson = {"section": section, "text": "Rubbing the lamp helps.", "turns": list(range(1, shown_by + 1))}
    [(line, _)] = answered({"new": [lesson]}, *turns).new
    return line


ACCEPTED = (["Ep2, T7: It was otherwise."], {})
REFUSED = ([], {"contradictions refused": 1})
NO_TURN = ([], {"contradictions without a turn": 1})


@pytest.mark.parametrize(("named", "expected"), [([], NO_TURN), ([99], NO_TURN), ([99, 7], ACCEPTED)])
def test_contradiction_must_name_a_turn_of_the_question(named, expected):
    assert judged(a_line("Lamps burn for ever."), named, a_turn(7, "wait")) == expected


def test_contradiction_by_a_whole_episode():
    assert judged(a_line("Lamps burn for ever."), [], a_turn(7, "wait"), reason="death") == NO_TURN
    assert judged(a_line("Lamps burn for ever."), [7], a_turn(7), learned_until=7, reason="death") == ACCEPTED


@pytest.mark.parametrize(
    ("section", "origin", "turn", "expected"),
    [
        ("puzzles", {"score": 5}, {"score": 5}, REFUSED),
        ("puzzles", {"score": 5}, {}, ACCEPTED),
        ("dangers", {"died": True}, {"died": True}, REFUSED),
        ("deaths", {"died": True}, {}, ACCEPTED),
        ("lessons", {"score": 5}, {"score": 5}, ACCEPTED),
        ("puzzles", {"score": 5}, {"action": "wave lamp", "score": 5}, ACCEPTED),
    ],
)
def test_turn_that_confirms_a_line_cannot_contradict_it(section, origin, turn, expected):
    line = learned(section, a_turn(1, **{"action": "rub lamp"} | origin))
    assert judged(line, [7], a_turn(7, **{"action": "rub lamp"} | turn)) == expected


def test_second_try_in_the_same_episode_does_not_contradict_a_solution():
    line = learned("puzzles", a_turn(1, "rub lamp", score=5))
    first, second = a_turn(6, "rub lamp", score=5), a_turn(7, "rub lamp")
    assert judged(line, [7], first, second, learned_until=6) == REFUSED


def test_models_verdict_stands_if_nothing_can_be_checked():
    line = learned("puzzles", a_turn(1, "rub lamp", score=5), a_turn(2), shown_by=2)
    assert judged(line, [7], a_turn(7, "rub lamp", score=5)) == ACCEPTED


def test_unusable_numbers_are_ignored():
    answer = {"confirmed": [1, 2, 0, 9], "contradicted": [{"number": 2, "reason": "No.", "turns": [1]}]}
    one, other = a_line("One."), a_line("Other.")
    lessons = answered(answer, a_turn(1), known=(one, other))
    assert (lessons.confirmed, lessons.contradicted, lessons.ignored) == ((one,), (), {"numbers ignored": 3})


def test_new_line_names_its_turns_and_the_line_that_it_improves():
    new = [
        {"section": "insights", "text": "All in all.", "turns": [], "replaces": 1},
        {"section": "syntax", "text": "Then this.", "turns": [2, 99], "replaces": 7},
    ]
    known = a_line("One.")
    turns = (a_turn(1), a_turn(2), a_turn(3))
    [(whole, improved), (one, other)] = answered({"new": new}, *turns, known=(known,), learned_until=1).new
    assert (whole.category, whole.turns, improved) == (KnowledgeSection.INSIGHTS, "2→3", known)
    assert (one.category, one.turns, other) == (KnowledgeSection.SYNTAX, "2", None)

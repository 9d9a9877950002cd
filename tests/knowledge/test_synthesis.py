"""Tests of turning a model's answer into lessons, checked against the facts of turns."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.fixtures.knowledge import a_line
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.line import KnowledgeSection
from zorkgpt.knowledge.synthesis import EpisodeReview, LessonsAnswer, TurnReview, updates_from
from zorkgpt.memory.models import Memory


def judged(line: Memory, named: list[int], *turns, origin=(), earlier=()) -> tuple[list[str], dict[str, int]]:
    """Return the reasons why the line is contradicted, and the counts."""
    counts = Counter()
    turns = tuple(replace(turn, episode=2) for turn in turns)
    review = TurnReview(2, turns, (line,), earlier, turns_of=lambda episode: origin if episode == 1 else ())
    answer = LessonsAnswer.model_validate(
        {"contradicted": [{"number": 1, "reason": "It was otherwise.", "turns": named}]}
    )
    lessons = updates_from(answer, review, counts)
    return [reason for _, reason in lessons.contradicted], dict(counts)


ACCEPTED = (["Ep2, T7: It was otherwise."], {})
REFUSED = ([], {"contradictions refused": 1})
NO_TURN = ([], {"contradictions without a turn": 1})


@pytest.mark.parametrize(("named", "expected"), [([], NO_TURN), ([99], NO_TURN), ([99, 7], ACCEPTED)])
def test_contradiction_must_name_a_turn_of_the_question(named, expected):
    assert judged(a_line("Lamps burn for ever."), named, a_turn(7, "wait")) == expected


def test_contradiction_by_a_whole_episode():
    counts = Counter()
    story = EpisodeReview(2, "death", (a_turn(1),), (a_line("Lamps burn for ever."),))
    answer = LessonsAnswer.model_validate({"contradicted": [{"number": 1, "reason": "It went out."}]})
    assert (updates_from(answer, story, counts).contradicted, counts["contradictions without a turn"]) == ((), 1)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (a_turn(7, "save"), ACCEPTED),
        (a_turn(7, "restore"), REFUSED),
        (a_turn(7, "save", refused="no"), REFUSED),
    ],
)
def test_line_in_a_fixed_form_is_contradicted_by_its_own_action_only(turn, expected):
    assert judged(a_line("“save” is not accepted: No."), [7], turn) == expected


@pytest.mark.parametrize(
    ("section", "origin", "turn", "expected"),
    [
        (KnowledgeSection.PUZZLES, {"score": 5}, {"score": 5}, REFUSED),
        (KnowledgeSection.PUZZLES, {"score": 5}, {}, ACCEPTED),
        (KnowledgeSection.DANGERS, {"died": True}, {"died": True}, REFUSED),
        (KnowledgeSection.DANGERS, {"died": True}, {}, ACCEPTED),
        (KnowledgeSection.LESSONS, {"score": 5}, {"score": 5}, ACCEPTED),
        (KnowledgeSection.PUZZLES, {"score": 5}, {"action": "wave lamp", "score": 5}, ACCEPTED),
    ],
)
def test_turn_that_confirms_a_line_cannot_contradict_it(section, origin, turn, expected):
    line = a_line("Rubbing the lamp helps.", section)
    origin = (a_turn(1, **{"action": "rub lamp"} | origin),)
    assert judged(line, [7], a_turn(7, **{"action": "rub lamp"} | turn), origin=origin) == expected


def test_second_try_in_the_same_episode_does_not_contradict_a_solution():
    line = a_line("Rubbing the lamp gives points.", KnowledgeSection.PUZZLES)
    origin = (a_turn(1, "rub lamp", score=5),)
    first, second = a_turn(6, "rub lamp", score=5), a_turn(7, "rub lamp")
    assert judged(line, [7], second, origin=origin, earlier=(first,)) == REFUSED


def test_models_verdict_stands_if_nothing_can_be_checked():
    line = a_line("Rubbing the lamp helps.", KnowledgeSection.PUZZLES, last_turn=4)
    assert judged(line, [7], a_turn(7, "rub lamp", score=5), origin=(a_turn(1, "rub lamp", score=5),)) == ACCEPTED

"""Tests of which lines the player sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.models import Item, Location, Observation
from tests.fixtures.knowledge import a_line, lines
from zorkgpt.knowledge.lines import KnowledgeSection, is_struck, line_of
from zorkgpt.knowledge.retrieval import relevant_lines
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens

NOW = Observation(Location(5, "Kitchen"), (), (Item(9, "brass lamp"),), (Item(8, "old stove"),), 0, 1)


def shown(*kept: Memory, budget: int = 300, opening: bool = False) -> list[str]:
    return list(relevant_lines(kept, NOW, budget, opening=opening))


def test_lines_about_near_things_and_dangers_come_first():
    known = (
        a_line("Look into things.", KnowledgeSection.STRATEGIES),
        a_line("The brass lamp burns out.", KnowledgeSection.LESSONS),
        a_line("The old stove burns.", KnowledgeSection.DANGERS),
    )
    assert shown(*known) == ["The old stove burns.", "The brass lamp burns out.", "Look into things."]


def test_dangers_and_puzzles_elsewhere_are_omitted():
    known = (
        a_line("The troll kills.", KnowledgeSection.DANGERS),
        a_line("The kitchen is safe.", KnowledgeSection.DANGERS),
    )
    assert shown(*known) == ["The kitchen is safe."]


def test_opening_advice_comes_first_before_the_first_turn():
    held, near, tried = (
        a_line("Go about it in daylight.", KnowledgeSection.INSIGHTS, confirmed=3),
        a_line("Leave the kitchen first.", KnowledgeSection.STRATEGIES),
        a_line("Write a map.", KnowledgeSection.STRATEGIES, confirmed=1),
    )
    stove = a_line("The old stove burns.", KnowledgeSection.DANGERS)
    syntax = a_line("Say “look in”.", KnowledgeSection.SYNTAX, confirmed=9)
    known = (syntax, tried, stove, held, near)
    in_the_opening = [near, stove, held, tried, syntax]
    assert shown(*known, opening=True) == [line.text for line in in_the_opening]
    later = [stove, near, syntax, held, tried]
    assert shown(*known) == [line.text for line in later]


def test_thing_is_matched_by_its_noun():
    stoves = a_line("A stove takes coal.", KnowledgeSection.PUZZLES)
    brass = a_line("Anything of brass can be sold.", KnowledgeSection.PUZZLES)
    full = a_line("The brass lamp burns out.", KnowledgeSection.LESSONS)
    general = a_line("Look into things.", KnowledgeSection.STRATEGIES, confirmed=9)
    assert shown(brass, general, stoves, full) == [full.text, stoves.text, general.text]


def test_struck_line_is_not_shown():
    known = (a_line("The brass lamp explodes.", struck=True), a_line("Nothing.", struck=True, confirmed=9))
    assert shown(*known) == []


def test_contradicted_line_is_shown_with_its_evidence():
    line = a_line("The brass lamp flickers.", confirmed=2, contradicted=1)
    assert shown(line) == ["The brass lamp flickers. (later: confirmed 2, contradicted 1)"]


def test_persons_line_is_shown_unless_struck():
    lessons = KnowledgeSection.LESSONS
    mine = line_of(lessons, "Mind the lamp."), line_of(lessons, "Forget the lamp.", struck=True)
    assert shown(a_line("The lamp burns."), *mine) == ["Mind the lamp.", "The lamp burns."]


@pytest.mark.slow
@given(st.lists(lines(), max_size=12), st.integers(0, 200))
def test_budget_is_kept_without_truncating_lines(kept, budget):
    lines = shown(*kept, budget=budget)
    assert sum(estimated_tokens(f'- "{text}"\n') for text in lines) <= budget
    assert all(any(text.startswith(line.text) for line in kept if not is_struck(line)) for text in lines)

"""Tests of which lines the player sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.models import Item, Location, Observation
from tests.fixtures.knowledge import a_line, lines
from zorkgpt.knowledge.document import KnowledgeDocument, parse
from zorkgpt.knowledge.line import KnowledgeSection, is_struck
from zorkgpt.knowledge.retrieval import relevant_lines, surroundings_of
from zorkgpt.memory.retrieval import estimated_tokens

NOW = Observation(Location(5, "Kitchen"), (), (Item(9, "brass lamp"),), (Item(8, "old stove"),), 0, 1)


def a_document(*kept) -> KnowledgeDocument:
    document = KnowledgeDocument()
    for line in kept:
        document = document.added(line)
    return document


def shown(document: KnowledgeDocument, budget: int = 300, *, opening: bool = False) -> list[str]:
    return [line.text for line in relevant_lines(document, surroundings_of(NOW, opening=opening), budget)]


def test_lines_about_near_things_and_dangers_come_first():
    document = a_document(
        a_line("Look into things.", KnowledgeSection.STRATEGIES),
        a_line("The brass lamp burns out.", KnowledgeSection.LESSONS),
        a_line("The old stove burns.", KnowledgeSection.DANGERS),
    )
    assert shown(document) == ["The old stove burns.", "The brass lamp burns out.", "Look into things."]


def test_dangers_and_puzzles_elsewhere_are_omitted():
    document = a_document(
        a_line("The troll kills.", KnowledgeSection.DANGERS), a_line("The kitchen is safe.", KnowledgeSection.DANGERS)
    )
    assert shown(document) == ["The kitchen is safe."]


def test_opening_advice_comes_first_before_the_first_turn():
    held, near, tried = (
        a_line("Go about it in daylight.", KnowledgeSection.META_STRATEGIES, confirmed=3),
        a_line("Leave the kitchen first.", KnowledgeSection.STRATEGIES),
        a_line("Write a map.", KnowledgeSection.STRATEGIES, confirmed=1),
    )
    stove = a_line("The old stove burns.", KnowledgeSection.DANGERS)
    syntax = a_line("Say “look in”.", KnowledgeSection.SYNTAX, confirmed=9)
    document = a_document(syntax, tried, stove, held, near)
    in_the_opening = [near, stove, held, tried, syntax]
    assert shown(document, opening=True) == [line.text for line in in_the_opening]
    later = [stove, near, syntax, held, tried]
    assert shown(document) == [line.text for line in later]


def test_thing_is_matched_by_its_noun():
    stoves = a_line("A stove takes coal.", KnowledgeSection.PUZZLES)
    brass = a_line("Anything of brass can be sold.", KnowledgeSection.DISCOVERIES)
    full = a_line("The brass lamp burns out.", KnowledgeSection.LESSONS)
    general = a_line("Look into things.", KnowledgeSection.STRATEGIES, confirmed=9)
    assert shown(a_document(brass, general, stoves, full)) == [full.text, stoves.text, general.text]


def test_struck_line_is_not_shown():
    document = a_document(a_line("The brass lamp explodes.", struck=True), a_line("Nothing.", struck=True, confirmed=9))
    assert shown(document) == []


def test_contradicted_line_is_shown_with_its_evidence():
    document = a_document(a_line("The brass lamp flickers.", confirmed=2, contradicted=1))
    assert shown(document) == ["The brass lamp flickers. (later: confirmed 2, contradicted 1)"]


def test_persons_line_is_shown_unless_struck():
    document = parse(b"## LESSONS LEARNED\n- Mind the lamp.\n- ~~Forget the lamp.~~\n")
    assert shown(document) == ["Mind the lamp."]


@pytest.mark.slow
@given(st.lists(lines(), max_size=12), st.integers(0, 200))
def test_budget_is_kept_without_truncating_lines(kept, budget):
    document = a_document(*kept)
    lines = shown(document, budget)
    assert sum(estimated_tokens(f'- "{text}"\n') for text in lines) <= budget
    assert all(any(text.startswith(line.text) for line in kept if not is_struck(line)) for text in lines)

"""Tests of one line of knowledge in the file."""

import pytest
from hypothesis import example, given

from tests.fixtures.knowledge import a_line, lines
from zorkgpt.knowledge.line import (
    KnowledgeSection,
    confirmed,
    contradicted,
    contradictions,
    is_struck,
    parse_line,
    render_line,
    section_of,
)
from zorkgpt.memory.models import Memory


def dark(text: str = "The dark bites.", **fields) -> Memory:
    return a_line(text, KnowledgeSection.DANGERS, episode=2, first_turn=14, last_turn=20, **fields)


LINE = dark(confirmed=3)


@given(lines())
@example(dark("~~struck~~", reason="Restored."))
@example(dark("struck", struck=True))
@example(dark("~~~~"))
@example(dark("~~~ ~~ x", struck=True))
def test_line_is_read_back(line):
    row = render_line(line)
    assert parse_line(row, KnowledgeSection(line.category)) == line
    assert len(row.splitlines()) == 1


@given(lines())
def test_text_never_becomes_structure(line):
    row = render_line(line)
    assert row.startswith("- ")
    assert section_of(row) is None
    assert row.count("*(") - row.count("\\*(") == 1
    assert row.count("<") == row.count("\\<")


def test_line_format():
    assert render_line(LINE) == "- The dark bites. *(Ep2, T14-T20; confirmed 3)*"
    assert render_line(dark()) == "- The dark bites. *(Ep2, T14-T20)*"
    struck = dark(confirmed=3, struck=True, contradicted=4, reason="It was light.")
    assert render_line(struck) == (
        '- ~~The dark bites.~~ *(Ep2, T14-T20; confirmed 3, contradicted 4; because "It was light.")*'
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("* The dark bites. *(Ep2, T14–20; confirmed 3, contradicted 0)*  ", LINE),
        ("- The dark bites. *(Ep2, T14-T20; borne out 3, contradicted 0)*", LINE),
        ("- The dark bites. *(Ep2, T14-T20; contradicted 3)*", dark(contradicted=3)),
        ("- The dark bites. *(Ep2, T14-T20)*", dark()),
        ("- The *dark* bites. *(Ep2, T14-T20)*", dark("The *dark* bites.")),
        ("- The dark bites.", None),
        ("- The dark bites. *(my own remark)*", None),
        ("The dark bites. *(Ep2, T14-T20)*", None),
        ("-  *(Ep2, T14-T20)*", None),
    ],
)
def test_reading_is_forgiving(row, expected):
    assert parse_line(row, KnowledgeSection.DANGERS) == expected


def test_fields_of_a_newer_version_are_kept():
    line = parse_line('- It bites. *(Ep1, T2; shown "a; b"; confirmed 1, contradicted 0)*', KnowledgeSection.DANGERS)
    assert render_line(line) == '- It bites. *(Ep1, T2; confirmed 1; shown "a; b")*'


def test_contradicted_line_is_struck_and_restored_by_evidence():
    struck = contradicted(dark(), "It did not.")
    assert struck == dark(contradicted=1, struck=True, reason="It did not.")
    assert contradicted(struck, "Again.").invalidation_reason == "It did not."
    assert confirmed(struck) == dark(confirmed=1, contradicted=1)


def test_confirmed_line_is_never_struck_by_counting():
    assert not is_struck(contradicted(LINE, "It did not."))


def test_line_struck_by_a_person_stays_struck():
    assert is_struck(confirmed(dark(confirmed=3, struck=True)))
    assert is_struck(confirmed(dark(struck=True, contradicted=5)))


def test_line_restored_by_a_person_stays_restored():
    struck = contradicted(dark(), "It did not.")
    taken_back = parse_line(render_line(struck).replace("~~", ""), KnowledgeSection.DANGERS)
    assert not is_struck(taken_back)
    again = parse_line(render_line(contradicted(taken_back, "Again.")), KnowledgeSection.DANGERS)
    assert (is_struck(again), contradictions(again), again.invalidation_reason) == (False, 2, "It did not.")

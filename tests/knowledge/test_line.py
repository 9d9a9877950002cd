"""Tests of one line of knowledge in the file."""

from dataclasses import replace

import pytest
from hypothesis import example, given

from tests.fixtures.knowledge import lines
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection, parse_line, render_line, section_of

LINE = KnowledgeLine(KnowledgeSection.DANGERS, "The dark bites.", 2, 14, 20, confirmed=3)


@given(lines())
@example(replace(LINE, text="~~struck~~", reason="Restored."))
@example(replace(LINE, text="struck", struck=True))
@example(replace(LINE, text="~~~~"))
@example(replace(LINE, text="~~~ ~~ x", struck=True))
def test_line_is_read_back(line):
    row = render_line(line)
    assert parse_line(row, line.section) == line
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
    assert render_line(replace(LINE, confirmed=0)) == "- The dark bites. *(Ep2, T14-T20)*"
    struck = replace(LINE, struck=True, contradicted=4, reason="It was light.")
    assert render_line(struck) == (
        '- ~~The dark bites.~~ *(Ep2, T14-T20; confirmed 3, contradicted 4; because "It was light.")*'
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("* The dark bites. *(Ep2, T14–20; confirmed 3, contradicted 0)*  ", LINE),
        ("- The dark bites. *(Ep2, T14-T20; borne out 3, contradicted 0)*", LINE),
        ("- The dark bites. *(Ep2, T14-T20; contradicted 3)*", replace(LINE, confirmed=0, contradicted=3)),
        ("- The dark bites. *(Ep2, T14-T20)*", replace(LINE, confirmed=0)),
        ("- The *dark* bites. *(Ep2, T14-T20)*", replace(LINE, text="The *dark* bites.", confirmed=0)),
        ("- The dark bites. *(Ep2, T14-T20; worked 5/9)*", replace(LINE, confirmed=0, extra=("worked 5/9",))),
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


NEW = replace(LINE, confirmed=0)


def test_contradicted_line_is_struck_and_restored_by_evidence():
    struck = NEW.with_evidence(contradicted=1, reason="It did not.")
    assert (struck.struck, struck.reason) == (True, "It did not.")
    assert struck.with_evidence(contradicted=1, reason="Again.").reason == "It did not."
    back = struck.with_evidence(confirmed=1)
    assert (back.struck, back.reason, back.confirmed, back.contradicted) == (False, "", 1, 1)


def test_confirmed_line_is_never_struck_by_counting():
    assert LINE.with_evidence(contradicted=99, reason="It did not.").struck is False


def test_line_struck_by_a_person_stays_struck():
    assert replace(LINE, struck=True).with_evidence(confirmed=1).struck is True
    assert replace(NEW, struck=True, contradicted=5).with_evidence(confirmed=1).struck is True


def test_line_restored_by_a_person_stays_restored():
    struck = NEW.with_evidence(contradicted=1, reason="It did not.")
    taken_back = parse_line(render_line(struck).replace("~~", ""), KnowledgeSection.DANGERS)
    assert taken_back.struck is False
    again = parse_line(render_line(taken_back.with_evidence(contradicted=1, reason="Again.")), KnowledgeSection.DANGERS)
    assert (again.struck, again.contradicted, again.reason) == (False, 2, "It did not.")

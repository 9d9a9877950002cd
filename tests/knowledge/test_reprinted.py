"""Tests of knowledge files that a formatter has changed without changing a line."""

import pytest

from tests.fixtures.reprints import FORMATTERS, original, reprinted
from zorkgpt.knowledge.document import parse, render
from zorkgpt.knowledge.line import KnowledgeSection, confirmed, parse_line


def content(data: bytes):
    document = parse(data)
    return document.lines, document.by_hand, document.processed


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinted_file_has_the_same_lines(formatter):
    data = reprinted("knowledge", formatter)
    assert content(data) == content(original("knowledge"))
    assert render(parse(data)) == data


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinted_line_can_be_changed(formatter):
    document = parse(reprinted("knowledge", formatter))
    for line in document.lines:
        document = document.changed(line, confirmed(line))
    expected = tuple(confirmed(line) for line in parse(original("knowledge")).lines)
    assert parse(render(document)).lines == document.lines == expected


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("*   A &amp; b. _(Ep2, T14-T20; confirmed 3, contradicted 0)_", "A & b."),
        ("+ The _dark_ \\[bites\\]. *(Ep2, T14; confirmed 3, contradicted 0)*", "The _dark_ [bites]."),
        ("- The *dark* bites. _(Ep2, T14; confirmed 3, contradicted 0)_", "The _dark_ bites."),
        (
            '- The parser understands "put ... in ...". *(Ep2, T14; confirmed 3, contradicted 0)*',
            "The parser understands “put … in …”.",
        ),
    ],
)
def test_reprinted_row_is_read(row, text):
    line = parse_line(row, KnowledgeSection.DANGERS)
    assert line is not None
    assert (line.text, line.episode, line.first_turn, line.worked) == (text, 2, 14, 3)


def test_wrapped_line_ends_before_the_next_item_and_text():
    head = b"## DANGERS & THREATS\n\n"
    wrapped = b"- The dark\nbites. *(Ep2,\n  T14; confirmed 3, contradicted 0)*\n- Mine,\n  wrapped.\n\nA note.\n"
    document = parse(head + wrapped)
    assert [line.text for line in document.lines] == ["The dark bites."]
    assert document.by_hand == ((KnowledgeSection.DANGERS, "Mine, wrapped."),)
    assert render(document) == head + wrapped

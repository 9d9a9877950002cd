"""Tests of the file of the knowledge base: lines in sections, as written and as reprinted, and other text unchanged."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.knowledge import a_line, lines
from tests.fixtures.reprints import FORMATTERS, original, reprinted
from zorkgpt.knowledge.file import KnowledgeDocument, is_damaged, parse, parse_line, render, render_line
from zorkgpt.knowledge.lines import KnowledgeSection, confirmed, line_of
from zorkgpt.memory.models import Memory

HAND = """My knowledge
============
A remark.

## COMMAND SYNTAX
* take all works
  in most rooms
- ~~say hello~~
- It bites. *(Ep1, T2; confirmed 0, contradicted 0)*

### My own list
- on paper

## Dangers and Threats ##
Beware!

```
- in code *(Ep1, T2)*
## LESSONS LEARNED
```
<!--
- commented out *(Ep1, T2)*
-->
## Mine
### Environment
- mine, not ours
"""


def dark(text: str = "The dark bites.", **fields) -> Memory:
    return a_line(text, KnowledgeSection.DANGERS, **{"episode": 2, "first_turn": 14, "last_turn": 20} | fields)


# One line


@given(lines())
@example(dark("~~struck~~"))
@example(dark("struck", struck=True))
@example(dark("~~~~"))
@example(dark("~~~ ~~ x", struck=True))
@example(line_of(KnowledgeSection.DANGERS, "Mine. *(Ep1, T2)*"))
def test_line_is_read_back_and_is_one_list_item(line):
    row = render_line(line)
    assert parse_line(row, KnowledgeSection(line.category)) == line
    assert len(row.splitlines()) == 1
    assert row.startswith("- ")
    assert row.count("*(") - row.count("\\*(") == (line.episode != "")
    assert row.count("<") == row.count("\\<")


def test_line_format():
    assert render_line(dark(confirmed=3)) == "- The dark bites. *(Ep2, T14-T20; confirmed 3)*"
    assert render_line(dark()) == "- The dark bites. *(Ep2, T14-T20)*"
    struck = dark(confirmed=3, struck=True, contradicted=4, reason="It was light.")
    assert render_line(struck) == (
        '- ~~The dark bites.~~ *(Ep2, T14-T20; confirmed 3, contradicted 4; because "It was light.")*'
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("* The dark bites. *(Ep2, T14–20; confirmed 3, contradicted 0)*  ", dark(confirmed=3)),
        ("- The dark bites. *(Ep2, T14-T20; contradicted 3)*", dark(contradicted=3)),
        ("- The dark bites. *(Ep2, T14-T20)*", dark()),
        ("*   A &amp; b. _(Ep2, T14-T20; confirmed 3, contradicted 0)_", dark("A & b.", confirmed=3)),
        ("+ The _dark_ \\[bites\\]. *(Ep2, T14-T20)*", dark("The _dark_ [bites].")),
        ("- The *dark* bites. _(Ep2, T14-T20)_", dark("The _dark_ bites.")),
        ("- The dark bites.", line_of(KnowledgeSection.DANGERS, "The dark bites.")),
        ("- ~~The dark bites.~~", line_of(KnowledgeSection.DANGERS, "The dark bites.", struck=True)),
        ("- It bites. (Ep2, my remark)", line_of(KnowledgeSection.DANGERS, "It bites. (Ep2, my remark)")),
        ('- It bites. *(Ep2, T14-T20; because "no")*', dark("It bites.")),
        ("The dark bites. *(Ep2, T14-T20)*", None),
        ("- ~~~~", None),
    ],
)
def test_reading_is_forgiving(row, expected):
    assert parse_line(row, KnowledgeSection.DANGERS) == expected


# The file

pieces = st.one_of(
    st.sampled_from([*HAND.splitlines(keepends=True), *(f"## {section}\n" for section in KnowledgeSection), "\r\n"]),
    st.sampled_from(["\n", "- a\n", "  - b\n", "===\n", "---\n"]),
    st.text(max_size=12),
    st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape")),
)
files = st.lists(pieces, max_size=12).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


@given(st.one_of(files, st.binary(max_size=200)))
@example(b"## COMMAND SYNTAX\n  - b\n  - b\n")
def test_any_file_is_rendered_unchanged(data):
    document = parse(data)
    assert render(document) == render(document.showing(document.lines)) == data


@given(files, st.lists(lines(), min_size=1, max_size=6))
def test_new_line_is_read_back_and_removes_nothing(data, new):
    before = parse(data)
    document = before.showing([*before.lines, *new])
    again = parse(render(document))
    assert again.lines == document.lines
    assert sorted(map(repr, again.lines)) == sorted(map(repr, (*before.lines, *new)))
    left = iter(render(document).split(b"\n"))
    assert all(any(row.rstrip(b"\r") == kept.rstrip(b"\r") for row in left) for kept in data.split(b"\n"))


@given(st.lists(lines(), max_size=5), st.lists(lines(), max_size=5))
def test_document_shows_exactly_the_given_lines(one, other):
    shown = parse(render(KnowledgeDocument().showing(one))).showing(other)
    assert sorted(map(repr, parse(render(shown)).lines)) == sorted(map(repr, other))
    back = shown.showing(one)
    assert sorted(map(repr, parse(render(back)).lines)) == sorted(map(repr, one))


def test_removed_lines_leave_no_trace():
    before = KnowledgeDocument().showing([a_line("First.")])
    added = before.showing([*before.lines, *(a_line(f"In {section}.", section) for section in KnowledgeSection)])
    assert render(parse(render(added)).showing(before.lines)) == render(before)


def test_new_file_has_only_the_sections_with_lines():
    document = KnowledgeDocument().showing(
        [
            a_line("Look first.", KnowledgeSection.INSIGHTS),
            a_line("It bites.", KnowledgeSection.DANGERS, confirmed=2),
            a_line("It is wet.", KnowledgeSection.INSIGHTS, contradicted=1),
        ]
    )
    assert (
        render(document).decode()
        == """# Knowledge

## DANGERS & THREATS

- It bites. *(Ep1, T1; confirmed 2)*

## CROSS-EPISODE INSIGHTS

- Look first. *(Ep1, T1)*
- It is wet. *(Ep1, T1; contradicted 1)*
"""
    )


def test_lines_are_added_to_a_persons_file_in_place():
    document = parse(HAND.encode())
    syntax = KnowledgeSection.SYNTAX
    assert document.lines == (
        line_of(syntax, "take all works in most rooms"),
        line_of(syntax, "say hello", struck=True),
        a_line("It bites.", syntax, first_turn=2, last_turn=2),
        line_of(syntax, "on paper"),
    )
    new = [a_line("Doors creak.", syntax), a_line("It is wet.", KnowledgeSection.INSIGHTS)]
    text = render(document.showing([*document.lines, *new])).decode()
    assert [row for row in text.splitlines() if row not in HAND.splitlines()] == [
        "- Doors creak. *(Ep1, T1)*",
        "## CROSS-EPISODE INSIGHTS",
        "- It is wet. *(Ep1, T1)*",
    ]
    rows = iter(text.splitlines())
    assert all(row in rows for row in HAND.splitlines())


def test_changed_line_keeps_its_place_and_line_ending():
    data = b"## LESSONS LEARNED\r\n- a *(Ep1, T1)*\r\n- b *(Ep1, T2)*\r\nend"
    a, b = parse(data).lines
    assert render(parse(data).showing([b, confirmed(a)])) == data.replace(b"(Ep1, T1)", b"(Ep1, T1; confirmed 1)")


def test_wrapped_line_ends_before_the_next_item_and_text():
    data = b"## DANGERS & THREATS\n\n- The dark\nbites. *(Ep2,\n  T14; confirmed 3)*\n- Mine,\n  wrapped.\n\nA note.\n"
    assert [line.text for line in parse(data).lines] == ["The dark bites.", "Mine, wrapped."]


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\x00\x00\x00", b"\xff\xfe\x00garbage\x80"])
def test_damaged_content(data):
    assert is_damaged(data)


@pytest.mark.parametrize("data", [b"My notes.", HAND.encode(), HAND.encode() + b"\xff", b"# Knowledge\n"])
def test_undamaged_content(data):
    assert not is_damaged(data)


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinted_file_has_the_same_lines_with_any_quotation_marks(formatter):
    def content(data: bytes) -> list[Memory]:
        plain = data.decode().translate(str.maketrans("“”", '""')).replace("…", "...")
        return sorted(parse(plain.encode()).lines, key=repr)

    data = reprinted("knowledge", formatter)
    assert content(data) == content(original("knowledge"))
    assert render(parse(data)) == data

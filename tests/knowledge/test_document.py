"""Tests of the file of the knowledge base: lines in sections, and other text unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.knowledge import a_line, lines
from zorkgpt.knowledge.document import KnowledgeDocument, ProcessedTurns, is_damaged, parse, render
from zorkgpt.knowledge.line import ORDER, KnowledgeSection, confirmed

HAND = """My knowledge
============
A remark.

## COMMAND SYNTAX
* take all works
  in most rooms
- ~~say hello~~
- It bites. *(Ep1, T2; confirmed 0, contradicted 0)*

### My own list
- not shown

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

pieces = st.one_of(
    st.sampled_from([*HAND.splitlines(keepends=True), *(f"{section.heading}\n" for section in ORDER), "\r\n", "\n"]),
    st.text(max_size=12),
    st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape")),
)
files = st.lists(pieces, max_size=12).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


@given(st.one_of(files, st.binary(max_size=200)))
def test_any_file_is_rendered_unchanged(data):
    assert render(parse(data)) == data


@given(files, st.lists(lines(), min_size=1, max_size=6))
def test_new_line_is_read_back_and_removes_nothing(data, new):
    document = parse(data)
    for line in new:
        document = document.added(line)
    document = document.with_processed(3, ProcessedTurns(9))
    again = parse(render(document))
    assert (again.lines, again.processed, again.by_hand) == (document.lines, document.processed, parse(data).by_hand)
    assert sorted(map(repr, again.lines)) == sorted(map(repr, (*parse(data).lines, *new)))
    assert again.processed["3"] == ProcessedTurns(9)
    left = iter(render(document).split(b"\n"))
    assert all(any(row.rstrip(b"\r") == kept.rstrip(b"\r") for row in left) for kept in _kept(data))


def _kept(data: bytes) -> list[bytes]:
    """Return the rows of a file except the one of processed episodes."""
    return [row for row in data.split(b"\n") if not row.startswith(b"<!-- processed: ")]


def test_new_file_has_only_the_sections_with_lines():
    document = (
        KnowledgeDocument()
        .with_processed(1, ProcessedTurns(9))
        .added(a_line("Look first.", KnowledgeSection.META_STRATEGIES))
        .added(a_line("It bites.", KnowledgeSection.DANGERS, confirmed=2))
        .added(a_line("It is wet.", KnowledgeSection.ENVIRONMENT, contradicted=1))
    )
    assert (
        render(document).decode()
        == """# Knowledge

## DANGERS & THREATS

- It bites. *(Ep1, T1; confirmed 2)*

## CROSS-EPISODE INSIGHTS

### Environment

- It is wet. *(Ep1, T1; contradicted 1)*

### Meta-strategies

- Look first. *(Ep1, T1)*

<!-- processed: Ep1, until T9 -->
"""
    )


def test_new_file_without_lines_has_no_sections():
    document = KnowledgeDocument().with_processed(1, ProcessedTurns(9))
    assert render(document) == b"# Knowledge\n\n<!-- processed: Ep1, until T9 -->\n"
    assert not is_damaged(render(document))


def test_lines_by_a_person_are_read_from_our_sections():
    document = parse(HAND.encode())
    assert [line.text for line in document.lines] == ["It bites."]
    assert document.by_hand == ((KnowledgeSection.SYNTAX, "take all works in most rooms"),)


def test_lines_are_added_to_a_persons_file_in_place():
    document = parse(HAND.encode())
    document = document.added(a_line("Doors creak.", KnowledgeSection.SYNTAX)).added(
        a_line("It is wet.", KnowledgeSection.ENVIRONMENT)
    )
    text = render(document).decode()
    new = [row for row in text.splitlines() if row not in HAND.splitlines()]
    assert new == [
        "- Doors creak. *(Ep1, T1)*",
        "## CROSS-EPISODE INSIGHTS",
        "- It is wet. *(Ep1, T1)*",
    ]
    assert {line.text: line.category for line in parse(text.encode()).lines} == {
        "It bites.": KnowledgeSection.SYNTAX,
        "Doors creak.": KnowledgeSection.SYNTAX,
        "It is wet.": KnowledgeSection.ENVIRONMENT,
    }
    rows = iter(text.splitlines())
    assert all(row in rows for row in HAND.splitlines())


def test_changed_line_keeps_its_place_and_line_ending():
    data = b"## LESSONS LEARNED\r\n- a *(Ep1, T1)*\r\n- b *(Ep1, T2)*\r\nend"
    document = parse(data)
    changed = document.changed(document.lines[0], confirmed(document.lines[0]))
    assert render(changed) == data.replace(b"a *(Ep1, T1)*", b"a *(Ep1, T1; confirmed 1)*")


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\x00\x00\x00", b"\xff\xfe\x00garbage\x80"])
def test_damaged_content(data):
    assert is_damaged(data)


@pytest.mark.parametrize("data", [b"My notes.", HAND.encode(), HAND.encode() + b"\xff"])
def test_undamaged_content(data):
    assert not is_damaged(data)


def test_two_rows_of_processed_episodes_are_merged():
    note = "<!-- processed: Ep{}, until T{} -->\n"
    document = parse(f"## Mine\n{note.format(1, 5)}{note.format(2, 7)}".encode()).with_processed(2, ProcessedTurns(9))
    assert {name: processed.until for name, processed in parse(render(document)).processed.items()} == {"1": 5, "2": 9}
    assert render(document).count(b"processed:") == 1

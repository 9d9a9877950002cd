"""Tests of memory files that a formatter or a person has changed without changing a memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.documents import document_of
from tests.fixtures.memory import memory
from tests.fixtures.reprints import FORMATTERS, Formatter, formatters, original, reprinted
from tests.fixtures.stores import journal_rows
from zorkgpt.memory.claims import parse_claim
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, INVALIDATION_MARKER, Thing
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.storage.entry import Entry


def content(data: bytes):
    """Return all that is read from a file."""
    document = parse(data)
    return document.by_place(), document.headings(), list(document.problems())


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinted_file_has_the_same_memories(formatter):
    data = reprinted("memories", formatter)
    assert content(data) == content(original("memories"))
    assert render(parse(data)) == data


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_reprinting_is_no_edit(tmp_path, formatter):
    path = tmp_path / "Memories.md"
    path.write_bytes(original("memories"))
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Boat House", memory("Rope"))
        with manager.store.transaction() as draft:
            draft.remove(5, next(each for each in draft.lasting.memories(5) if each.title == "Rope"))
    assert path.read_bytes() == original("memories")
    journal = journal_rows(path)
    path.write_bytes(reprinted("memories", formatter))
    with SimpleMemoryManager.open(path) as manager:
        assert manager.store.notices == []
        assert not any(located.memory.edited_by_person for located in manager.all_memories())
        assert manager.invalidate_memory(5, "Tides", "wrong")
    assert [row["kind"] for row in journal_rows(path)[len(journal) :]] == ["invalidated"]


WORDS = [
    "door", "the", "opens", "[oak]", "snake_case", "a_b_", "2*3", "*", "R&B", "&", '"hi"', "it's", "(so)", "#5", "#",
    "1.", "-", "+5", ">", "x|y", "C:\\dir", "…", "<b>", "~", "$5", "lamp,", "troll;", "no:", "--", "=", "^", "!",
]  # fmt: skip
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
commands = st.sampled_from(["go", "troll, give axe", "look under (old) rug", 'say "hi", then wait', "read a_b", ""])


@st.composite
def standard_memories(draw):
    wrong = draw(st.booleans())
    return memory(
        draw(phrases),
        draw(st.sampled_from(["core", "permanent"])),
        category=draw(st.sampled_from(["SUCCESS", "DANGER", "NOTE"])),
        text=draw(phrases),
        turns=draw(st.sampled_from(["3", "3→48"])),
        pinned=draw(st.booleans()),
        action=draw(commands),
        outcome=draw(st.sampled_from(["", "changed", "to 5"])),
        claims=tuple(filter(None, map(parse_claim, draw(st.sampled_from([[], ["door #3 open", "lamp #4 here"]]))))),
        metadata=draw(st.sampled_from([{}, {"user": 7, "tags": ["x_y", "a, b"]}])),
        status="SUPERSEDED" if wrong else "ACTIVE",
        superseded_by=draw(st.sampled_from([INVALIDATION_MARKER, "The door"])) if wrong else None,
        superseded_at_turn=draw(st.sampled_from([None, 5])) if wrong else None,
        invalidation_reason=draw(st.sampled_from([None, "it is [not] so"])) if wrong else None,
    )


places = st.sampled_from([(5, "Hall #2"), (6, ""), ("a/b_c", "Cart"), (("acme", 7), "Notes"), (Thing(3), "door")])


@given(st.lists(st.tuples(places, standard_memories()), min_size=1, max_size=3), formatters)
def test_all_that_formatters_change_is_read_the_same(located, formatter):
    data = render(document_of(*((place, name, each) for (place, name), each in located), (GAME, "", memory("Rules"))))
    assert content(formatter.format(data.decode()).encode()) == content(data)


def test_game_section_without_name_can_be_underlined():
    data = render(document_of((GAME, "", memory("Rules"))))
    assert b"\nGame\n----\n" in (underlined := Formatter(has_setext=True).format(data.decode()).encode())
    assert content(underlined) == content(data)


HEAD = "# Location Memories\n\n## Location 5: Hall\n**Visits:** 3 | **Episodes:** 1, 2, 3\n\n### Memories\n\n"
FIRST = "**[NOTE - PERMANENT] First** *(Ep1, T1, +0)*\nThe first text.\n"
SECOND = "**[NOTE - PERMANENT] Second** *(Ep1, T1, +0)*\nThe second text.\n"


def titles_and_texts(body: str) -> list[tuple[str, str]]:
    data = f"{HEAD}{body}".encode()
    document = parse(data)
    assert render(document) == data
    return [(each.title, each.text) for each in document.memories(5)]


def problem_lines(body: str) -> list[int]:
    return [problem.line - HEAD.count("\n") for problem in parse(f"{HEAD}{body}".encode()).problems()]


@pytest.mark.parametrize(
    "body",
    [
        "**[NOTE] Lever** *(Ep1, T1)*\n\n\n\nPull it twice.\n",
        "**[NOTE] Lever**  \n*(Ep1, T1)*  \nPull it\ntwice.\n",
        "**[NOTE] Lever** *(Ep1,\nT1)* Pull it\ntwice.\n",
        "  **[NOTE - PERMANENT] Lever** *(Ep1, T1, +0)*\\\n  Pull it twice.\n",
        "__\\[NOTE\\] Lever__ _(Ep1, T1)_ Pull&#x20;it&nbsp;twice.\n",
    ],
)
def test_header_and_text_can_be_wrapped_in_any_way(body):
    assert titles_and_texts(body + "\n" + FIRST) == [("Lever", "Pull it twice."), ("First", "The first text.")]


def test_comma_that_lost_its_backslash_belongs_to_its_field():
    fields = "action: troll, give axe → changed, claims: rope, wet #4 here, later 7x"
    read = parse(f"## Location 5: Hall\n\n**[NOTE - PERMANENT] A** *(Ep1, T1, {fields})*\nText.\n".encode())
    [entry] = (part for section in read.sections for part in section.parts if isinstance(part, Entry))
    assert entry.memory == memory(
        "A",
        text="Text.",
        turns="1",
        score_change=None,
        action="troll, give axe",
        outcome="changed",
        claims=(parse_claim("rope, wet #4 here"),),
    )
    assert entry.extras == ("later 7x",)


@pytest.mark.parametrize("between", ["\n", "\n\n", " "])
def test_entry_without_metadata_is_a_memory_of_the_last_episode(tmp_path, between):
    path = tmp_path / "Memories.md"
    before = f"{HEAD}**[NOTE] Mine**{between}It is\n*mine*.\n\n{FIRST}"
    path.write_text(before)
    expected = memory("Mine", text="It is *mine*.", episode=3, turns="0", score_change=None)
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get("Mine").memory == expected
        assert manager.store.notices == []
        assert path.read_text() == before
        # The episode is written with the next change, so that later ones don't change it.
        manager.add_memory(5, "Hall", memory("Third", episode=4))
    assert f"**[NOTE] Mine** *(Ep3, T0)*{between}It is\n*mine*.\n" in path.read_text()
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get("Mine").memory == expected
        assert [row["kind"] for row in journal_rows(path)] == ["added"] * 3


def test_entry_added_without_metadata_is_by_a_person(tmp_path):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("First", episode=2))
        path.write_text(path.read_text() + "\n**[DANGER - CORE] Mine** It bites.\n")
        assert not manager.invalidate_memory(5, "Mine", "wrong")
        assert manager.get("Mine").memory.edited_by_person
    assert [(row["kind"], row["source"], row["after"]["episode"]) for row in journal_rows(path)] == [
        ("added", "agent", 2),
        ("added", "hand", 2),
    ]


@pytest.mark.parametrize(
    "body", ["**[x] done**\nA list.\n", "**[a link](b)**: a note.\n", "**[NOTE] A** *(T1)*\nText.\n"]
)
def test_other_bold_text_is_no_memory(body):
    assert (titles_and_texts(body), problem_lines(body)) == ([], [1])


@pytest.mark.parametrize(
    "body",
    [
        f"<!--\n{FIRST}-->\n\n{SECOND}",
        f"<!-- hidden\n\n{FIRST}\n-->\n\n{SECOND}",
        f"{SECOND}<!--\n{FIRST}-->\n",
        f"{SECOND}\n<!-- {FIRST}-->\n",
        f"{SECOND}<!-- a remark -->\n",
        f"```\n{FIRST}```\n{SECOND}",
        f"{SECOND}```markdown\n{FIRST}\n## Location 7: Attic\n\n{FIRST}```\n",
        f"{SECOND}\n~~~~ md\n{FIRST}~~~~\n",
    ],
)
def test_entry_in_a_comment_or_fence_is_hidden(body):
    assert (titles_and_texts(body), problem_lines(body)) == ([("Second", "The second text.")], [])


@pytest.mark.parametrize("mark", ["```", "<!--", "~~~"])
def test_comment_or_fence_without_an_end_hides_nothing(mark):
    body = f"{mark}\n{FIRST}\n{SECOND}"
    assert titles_and_texts(body) == [("First", "The first text."), ("Second", "The second text.")]
    assert problem_lines(body) == [1]


@pytest.mark.parametrize("text", ["```\ncode\n```", "<!-- a -->\nb\n-->", "~~~\nx\n~~~", "see ``` and <!-- y", "~~~~"])
@pytest.mark.parametrize("status", ["ACTIVE", "SUPERSEDED"])
def test_fence_in_a_stored_text_is_text(text, status):
    data = render(document_of((5, "Hall", memory("A", text=text, status=status)), (5, "Hall", memory("B"))))
    assert [(each.title, each.text) for each in parse(data).memories(5)] == [("A", text), ("B", "The text of B.")]


MARKERS = "<<<<<<< HEAD\n{}||||||| base\n{}=======\n{}>>>>>>> other\n"
OURS, BASE, THEIRS = (f"**[NOTE - PERMANENT] A** *(Ep1, T1→T{turn}, +0)*\n" for turn in (5, 2, 9))


@pytest.mark.parametrize(
    ("body", "expected", "lines"),
    [
        (MARKERS.format(FIRST, FIRST, SECOND), [("First", "1"), ("Second", "1")], [1, 4, 7, 10]),
        (MARKERS.format(f"{FIRST}\n", "", f"{SECOND}\n"), [("First", "1"), ("Second", "1")], [1, 5, 6, 10]),
        (MARKERS.format(OURS, BASE, THEIRS) + "Same text.\n", [("A", "1→5"), ("A", "1→9")], [1, 3, 5, 7]),
        (OURS + MARKERS.format("One.\n", "None.\n", "Two.\n"), [("A", "1→5"), ("A", "1→5")], [2, 4, 6, 8]),
    ],
)  # fmt: skip
def test_both_sides_of_a_merge_conflict_are_read_without_its_marks(body, expected, lines):
    data = f"{HEAD}{body}".encode()
    document = parse(data)
    assert render(document) == data
    assert [(each.title, each.turns) for each in document.memories(5)] == expected
    assert not any("<" in each.text or "=" in each.text or ">" in each.text for each in document.memories(5))
    assert all(each.text for each in document.memories(5))
    assert problem_lines(body) == lines


def test_visits_in_a_merge_conflict_are_combined():
    ours, theirs = (f"**Visits:** {count} | **Episodes:** 1, {count}\n" for count in (3, 2))
    data = f"## Location 5: Hall\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n\n{FIRST}".encode()
    document = parse(data)
    assert document.headings()[5] == ("Hall", 3, (1, 3, 2))
    assert [problem.line for problem in document.problems()] == [2, 4, 6]


def test_merge_conflict_is_reported_with_its_lines(tmp_path):
    path = tmp_path / "Memories.md"
    path.write_text(HEAD + MARKERS.format(FIRST, "", SECOND))
    with SimpleMemoryManager.open(path) as manager:
        assert manager.store.notices == [
            f"{path}: a merge conflict is not resolved: both sides are read. Remove its marks from the file.",
            f"{path}: lines 8, 11, 12, 15 are preserved but not understood. `memories check` lists them.",
        ]

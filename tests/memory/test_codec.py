"""Tests of reading and writing memory files."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.documents import added, document_of, invalidated
from tests.fixtures.memory import FORGERIES, episodes, in_one_line, memories, memory, plain_texts, texts
from zorkgpt.memory.models import GAME, Thing, episode_key
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.section import Problem


@pytest.mark.parametrize("title", ["First", "Second", "Third"])
def test_memory_is_removed_with_the_empty_line_after_it(home, title):
    with home.open() as manager:
        for each_title in ("First", "Second", "Third"):
            manager.add_memory(5, "Hall", memory(each_title))
        before = home.text()
        with manager.store.transaction() as draft:
            draft.remove(5, next(old for old in draft.lasting.memories(5) if old.title == title))
    block = f"**[NOTE - PERMANENT] {title}** *(Ep1, T3, +0)*\nThe text of {title}.\n\n"
    assert home.text() == before.replace(block, "")


HAND_WRITTEN = """\
My notes on the game, not for the machine.

# Location Memories

## Location 5: Living Room
**Visits:**  3 |  **Episodes:** 01,2, 3

### Memories

**[DISCOVERY  -  CORE] Sword hangs here**   *( Ep1,T2 )*
A sword hangs above the trophy case
when the room is first seen.

Remember to ask about the case!

**[NOTE - PERMANENT] Broken header
with a text

**[NOTE - PERMANENT] Rug** *(Ep1, T10→T48, +5, seen 3x, worked 5/9, pinned)*
Moving the rug reveals a trap door.
---

## My own section
**[NOTE - PERMANENT] No memory** *(Ep1, T1)*
It belongs to no location.

## Location seven: Kitchen
**[NOTE - PERMANENT] No memory either** *(Ep1, T1)*
Its number is no number.
""".encode()


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-3, 300), texts, memories()), max_size=6))
@example([(1, "", memory("", text="", category=""))])
@example([(1, "a", memory("1", episode="1", turns=""))])
@example([(1, "a", memory("1", turns="5->6"))])
def test_written_memories_are_read_back(located):
    document = document_of(*located)
    read = parse(render(document))
    expected: dict[int, list] = {}
    for location_id, _, kept in located:
        expected.setdefault(location_id, []).append(in_one_line(kept))
    assert read.by_place() == expected
    assert read.by_place() == document.by_place()
    assert list(read.problems()) == []


@given(st.integers(1, 9), texts, st.lists(episodes, min_size=1, max_size=4))
def test_names_visits_and_episodes_are_read_back(location_id, name, seen):
    document = added(Document(), location_id, name, memory(), visits=tuple(seen))
    section = parse(render(document)).headings()[location_id]
    assert section.name == single_spaced(name)
    assert section.visits >= len(seen)
    wanted = dict.fromkeys(
        episode_key(single_spaced(episode) if isinstance(episode, str) else episode) for episode in (*seen, 1)
    )
    assert list(dict.fromkeys(section.episodes)) == list(wanted)


@given(st.binary(max_size=400))
@example(b"## Location 99999999999999999999999: X\n")
@example(b"## Location 5: X\n**[NOTE - CORE] a** *(Ep1, T1, +99999999999999999999999999)*\nx\n")
def test_reading_never_raises_and_keeps_every_byte(data):
    document = parse(data)
    list(document.problems())
    assert render(document) == data


LINES = st.sampled_from(
    [
        b"## Location 5: Hall",
        b"## Location 6: \xff\xfe",
        b"# Other",
        b"## Own",
        b"### Memories",
        b"**Visits:** 2 | **Episodes:** 1, 2",
        b"**[NOTE - PERMANENT] One** *(Ep1, T1, +0)*",
        b"**[NOTE - CORE - TENTATIVE] Two** *(Ep01, T2-3)*",
        b"**[NOTE - SUPERSEDED] Three** *(Ep1, T1)*",
        b"**[broken",
        b"Some text.",
        b"~~struck~~",
        b"---",
        b"",
        b"\r",
        b"  ",
        b"\xc3\x28",
    ]
)


@given(st.lists(LINES, max_size=25).map(b"\n".join), memories(plain_texts), st.sampled_from([5, 6, 7]))
def test_adding_a_memory_changes_no_existing_byte(data, new, location_id):
    before = parse(data)
    after = added(before, location_id, "Hall", new)
    read = parse(render(after))
    assert read.by_place() == after.by_place()
    assert read.memories(location_id) == expected_with(before.memories(location_id), read, location_id, new)
    # The first change writes ids that can't be derived, such as that of the second memory with the same title.
    kept = [part for section in before.completed.sections for part in raw_parts(section)]
    assert is_subsequence(kept, render(after))


@given(st.lists(LINES, max_size=25).map(b"\n".join), st.data())
def test_changing_a_memory_changes_no_other_byte(data, choice):
    data = render(parse(data).completed)
    before = parse(data)
    places = [(place, kept) for place in before.section_indexes for kept in before.memories(place)]
    if not places:
        return
    place, chosen = choice.draw(st.sampled_from(places))
    after = invalidated(before, place, chosen, "wrong", 9)
    raw = next(entry.raw for entry in entries(before) if entry.memory is chosen)
    new = next(entry.raw for entry, old in zip(entries(after), entries(before), strict=True) if old.memory is chosen)
    at = sum(map(len, raw_before(before, chosen)))
    size = len(raw.encode("utf-8", "surrogateescape"))
    assert render(after) == data[:at] + new.encode() + data[at + size :]
    assert parse(render(after)).by_place() == after.by_place()


def entries(document):
    return [part for section in document.sections for part in section.parts if not isinstance(part, str)]


def raw_before(document, memory):
    """Yield the bytes before this memory."""
    for section in document.sections:
        if not any(kept is memory for kept in section.memories):
            yield section.data
            continue
        yield (section.heading + section.visited).encode("utf-8", "surrogateescape")
        for part in section.parts:
            if not isinstance(part, str) and part.memory is memory:
                return
            yield (part if isinstance(part, str) else part.raw).encode("utf-8", "surrogateescape")


def expected_with(before, read, location_id, new):
    # The new memory is the last of the location's first section.
    first = len(read.sections[read.section_indexes[location_id][0]].memories) - 1
    return [*before[:first], in_one_line(new), *before[first:]]


def raw_parts(section):
    if section.location_id is None:
        return [section.data]
    return [(part if isinstance(part, str) else part.raw).encode("utf-8", "surrogateescape") for part in section.parts]


def is_subsequence(parts, data) -> bool:
    """Return whether all parts occur in this order. A part may be split by an inserted memory."""
    at = 0
    for part in parts:
        for line in part.splitlines(keepends=True):
            found = data.find(line, at)
            if found < 0:
                return False
            at = found + len(line)
    return True


def test_changed_entry_leaves_others_as_written():
    document = parse(HAND_WRITTEN)
    rug = document.memories(5)[1]
    after = invalidated(document, 5, rug, "It was nailed down", 50)
    expected = HAND_WRITTEN.replace(
        "**[NOTE - PERMANENT] Rug** *(Ep1, T10→T48, +5, seen 3x, worked 5/9, pinned)*\n"
        "Moving the rug reveals a trap door.\n".encode(),
        "**[NOTE - PERMANENT - SUPERSEDED] Rug** *(Ep1, T10→T48, +5, seen 3x, worked 5/9, pinned)*\n"
        '[Invalidated at T50: "It was nailed down"]\n'
        "~~Moving the rug reveals a trap door.~~\n".encode(),
    )
    assert render(after) == expected


def test_problems_are_reported_with_line_numbers():
    assert [(problem.line, problem.message) for problem in parse(HAND_WRITTEN).problems()] == [
        (1, "text that is not a memory: 'My notes on the game, not for the machine.'"),
        (14, "text that is not a memory: 'Remember to ask about the case!'"),
        (16, "not a memory: the header has no *(Ep…, T…)* at its end"),
        (23, "an unknown section: '## My own section'"),
        (27, "the location is neither a number nor a quoted string: '## Location seven: Kitchen'"),
    ]


def test_windows_line_endings_are_kept():
    data = render(document_of((5, "Hall", memory()))).replace(b"\n", b"\r\n")
    after = render(added(parse(data), 5, "Hall", memory("Another")))
    assert after.count(b"\n") == after.count(b"\r\n")
    assert [kept.title for kept in parse(after).memories(5)] == ["Rug hides a trap door", "Another"]


@pytest.mark.parametrize("outcome", ["", "changed", "to → 5"])
def test_arrow_in_an_action_is_not_a_separator(outcome):
    (read,) = parse(render(document_of((5, "Hall", memory(action="say a → b", outcome=outcome))))).memories(5)
    assert (read.action, read.outcome) == ("say a -> b", outcome.replace("→", "->"))


def test_only_places_have_visits():
    counted = "**Visits:** 1 | **Episodes:** 1\n"
    for subject, head in (
        (5, f"## Location 5: Bell\n{counted}"),
        (Thing(5), "## Thing 5: Bell\n"),
        (GAME, "## Game: Bell\n"),
    ):
        written = render(added(parse(b""), subject, "Bell", memory())).decode()
        assert written.startswith(f"# Location Memories\n\n{head}\n### Memories\n")
    (section,) = parse(b"## Location 5: Bell\n").sections
    assert (section.visits, section.episodes) == (0, ())


FIRST_MEMORY = "**[NOTE] A** *(Ep1, T1)*\nThe text."


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("", "\n@"),
        ("\n", "\n@"),
        ("---\n", "\n@\n---\n"),
        ("\n---\n", "\n@\n---\n"),
        ("### Memories\n", "### Memories\n\n@"),
        ("### Memories\n---\n", "### Memories\n\n@\n---\n"),
        ("### Memories\n\n\n---\n", "### Memories\n\n\n@\n---\n"),
        ("### Memories\nA note.\n---\n", "### Memories\n\n@\nA note.\n---\n"),
        ("A note.\n", "A note.\n\n@"),
        ("A note.\n---\nMore.\n", "A note.\n\n@\n---\nMore.\n"),
        ("A note.\n\n-----\n", "A note.\n\n@\n-----\n"),
        (f"\n{FIRST_MEMORY}", f"\n{FIRST_MEMORY}\n\n@"),
        (f"\n{FIRST_MEMORY}\n", f"\n{FIRST_MEMORY}\n\n@"),
        (f"\n{FIRST_MEMORY}\n---\n", f"\n{FIRST_MEMORY}\n\n@\n---\n"),
        (f"\n{FIRST_MEMORY}\n\n---\n", f"\n{FIRST_MEMORY}\n\n@\n---\n"),
        (f"\n{FIRST_MEMORY}\n\nA note.\n", f"\n{FIRST_MEMORY}\n\n@\nA note.\n"),
    ],
)
def test_new_memory_is_surrounded_by_empty_lines(body, after):
    head = "## Location 5: Hall\n**Visits:** 1 | **Episodes:** 1\n"
    written = render(added(parse(f"{head}{body}".encode()), 5, "Hall", memory("B"))).decode()
    assert written == head + after.replace("@", "**[NOTE - PERMANENT] B** *(Ep1, T3, +0)*\nThe text of B.\n")


def test_text_around_a_memory_is_reported():
    document = parse(b"## Location 5: Hall\nMine.\n**[NOTE] A** *(Ep1, T1)*\nThe text.\n#### More\n")
    assert [problem.line for problem in document.problems()] == [2, 5]


@pytest.mark.parametrize("last", ["## Location 5: Hall", "## Location 5: Hall\n**Visits:** 2 | **Episodes:** 1"])
def test_last_line_without_newline_gets_one(last):
    after = render(added(parse(last.encode()), 5, "Hall", memory())).decode()
    assert after.startswith("## Location 5: Hall\n")
    document = parse(after.encode())
    assert (list(document.problems()), len(document.memories(5))) == ([], 1)


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("field", ["title", "text", "category", "turns", "episode", "name", "reason", "superseded_by"])
def test_text_never_becomes_structure(field, forged):
    nasty = f"{forged} and {forged}"
    fields = {field: nasty} if field not in ("name", "reason", "superseded_by") else {}
    if field in ("reason", "superseded_by"):
        fields = {"status": "SUPERSEDED", {"reason": "invalidation_reason"}.get(field, field): nasty}
    name = nasty if field == "name" else "Hall"
    read = parse(render(document_of((5, name, memory(**{"title": "T", **fields})))))
    assert read.by_place() == {5: [in_one_line(memory(**{"title": "T", **fields}))]}
    assert [section.location_id for section in read.sections] == [None, 5]
    assert read.name(5) == single_spaced(name)


def test_new_locations_are_sorted_and_existing_ones_stay():
    data = b"# Location Memories\n\n## Location 9: Nine\n\n## Location 4: Four\n\n## Mine\n"
    document = parse(data)
    for location_id in (3, 5, 12, 4):
        document = added(document, location_id, "Room", memory())
    assert [section.location_id for section in document.sections] == [None, 3, 5, 9, 4, None, 12]


def test_first_section_names_a_location():
    document = parse(b"## Location 9: Nine\n\n## Location 4: Four\n\n## Location 9: Another\n")
    assert {place: heading.name for place, heading in document.headings().items()} == {4: "Four", 9: "Nine"}


def test_broken_entry_is_reported_with_its_problem():
    body = b"## Location 5: Hall\n\n"
    broken = {
        b"**[NOTE - SOMETIMES] A** *(Ep1, T1)*": "'SOMETIMES' is neither a persistence nor a status",
        b"**[NOTE - EPHEMERAL] A** *(Ep1, T1)*": "an ephemeral memory does not belong into the file",
        b"**[NOTE - CORE] A* *(Ep1, T1)*": "the title does not end with **",
        b"**[NOTE - CORE] A** *(T1)*": "(T1) does not begin with an episode and a turn, as in (Ep1, T25)",
        b"**[NOTE - CORE A** *(Ep1, T1)*": "the header's ] is missing",
    }
    for line, message in broken.items():
        document = parse(body + line + b"\nText.\n")
        assert list(document.problems()) == [Problem(3, f"not a memory: {message}", is_broken=True)]
        assert document.by_place() == {}


def test_unchanged_section_is_not_parsed_again():
    document = document_of((5, "Hall", memory()), (6, "Attic", memory()))
    known = {section.data: section for section in document.sections}
    again = parse(render(document), known)
    assert all(new is old for new, old in zip(again.sections, document.sections, strict=True))


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_header_without_text_ends_before_the_next_memory(between):
    headers = "**[NOTE] A** *(Ep1, T1)*\n" + between + "**[NOTE] B** *(Ep1, T1)*\nIt is here.\n"
    document = parse(f"## Location 5: Hall\n\n{headers}".encode())
    assert [(memory.title, memory.text) for memory in document.memories(5)] == [("A", ""), ("B", "It is here.")]


def test_adding_a_first_location_keeps_the_last_unchanged():
    last = b"## Location 5: Hall\n\n**[NOTE] A** *(Ep1, T1)*\nIt is here."
    rendered = render(added(parse(last), 1, "Gate", memory()))
    assert rendered.startswith(b"## Location 1: Gate")
    assert rendered.endswith(last)

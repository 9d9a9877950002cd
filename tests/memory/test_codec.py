"""What is written is read back, what is not understood is kept."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.memory import FORGERIES, episodes, in_one_line, memories, memory, plain_texts, texts
from zorkgpt.memory.models import GAME, Thing, episode_key
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.storage.section import Problem


def added(document, location_id, name, *new, visits=()):
    draft = Draft(MemoryBook(document))
    draft.add(location_id, name, *new, visits=visits)
    return draft.lasting.document


def invalidated(document, location_id, old, reason, turn):
    draft = Draft(MemoryBook(document))
    draft.invalidate(location_id, old, reason, turn)
    return draft.lasting.document


@pytest.mark.parametrize("title", ["First", "Second", "Third"])
def test_a_memory_is_removed_with_the_empty_line_after_it(home, title):
    with home.open() as manager:
        for each in ("First", "Second", "Third"):
            manager.add_memory(5, "Hall", memory(each))
        before = home.text()
        with manager.store.transaction() as draft:
            draft.remove(5, next(one for one in draft.lasting.memories(5) if one.title == title))
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


def document_of(*located) -> Document:
    document = Document()
    for location_id, name, kept in located:
        document = added(document, location_id, name, kept)
    return document


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-3, 300), texts, memories()), max_size=6))
@example([(1, "", memory("", text="", category=""))])
@example([(1, "a", memory("1", episode="1", turns=""))])
@example([(1, "a", memory("1", turns="5->6"))])
def test_what_is_written_is_read_back(located):
    document = document_of(*located)
    read = parse(render(document))
    expected: dict[int, list] = {}
    for location_id, _, kept in located:
        expected.setdefault(location_id, []).append(in_one_line(kept))
    assert by_place(read.find(EVERY)) == expected
    assert by_place(read.find(EVERY)) == by_place(document.find(EVERY))
    assert list(read.problems()) == []


@given(st.integers(1, 9), texts, st.lists(episodes, min_size=1, max_size=4))
def test_names_visits_and_episodes_are_read_back(location_id, name, seen):
    document = added(Document(), location_id, name, memory(), visits=tuple(seen))
    section = parse(render(document)).sections_of(location_id)[0]
    assert section.name == single_spaced(name)
    assert section.visits >= len(seen)
    wanted = dict.fromkeys(episode_key(single_spaced(one) if isinstance(one, str) else one) for one in (*seen, 1))
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
def test_a_new_memory_changes_no_byte_of_what_was_there(data, new, location_id):
    before = parse(data)
    after = added(before, location_id, "Hall", new)
    read = parse(render(after))
    assert by_place(read.find(EVERY)) == by_place(after.find(EVERY))
    assert read.memories(location_id) == expected_with(before.memories(location_id), read, location_id, new)
    kept = [part for section in before.sections for part in raw_parts(section)]
    assert is_subsequence(kept, render(after))


@given(st.lists(LINES, max_size=25).map(b"\n".join), st.data())
def test_a_memory_that_changes_changes_no_other_byte(data, choice):
    before = parse(data)
    places = [(place, kept) for place in before.section_indexes for kept in before.memories(place)]
    if not places:
        return
    place, chosen = choice.draw(st.sampled_from(places))
    after = invalidated(before, place, chosen, "wrong", 9)
    raw = next(entry.raw for entry in entries(before) if entry.memory is chosen)
    new = next(one.raw for one, old in zip(entries(after), entries(before), strict=True) if old.memory is chosen)
    at = sum(map(len, raw_before(before, chosen)))
    size = len(raw.encode("utf-8", "surrogateescape"))
    assert render(after) == data[:at] + new.encode() + data[at + size :]
    assert by_place(parse(render(after)).find(EVERY)) == by_place(after.find(EVERY))


def entries(document):
    return [part for section in document.sections for part in section.parts if not isinstance(part, str)]


def raw_before(document, memory):
    """The bytes of everything in front of this very memory."""
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
    # In the first of the location's sections, so not always the last of all its memories.
    first = len(read.sections_of(location_id)[0].memories) - 1
    return [*before[:first], in_one_line(new), *before[first:]]


def raw_parts(section):
    if section.location_id is None:
        return [section.data]
    return [(part if isinstance(part, str) else part.raw).encode("utf-8", "surrogateescape") for part in section.parts]


def is_subsequence(parts, data) -> bool:
    """All of them stand in the data in this order, each whole or (where a memory went in between) in two pieces."""
    at = 0
    for part in parts:
        for line in part.splitlines(keepends=True):
            found = data.find(line, at)
            if found < 0:
                return False
            at = found + len(line)
    return True


def test_an_entry_that_changes_leaves_all_others_as_their_owner_wrote_them():
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


def test_what_is_not_understood_is_told_with_its_line():
    assert [(problem.line, problem.message) for problem in parse(HAND_WRITTEN).problems()] == [
        (1, "text that is not a memory: 'My notes on the game, not for the machine.'"),
        (14, "text that is not a memory: 'Remember to ask about the case!'"),
        (16, "not a memory: the header has no *(Ep…, T…)* at its end"),
        (23, "an unknown section: '## My own section'"),
        (27, "the location is neither a number nor a quoted string: '## Location seven: Kitchen'"),
    ]


def test_a_file_with_the_line_ends_of_windows_keeps_them():
    data = render(document_of((5, "Hall", memory()))).replace(b"\n", b"\r\n")
    after = render(added(parse(data), 5, "Hall", memory("Another")))
    assert after.count(b"\n") == after.count(b"\r\n")
    assert [kept.title for kept in parse(after).memories(5)] == ["Rug hides a trap door", "Another"]


@pytest.mark.parametrize("outcome", ["", "changed", "to → 5"])
def test_an_arrow_in_an_action_does_not_separate_its_outcome(outcome):
    (read,) = parse(render(document_of((5, "Hall", memory(action="say a → b", outcome=outcome))))).memories(5)
    assert (read.action, read.outcome) == ("say a -> b", outcome.replace("→", "->"))


def test_only_the_section_of_a_place_has_visits():
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
    ],
)
def test_the_first_memory_of_a_section_has_an_empty_line_before_it(body, after):
    head = "## Location 5: Hall\n**Visits:** 1 | **Episodes:** 1\n"
    written = render(added(parse(f"{head}{body}".encode()), 5, "Hall", memory("A"))).decode()
    assert written == head + after.replace("@", "**[NOTE - PERMANENT] A** *(Ep1, T3, +0)*\nThe text of A.\n")


@pytest.mark.parametrize(
    ("end", "after"),
    [
        ("", "\n\n@"),
        ("\n", "\n\n@"),
        ("\n---\n", "\n\n@\n---\n"),
        ("\n\n---\n", "\n\n@\n---\n"),
        ("\n\nA note.\n", "\n\n@\nA note.\n"),
    ],
)
def test_a_further_memory_has_an_empty_line_around_it(end, after):
    head = "## Location 5: Hall\n**Visits:** 1 | **Episodes:** 1\n\n**[NOTE] A** *(Ep1, T1)*\nThe text."
    written = render(added(parse(f"{head}{end}".encode()), 5, "Hall", memory("B"))).decode()
    assert written == head + after.replace("@", "**[NOTE - PERMANENT] B** *(Ep1, T3, +0)*\nThe text of B.\n")


def test_text_around_a_memory_is_reported_on_both_sides():
    document = parse(b"## Location 5: Hall\nMine.\n**[NOTE] A** *(Ep1, T1)*\nThe text.\n#### More\n")
    assert [problem.line for problem in document.problems()] == [2, 5]


@pytest.mark.parametrize("last", ["## Location 5: Hall", "## Location 5: Hall\n**Visits:** 2 | **Episodes:** 1"])
def test_a_last_line_without_an_end_gets_one_before_what_is_added(last):
    after = render(added(parse(last.encode()), 5, "Hall", memory())).decode()
    assert after.startswith("## Location 5: Hall\n")
    document = parse(after.encode())
    assert (list(document.problems()), len(document.memories(5))) == ([], 1)


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("field", ["title", "text", "category", "turns", "episode", "name", "reason", "superseded_by"])
def test_no_text_becomes_structure(field, forged):
    nasty = f"{forged} and {forged}"
    fields = {field: nasty} if field not in ("name", "reason", "superseded_by") else {}
    if field in ("reason", "superseded_by"):
        fields = {"status": "SUPERSEDED", {"reason": "invalidation_reason"}.get(field, field): nasty}
    name = nasty if field == "name" else "Hall"
    read = parse(render(document_of((5, name, memory(**{"title": "T", **fields})))))
    assert by_place(read.find(EVERY)) == {5: [in_one_line(memory(**{"title": "T", **fields}))]}
    assert [section.location_id for section in read.sections] == [None, 5]
    assert read.sections_of(5)[0].name == single_spaced(name)


def test_locations_stand_in_the_order_of_their_numbers_and_those_that_are_there_never_move():
    data = b"# Location Memories\n\n## Location 9: Nine\n\n## Location 4: Four\n\n## Mine\n"
    document = parse(data)
    for location_id in (3, 5, 12, 4):
        document = added(document, location_id, "Room", memory())
    assert [section.location_id for section in document.sections] == [None, 3, 5, 9, 4, None, 12]


def test_of_two_sections_of_a_location_the_first_names_it():
    document = parse(b"## Location 9: Nine\n\n## Location 4: Four\n\n## Location 9: Another\n")
    assert {place: heading.name for place, heading in document.headings([4, 9]).items()} == {4: "Four", 9: "Nine"}


def test_a_broken_entry_says_what_is_wrong():
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
        assert by_place(document.find(EVERY)) == {}


def test_a_section_with_the_same_bytes_is_not_read_again():
    document = document_of((5, "Hall", memory()), (6, "Attic", memory()))
    known = {section.data: section for section in document.sections}
    again = parse(render(document), known)
    assert all(one is other for one, other in zip(again.sections, document.sections, strict=True))


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_a_header_without_text_does_not_take_the_next_memory(between):
    headers = "**[NOTE] A** *(Ep1, T1)*\n" + between + "**[NOTE] B** *(Ep1, T1)*\nIt is here.\n"
    document = parse(f"## Location 5: Hall\n\n{headers}".encode())
    assert [(memory.title, memory.text) for memory in document.memories(5)] == [("A", ""), ("B", "It is here.")]


def test_a_location_before_all_others_leaves_the_last_one_as_it_is():
    last = b"## Location 5: Hall\n\n**[NOTE] A** *(Ep1, T1)*\nIt is here."
    rendered = render(added(parse(last), 1, "Gate", memory()))
    assert rendered.startswith(b"## Location 1: Gate")
    assert rendered.endswith(last)

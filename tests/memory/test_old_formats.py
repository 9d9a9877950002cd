"""Tests of files in older formats."""

import pytest

from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.storage.entry import render_entry

HEAD = "# Location Memories\n\n## Location 5: Living Room\n**Visits:** 3 | **Episodes:** 1, 2, 3\n\n### Memories\n\n"


def entry(header: str, body: str = "The text.", **fields) -> tuple[str, Memory]:
    known = {"category": "NOTE", "title": "T", "episode": 1, "turns": "5", "score_change": 0, "text": "The text."}
    return f"{header}\n{body}\n\n---\n", Memory(**{**known, "persistence": "permanent", **fields})


WRONG = {"status": "SUPERSEDED", "superseded_by": "New", "superseded_at_turn": 13}

CORPUS = {
    "no persistence": entry("**[NOTE] T** *(Ep1, T5, +0)*"),
    "a status without a persistence": entry("**[NOTE - TENTATIVE] T** *(Ep1, T5, +0)*", status="TENTATIVE"),
    "active said": entry("**[NOTE - CORE - ACTIVE] T** *(Ep1, T5, +0)*", persistence="core"),
    "small letters": entry(
        "**[note - core - tentative] T** *(ep1, t5)*",
        category="note",
        persistence="core",
        status="TENTATIVE",
        score_change=None,
    ),
    "no score": entry("**[NOTE - PERMANENT] T** *(Ep1, T5)*", score_change=None),
    "a score lost": entry("**[NOTE] T** *(Ep1, T5, -10)*", score_change=-10),
    "an episode with a zero": entry("**[NOTE] T** *(Ep01, T5, +0)*", episode="01"),
    "an episode with its prefix": entry("**[NOTE] T** *(Epep_01, T5, +0)*", episode="ep_01"),
    "an episode that is a time": entry("**[NOTE] T** *(Ep2025-11-25T14:30:00, T5, +0)*", episode="2025-11-25T14:30:00"),
    "an episode of words": entry("**[NOTE] T** *(Epmy first run, T5, +0)*", episode="my first run"),
    "a range of turns": entry("**[NOTE] T** *(Ep1, T23-24, +0)*", turns="23-24"),
    "seen again": entry(
        "**[NOTE] T** *(Ep1, T10→T48, +5, seen 3x)*", turns="10→48", score_change=5, observation_count=3
    ),
    "seen again, in ASCII": entry("**[NOTE] T** *(Ep1, T10 -> T48, +0)*", turns="10→48"),
    "struck": entry(
        "**[NOTE - SUPERSEDED] T** *(Ep1, T5)*",
        '[Superseded at T13 by "New"]\n~~The text.~~',
        score_change=None,
        **WRONG,
    ),
    "not struck": entry(
        "**[NOTE - SUPERSEDED] T** *(Ep1, T5, +0)*", '[Superseded at T13 by "New"]\nThe text.', **WRONG
    ),
    "superseded without a word": entry(
        "**[NOTE - SUPERSEDED] T** *(Ep1, T5, +0)*", "~~The text.~~", status="SUPERSEDED"
    ),
    "quotes in a quotation": entry(
        "**[NOTE - SUPERSEDED] T** *(Ep1, T5, +0)*",
        '[Superseded at T13 by "Say "hello" first"]\n~~The text.~~',
        **{**WRONG, "superseded_by": 'Say "hello" first'},
    ),
    "invalidated": entry(
        "**[DANGER - PERMANENT - SUPERSEDED] T** *(Ep1, T5, +0)*",
        '[Invalidated at T25: "Proven "false" by death"]\n~~The text.~~',
        category="DANGER",
        status="SUPERSEDED",
        superseded_by=INVALIDATION_MARKER,
        superseded_at_turn=25,
        invalidation_reason='Proven "false" by death',
    ),
    "several lines": entry("**[NOTE] T** *(Ep1, T5, +0)*", "The\n  text.", text="The text."),
    "several lines, struck": entry("**[NOTE - SUPERSEDED] T** *(Ep1, T5, +0)*", "~~The\ntext.~~", status="SUPERSEDED"),
    "an empty line below the header": entry("**[NOTE] T** *(Ep1, T5, +0)*", "\nThe text."),
    "stars and brackets in a title": entry(
        "**[NOTE] The *old* [rusty] key** *(Ep1, T5, +0)*", title="The *old* [rusty] key"
    ),
    "wide spaces": entry("**[NOTE  -  CORE]   T**   *( Ep1 ,  T5 , +0 )*  ", persistence="core"),
    "parts of a later version": entry("**[NOTE] T** *(Ep1, T5, +0, dreamt of 2x, worked 5 of 9)*"),
    "named parts of a later version": entry("**[NOTE] T** *(Ep1, T5, +0, mood: sad, kind: gossip, expires: soon)*"),
    "a part said twice": entry("**[NOTE] T** *(Ep1, T5, +0, seen 3x, seen 4x)*", observation_count=3),
    "tried": entry("**[NOTE] T** *(Ep1, T5, +0, worked 5/9)*", tried=9, worked=5),
    "met": entry("**[DANGER] T** *(Ep1, T5, +0, safe 4/9)*", category="DANGER", tried=9, worked=5),
    "safer than tried": entry("**[NOTE] T** *(Ep1, T5, +0, safe 9/4)*"),
    "deadly": entry("**[NOTE] T** *(Ep1, T5, +0, worked 5/9, died 2)*", tried=9, worked=5, died=2),
}


@pytest.mark.parametrize("form", CORPUS)
def test_older_format_is_read(form):
    text, expected = CORPUS[form]
    document = parse((HEAD + text).encode())
    assert document.by_place() == {5: [expected]}
    assert list(document.problems()) == []
    assert render(document) == (HEAD + text).encode()
    assert document.headings() == {5: ("Living Room", 3, (1, 2, 3))}


@pytest.mark.parametrize("form", CORPUS)
def test_changed_entry_is_written_in_the_current_format(form, tmp_path):
    text, expected = CORPUS[form]
    path = tmp_path / "Memories.md"
    path.write_text(HEAD + text)
    manager = SimpleMemoryManager.open(path)
    if expected.status == "SUPERSEDED":
        assert manager.invalidate_memory(5, expected.title, "wrong") is False
        return
    assert manager.invalidate_memory(5, expected.title, "It is wrong", 60)
    kind = expected.persistence.upper()
    written = path.read_text()
    assert f"**[{expected.category} - {kind} - SUPERSEDED] " in written
    assert '[Invalidated at T60: "It is wrong"]\n~~The text.~~\n' in written
    assert ("dreamt of 2x, worked 5 of 9)*" in written) == (form == "parts of a later version")
    assert SimpleMemoryManager.open(path).memory_cache == manager.memory_cache


def test_other_text_in_brackets_is_text():
    document = parse((HEAD + "**[NOTE] T** *(Ep1, T5, +0)*\n[Superseded, says the sign.]\n").encode())
    assert [(memory.status, memory.text) for memory in document.memories(5)] == [
        ("ACTIVE", "[Superseded, says the sign.]")
    ]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("## Location 5: Living Room", (5, "Living Room")),
        ("## Location 5:Living Room  ", (5, "Living Room")),
        ("## Location 5", (5, "")),
        ("##  Location  5 : A: B", (5, "A: B")),
        ("## Location -1: Nowhere", (-1, "Nowhere")),
        ("## Location five: Room", (None, "")),
        ("### Location 5: Room", (None, "")),
    ],
)
def test_heading_formats(heading, expected):
    section = parse((heading + "\n").encode()).sections[0]
    assert (section.location_id, section.name) == expected


@pytest.mark.parametrize("marks", ["pinned, vetoed", "vetoed, pinned", "vetoed, +0, worked 5/9, pinned"])
def test_marks_are_read_in_any_order(marks):
    score = "" if "+0" in marks else "+0, "
    document = parse((HEAD + f"**[NOTE] T** *(Ep1, T5, {score}{marks})*\nThe text.\n").encode())
    [kept] = document.memories(5)
    assert (kept.pinned, kept.vetoed, kept.score_change) == (True, True, 0)
    written = render_entry(kept).raw
    assert written.startswith("**[NOTE - PERMANENT] T** *(Ep1, T5, +0, ")
    assert written.splitlines()[0].endswith(", pinned, vetoed)*")

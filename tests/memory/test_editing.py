"""Tests of edits by a person."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.memory import in_one_line, memory, texts
from zorkgpt.errors import MemoryConflict, MemoryEditError
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit, edit, fingerprint
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.history import replayed
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.storage.markdown import MarkdownStore

ROOT = Path(__file__).parents[2]
RUG = memory("Rug", tried=9, worked=5, observation_count=3)


@pytest.fixture
def store(home):
    with home.open() as manager:
        manager.add_memory(5, "Hall", RUG)
        manager.add_memory(5, "Hall", memory("Sword", "core"))
        return manager.store


def read(home):
    with home.open() as manager:
        return {memory.title: memory for memory in manager.memory_cache[5]}


@pytest.mark.parametrize(
    ("wanted", "fields", "kind"),
    [
        (Edit(text="It  hides\ta door.\n"), {"text": "It hides a door."}, "edited"),
        (Edit(text="It hides\n  a door."), {"text": "It hides\n  a door."}, "edited"),
        (Edit(category="DANGER", persistence="core"), {"category": "DANGER", "persistence": "core"}, "edited"),
        (Edit(status="TENTATIVE"), {"status": "TENTATIVE"}, "edited"),
        (Edit(pinned=True), {"pinned": True}, "pinned"),
        (Edit(vetoed=True), {"vetoed": True}, "vetoed"),
        (Edit(pinned=True, text="So it is."), {"pinned": True, "text": "So it is."}, "edited"),
        (
            Edit(status="SUPERSEDED", reason="I looked"),
            {"status": "SUPERSEDED", "superseded_by": "INVALIDATED", "invalidation_reason": "I looked"},
            "invalidated",
        ),
    ],
)
def test_edit_is_in_file_and_journal(store, home, wanted, fields, kind):
    expected = replace(RUG, **fields)
    assert edit(store, 5, "Rug", wanted) == expected
    assert read(home) == {"Rug": expected, "Sword": memory("Sword", "core")}
    *_, record = store.journal.records()
    assert (record.source, record.change.kind, record.change.before, record.change.after) == (
        "person",
        kind,
        RUG,
        expected,
    )


def test_pin_and_veto_exclude_each_other(store, home):
    steps = [
        (Edit(pinned=True), (True, False), "pinned"),
        (Edit(vetoed=True), (False, True), "vetoed"),
        (Edit(pinned=True), (True, False), "pinned"),
        (Edit(pinned=False), (False, False), "unpinned"),
        (Edit(vetoed=True), (False, True), "vetoed"),
        (Edit(vetoed=False), (False, False), "unvetoed"),
    ]
    for wanted, marks, _ in steps:
        made = edit(store, 5, "Rug", wanted)
        assert (made.pinned, made.vetoed) == marks
    kinds = [record.change.kind for record in store.journal.records() if record.source == "person"]
    assert kinds == [kind if n != 1 and n != 2 else kinds[n] for n, (_, _, kind) in enumerate(steps)]
    assert read(home)["Rug"] == RUG


@pytest.mark.parametrize(("text", "stays"), [("A lamp.", False), ("Z lamp.", False), ("The text  of Lamp.", True)])
def test_new_text_removes_claims(store, text, stays):
    claims = (Claim(Relation.HERE, 4, "lamp"),)
    with store.transaction() as draft:
        draft.add(5, "Hall", memory("Lamp", claims=claims, when=claims, action="look", outcome="changed"))
    made = edit(store, 5, "Lamp", Edit(text=text, category="DANGER"))
    assert (made.claims, made.when, made.outcome) == ((claims, claims, "changed") if stays else ((), (), ""))


def test_superseded_memory_can_be_reactivated(store):
    edit(store, 5, "Rug", Edit(status="SUPERSEDED"))
    with pytest.raises(MemoryEditError, match="superseded, so it can't be pinned"):
        edit(store, 5, "Rug", Edit(pinned=True))
    assert edit(store, 5, "Rug", Edit(status="ACTIVE", pinned=True)) == replace(RUG, pinned=True)


def test_edit_without_a_change_writes_nothing(store, home):
    before = home.text(), store.journal.size()
    assert edit(store, 5, "Rug", Edit(text=RUG.text, pinned=False)) == RUG
    assert (home.text(), store.journal.size()) == before


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (Edit(text=" \n"), "blank"),
        (Edit(category="a rumour"), "'a rumour'"),
        (Edit(title=" "), "blank"),
        (Edit(expires_at="tomorrow"), "The time is 'tomorrow'"),
        (Edit(persistence="ephemeral"), "'ephemeral'"),
        (Edit(status="active"), "'active'"),
        (Edit(pinned=True, vetoed=True), "either pinned or hidden"),
    ],
)
def test_invalid_edit_is_refused(store, home, wanted, named):
    before = home.text()
    with pytest.raises(MemoryEditError, match=named):
        edit(store, 5, "Rug", wanted)
    assert home.text() == before


def test_unknown_memory_cannot_be_edited(store):
    for place, title in ((5, "Axe"), (6, "Rug"), (99, "Rug")):
        with pytest.raises(MemoryEditError, match="There is no memory titled"):
            edit(store, place, title, Edit(pinned=True))


@pytest.mark.parametrize("by", ["fingerprint", "text"])
def test_edit_after_a_concurrent_change_is_refused(store, home, by):
    looked_at = fingerprint(RUG) if by == "fingerprint" else RUG.text
    other = home.open().store
    edit(other, 5, "Rug", Edit(text="Somebody else was faster."))
    with pytest.raises(MemoryConflict, match="Somebody else was faster") as refused:
        edit(store, 5, "Rug", Edit(text="Mine."), expected=looked_at)
    assert refused.value.now.text == "Somebody else was faster."
    assert read(home)["Rug"].text == "Somebody else was faster."
    assert edit(store, 5, "Rug", Edit(text="Mine."), expected=fingerprint(refused.value.now)).text == "Mine."


def test_concurrent_observation_is_not_a_conflict(store, home):
    looked_at = fingerprint(RUG)
    home.open().add_memory(5, "Hall", replace(RUG, turns="40", tried=0, worked=0))
    made = edit(store, 5, "Rug", Edit(text="Mine."), expected=looked_at)
    assert (made.text, made.observation_count, made.worked) == ("Mine.", 4, 5)


def test_expected_text_selects_among_equal_titles(store, home):
    wrong = replace(RUG, status="SUPERSEDED", superseded_by="Rug", text="Another.")
    home.open().add_memory(5, "Hall", wrong)
    assert edit(store, 5, "rug", Edit(category="DANGER")).text == RUG.text
    assert edit(store, 5, "Rug", Edit(category="DANGER"), expected="Another.").text == "Another."
    with pytest.raises(MemoryConflict) as refused:
        edit(store, 5, "Rug", Edit(category="DANGER"), expected="A third.")
    assert refused.value.now.text == RUG.text


ADDING = """
import sys
from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager

manager = SimpleMemoryManager.open(sys.argv[1])
print("ready", flush=True)
seen = 0
for number in range(40):
    assert manager.add_memory(5, "Hall", memory(f"Memory {number}"))
    # False if the expected text was just changed.
    seen += manager.update_memory_metadata(manager.memory_cache[5][0], 5, "Hall", 100 + number, 2)
print(seen)
"""


@pytest.mark.slow
def test_concurrent_edits_and_additions_lose_nothing(store, home):
    other = subprocess.Popen(
        [sys.executable, "-c", ADDING, str(home.address)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "ready\n"
    for number in range(40):
        edit(store, 5, "Rug", Edit(text=f"Text {number}.", pinned=number % 2 == 0))
        edit(store, 5, "Sword", Edit(vetoed=number % 2 == 1))
    seen = int(other.communicate(timeout=60)[0])
    assert other.returncode == 0
    kept = read(home)
    assert (kept["Rug"].text, kept["Rug"].observation_count) == ("Text 39.", 3 + seen)
    assert kept["Sword"].vetoed
    assert {f"Memory {number}" for number in range(40)} <= set(kept)
    assert {place: list(map(str, kept)) for place, kept in replayed(store.journal.records()).items()} == {
        5: list(map(str, home.open().memory_cache[5]))
    }


@settings(max_examples=60, deadline=None)
@given(text=texts, title=texts.filter(str.strip), pinned=st.booleans(), vetoed=st.booleans())
def test_any_text_is_stored_as_given(tmp_path_factory, text, title, pinned, vetoed):
    path = tmp_path_factory.mktemp("edit") / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory(title))
        wanted = Edit(text=text, pinned=pinned, vetoed=vetoed)
        if not text.split() or (pinned and vetoed):
            with pytest.raises(MemoryEditError):
                manager.edit_memory(5, title, wanted)
            return
        made = manager.edit_memory(5, title, wanted)
    expected = in_one_line(replace(memory(title), text=text, pinned=pinned, vetoed=vetoed))
    assert made == expected
    assert by_place(MarkdownStore(path).lasting.find(EVERY)) == {5: [expected]}

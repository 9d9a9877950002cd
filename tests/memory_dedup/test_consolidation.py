"""Tests of consolidating a file, and undoing merges."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.fixtures.dedup import ConstantJudge, fact, lines
from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.cli.memory_changes import app
from zorkgpt.memory.dedup.consolidation import merge
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.upkeep.undoing import undo, undoable

GATE, AGAIN, CONTRARY = "The lever opens the gate.", "the lever opened the gate", "The lever does not open the gate."
PULL, USE = "Pull the lever to open the iron gate.", "To open the iron gate, use the lever."


@pytest.fixture
def old_file(tmp_path):
    """A memory file written without deduplication."""
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as manager:
        for place, text, turns in ((1, GATE, "5"), (1, CONTRARY, "6"), (1, AGAIN, "9"), (2, GATE, "7")):
            manager.add_memory(place, "Gate", fact(text, turns=turns))
    return tmp_path


def opened(folder, judge=None):
    return SimpleMemoryManager.open(folder, embeddings=HashingEmbeddings(), judge=judge)


def test_preview_shows_merges_and_changes_nothing(old_file):
    before = (old_file / "Memories.md").read_bytes()
    with opened(old_file) as manager:
        (merge,) = manager.consolidate(apply=False)
        assert (merge.kept.text, merge.merged.text, merge.comparison.relation) == (GATE, AGAIN, "same")
        assert manager.consolidate(apply=False, threshold=1.0) == []
    assert (old_file / "Memories.md").read_bytes() == before


def test_repeats_are_merged_per_place_and_contradictions_stay(old_file):
    with opened(old_file) as manager:
        assert len(manager.consolidate()) == 1
        expected = [
            (GATE, "ACTIVE", "5→9", 2),
            (CONTRARY, "ACTIVE", "6", 1),
            (AGAIN, "SUPERSEDED", "9", 1),
        ]
        assert lines(manager) == expected
        assert lines(manager, 2) == [(GATE, "ACTIVE", "7", 1)]
        assert manager.consolidate() == []
        assert lines(manager) == expected


def test_longer_memory_replaces_a_shorter_one_without_chains(tmp_path):
    more = f"{GATE} It is heavy."
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as manager:
        for turn, text in enumerate((GATE, "The cook closes the shop.", more, AGAIN)):
            manager.add_memory(1, "Gate", fact(text, turns=str(turn)))
    with opened(tmp_path) as manager:
        assert [(each.kept.turns, each.merged.turns) for each in manager.consolidate()] == [("2", "0")]
        assert [each[1:] for each in lines(manager)] == [
            ("SUPERSEDED", "0", 1),
            ("ACTIVE", "1", 1),
            ("ACTIVE", "0→2", 2),
            ("ACTIVE", "3", 1),
        ]


def test_identical_texts_are_merged(tmp_path):
    lever = "**[NOTE] Lever** *(Ep1, T{})*\n" + GATE + "\n\n"
    (tmp_path / "Memories.md").write_text("## Location 1: Gate\n\n" + lever.format(5) + lever.format(9))
    with opened(tmp_path) as manager:
        assert len(manager.consolidate()) == 1
        assert lines(manager) == [(GATE, "ACTIVE", "5→9", 2), (GATE, "SUPERSEDED", "9", 1)]


def test_superseding_by_title_is_not_a_merge(tmp_path):
    with opened(tmp_path) as manager:
        manager.add_memory(1, "Gate", fact(GATE, "Lever"))
        assert manager.supersede_memory(1, "Gate", "Lever", fact("The bell rings at noon.", "Bell"))
        assert undoable(manager.store) == []


def test_merge_of_a_removed_memory_cannot_be_undone(old_file):
    with opened(old_file) as manager:
        manager.consolidate()
        (what,) = undoable(manager.store)
        manager.forget(text=AGAIN)
        assert any(each.kept_because for each in undo(manager.store, what))
        with manager.store.transaction() as draft:
            draft.add(1, "Gate", fact(AGAIN, turns="30"))
        assert any(each.kept_because for each in undo(manager.store, what))
        assert lines(manager)[-1] == (AGAIN, "ACTIVE", "30", 1)


def test_pinned_or_removed_memory_is_not_merged(old_file):
    with opened(old_file) as manager:
        (found,) = manager.consolidate(apply=False)
        with manager.store.transaction() as draft:
            assert merge(draft, [replace(found, merged=found.kept)]) == 0
        manager.edit_memory(1, found.merged.title, Edit(pinned=True))
        with manager.store.transaction() as draft:
            assert merge(draft, [found]) == 0


def test_remaining_repeats_are_merged(tmp_path):
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as manager:
        for turn, text in enumerate((GATE, AGAIN, "The cook closes the shop.", "the cook closed the shop")):
            manager.add_memory(1, "Gate", fact(text, turns=str(turn)))
    with opened(tmp_path) as manager:
        first, second = manager.consolidate(apply=False)
        with manager.store.transaction() as draft:
            assert merge(draft, [replace(first, merged=first.kept), second]) == 1


def test_judge_is_asked_about_unsure_pairs(tmp_path):
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as manager:
        manager.add_memory(1, "Gate", fact(PULL))
        manager.add_memory(1, "Gate", fact(USE, turns="30"))
    with opened(tmp_path, ConstantJudge("same")) as manager:
        assert [merge.comparison.by for merge in manager.consolidate()] == ["model"]


def test_undone_merge_is_restored_and_not_repeated(old_file):
    before = (old_file / "Memories.md").read_bytes()
    with opened(old_file) as manager:
        manager.consolidate()
        (what,) = undoable(manager.store)
        assert not any(each.kept_because for each in undo(manager.store, what))
        assert undoable(manager.store) == []
    assert (old_file / "Memories.md").read_bytes() == before
    with opened(old_file) as manager:
        assert manager.consolidate() == []


def test_earlier_of_two_merges_can_be_undone(tmp_path):
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as manager:
        for place in (1, 2):
            for text, turns in ((GATE, "5"), (AGAIN, "9")):
                manager.add_memory(place, "Gate", fact(text, turns=turns))
    before = (tmp_path / "Memories.md").read_bytes()
    with opened(tmp_path) as manager:
        manager.consolidate()
        for what in reversed(undoable(manager.store)):
            assert {record.change.kind for record in what.records} == {"merged", "superseded"}
            assert not any(each.kept_because for each in undo(manager.store, what))
    assert (tmp_path / "Memories.md").read_bytes() == before


def test_merge_into_a_memory_seen_again_can_be_undone(tmp_path):
    with opened(tmp_path) as manager:
        for text, turns in ((GATE, "5"), (AGAIN, "9"), (GATE, "12")):
            manager.add_memory(1, "Gate", fact(text, turns=turns))
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[0]))
        assert [(text, seen) for text, _, _, seen in lines(manager)] == [(GATE, 2), (AGAIN, 1)]


def run(folder, *arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--workdir", str(folder)])
    return done.exit_code, done.stdout, done.stderr


def test_commands_show_merge_and_undo(old_file):
    before = (old_file / "Memories.md").read_bytes()
    code, output, _ = run(old_file, "dedupe", "--provider", "none")
    assert (code, output) == (
        0,
        "Gate (1)\n"
        f"  “…”: {AGAIN}\n"
        f"    is said by “…”: {GATE}\n"
        "    says the same (no vectors, by the words)\n"
        "1 memory repeats another. Merge with --apply.\n",
    )
    code, output, _ = run(old_file, "dedupe", "--provider", "none", "--apply")
    assert "1 merged." in output
    assert (old_file / "Memories.md.before-dedupe-1.backup").read_bytes() == before
    assert AGAIN in run(old_file, "undo", "--list")[1]
    assert run(old_file, "undo")[1].startswith("Undone: ")
    assert (old_file / "Memories.md").read_bytes() == before
    assert run(old_file, "undo")[0] == 2

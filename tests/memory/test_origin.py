"""Tests of when a fact was first and last seen."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_rows
from zorkgpt.cli.memory_changes import app
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory, fields_of, memory_of
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.entry import parse_entry, render_entry
from zorkgpt.memory.upkeep.undoing import undo, undoable

GATE = "The lever opens the gate."
MORE = "The lever opens the gate, which squeaks loudly when it moves."


def opened(path, **options):
    return SimpleMemoryManager.open(path, embeddings=HashingEmbeddings(), **options)


def headers(path):
    """Return the parentheses of each header."""
    return [line.partition("*(")[2][:-2] for line in path.read_text().splitlines() if line.startswith("**[")]


def kept(path, location_id=5):
    return parse(path.read_bytes()).memories(location_id)


def seen(one: Memory):
    return one.first_episode, one.episode, one.turns, one.observation_count


def test_memory_keeps_its_first_episode(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=GATE))
        assert headers(path) == ["Ep1→Ep3, T132→T17, +0, seen 2x"]
        manager.add_memory(5, "Hall", memory("Gate", episode=4, turns="9", text="the lever opened the gate"))
        assert manager.update_memory_metadata(manager.memory_cache[5][0], 5, "Hall", 40, 4)
    assert headers(path) == ["Ep1→Ep4, T132→T40, +0, seen 4x"]
    assert seen(kept(path)[0]) == (1, 4, "132→40", 4)
    assert seen(opened(path).memory_cache[5][0]) == (1, 4, "132→40", 4)


def test_single_episode_is_listed_once(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="48"))
    assert headers(path) == ["Ep2, T25→T48, +0, seen 2x"]
    assert seen(kept(path)[0]) == (None, 2, "25→48", 2)


@pytest.mark.parametrize("again", [(3, "17"), ("3", "17"), (1, "132"), ("1", "132"), (" 3 ", 17)])
def test_repeated_turn_is_counted_once_in_any_spelling(path, again):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132"))
        manager.update_memory_metadata(memory("Gate"), 5, "Hall", 17, 3)
        before = path.read_bytes()
        assert manager.update_memory_metadata(memory("Gate"), 5, "Hall", again[1], again[0])
    assert path.read_bytes() == before


def test_same_turn_of_another_episode_is_counted(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="17"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="17"))
    assert headers(path) == ["Ep1→Ep2, T17→T17, +0, seen 2x"]


def test_episode_is_listed_once_in_any_spelling(path):
    state = SimpleNamespace(episode_id="2", turn_count=1)
    with opened(path, game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.update_memory_metadata(manager.memory_cache[5][0], 5, "Hall", 48, "2")
        manager.add_memory(5, "Hall", memory("Rug", episode="2", turns="50"))
        manager.record_action_outcome(5, "Hall", "look", "A hall.")
        assert manager.get_visits(5) == (2, 1)
    assert "**Visits:** 2 | **Episodes:** 2\n" in path.read_text()
    assert headers(path)[0] == "Ep2, T25→T48, +0, seen 2x"


def test_episode_is_resumed_in_any_spelling(path):
    state = SimpleNamespace(episode_id=2, turn_count=7)
    with opened(path, game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="7"))
        manager.add_memory(5, "Hall", memory("Rope", "ephemeral", episode=2, turns="7"))
        assert manager.save_session(path.parent)
        assert [memory.title for memory in manager.as_of("2", 7)[5]] == ["Gate", "Rope"]
        state.episode_id = "2"
        manager.reset_episode()
        assert manager.restore_session(path.parent)
        assert manager.get_ephemeral_count(5) == 1


def test_late_observation_of_an_earlier_episode_is_only_counted(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Rug", episode=1, turns="3"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.update_memory_metadata(manager.memory_cache[5][1], 5, "Hall", 48, 1)
    assert seen(kept(path)[1]) == (None, 2, "25→25", 2)


def test_refinement_keeps_the_first_episode_and_can_be_undone(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="40", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        assert [(memory.text, memory.status, *seen(memory)) for memory in kept(path)] == [
            (GATE, "SUPERSEDED", 1, 2, "132→40", 2),
            (MORE, "ACTIVE", 1, 3, "132→17", 3),
        ]
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[0]))
        assert [(memory.text, memory.status, *seen(memory)) for memory in kept(path)] == [
            (GATE, "ACTIVE", 1, 2, "132→40", 2),
            (MORE, "ACTIVE", None, 3, "17", 1),
        ]
        assert [merge.records[-1].change.kind for merge in undoable(manager.store)] == []


def test_undone_refinement_keeps_its_own_observations(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        manager.add_memory(5, "Hall", memory("Gate", episode=4, turns="5", text=MORE))
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[-1]))
    assert [seen(memory) for memory in kept(path)] == [(None, 1, "132", 1), (3, 4, "17→5", 2)]


@pytest.mark.parametrize("mark", ["pinned", "vetoed"])
def test_marks_of_a_refined_memory_survive_the_undo(path, mark):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        with manager.store.transaction() as draft:
            refined = draft.lasting.memories(5)[0]
            draft.replace(5, refined, replace(refined, **{mark: True}), mark)
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[-1]))
    refined = kept(path)[0]
    assert (refined.status, getattr(refined, mark), refined.observation_count) == ("ACTIVE", True, 1)


def test_removed_refinement_can_be_undone(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        with manager.store.transaction() as draft:
            draft.remove(5, draft.lasting.memories(5)[1])
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[0]))
    assert [(memory.text, memory.status) for memory in kept(path)] == [(GATE, "ACTIVE")]


def test_confirmed_memory_keeps_its_first_episode(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("Troll", episode=1, turns="9", status="TENTATIVE"))
        manager.add_memory(5, "Hall", memory("Troll", episode=2, turns="4"))
    assert [(memory.status, *seen(memory)) for memory in kept(path)] == [
        ("SUPERSEDED", None, 1, "9", 1),
        ("ACTIVE", 1, 2, "9→4", 2),
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_consolidation_keeps_first_and_last_episodes(path, order):
    both = [
        memory("Gate", episode=1, turns="132", text=GATE),
        memory("Lever", episode=2, turns="5", text="the lever opened the gate"),
    ]
    with SimpleMemoryManager(path=path) as plain:
        plain.add_memory(5, "Hall", memory("Rug", episode=1, turns="1"))
        plain.add_memory(5, "Hall", memory("Rug", episode=2, turns="1"))
        for at in order:
            plain.add_memory(5, "Hall", both[at])
    with opened(path) as manager:
        assert len(manager.consolidate()) == 1
        found = [(*seen(memory), memory.status) for memory in kept(path)[1:]]
        assert found[0] == (1, 2, "132→5", 2, "ACTIVE")
        assert found[1][-1] == "SUPERSEDED"
        assert not any(each.kept_because for each in undo(manager.store, undoable(manager.store)[0]))
    assert [(*seen(memory), memory.status) for memory in kept(path)[1:]] == [
        (None, both[at].episode, both[at].turns, 1, "ACTIVE") for at in order
    ]


def test_origin_is_in_journal_and_export(path, tmp_path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132"))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17"))
        assert [seen(record.change.after) for record in manager.explain("gate")[0].records] == [
            (None, 1, "132", 1),
            (1, 3, "132→17", 2),
        ]
    rows = journal_rows(path)
    # Earlier versions have no such field, and it is omitted if it is empty.
    assert ["first_episode" in row["after"] for row in rows if row.get("after")] == [False, True]
    exported = CliRunner().invoke(app, ["export", "--to", "jsonl", "--file", str(path)])
    (tmp_path / "all.json").write_text(exported.stdout)
    other = tmp_path / "other" / "Memories.md"
    assert CliRunner().invoke(app, ["import", str(tmp_path / "all.json"), "--file", str(other)]).exit_code == 0
    assert kept(other) == kept(path)
    shown = CliRunner().invoke(app, ["show", "5", "--file", str(other)])
    assert "(episode 1, turn 132 → episode 3, turn 17, seen 2x)" in shown.stdout


def test_invalid_origin_is_not_imported(tmp_path):
    row = {"place": 5, "place_name": "Hall", **fields_of(memory("Gate")), "first_episode": [1]}
    (tmp_path / "all.json").write_text(json.dumps(row))
    done = CliRunner().invoke(app, ["import", str(tmp_path / "all.json"), "--workdir", str(tmp_path)])
    assert done.exit_code == 2
    assert "The first_episode of memory 'Gate' is [1]" in done.stderr


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Ep1→Ep3, T132→T17, +0, seen 2x", (1, 3, "132→17", 2)),
        ("Ep1 -> Ep3, T132 -> T17, +0, seen 2x", (1, 3, "132→17", 2)),
        ("ep01→epmy first run, T5, +0", ("01", "my first run", "5", 1)),
        ("Ep3→Ep3, T5→T9, +0, seen 2x", (None, 3, "5→9", 2)),
        ('Ep"3"→Ep3, T5→T9, +0, seen 2x', (None, 3, "5→9", 2)),
        # Written by an earlier version, which did not keep the first episode.
        ("Ep3, T132→T17, +0, seen 2x", (None, 3, "132→17", 2)),
        ("Ep1→3, T5, +0", (None, "1→3", "5", 1)),
    ],
)
def test_header_with_two_episodes_is_read(header, expected):
    found = parse_entry([f"**[NOTE - PERMANENT] Gate** *({header})*\n", "It opens.\n"]).memory
    assert seen(found) == expected
    assert parse_entry(render_entry(found, found.id).raw.splitlines(keepends=True)).memory == found


@pytest.mark.parametrize("name", ["1→Ep3", "a -> ep b", "→Ep", "1→3", 'x"→Ep"', "→ Ep→Ep"])
@pytest.mark.parametrize("first", [None, 1, "→", "a→Epb", "-"])
def test_episode_name_with_an_arrow_is_one_episode(name, first):
    given = memory("Gate", episode=name, first_episode=first)
    assert parse_entry(render_entry(given).raw.splitlines(keepends=True)).memory == given


def test_origin_in_the_same_episode_is_omitted():
    assert memory("Gate", episode=2, first_episode="2").first_episode is None
    assert memory_of({**fields_of(memory("Gate", episode=2)), "first_episode": 1}).first_episode == 1


def test_latest_memories_are_shown_first_across_episodes(path):
    with SimpleMemoryManager.open(path, config=SimpleNamespace(max_tokens_per_location=40)) as manager:
        for title, first, last in (("Old", (1, "5"), (2, "900")), ("New", (1, "500"), (3, "7"))):
            for episode, turns in (first, last):
                manager.add_memory(5, "Hall", memory(title, episode=episode, turns=turns))
        assert manager.get_location_memory(5).splitlines()[0].startswith("[NOTE] New:")

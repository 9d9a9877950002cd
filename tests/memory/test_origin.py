"""When a fact was seen first and last, through whatever happens to it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_rows
from zorkgpt.cli.memory_changes import app
from zorkgpt.embeddings.hashing import HashingEmbeddings
from zorkgpt.memory.dedup.consolidation import undo, undoable
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory, fields_of, memory_of
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.entry import parse_entry, render_entry

GATE = "The lever opens the gate."
MORE = "The lever opens the gate, which squeaks loudly when it moves."


@pytest.fixture
def path(tmp_path):
    return tmp_path / "Memories.md"


def opened(path, **options):
    return SimpleMemoryManager.open(path, embeddings=HashingEmbeddings(), **options)


def headers(path):
    """What stands in the parentheses of each memory."""
    return [line.partition("*(")[2][:-2] for line in path.read_text().splitlines() if line.startswith("**[")]


def kept(path, location_id=5):
    return parse(path.read_bytes()).memories(location_id)


def seen(one: Memory):
    return one.first_episode, one.episode, one.turns, one.observation_count


def test_a_memory_that_is_seen_again_in_a_later_episode_keeps_where_it_began(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=GATE))
        assert headers(path) == ["Ep1→Ep3, T132→T17, +0, seen 2x"]
        manager.add_memory(5, "Hall", memory("Gate", episode=4, turns="9", text="the lever opened the gate"))
        assert manager.update_memory_metadata(manager.memory_cache[5][0], 5, "Hall", 40, 4)
    assert headers(path) == ["Ep1→Ep4, T132→T40, +0, seen 4x"]
    assert seen(kept(path)[0]) == (1, 4, "132→40", 4)
    assert seen(opened(path).memory_cache[5][0]) == (1, 4, "132→40", 4)


def test_within_one_episode_nothing_is_said_of_another_one(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="48"))
    assert headers(path) == ["Ep2, T25→T48, +0, seen 2x"]
    assert seen(kept(path)[0]) == (None, 2, "25→48", 2)


@pytest.mark.parametrize("again", [(3, "17"), ("3", "17"), (1, "132"), ("1", "132"), (" 3 ", 17)])
def test_the_first_turn_and_the_last_count_once_each_in_whatever_spelling(path, again):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132"))
        manager.update_memory_metadata(memory("Gate"), 5, "Hall", 17, 3)
        before = path.read_bytes()
        assert manager.update_memory_metadata(memory("Gate"), 5, "Hall", again[1], again[0])
    assert path.read_bytes() == before


def test_the_same_turn_number_of_another_episode_is_another_observation(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="17"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="17"))
    assert headers(path) == ["Ep1→Ep2, T17→T17, +0, seen 2x"]


def test_an_episode_is_listed_once_in_whatever_spelling(path):
    state = SimpleNamespace(episode_id="2", turn_count=1)
    with opened(path, game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.update_memory_metadata(manager.memory_cache[5][0], 5, "Hall", 48, "2")
        manager.add_memory(5, "Hall", memory("Rug", episode="2", turns="50"))
        manager.record_action_outcome(5, "Hall", "look", "A hall.")
        assert manager.get_visits(5) == (2, 1)
    assert "**Visits:** 2 | **Episodes:** 2\n" in path.read_text()
    assert headers(path)[0] == "Ep2, T25→T48, +0, seen 2x"


def test_an_episode_in_either_spelling_is_resumed_and_looked_up(path):
    state = SimpleNamespace(episode_id=2, turn_count=7)
    with opened(path, game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="7"))
        manager.add_memory(5, "Hall", memory("Rope", "ephemeral", episode=2, turns="7"))
        assert manager.save_session(path.parent)
        assert [one.title for one in manager.as_of("2", 7)[5]] == ["Gate", "Rope"]
        state.episode_id = "2"
        manager.reset_episode()
        assert manager.restore_session(path.parent)
        assert manager.get_ephemeral_count(5) == 1


def test_an_observation_of_an_earlier_episode_that_comes_late_only_counts(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Rug", episode=1, turns="3"))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="25"))
        manager.update_memory_metadata(manager.memory_cache[5][1], 5, "Hall", 48, 1)
    assert seen(kept(path)[1]) == (None, 2, "25→25", 2)


def test_a_refinement_tells_when_the_fact_was_seen_first_and_can_be_undone(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=2, turns="40", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        assert [(one.text, one.status, *seen(one)) for one in kept(path)] == [
            (GATE, "SUPERSEDED", 1, 2, "132→40", 2),
            (MORE, "ACTIVE", 1, 3, "132→17", 3),
        ]
        assert undo(manager.store, undoable(manager.store.journal)[0])
        assert [(one.text, one.status, *seen(one)) for one in kept(path)] == [
            (GATE, "ACTIVE", 1, 2, "132→40", 2),
            (MORE, "ACTIVE", None, 3, "17", 1),
        ]
        assert [one.changes[0].kind for one in undoable(manager.store.journal)] == []


def test_a_refinement_that_was_seen_again_is_undone_to_its_own_observations(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        manager.add_memory(5, "Hall", memory("Gate", episode=4, turns="5", text=MORE))
        assert undo(manager.store, undoable(manager.store.journal)[-1])
    assert [seen(one) for one in kept(path)] == [(None, 1, "132", 1), (3, 4, "17→5", 2)]


@pytest.mark.parametrize("mark", ["pinned", "vetoed"])
def test_the_marks_of_a_refined_memory_survive_the_undo(path, mark):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        with manager.store.transaction() as draft:
            refined = draft.lasting.memories(5)[0]
            draft.replace(5, refined, replace(refined, **{mark: True}), mark)
        assert undo(manager.store, undoable(manager.store.journal)[-1])
    refined = kept(path)[0]
    assert (refined.status, getattr(refined, mark), refined.observation_count) == ("ACTIVE", True, 1)


def test_a_refinement_that_is_gone_can_be_undone(path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132", text=GATE))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17", text=MORE))
        with manager.store.transaction() as draft:
            draft.remove(5, draft.lasting.memories(5)[1])
        assert undo(manager.store, undoable(manager.store.journal)[0])
    assert [(one.text, one.status) for one in kept(path)] == [(GATE, "ACTIVE")]


def test_what_is_confirmed_in_the_same_words_was_seen_first_when_it_was_open(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("Troll", episode=1, turns="9", status="TENTATIVE"))
        manager.add_memory(5, "Hall", memory("Troll", episode=2, turns="4"))
    assert [(one.status, *seen(one)) for one in kept(path)] == [
        ("SUPERSEDED", None, 1, "9", 1),
        ("ACTIVE", 1, 2, "9→4", 2),
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_consolidating_takes_the_earliest_and_the_latest_of_both(path, order):
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
        found = [(*seen(one), one.status) for one in kept(path)[1:]]
        assert found[0] == (1, 2, "132→5", 2, "ACTIVE")
        assert found[1][-1] == "SUPERSEDED"
        assert undo(manager.store, undoable(manager.store.journal)[0])
    assert [(*seen(one), one.status) for one in kept(path)[1:]] == [
        (None, both[at].episode, both[at].turns, 1, "ACTIVE") for at in order
    ]


def test_the_origin_is_in_the_history_and_goes_through_export_and_import(path, tmp_path):
    with opened(path) as manager:
        manager.add_memory(5, "Hall", memory("Gate", episode=1, turns="132"))
        manager.add_memory(5, "Hall", memory("Gate", episode=3, turns="17"))
        assert [seen(record.change.after) for record in manager.explain("gate")[0].records] == [
            (None, 1, "132", 1),
            (1, 3, "132→17", 2),
        ]
    rows = journal_rows(path)
    # An earlier version knows no such field, and need not where it says nothing.
    assert ["first_episode" in row["after"] for row in rows if row.get("after")] == [False, True]
    exported = CliRunner().invoke(app, ["export", "--to", "jsonl", "--file", str(path)])
    (tmp_path / "all.json").write_text(exported.stdout)
    other = tmp_path / "other" / "Memories.md"
    assert CliRunner().invoke(app, ["import", str(tmp_path / "all.json"), "--file", str(other)]).exit_code == 0
    assert kept(other) == kept(path)
    shown = CliRunner().invoke(app, ["show", "5", "--file", str(other)])
    assert "(episode 1, turn 132 → episode 3, turn 17, seen 2x)" in shown.stdout


def test_an_origin_of_the_wrong_kind_is_not_imported(tmp_path):
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
        # As an earlier version wrote it, which did not keep the first episode.
        ("Ep3, T132→T17, +0, seen 2x", (None, 3, "132→17", 2)),
        ("Ep1→3, T5, +0", (None, "1→3", "5", 1)),
    ],
)
def test_a_header_with_two_episodes_is_read(header, expected):
    found = parse_entry([f"**[NOTE - PERMANENT] Gate** *({header})*\n", "It opens.\n"]).memory
    assert seen(found) == expected
    assert parse_entry(render_entry(found).raw.splitlines(keepends=True)).memory == found


@pytest.mark.parametrize("name", ["1→Ep3", "a -> ep b", "→Ep", "1→3", 'x"→Ep"', "→ Ep→Ep"])
@pytest.mark.parametrize("first", [None, 1, "→", "a→Epb", "-"])
def test_a_name_that_looks_like_two_episodes_stays_one(name, first):
    given = memory("Gate", episode=name, first_episode=first)
    assert parse_entry(render_entry(given).raw.splitlines(keepends=True)).memory == given


def test_the_origin_of_the_episode_itself_says_nothing():
    assert memory("Gate", episode=2, first_episode="2").first_episode is None
    assert memory_of({**vars(memory("Gate", episode=2)), "first_episode": 1}).first_episode == 1


def test_what_was_seen_last_is_shown_first_across_episodes(path):
    with SimpleMemoryManager.open(path, config=SimpleNamespace(max_tokens_per_location=40)) as manager:
        for title, first, last in (("Old", (1, "5"), (2, "900")), ("New", (1, "500"), (3, "7"))):
            for episode, turns in (first, last):
                manager.add_memory(5, "Hall", memory(title, episode=episode, turns=turns))
        assert manager.get_location_memory(5).splitlines()[0].startswith("[NOTE] New:")

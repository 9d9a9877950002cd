"""Tests of subjects: places, things and the game."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.fixtures.documents import added
from tests.fixtures.memory import memory, texts
from tests.memory.test_codec import HAND_WRITTEN
from zorkgpt.cli.memory_changes import app
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.answers import FurtherFact
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Thing
from zorkgpt.memory.places import (
    checked_place,
    place_from_json,
    place_label,
)
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.storage.escaping import single_spaced

DOOR = Thing(181)
SUBJECTS = [DOOR, GAME]
places = st.one_of(
    st.integers(-(10**17), 10**17), st.sampled_from(["thing 181", "game", "5", "thing 5", "https://a/b"])
)
subjects = st.one_of(places, st.integers(0, 10**17).map(Thing), st.just(GAME))


def test_subject_is_displayed_with_its_name():
    assert [place_label(DOOR, "front door"), place_label(DOOR), place_label(GAME)] == [
        "front door (thing 181)",
        "thing 181",
        "game",
    ]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (Thing("181"), TypeError, "The number of the thing is '181'; it must be an integer"),
        (Thing(True), TypeError, "The number of the thing is True"),
        (Thing(-1), ValueError, "The number of the thing is -1"),
        (Thing(10**18), ValueError, "it must have at most 18 digits"),
        (None, TypeError, "The place is None"),
    ],
)
def test_invalid_subject_is_named(key, error, message):
    with pytest.raises(error, match=message):
        checked_place(key)


@pytest.mark.parametrize(
    "value", [{"subject": "troll"}, {"subject": "5"}, {"subject": '"x"'}, {"subject": 5}, {}, None, 1.5, [], [5, None]]
)
def test_invalid_json_key_is_refused(value):
    with pytest.raises((TypeError, ValueError), match=r"^The (subject|place) .*; it (must|needs) "):
        place_from_json(value)


@pytest.mark.slow
@given(st.lists(st.tuples(subjects, texts), max_size=6))
def test_sections_of_subjects_are_read_back(located):
    document = Document()
    for key, name in located:
        document = added(document, key, name, memory())
    read = parse(render(document))
    assert read.by_place() == document.by_place()
    assert set(read.by_place()) == {key for key, _ in located}
    assert list(read.problems()) == []
    for key in (GAME, Thing(181)):
        names = [single_spaced(name) for known, name in located if known == key]
        assert [section.name for section in read.sections if section.location_id == key] == names[:1]


def test_sections_of_things_have_no_visits(tmp_path):
    with AgentMemory.open(tmp_path) as manager:
        manager.remember(GAME, "A lamp burns 300 turns.", title="Lamp")
        manager.remember(DOOR, "It opens with the brass key.", title="Key", place_name="front door")
        manager.remember(5, "It is dark.", title="Dark", place_name="Hall")
        manager.remember(DOOR, "It opens with the brass key.", title="Key", turn=7, episode=2)
    assert (tmp_path / "Memories.md").read_text() == (
        "# Location Memories\n\n"
        "## Location 5: Hall\n**Visits:** 1 | **Episodes:** 1\n\n### Memories\n\n"
        "**[NOTE - PERMANENT] Dark** *(Ep1, T0)*\nIt is dark.\n\n---\n\n"
        "## Thing 181: front door\n\n### Memories\n\n"
        "**[NOTE - PERMANENT] Key** *(Ep1→Ep2, T0→T7, seen 2x)*\nIt opens with the brass key.\n\n---\n\n"
        "## Game\n\n### Memories\n\n"
        "**[NOTE - PERMANENT] Lamp** *(Ep1, T0)*\nA lamp burns 300 turns.\n\n---\n"
    )


def test_current_file_is_unchanged():
    document = parse(HAND_WRITTEN)
    assert render(document) == HAND_WRITTEN
    own = b"## Game notes\n\nMine.\n\n## Things to do\n\n## Thing one: x\n\n"
    own += b"## Thing 5: bell\n**Visits:** 2 | **Episodes:** 1\n"
    document = parse(own)
    assert render(document) == own
    assert [section.location_id for section in document.sections] == [None, None, None, Thing(5)]
    assert [problem.message for problem in document.problems()][-2:] == [
        "the thing is not a number: '## Thing one: x'",
        "text that is not a memory: '**Visits:** 2 | **Episodes:** 1'",
    ]


@pytest.mark.parametrize("key", SUBJECTS)
def test_every_method_accepts_a_subject(home, key):
    with home.open() as manager:
        known = manager.remember(key, "The lever opens the gate.", title="Lever")
        manager.remember(key, "The gate is open.", title="Gate", persistence="ephemeral")
        assert manager.add_memory(key, "", memory("Bell"))
        assert manager.get_location_memory(key).splitlines()[-1] == "[NOTE] Gate: The gate is open. [session]"
        assert (manager.memory_cache, manager.ephemeral_cache) == ({}, {})
        assert (manager.get_persistent_count(key), manager.get_ephemeral_count(key)) == (2, 1)
        assert (manager.get_persistent_count(), manager.get_ephemeral_count()) == (2, 1)
        assert {hit.located.location_id for hit in manager.search("lever gate bell")} == {key}
        assert [hit.located.id for hit in manager.search("lever", place=key)] == [known]
        assert manager.search("lever", place=5) == []
        assert manager.get("Lever", key).location_id == key
        new = manager.supersede("Lever", "The chain opens the gate.", key, title="Chain")
        manager.update(new, key, kind="rule")
        manager.edit_memory(key, "Bell", Edit(text="It rings twice."))
        manager.invalidate("Gate", "It is closed.", key, turn=9)
        assert [explanation.memory.title for explanation in manager.explain("Chain", key)] == ["Chain"]
        (explained,) = json.loads(json.dumps([explanation.to_dict() for explanation in manager.explain("Chain", key)]))
        assert explained["memory"]["title"] == "Chain"
        text = "[NOTE] Bell: It rings twice.\n[NOTE] Chain: The chain opens the gate."
        assert manager.get_location_memory(key) == text
        saved = json.loads(json.dumps(manager.snapshot()))
    with home.open() as manager:
        assert manager.get_location_memory(key) == text
        manager.restore(saved)
        assert manager.get_ephemeral_count(key) == 1
        assert set(manager.as_of(1, 20)) == {key}
        assert [memory.title for memory in manager.as_of(1, 20)[key]][:1] == ["Lever"]
        assert {record.change.location_id for record in manager.store.journal.records(key)} == {key}
        assert list(manager.store.journal.records("game")) == []
        with pytest.raises(TypeError, match="where no action can be taken"):
            manager.learn(key, "pull lever", "Click.")
        chain = manager.get("Chain", key).memory
        with manager.store.transaction() as draft:
            draft.remove(key, chain)
        assert manager.forget(text="rings twice") == 1
        assert manager.get_location_memory(key) == ""


def test_recalling_a_thing_keeps_what_was_shown_at_the_place(home):
    with home.open() as manager:
        manager.remember(5, "The lever opens the gate.", title="Lever")
        manager.remember(DOOR, "It opens with the brass key.", title="Key")
        manager.remember(GAME, "A lantern burns for 300 turns.", title="Lantern")
        assert "300 turns" in manager.recall(5)
        assert "300 turns" not in manager.recall(DOOR)
        manager.record_action_outcome(5, "Hall", "pull lever", "Click.", {"turn": 3})
        assert manager.memory_cache == {5: manager.memory_cache[5]}


def test_event_names_the_subject(tmp_path):
    fact = {"category": "NOTE", "memory_title": "Bell", "memory_text": "It is cracked.", "persistence": "permanent"}
    with SimpleMemoryManager.open(tmp_path) as manager:
        events = [
            (event.kind, event.location_id, event.subject)
            for subject in (5, DOOR, GAME)
            for event in manager.note(5, subject, "Bell", FurtherFact(**fact, kind="insight"))
        ]
    assert events == [("added", 5, ""), ("added", None, "thing 181"), ("added", None, "game")]


def test_episodes_of_a_thing_are_sorted_by_number(home):
    with home.open() as manager:
        manager.remember(DOOR, "It is locked.", title="Locked", episode=9, turn=1)
        manager.remember(DOOR, "It is locked.", title="Locked", episode=10, turn=5)
        manager.remember(DOOR, "It creaks.", title="Noise", episode=2, turn=3)
        manager.remember(DOOR, "It is locked.", title="Locked", episode=2, turn=40)
        kept = manager.get("Locked").memory
        assert manager.store.lasting.episodes(DOOR) == (2, 9, 10)
    assert (kept.first_episode, kept.episode, kept.turns, kept.observation_count) == (9, 10, "1→5", 3)


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_commands_accept_things_and_the_game(home, tmp_path):
    with home.open() as manager:
        manager.remember(DOOR, "It opens with the brass key.", title="Key", place_name="front door")
        manager.remember(GAME, "A lamp burns 300 turns.", title="Lamp")
        manager.remember(5, "A room called Game.", title="Room", place_name="Arcade")
    where = ("--file", home.address)
    for name in ("thing 181", "front door", "FRONT"):
        assert run("show", name, *where).startswith("front door (thing 181)\n")
    assert run("show", "game", *where).startswith("game\n")
    assert "Key" in run("search", "brass", "--location", "thing 181", *where)
    assert run("search", "brass", "--location", "game", *where) == "No matches.\n"
    assert "front door (thing 181)" in run("pin", "Key", *where)
    assert "thing 181" in run("history", "Key", *where)
    assert "Key" in run("explain", "Key", "--location", "thing 181", *where)
    exported = tmp_path / "all.json"
    exported.write_text(run("export", "--to", "jsonl", *where))
    assert [json.loads(line)["place"] for line in exported.read_text().splitlines()] == [
        5,
        {"subject": "thing 181"},
        {"subject": "game"},
    ]
    copied = tmp_path / "copied.md"
    run("import", exported, "--file", copied)
    assert parse(copied.read_bytes()).by_place().keys() == {5, DOOR, GAME}
    run("move", 5, "thing 7", "--file", copied)
    assert "## Thing 7: Arcade\n\n### Memories" in copied.read_text()
    run("convert", tmp_path / "copied.sqlite", "--file", copied)
    assert "thing 7" in run("show", "--file", tmp_path / "copied.sqlite")

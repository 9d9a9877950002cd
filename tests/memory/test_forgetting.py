"""Tests that forgotten text is removed from all files."""

import json
import shutil
from types import SimpleNamespace

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import WORKS, Answers, Play, memory
from tests.fixtures.stores import journal_file
from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.record.events import EventKind, EventRow, Events

SECRET = "hunter2-\u00e4*~secret"
CART = "https://shop/cart"


def traces(folder) -> list[str]:
    """Return the files that contain the secret in any encoding."""
    wanted = (SECRET, json.dumps(SECRET)[1:-1], SECRET.replace("*", "\\*").replace("~", "\\~"), "hunter2")
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(part.encode() in path.read_bytes() for part in wanted)
    )


@pytest.fixture
def manager(tmp_path):
    """A memory that wrote the secret to every file that it writes."""
    state = SimpleNamespace(episode_id=3, turn_count=12, action_history=[], action_reasoning_history=[])
    answer = MemorySynthesisResponse(
        should_remember=True,
        category="DANGER",
        memory_title="Judged",
        memory_text=f"The door says {SECRET}.",
        persistence="permanent",
        action="read door",
    )
    manager = SimpleMemoryManager.open(
        tmp_path / "Memories.md", game_state=state, synthesizer=Answers(answer), embeddings=HashingEmbeddings()
    )
    manager.remember(CART, f"The password is {SECRET}.", title="Password", place_name="Cart")
    manager.remember(CART, f"I wrote {SECRET} on the wall.", title="Wall", persistence="ephemeral")
    manager.remember(CART, "The voucher field takes one code only.", title="Voucher")
    manager.record_action_outcome(8, "Door", "read door", f"It says {SECRET}.", {"turn": 12, "score_delta": 1})
    for action in (f"say {SECRET}", "wait"):
        manager.record_action_outcome(8, "Door", action, "Nothing.", {"turn": 13, "nothing_changed": True})
    manager.supersede("Voucher", f"The voucher field takes {SECRET} only.")
    manager.update("Voucher", text="The voucher field takes one code.")
    runs = tmp_path / "runs" / "3"
    (runs / "undo").mkdir(parents=True)
    manager.save_session(runs / "ephemeral_session.json")
    manager.save_session(tmp_path / "session.json")
    shutil.copy(tmp_path / "Memories.md", runs / "undo" / "7.Memories.md")
    shown = {"event": "turn", "turn": 3, "memory_shown": f"[NOTE] Password: The password is {SECRET}."}
    (runs / "episode_log.jsonl").write_text(json.dumps(shown) + "\n")
    events = Events(manager.store.database)
    for kind in EventKind:
        events.add(3, EventRow(3, kind, json.dumps({"text": f"It says {SECRET}.", "all": [SECRET]})))
    shutil.copy(tmp_path / "Memories.md", tmp_path / "Memories.md.damaged-1")
    return manager


def test_text_is_removed_from_every_file(manager, tmp_path):
    assert len(traces(tmp_path)) == 8
    assert manager.forget(text=SECRET) == 3
    assert traces(tmp_path) == []
    assert len(Events(manager.store.database).of(3)) == len(EventKind)
    titles = [located.memory.title for located in manager.all_memories()]
    assert titles == ["Tried without effect", "Voucher", "Voucher"]
    manager.remember(CART, "Another fact.", title="Other")
    manager.save_session(tmp_path / "session.json")
    assert traces(tmp_path) == []
    manager.reset_episode()
    manager.close()
    assert traces(tmp_path) == []


def test_damaged_record_is_left_and_named(manager, tmp_path, caplog):
    record = tmp_path / "Memories.md.sqlite"
    manager.close()
    damaged = b"?" * 100 + record.read_bytes()[100:]
    record.write_bytes(damaged)
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as again:
        again.forget(text=SECRET)
    aside = tmp_path / "Memories.md.sqlite.damaged-1"
    assert aside.read_bytes() == damaged
    assert traces(tmp_path) == [aside.name]
    [warning] = [each for each in caplog.records if "may still have what was forgotten" in each.message]
    assert warning.path == str(aside)


def test_forgotten_memory_does_not_come_back(manager, tmp_path):
    before = manager.get("Voucher").id
    manager.forget("Password")
    again = SimpleMemoryManager.open(tmp_path / "Memories.md")
    assert again.get("Password") is None
    assert again.get("Judged").memory.text == f"The door says {SECRET}."
    assert again.get("Voucher").id == before
    assert again.explain("Password") == []
    again.remember(CART, "A fact.", title="Fact")
    replayed = again.store.journal.lasting()
    assert {place: [memory.title for memory in kept] for place, kept in replayed.items() if kept} == {
        place: [memory.title for memory in kept] for place, kept in again.memory_cache.items()
    }
    assert b"The password is" not in journal_file(tmp_path / "Memories.md").read_bytes()
    log = json.loads((tmp_path / "runs" / "3" / "episode_log.jsonl").read_text())
    assert log["memory_shown"] == "[NOTE[forgotten] [forgotten]"


def test_place_with_the_text_in_its_key_is_removed(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    manager.add_memory("https://shop/?token=hunter2", "Shop", memory())
    manager.add_memory(5, "Hall", memory())
    assert manager.forget(text="hunter2") == 1
    assert traces(tmp_path) == []
    assert list(manager.memory_cache) == [5]


def test_run_files_are_cleaned_of_a_forgotten_place(manager, tmp_path):
    kept = [
        {"event": "turn", "turn": 1},
        {"location_id": 8, "title": "Password", "text": "Elsewhere."},
        {"location_id": {}, "title": "Password"},
    ]
    rows = [*kept, {"location_id": CART, "title": "Password"}, f"The password is {SECRET}."]
    folder = tmp_path / "runs" / "3"
    (folder / "state.json").write_text(json.dumps({"rows": rows}, indent=1))
    (folder / "other.json").write_text(json.dumps(kept, indent=4))
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    (folder / "rows.jsonl").write_bytes(lines + b'{"half": ')
    manager.forget(place=CART)
    assert (folder / "state.json").read_text() == json.dumps({"rows": [*kept, "[forgotten]"]}, indent=1)
    assert (folder / "other.json").read_text() == json.dumps(kept, indent=4)
    *cleaned, half = (folder / "rows.jsonl").read_text().splitlines()
    of_cart = {"location_id": CART, "title": "[forgotten]"}
    assert ([json.loads(line) for line in cleaned], half) == ([*kept, of_cart, "[forgotten]"], '{"half": ')


def test_notes_of_a_person_are_kept_without_the_text(tmp_path):
    content = (
        "# Location Memories\n\nAsk Ann for hunter2.\n\n## Own\nhunter2!\n\n## Location 5: A hunter2 hall\nMine.\n"
    )
    (tmp_path / "Memories.md").write_text(content)
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    assert manager.forget(text="hunter2") == 0
    assert (tmp_path / "Memories.md").read_text() == content.replace("hunter2", "[forgotten]")
    assert traces(tmp_path) == []


def test_ambiguous_title_requires_an_id(manager):
    manager.remember(5, "Another.", title="Password")
    with pytest.raises(MemoryEditError, match="2 memories titled 'Password'"):
        manager.forget("Password")
    for given in ({}, {"memory": "Password", "text": SECRET}):
        with pytest.raises(ValueError, match="Give exactly one of"):
            manager.forget(**given)
    manager.forget("Password", 5)
    assert manager.get("Password").location_id == CART
    assert manager.explain("Password")[0].made.change.after.title == "Password"


def test_forgotten_text_is_not_restored_from_a_checkpoint(tmp_path):
    state = SimpleNamespace(episode_id=1, turn_count=1)
    with SimpleMemoryManager(path=tmp_path / "Memories.md", game_state=state) as memories:
        memories.remember(CART, f"The password is {SECRET}.", title="Password")
        checkpoint = memories.snapshot()
        memories.invalidate_memory(CART, "Password", "it has changed")
        memories.remember(CART, "The voucher field takes one code only.", title="Voucher")
        assert memories.forget("Password")
        memories.revert_to(checkpoint)
        assert memories.all_memories() == []
        assert traces(tmp_path) == []


def test_forgotten_text_is_removed_from_the_search(tmp_path):
    with SimpleMemoryManager.open(tmp_path) as memories:
        for place in range(20):
            memories.remember(place, f"The door number {place} says {SECRET if place % 3 == 0 else 'nothing'} to you.")
        assert memories.search("door")
        assert [name for name in traces(tmp_path) if name != "Memories.md"]
        assert memories.forget(text=SECRET) == 7
        assert traces(tmp_path) == []
        assert len(memories.all_memories()) == 13
        assert len(memories.search("door", 20)) == 13


def test_trials_of_a_forgotten_memory_are_removed(tmp_path):
    play = Play(tmp_path / "Memories.md")
    for number, title in enumerate(("Lever", "Bell"), 1):
        play.manager.add_memory(5, "Hall", memory(title, category="SUCCESS", action=f"pull {title}"))
        play.turn(number, f"pull {title}", **WORKS)
    play.manager.reset_episode()
    play.manager.forget("Lever")
    assert [trial.title for trial in play.manager.store.journal.trials()] == ["Bell"]

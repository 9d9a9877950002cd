"""Tests of missing, damaged, edited and newer files."""

import json
import os
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.fixtures.stores import journal_file, journal_rows
from tests.fixtures.viewer import client, served, started, turn, write_history, write_log
from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.errors import RunLogError
from zorkgpt.viewer.run_files import open_run

LAMP = Memory("NOTE", "Lamp is here", 1, "1", 0, "A lamp stands in the hall.", "permanent")
TROLL = Memory("DANGER", "Troll attacks", 1, "2", 0, "The troll attacks whoever enters.", "permanent")
BOTH = {LAMP.title: LAMP.text, TROLL.title: TROLL.text}


@pytest.fixture
def workdir(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2), turn(3))
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        for memory_added in (LAMP, TROLL):
            memory.add_memory(10, "Hall", memory_added)
    return tmp_path


def hall_memories(workdir) -> dict[str, str]:
    """Return titles and texts of the current memories of the hall."""
    memories = {}
    for thread in client(workdir).get("/api/places/10").json()["threads"]:
        memory = thread[-1]["memory"]
        if not thread[-1].get("gone"):
            memories[memory["title"]] = memory["text"]
    return memories


def damage(workdir) -> list[tuple[str, int, str]]:
    api = client(workdir)
    api.get("/api/overview")
    return [(entry["file"], entry["unreadable"], entry["trouble"]) for entry in api.get("/api/run").json()["damage"]]


def delete_journal(workdir):
    journal_file(workdir / "Memories.md").unlink()


def damage_journal(workdir):
    journal_file(workdir / "Memories.md").write_bytes(b"no database" * 100)


@pytest.mark.parametrize("harm", [delete_journal, damage_journal])
def test_memories_without_a_record_come_from_the_file(workdir, harm):
    assert hall_memories(workdir) == BOTH
    harm(workdir)
    record = journal_file(workdir / "Memories.md")
    before = record.read_bytes() if record.exists() else None
    assert hall_memories(workdir) == BOTH
    assert (record.read_bytes() if record.exists() else None) == before


def test_edit_in_the_file_is_shown_but_not_recorded(workdir):
    path = workdir / "Memories.md"
    api = client(workdir)
    before = api.get("/api/run").json()["memory"]
    path.write_text(edited := path.read_text().replace("A lamp stands", "A broken lamp stands"))
    assert api.get("/api/run").json()["memory"] > before
    assert hall_memories(workdir) == BOTH | {LAMP.title: "A broken lamp stands in the hall."}
    assert (path.read_text(), len(journal_rows(path))) == (edited, 2)
    path.write_text(path.read_text().replace("A broken lamp stands", "A lamp stands").partition("**[DANGER")[0])
    assert hall_memories(workdir) == {LAMP.title: LAMP.text}
    path.unlink()
    assert hall_memories(workdir) == {}


def test_older_copy_of_the_file_takes_back_later_changes(workdir):
    path = workdir / "Memories.md"
    api = client(workdir)

    def kinds() -> list[str]:
        threads = api.get("/api/places/10").json()["threads"]
        [lamp] = [thread for thread in threads if thread[0]["memory"]["title"] == LAMP.title]
        return [version["kind"] for version in lamp]

    before = path.read_bytes()
    with SimpleMemoryManager.open(path) as memory:
        memory.update(LAMP.title, 10, pinned=True)
    after = path.read_bytes()
    for content, expected in ((before, ["added", "pinned", "reverted"]), (after, ["added", "pinned"])):
        path.write_bytes(content)
        api.get("/api/run")
        assert kinds() == expected


def test_edit_recorded_later_is_not_a_second_memory(workdir):
    path = workdir / "Memories.md"
    path.write_text(path.read_text().replace("A lamp stands", "A broken lamp stands"))
    api = client(workdir)
    for _ in range(2):
        api.get("/api/run")
        threads = api.get("/api/places/10").json()["threads"]
        assert [[version["kind"] for version in thread] for thread in threads] == [["added", "edited"], ["added"]]
        with SimpleMemoryManager.open(path) as memory:
            memory.all_memories()


@pytest.mark.parametrize("data", [b"\0" * 300, b"<p>"])
def test_damaged_memory_file_is_reported_and_journal_is_shown(workdir, data):
    (workdir / "Memories.md").write_bytes(data)
    assert hall_memories(workdir) == BOTH
    assert damage(workdir) == [("Memories.md", 0, "damaged")]
    assert (workdir / "Memories.md").read_bytes() == data


def test_unreadable_lines_are_counted_per_file(workdir):
    calls = workdir / "runs" / "1" / "model_calls.jsonl"
    for path in (calls, calls.with_name("episode_log.jsonl")):
        with path.open("ab") as file:
            file.write(b"garbage\n\xff\xfe\n")
    write_history(workdir, "garbage", "[" * 100_000)
    with (workdir / "Memories.md").open("a") as file:
        file.write("\n**[NOTE - SOMETIMES] A header that is broken** *(Ep1, T1)*\nIts text.\n")
    assert damage(workdir) == [
        ("runs/1/episode_log.jsonl", 2, ""),
        ("runs/1/model_calls.jsonl", 2, ""),
        ("Memories.md.sqlite", 2, ""),
        ("Memories.md", 1, ""),
    ]
    assert hall_memories(workdir) == BOTH


def test_links_and_folders_instead_of_files_are_not_followed(workdir, tmp_path_factory):
    foreign = tmp_path_factory.mktemp("foreign") / "secret.md"
    foreign.write_text((workdir / "Memories.md").read_text().replace("A lamp", "A secret"))
    (workdir / "Memories.md").unlink()
    os.symlink(foreign, workdir / "Memories.md")
    journal_file(workdir / "Memories.md").unlink()
    os.symlink(foreign, journal_file(workdir / "Memories.md"))
    write_log(workdir, started(2), turn(1), episode=2)
    (workdir / "runs" / "2" / "model_calls.jsonl").mkdir()
    trouble = "not a regular file"
    assert damage(workdir) == [
        ("runs/2/model_calls.jsonl", 0, trouble),
        ("Memories.md.sqlite", 0, trouble),
        ("Memories.md", 0, trouble),
    ]
    assert hall_memories(workdir) == {}


def test_log_that_is_a_folder_is_an_error(tmp_path):
    (tmp_path / "runs" / "1" / "episode_log.jsonl").mkdir(parents=True)
    with pytest.raises(RunLogError, match="episode_log.jsonl: not a regular file"):
        open_run(tmp_path)


@pytest.mark.slow
def test_newer_empty_and_damaged_logs_are_distinguished(workdir, open_page):
    write_log(workdir, started(2) | {"v": 7}, turn(1) | {"v": 7}, episode=2)
    write_log(workdir, episode=3, end="")
    (write_log(workdir, episode=4, end="").write_text("garbage\n"))
    with (workdir / "runs" / "1" / "episode_log.jsonl").open("a") as file:
        file.write("garbage\n")
    with served(workdir) as url:
        page = open_page(f"{url}#1:2")
        standing, notice = page.locator("#standing"), page.locator("#notice")
        expect(notice).to_have_text("1 line of runs/1/episode_log.jsonl is damaged and not shown.")
        page.locator("#episodes select").select_option("2")
        expect(standing).to_contain_text("Written by a newer version")
        expect(notice).to_contain_text("format 7")
        page.locator("#episodes select").select_option("3")
        expect(standing).to_contain_text("Log missing or empty")
        expect(notice).to_be_hidden()
        page.locator("#episodes select").select_option("4")
        expect(standing).to_contain_text("Log unreadable")


@pytest.mark.slow
def test_lost_connection_is_shown_on_an_ended_run(workdir, open_page):
    write_log(workdir, {"event": "episode_ended", "episode": 1, "reason": "turn limit", "score": 0})
    with served(workdir) as url:
        page = open_page(url)
        expect(page.locator("#standing")).to_contain_text("Ended: turn limit")
    expect(page.locator("#standing")).to_contain_text("Connection lost")
    expect(page.locator("#standing")).to_contain_text("Ended: turn limit")
    with served(workdir, "--port", str(urlsplit(url).port)):
        expect(page.locator("#standing")).not_to_contain_text("Connection lost", timeout=20_000)


def test_model_call_of_a_newer_version_is_counted(workdir):
    call = {"v": 7, "event": "model_called", "turn": 1, "role": "agent"}
    (workdir / "runs" / "1" / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    assert damage(workdir) == [("runs/1/model_calls.jsonl", 1, "")]

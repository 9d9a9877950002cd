"""Tests of addresses: files, databases and `:memory:`, and what is refused."""

import random
import sqlite3
import threading
from pathlib import Path

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.writers import child, in_separate_process, wait_for
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory

RANDOM = random.Random(3).randbytes(2000)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + RANDOM[:300]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "address",
    ["redis://localhost/0", "mysql://me@host/db", "sqlite:///memories.db", "file:///tmp/m.md", "HTTPS://host/m.md"],
)
@pytest.mark.parametrize("opened", [AgentMemory.open, lambda address: SimpleMemoryManager(path=address)])
def test_unknown_address_scheme_is_refused(tmp_path, monkeypatch, address, opened):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MemoryStoreError) as error:
        opened(address)
    assert "of an unknown kind. Use the path of a file, such as Memories.md" in str(error.value)
    assert contents(tmp_path) == {}


def test_password_in_an_unknown_address_is_not_shown():
    with pytest.raises(MemoryStoreError, match=r"'redis://\*\*\*@host/0'") as error:
        AgentMemory.open("redis://me:s3c/r@et@host/0")
    assert "s3c" not in str(error.value)


@pytest.mark.parametrize("name", ["Memories.md", "memories.sqlite", "notes"])
@pytest.mark.parametrize("content", [RANDOM, PNG, RANDOM.replace(b"\0", b"\1"), "Ünicode".encode("utf-16")])
def test_foreign_file_is_refused_unchanged(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    for opened in (AgentMemory.open, lambda address: SimpleMemoryManager(path=address)):
        with pytest.raises(MemoryStoreError, match=f"{name}.*ame another file"):
            opened(path)
    assert contents(tmp_path) == {str(path): content}


@pytest.mark.parametrize("name", ["Memories.md", "songs.db"])
def test_database_of_another_program_is_refused_unchanged(tmp_path, name):
    path = tmp_path / name
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE songs (title text)")
    database.close()
    before = contents(tmp_path)
    with pytest.raises(
        MemoryStoreError, match="another program's SQLite file, or an unreleased version's. Name another file"
    ):
        AgentMemory.open(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["Memories.md", "memories.sqlite"])
def test_folder_instead_of_a_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.mkdir()
    with pytest.raises(MemoryStoreError, match=f"Can't read .*{name}: it is a folder, not a file"):
        SimpleMemoryManager(path=path)
    assert contents(tmp_path) == {str(path): b""}


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.remember(5, "A lever is here.", episode=-1),
        lambda memory: memory.remember(5, "A lever is here.", turn=-1),
        lambda memory: memory.add_memory(5, "", Memory("NOTE", "Lever", -1, "1", 0, "A lever.", "permanent")),
        lambda memory: memory.search("lever", episode=-1),
        lambda memory: memory.as_of(-1, 5),
        lambda memory: memory.as_of(1, -5),
        lambda memory: memory.learn(5, "pull lever", "It moves.", {"turn": -1}),
        lambda memory: memory.invalidate_memory(5, "Lever", "It broke.", turn=-1),
    ],
)
def test_negative_episode_or_turn_is_refused(home, call):
    with home.open() as memory:
        with pytest.raises(ValueError, match=r"The (turn|episode) is -\d; it must not be below zero"):
            call(memory)
        assert memory.find() == []


def test_in_process_memory_writes_nothing_to_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "other.json").write_text('"The lever opens the gate."')
    before = contents(tmp_path)
    with AgentMemory.open(":memory:", embeddings=HashingEmbeddings()) as memory:
        first = memory.remember("https://s/cart", "The lever opens the gate.", title="Lever")
        memory.remember(5, "A rope is here.", persistence="ephemeral")
        new = memory.supersede(first, "The lever opens the sluice.")
        assert "sluice" in memory.recall("https://s/cart")
        assert [each.located.id for each in memory.search("sluice")] == [new]
        assert memory.history(first)[-1].kind == "superseded"
        assert set(memory.as_of(1, 0)) == {5, "https://s/cart"}
        assert memory.forget(text="lever") == 2
        assert [each.location_id for each in memory.find()] == [5]
        memory.new_episode()
        assert memory.find() == []
    assert contents(tmp_path) == before
    with AgentMemory.open(":memory:") as memory:
        assert memory.find() == []


def test_threads_share_an_in_process_memory():
    with AgentMemory.open(":memory:") as memory, AgentMemory.open(":memory:") as other:
        threads = [
            threading.Thread(target=lambda number: memory.remember(number, f"Fact {number}."), args=(number,))
            for number in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(memory.find()) == 10
        assert other.find() == []


def check_refusal_in_child() -> None:
    memory = AgentMemory.open(":memory:")
    memory.remember(5, "A lever is here.")

    def use() -> None:
        with pytest.raises(MemoryStoreError, match="of another process. Use a file"):
            memory.remember(5, "A rope is here.")

    wait_for(child(use))
    assert "lever" in memory.recall(5)


def test_child_process_cannot_use_its_parents_in_process_memory():
    in_separate_process(check_refusal_in_child)

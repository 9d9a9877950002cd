"""A memory file that has grown large is cut into files that it lists; nothing else is different."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.fixtures.memory import memory
from tests.memory.test_processes import ROOT
from tests.memory.test_state_machine import PLACES, SECRET, FileMachine
from zorkgpt.files import Disk
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.shelves import INTRODUCTION, ShelfSizes, joined, listed, read_document
from zorkgpt.memory.storage.store import MemoryStore

SMALL = ShelfSizes(file=3000, shelf=1200)


def opened(path: Path, **options) -> SimpleMemoryManager:
    manager = SimpleMemoryManager.open(path, **options)
    manager.store.sizes = SMALL
    return manager


def filled(path: Path, count: int = 40, *, places: int = 13) -> SimpleMemoryManager:
    manager = opened(path)
    for number in range(count):
        assert manager.add_memory(number * 5 % places, "Room", memory(f"Memory {number}"))
    return manager


def titles(path: Path) -> list[str]:
    return [one.memory.title for one in SimpleMemoryManager.open(path).all_memories()]


def shelves(path: Path) -> list[Path]:
    return [path.with_suffix("") / name for name in listed(path.read_bytes())]


def shelf_of(path: Path, place: int) -> Path:
    return next(shelf for shelf in shelves(path) if f"## Location {place}: " in shelf.read_text())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "Memories.md"


def test_a_small_store_stays_one_file(path):
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory())
    assert sorted(os.listdir(path.parent)) == [
        "Memories.history.jsonl",
        "Memories.md",
        "Memories.md.lock",
    ]


def test_the_pieces_of_a_large_one_are_the_file(path, tmp_path):
    filled(path)
    (tmp_path / "one").mkdir()
    one = SimpleMemoryManager.open(tmp_path / "one" / "Memories.md")
    for number in range(40):
        one.add_memory(number * 5 % 13, "Room", memory(f"Memory {number}"))
    assert joined(read_document(path)) == one.store.file.path.read_bytes()
    assert len(shelves(path)) > 4
    assert all(shelf.stat().st_size <= SMALL.shelf for shelf in shelves(path))
    assert path.read_text() == "\n".join(
        [
            "# Location Memories\n",
            INTRODUCTION,
            *(f"- [{shelf.name}](Memories/{shelf.name})" for shelf in shelves(path)),
            "",
        ]
    )
    again = SimpleMemoryManager.open(path)
    assert again.memory_cache == one.memory_cache
    assert list(again.store.document.problems()) == []
    assert again.get_location_memory(5) == one.get_location_memory(5)


def test_a_change_of_one_place_rewrites_one_shelf(path):
    manager = filled(path)
    before = {shelf: shelf.read_bytes() for shelf in shelves(path)} | {path: path.read_bytes()}
    manager.add_memory(7, "Room", memory("New"))
    changed = [file for file, data in before.items() if file.read_bytes() != data]
    assert changed == [shelf_of(path, 7)]


def test_what_a_person_wrote_between_stays_where_it_was(path):
    manager = opened(path)
    manager.add_memory(1, "Room", memory("First"))
    path.write_text("# My house\n\nA preface.\n\n" + path.read_text() + "\n## A note\nBetween.\n")
    for number in range(40):
        manager.add_memory(number % 9, "Room", memory(f"Memory {number}"))
    text = joined(read_document(path)).decode()
    assert "# My house\n\nA preface.\n" in text
    assert "## A note\nBetween.\n" in text
    assert "A preface." in path.read_text()


class ShelvedMachine(FileMachine):
    """The same model, and files that are cut all the time."""

    def new(self, kind):
        self.manager.store.sizes = ShelfSizes(file=700, shelf=400)
        return super().new(kind)

    @rule(place=PLACES, data=st.data())
    def a_person_deletes_a_memory(self, place, data):
        if self.lasting.get(place):
            gone = data.draw(st.sampled_from(self.lasting[place]))
            file = next(file for file in self.folder.rglob("*.md") if f"] {gone.title}**" in file.read_text())
            lines = file.read_text().split("\n")
            at = next(n for n, text in enumerate(lines) if f"] {gone.title}**" in text)
            end = next(n for n in range(at, len(lines)) if not lines[n])
            file.write_text("\n".join(lines[:at] + lines[end + 1 :]))
            self.lasting[place].remove(gone)

    @invariant()
    def the_file_says_what_the_model_says(self):
        found = read_document(self.path).all_memories() if self.path.exists() else {}
        assert found == {place: kept for place, kept in self.lasting.items() if kept}

    @invariant()
    def nothing_that_passes_is_in_the_file(self):
        assert not any(SECRET in file.read_text() for file in self.folder.rglob("*.md"))


class Killed(BaseException):
    """Nothing that the code may catch."""


class KillingDisk(Disk):
    """A disk on which the process ends at the nth call."""

    def __init__(self) -> None:
        self.left = -1
        for name in ("create", "write", "flush", "close", "link", "replace", "remove", "stat"):
            setattr(self, name, self._counting(getattr(Disk, name)))

    def _counting(self, call):
        def counted(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                raise Killed
            return call(*args, **kwargs)

        return counted


@pytest.mark.parametrize("count", [12, 20])
def test_a_kill_at_any_call_of_the_disk_loses_nothing_and_brings_nothing_back_twice(tmp_path, count):
    disk = KillingDisk()
    start = tmp_path / "start" / "Memories.md"
    filled(start, count)
    added = 0
    for at in range(1, 400):
        folder = tmp_path / str(at)
        shutil.copytree(start.parent, folder)
        manager = opened(folder / "Memories.md", disk=disk)
        manager.store.sizes = ShelfSizes(file=500, shelf=300)
        disk.left, added = at, 0
        try:
            for place in (3, 7):
                added += manager.add_memory(place, "Room", memory(f"New at {place}"))
        except Killed:
            pass
        else:
            break
        found = titles(folder / "Memories.md")
        assert sorted(found) == sorted(set(found))
        assert {f"Memory {number}" for number in range(count)} <= set(found)
        assert len(found) >= count + added
        again = opened(folder / "Memories.md")
        assert again.add_memory(3, "Room", memory("After"))
        assert sorted(titles(folder / "Memories.md")) == sorted([*found, "After"])
        assert not (folder / "Memories.md.pending").exists()
        shutil.rmtree(folder)
    assert at > 60
    assert added == 2


KILLED = """
import os, sys
from tests.memory.test_shelves import memory, opened
path = sys.argv[1]
manager = opened(path)
print("ready", flush=True)
number = 0
while True:
    number += 1
    if manager.add_memory(number * 5 % 17, "Room", memory(f"Memory {number}")):
        print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_process_killed_while_files_are_cut_leaves_all_that_it_said_was_kept(path, seed):
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.05, 0.9))
    os.kill(child.pid, signal.SIGKILL)
    said = [f"Memory {number}" for number in child.communicate()[0].split()]
    found = titles(path)
    assert sorted(found) == sorted(set(found))
    assert set(said) <= set(found)
    assert len(found) <= len(said) + 1
    manager = SimpleMemoryManager.open(path, lock_timeout_s=1)
    replayed = manager.store.history.replayed().values()
    assert sorted(one.title for kept in replayed for one in kept) == sorted(found)


ADDING = """
import sys
from tests.memory.test_shelves import memory, opened
path, name = sys.argv[1:]
manager = opened(path)
for number in range(40):
    print(manager.add_memory(number * 5 % 17, "Room", memory(f"{name} {number}")), flush=True)
"""


@pytest.mark.slow
def test_several_processes_on_shelves_lose_nothing_and_see_each_other(path):
    watching = opened(path)
    children = [
        subprocess.Popen([sys.executable, "-c", ADDING, path, str(n)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    seen = 0
    while any(child.poll() is None for child in children):
        now = watching.get_persistent_count()
        assert now >= seen
        seen = now
    assert [child.communicate()[0].count("True") for child in children] == [40] * 4
    assert sorted(titles(path)) == sorted(f"{child} {number}" for child in range(4) for number in range(40))
    assert watching.get_persistent_count() == 160
    assert watching.memory_cache == SimpleMemoryManager.open(path).memory_cache


def test_threads_on_shelves_lose_nothing(path):
    manager = filled(path)

    def work(thread: int) -> None:
        for number in range(10):
            assert manager.add_memory(number, "Room", memory(f"Thread {thread} {number}"))
            manager.get_location_memory(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(titles(path)) == 80


# Files in other hands


def test_an_edit_of_a_shelf_is_seen_at_the_next_call_and_noted_as_one_by_hand(path):
    manager = filled(path)
    shelf = shelf_of(path, 5)
    shelf.write_text(shelf.read_text().replace("The text of Memory 1.", "Reworded."))
    assert "Reworded." in manager.get_location_memory(5)
    assert manager.add_memory(5, "Room", memory("After"))
    records = [one for one in manager.store.history.records() if one.source == "hand"]
    assert [(one.change.kind, one.change.after.text) for one in records] == [("edited", "Reworded.")]


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("damage", [None, b"", bytes(500), b"<html>502</html>"])
def test_a_shelf_that_is_missing_or_damaged_is_recovered_and_said_so(path, running, damage):
    manager = filled(path)
    manager.add_memory(5, "Room", memory("Last"))
    before = titles(path)
    shelf = shelf_of(path, 5)
    whole = shelf.read_bytes()
    shelf.unlink() if damage is None else shelf.write_bytes(damage)
    manager = manager if running else opened(path)
    assert manager.get_persistent_count() == len(before) - (not running)
    assert manager.store.recovered.path == shelf
    assert manager.store.recovered.was == ("missing" if damage is None else "damaged")
    assert (shelf.read_bytes() == whole) is running


def test_who_deletes_a_shelf_and_its_backup_has_deleted_its_memories(path, caplog):
    manager = filled(path)
    shelf = shelf_of(path, 5)
    gone = shelf.read_text().count("**[")
    shelf.unlink()
    Path(f"{shelf}.backup").unlink()
    assert manager.get_persistent_count() == 40 - gone
    assert "listed and not there" in caplog.text
    assert manager.add_memory(5, "Room", memory("New"))
    assert len(titles(path)) == 41 - gone


def test_a_shelf_that_is_no_longer_listed_is_not_read_and_not_written_over(path):
    manager = filled(path)
    shelf = shelf_of(path, 5)
    content = shelf.read_bytes()
    lines = [line for line in path.read_text().splitlines(keepends=True) if shelf.name not in line]
    path.write_text("".join(lines))
    assert manager.get_location_memory(5) == ""
    for number in range(40):
        assert manager.add_memory(number % 9, "Room", memory(f"More {number}"))
    assert shelf.read_bytes() == content
    path.write_text(path.read_text() + f"- [{shelf.name}](Memories/{shelf.name})\n")
    assert {f"More {number}" for number in range(40)} < set(titles(path))
    assert {f"Memory {number}" for number in range(40)} < set(titles(path))


def test_a_file_of_ones_own_is_taken_in_by_listing_it(path):
    manager = filled(path)
    (path.with_suffix("") / "mine.md").write_text("## Location 99: Cave\n\n**[NOTE] Bat** *(Ep1, T2)*\nIt bites.\n")
    assert manager.get_location_memory(99) == ""
    path.write_text(path.read_text() + "- [mine.md](Memories/mine.md)\n")
    assert manager.get_location_memory(99) == "[NOTE] Bat: It bites."


def test_a_name_that_leads_out_of_the_folder_is_no_shelf(path, tmp_path):
    (tmp_path / "secret.md").write_text("## Location 99: Cave\n\n**[NOTE] Bat** *(Ep1, T2)*\nIt bites.\n")
    filled(path)
    path.write_text(path.read_text() + "- [../secret.md](x)\n- [/etc/passwd.md](x)\n")
    assert opened(path).get_location_memory(99) == ""


@pytest.mark.parametrize("running", [True, False])
def test_a_deleted_list_is_recovered_and_nothing_old_comes_back(path, running):
    manager = filled(path)
    for number in range(60):
        manager.add_memory(number % 31, "Room", memory(f"More {number}"))
    before = titles(path)
    content = path.read_bytes()
    path.unlink()
    manager = manager if running else opened(path)
    assert manager.get_persistent_count() == len(before)
    assert path.read_bytes() == content


def test_who_deletes_list_and_backup_begins_anew_beside_the_old_shelves(path):
    manager = filled(path)
    old = {shelf: shelf.read_bytes() for shelf in shelves(path)}
    path.unlink()
    path.with_name("Memories.md.backup").unlink()
    assert manager.get_persistent_count() == 0
    for number in range(40):
        assert manager.add_memory(number % 9, "Room", memory(f"More {number}"))
    assert sorted(titles(path)) == sorted(f"More {number}" for number in range(40))
    assert {shelf: shelf.read_bytes() for shelf in old} == old


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def test_the_checkout_of_another_branch_is_what_counts_and_the_way_back_too(path):
    folder = path.parent
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("*.backup\n*.lock\n*.tmp\n*.jsonl\n")
    manager = filled(path, 10)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "small")
    git(folder, "checkout", "-qb", "large")
    for number in range(40):
        manager.add_memory(number % 13, "Room", memory(f"More {number}"))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "large")
    large = titles(path)
    git(folder, "checkout", "-q", "main")
    assert manager.get_persistent_count() == 10
    assert manager.store.recovered is None
    assert len(titles(path)) == 10
    git(folder, "checkout", "-q", "large")
    assert manager.get_persistent_count() == len(large)
    assert titles(path) == large


def test_both_sides_of_a_merge_conflict_in_the_list_are_read(path):
    manager = filled(path)
    *head, last, _ = path.read_text().split("\n")
    path.write_text("\n".join([*head, "<<<<<<< ours", last, "=======", last, ">>>>>>> theirs", ""]))
    assert manager.get_persistent_count() == 40
    for number in range(40):
        assert manager.add_memory(number % 9, "Room", memory(f"More {number}"))
    assert sorted(titles(path)) == sorted([*(f"Memory {n}" for n in range(40)), *(f"More {n}" for n in range(40))])
    assert "<<<<<<< ours" in path.read_text()


def test_an_edit_in_the_midst_of_a_change_that_a_kill_cut_short_is_set_aside(path, caplog):
    disk = Disk()
    filled(path)
    manager = opened(path, disk=disk)
    manager.store.sizes = ShelfSizes(file=500, shelf=300)
    pending = f"{path}.pending"

    def replace(source, to):
        os.replace(source, to)
        if os.path.exists(pending) and not str(to).endswith(".backup"):
            raise Killed

    disk.replace = replace
    with pytest.raises(Killed):
        manager.add_memory(5, "Room", memory("New"))
    edited = next(file for file in (*shelves(path), path) if Path(f"{file}.tmp").exists())
    edited.write_bytes(edited.read_bytes() + b"\nMy note.\n")
    assert set(titles(path)) >= {f"Memory {n}" for n in range(40)}
    assert "edited in the midst" in caplog.text
    assert any(b"My note." in file.read_bytes() for file in path.parent.rglob("*.damaged-1"))


@pytest.mark.parametrize("by", ["nobody", "a person", "another process"])
def test_shelves_are_put_back_to_a_checkpoint_unless_somebody_else_wrote(path, by):
    manager = filled(path)
    folder = path.parent / "undo"
    restorer = manager.rollback()
    point = restorer.restore_point(3)
    restorer.begin(folder, 3)
    before = {file: file.read_bytes() for file in (path, *shelves(path), path.with_suffix(".history.jsonl"))}
    for number in range(30):
        assert manager.add_memory(number % 29, "Room", memory(f"More {number}"))
    if by == "a person":
        shelf = shelf_of(path, 5)
        shelf.write_text(shelf.read_text() + "\nA note of my own.\n")
    elif by == "another process":
        assert SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("A note of my own."))
    now = titles(path)
    done = opened(path).rollback().restore(folder, point)
    assert done is (by == "nobody")
    if done:
        assert {file: file.read_bytes() for file in before} == before
        assert opened(path).rollback().restore(folder, point)
        assert not list(folder.glob("*"))
        assert sorted(titles(path)) == sorted(f"Memory {number}" for number in range(40))
    else:
        assert titles(path) == now


def test_a_file_in_the_place_of_the_folder_leaves_the_memory_one_file(path, caplog):
    path.with_suffix("").write_text("mine")
    filled(path)
    assert len(titles(path)) == 40
    assert caplog.text.count("can't be cut into shelves") == 1


def test_a_folder_that_is_gone_is_an_error_while_it_runs_and_made_anew_later(path):
    manager = filled(path)
    shutil.rmtree(path.with_suffix(""))
    assert manager.add_memory(5, "Room", memory("New")) is False
    assert "Memory 1:" in manager.get_location_memory(5)
    again = opened(path)
    assert again.get_persistent_count() == 0
    assert again.add_memory(5, "Room", memory("New"))
    assert titles(path) == ["New"]


def test_a_store_on_its_own_reads_shelves(path):
    filled(path)
    assert sum(map(len, MemoryStore(path).cache.values())) == 40


TestShelvedMachine = ShelvedMachine.TestCase
TestShelvedMachine.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)

"""Tests of damaged memory files, which are restored from the backup, and of edits, which are not damage."""

import logging
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.memory import memory
from tests.fixtures.stores import journal_rows
from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import Recovery
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.damage import is_damaged
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.upkeep.undoing import deletions, undo

HALL = memory("Rug", text="The rug hides a trap door.")
ATTIC = memory("Rope", text="A rope lies beside the table.")
PAGE = b"""<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><h1>502 Bad Gateway</h1><p>The server is being restarted.</p></body></html>
"""
RANDOM = random.Random(5).randbytes(4000)
HEADING = b"\n## Location 5: X\n"


@pytest.fixture
def sound(path):
    """Write a file with two memories. Return its bytes."""
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", HALL)
        manager.add_memory(6, "Attic", ATTIC)
        # The backup contains both memories after a further write.
        manager.add_memory(6, "Attic", memory("Knife"))
    return path.read_bytes()


def texts(path):
    return {memory.text for memories in parse(path.read_bytes()).by_place().values() for memory in memories}


DAMAGED = {
    "zeros": bytes(5000),
    "random bytes": RANDOM,
    "random bytes with a heading by chance": RANDOM[:2000] + HEADING + RANDOM[2000:],
    "a page of an error": PAGE,
    "a page of an error with a heading by chance": PAGE + HEADING,
    "a few letters of it": b"# Loc",
    "another text": b"To whom it may concern: the weather is fine.\n",
    "an image": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + RANDOM,
    "its first line, then random bytes": b"# Location Memories\n\n" + RANDOM,
    "its first line, then bytes without a zero": b"# Location Memories\n\n" + RANDOM[:300].replace(b"\0", b"\xff"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_file_is_restored_from_backup_and_journal(path, sound, damage):
    backup = path.with_name("Memories.md.backup").read_bytes()
    path.write_bytes(DAMAGED[damage])
    with SimpleMemoryManager.open(path) as again:
        assert [memory.title for memory in again.memory_cache[6]] == ["Rope", "Knife"]
        aside = path.with_name("Memories.md.damaged-1")
        assert again.store.recovered == Recovery(path, aside, path.with_name("Memories.md.backup"))
        assert again.store.notices == [again.store.recovered.describe()]
    assert path.read_bytes() == sound
    assert path.with_name("Memories.md.backup").read_bytes() == backup
    assert aside.read_bytes() == DAMAGED[damage]
    assert [row["kind"] for row in journal_rows(path)] == ["added"] * 3


def test_damaged_file_without_backup_is_restored_from_the_journal(path, sound):
    path.with_name("Memories.md.backup").unlink()
    path.write_bytes(PAGE)
    with SimpleMemoryManager.open(path):
        assert texts(path) == {HALL.text, ATTIC.text, "The text of Knife."}


def test_damaged_file_without_journal_is_restored_from_the_backup(path, sound):
    backup = path.with_name("Memories.md.backup").read_bytes()
    path.with_name("Memories.md.sqlite").unlink()
    path.write_bytes(PAGE)
    with SimpleMemoryManager.open(path):
        assert path.read_bytes() == backup


@pytest.mark.parametrize("damage", DAMAGED)
def test_file_damaged_while_open_is_restored(path, sound, damage):
    with SimpleMemoryManager.open(path) as manager:
        path.write_bytes(DAMAGED[damage])
        assert manager.get_location_memory(6).count("\n") == 1
        assert path.read_bytes() == sound
        assert manager.store.recovered is not None
        assert manager.add_memory(6, "Attic", memory("New"))
    titles = ["Rug", "Rope", "Knife", "New"]
    assert [kept.title for memories in parse(path.read_bytes()).by_place().values() for kept in memories] == titles
    assert [row["after"]["title"] for row in journal_rows(path)] == titles


def test_file_truncated_by_a_power_cut_is_set_aside(path, sound):
    half = sound[: sound.index(b"## Location 6")] + bytes(512)
    path.write_bytes(half)
    SimpleMemoryManager.open(path)
    assert texts(path) == {HALL.text, ATTIC.text, "The text of Knife."}
    assert path.with_name("Memories.md.damaged-1").read_bytes() == half


EDITS = {
    "another first line": lambda text: text.replace("# Location Memories", "# What I know of the house"),
    "no first line": lambda text: text.partition("\n")[2],
    "a formatter's first line": lambda text: text.replace(
        "# Location Memories", "Location Memories\n================="
    ),
    "all memories deleted": lambda text: "# Location Memories\n",
    "one memory left": lambda text: "## Location 5: X\n" + text[text.index("**[NOTE") :].split("\n\n")[0] + "\n",
    "all headers broken, no first line": lambda text: text.replace("**[", "[").partition("\n")[2],
    "a conflict of versions": lambda text: f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n",
    "a page quoted in a note": lambda text: text + "\n" + PAGE.decode(),
    "other memories, without a first line": lambda text: "## Location 9: Cave\n**[NOTE] Bat** *(Ep1, T2)*\nIt bites.\n",
    "notes with a bell in them": lambda text: text + "\nRang \x07 twice.\n",
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_by_a_person_are_not_damage(path, sound, edit):
    edited = EDITS[edit](sound.decode()).encode()
    path.write_bytes(edited)
    with SimpleMemoryManager.open(path) as again:
        assert again.store.recovered is None
        assert path.read_bytes() == edited
        assert again.add_memory(1, "Cellar", memory("New"))
    assert all(line in path.read_bytes() for line in edited.split(b"\n"))
    assert not path.with_name("Memories.md.damaged-1").exists()


def test_file_saved_in_another_encoding_keeps_its_memories(path, sound):
    edited = sound.decode().replace("Attic", "Dachboden für Müßige").encode("latin-1")
    path.write_bytes(edited)
    with SimpleMemoryManager.open(path) as again:
        assert again.store.recovered is None
        assert again.get_location_memory(6).startswith("[NOTE]")
    assert path.read_bytes() == edited


@pytest.mark.parametrize(
    "content",
    [
        b"# Location Memories\n\nA caf\xe9.\n",
        b"## Location 5: Hall\n\n**[NOTE] Caf\xe9** *(Ep1, T1)*\nIt is open.\n",
    ],
    ids=["only its first line", "only a memory"],
)
def test_memory_file_in_another_encoding_is_opened(tmp_path, content):
    path = tmp_path / "Memories.md"
    path.write_bytes(content)
    with SimpleMemoryManager.open(path) as manager:
        manager.remember(5, "The door is open.")
    assert content.splitlines()[-1] in path.read_bytes()


def test_memory_deleted_from_a_file_with_a_null_byte_stays_deleted(path, sound):
    noted = sound + b"\nA zero: \x00.\n"
    path.write_bytes(noted)
    with SimpleMemoryManager.open(path) as manager:
        assert manager.add_memory(1, "Cellar", memory("New"))
        edited = path.read_bytes().replace(ATTIC.text.encode(), b"No rope is here.")
        path.write_bytes(edited)
        manager.get_location_memory(6)
        assert path.read_bytes() == edited


@pytest.mark.parametrize("is_conflict", [True, False])
def test_unresolved_merge_conflict_is_logged_once(path, sound, caplog, is_conflict):
    path.write_bytes(b"<<<<<<< ours\n%b=======\n>>>>>>> theirs\n" % sound if is_conflict else b"A note.\n" + sound)
    with SimpleMemoryManager.open(path) as manager:
        manager.all_memories()
    assert caplog.text.count("a merge conflict is not resolved") == is_conflict


def test_new_memory_logs_no_warning(tmp_path, caplog):
    with SimpleMemoryManager.open(tmp_path) as manager:
        manager.add_memory(5, "Hall", memory())
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_damaged_file_without_backup_is_unchanged(path):
    path.write_bytes(PAGE)
    with SimpleMemoryManager.open(path) as manager:
        assert manager.add_memory(5, "Hall", HALL)
        assert manager.store.recovered is None
    assert PAGE in path.read_bytes()


@given(
    st.lists(st.sampled_from([b"# Location Memories", b"## Location 5: X", b"", b"a", b"\xff", b"---"])).map(b"\n".join)
)
def test_file_with_all_memories_is_never_damaged(rest):
    before = render(parse(b"# Location Memories\n\n## Location 5: X\n\n**[NOTE] T** *(Ep1, T5)*\nIt opens.\n"))
    assert not is_damaged(rest + b"\n" + before, before)
    assert not is_damaged(before + rest, before)


@pytest.mark.parametrize("first_line", [b"", b"\xff # Location Memories\n", b"\0\n"])
def test_doubtful_file_is_written_after_its_last_memory_expired(path, first_line):
    old = b"**[NOTE] Old** *(Ep1, T1, expires: 2000-01-01T00:00:00+00:00)*\nIt is old.\n"
    path.write_bytes(first_line + b"## Location 5: Hall\n\n" + old)
    with SimpleMemoryManager.open(path) as manager:
        manager.all_memories()
        assert manager.remember(6, "It is cold.", title="Cold")
        assert [located.memory.title for located in manager.all_memories()] == ["Cold"]
    assert path.read_bytes().startswith(first_line + b"## Location 5: Hall\n")


GONE = {"deleted": None, "emptied": b"", "blanks": b" \r\n\t\n"}


def leave(path, content):
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("has_backup", [True, False])
def test_deleting_or_emptying_the_file_deletes_all_memories(path, sound, caplog, how, has_backup):
    backup = path.with_name("Memories.md.backup")
    backup.unlink() if not has_backup else None
    leave(path, GONE[how])
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get_persistent_count() == 0
        assert (manager.store.recovered, backup.exists()) == (None, has_backup)
        what = "the file was deleted" if how == "deleted" else "0 memories left"
        assert manager.store.notices == [
            f"{path}: 3 memories are no longer in the file ({what}). To bring them back: `memories undo`."
        ]
        assert caplog.text.count("3 memories are no longer in the file") == 1
        (deletion,) = deletions(manager.store)
        assert [each.kept_because for each in undo(manager.store, deletion)] == [""] * 3
        assert deletions(manager.store) == []
    assert parse(path.read_bytes()).by_place() == parse(sound).by_place()
    with SimpleMemoryManager.open(path) as manager:
        assert manager.store.notices == []
        assert manager.invalidate_memory(5, "Rug", "wrong"), "a memory that came back is not an edit by a person"


@pytest.mark.parametrize("how", GONE)
def test_file_deleted_while_open_starts_over(path, sound, how):
    with SimpleMemoryManager.open(path) as manager:
        leave(path, GONE[how])
        assert manager.get_persistent_count() == 0
        assert manager.add_memory(5, "Hall", memory("New", text="Another game."))
        assert len(manager.store.notices) == 1
    assert texts(path) == {"Another game."}
    with SimpleMemoryManager.open(path) as manager:
        assert [each.describe() for each in deletions(manager.store)] == [
            f"3 memories were deleted from the file before {deletions(manager.store)[0].at[:10]} "
            f"{deletions(manager.store)[0].at[11:16]}: “Rug”, “Rope”, “Knife”."
        ]


def test_file_deleted_after_its_first_change_can_be_undone(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", HALL)
    path.unlink()
    with SimpleMemoryManager.open(path) as manager:
        assert [len(deletion.records) for deletion in deletions(manager.store)] == [1]


def test_memories_missing_from_a_shorter_file_are_reported_with_lines_not_understood(path, sound):
    path.write_bytes(sound.replace(b"**[NOTE - PERMANENT] R", b"**(NOTE - PERMANENT) R"))
    with SimpleMemoryManager.open(path) as manager:
        assert manager.store.notices == [
            f"{path}: 2 memories are no longer in the file (1 memory left, not understood: lines 8, 18). "
            "To bring them back: `memories undo`."
        ]
    path.write_bytes(sound)
    with SimpleMemoryManager.open(path) as manager:
        assert manager.store.notices == deletions(manager.store) == []
        assert manager.invalidate_memory(6, "Rope", "wrong")


def test_file_cut_in_the_middle_is_an_edit_that_is_reported(path, sound):
    path.write_bytes(sound[: sound.index(b"**[NOTE - PERMANENT] Rope")])
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get_persistent_count() == 1
        assert [notice.split(": ", 1)[1] for notice in manager.store.notices] == [
            "2 memories are no longer in the file (1 memory left). To bring them back: `memories undo`."
        ]


OPENING = """
import sys
from zorkgpt import SimpleMemoryManager, ZorkGPTError
try:
    SimpleMemoryManager(path=sys.argv[1])
except ZorkGPTError as error:
    print(error)
"""


def stderr_of(path) -> str:
    """Open the file in a separate process and return its error output. Fails if the process hangs."""
    done = subprocess.run(
        [sys.executable, "-c", OPENING, str(path)], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "message"), [("folder", "a folder"), ("pipe", "a pipe"), ("socket", "a socket")])
def test_special_file_is_refused_at_once(tmp_path, kind, message):
    place = tmp_path / "Memories.md"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(place))
    found = stderr_of(tmp_path / "Memories.md")
    assert found == f"Can't read {place}: it is {message}, not a file. Move it away, or name another file.\n"


def test_pipe_instead_of_the_journal_is_refused(path):
    os.mkfifo(f"{path}.sqlite")
    with SimpleMemoryManager.open(path) as manager, pytest.raises(MemoryStoreError, match=r"sqlite: it is a pipe"):
        manager.remember(5, HALL.text)
    assert not path.exists()


def test_device_is_refused(path):
    path.symlink_to("/dev/zero")
    assert "it is a device, not a file" in stderr_of(path)


def test_file_replaced_by_a_pipe_while_open_does_not_hang(path, sound):
    with SimpleMemoryManager.open(path) as manager:
        path.unlink()
        os.mkfifo(path)
        assert manager.get_location_memory(5) == "[NOTE] Rug: The rug hides a trap door."
        assert manager.add_memory(5, "Hall", memory("New")) is False
        path.unlink()
        path.write_bytes(sound)
        assert manager.add_memory(5, "Hall", memory("New"))
    assert HALL.text in texts(path)


def test_folder_deleted_while_open_is_not_created_again(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    with SimpleMemoryManager.open(folder) as manager:
        manager.add_memory(5, "Hall", HALL)
        os.rename(folder, tmp_path / "trash")
        assert manager.get_location_memory(5) == "[NOTE] Rug: The rug hides a trap door."
        assert manager.add_memory(5, "Hall", memory("New")) is False
        with pytest.raises(MemoryStoreError, match="work was deleted or moved"):
            manager.store.refresh()
    assert not folder.exists()


def test_link_is_followed_and_other_files_are_beside_its_target(tmp_path):
    kept, work = tmp_path / "kept", tmp_path / "work"
    kept.mkdir()
    work.mkdir()
    (work / "Memories.md").symlink_to(Path("..") / "kept" / "mine.md")
    for title in ("First", "Second", "Third"):
        with SimpleMemoryManager.open(work) as manager:
            assert manager.add_memory(5, "Hall", memory(title))
    assert os.listdir(work) == ["Memories.md"]
    assert (work / "Memories.md").is_symlink()
    assert {"mine.md", "mine.md.backup", "mine.md.sqlite"} <= set(os.listdir(kept))
    (kept / "mine.md").write_bytes(PAGE)
    assert SimpleMemoryManager.open(work).get_persistent_count() == 3
    assert (kept / "mine.md.damaged-1").read_bytes() == PAGE
    assert (work / "Memories.md").is_symlink()


@pytest.mark.slow
def test_dangling_link_is_created_and_circular_link_is_refused(tmp_path):
    (tmp_path / "Memories.md").symlink_to(tmp_path / "not yet" / "mine.md")
    with SimpleMemoryManager.open(tmp_path) as manager:
        assert manager.add_memory(5, "Hall", HALL)
    assert texts(tmp_path / "not yet" / "mine.md") == {HALL.text}
    (tmp_path / "circle.md").symlink_to("circle.md")
    assert "Can't" in stderr_of(tmp_path / "circle.md")

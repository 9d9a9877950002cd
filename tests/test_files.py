"""Tests of replacing files and of file locks."""

import os
import threading

import pytest
from filelock import FileLock, Timeout

from zorkgpt.errors import FileError
from zorkgpt.files import AtomicFile, create_file, write_file


def test_file_is_replaced_without_leftovers(tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["map.json"]


def test_reader_of_the_old_file_keeps_it(tmp_path):
    path = tmp_path / "map.json"
    for number in range(4):
        write_file(path, b"%d" % number * 1000)
        with path.open("rb") as reader:
            for later in (b"a", b"b"):
                write_file(path, later * 2000)
            assert reader.read() == b"%d" % number * 1000


def test_link_is_kept(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_file(tmp_path / "pipe", b"said")
    reader.join()
    assert read == [b"said"]


@pytest.mark.parametrize("name", ["gone/map.json", "folder"])
def test_unwritable_file_is_an_error_without_leftovers(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=f"Can't write .*{name}"):
        write_file(tmp_path / name, b"new")
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_existing_file_is_not_created_again(tmp_path):
    for content in (b"first", b"second"):
        create_file(tmp_path / "story.json", content)
    assert (tmp_path / "story.json").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["story.json"]


def test_file_lock_excludes_others(tmp_path):
    file = AtomicFile(tmp_path / "file", lock_timeout_s=0.05)
    with (
        FileLock(f"{file.path}.lock"),
        pytest.raises(FileError, match=r"held by another process for 0\.05 s"),
        file.locked(),
    ):
        pass
    with file.locked(), pytest.raises(Timeout):
        FileLock(f"{file.path}.lock").acquire(timeout=0.05)
    with FileLock(f"{file.path}.lock", timeout=0.05):
        pass


def test_lock_taken_twice_must_be_released_twice(tmp_path):
    file, other = (AtomicFile(tmp_path / "file", lock_timeout_s=0) for _ in range(2))
    with file.locked():
        with file.locked():
            pass
        with pytest.raises(FileError), other.locked():
            pass
    with other.locked():
        pass


def test_removed_lock_file_is_created_again(tmp_path):
    file, other = (AtomicFile(tmp_path / "file", lock_timeout_s=0) for _ in range(2))
    with file.locked():
        pass
    (tmp_path / "file.lock").unlink()
    with file.locked(), pytest.raises(FileError), other.locked():
        pass

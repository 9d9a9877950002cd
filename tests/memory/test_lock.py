"""The lock beside a file keeps other processes out, whichever way they lock it."""

import pytest
from filelock import FileLock, Timeout

from zorkgpt.memory.storage.lock import ProcessLock


def test_who_takes_a_file_lock_is_kept_out_and_keeps_out(tmp_path):
    path = str(tmp_path / "file.lock")
    lock = ProcessLock(path, 0.05)
    with FileLock(path):
        assert not lock.acquire()
    assert lock.acquire()
    with pytest.raises(Timeout):
        FileLock(path).acquire(timeout=0.05)
    lock.release()
    with FileLock(path, timeout=0.05):
        pass


def test_it_is_let_go_as_often_as_it_was_taken(tmp_path):
    path = str(tmp_path / "file.lock")
    lock, other = ProcessLock(path, 0), ProcessLock(path, 0)
    assert lock.acquire()
    assert lock.acquire()
    lock.release()
    assert not other.acquire()
    lock.release()
    assert other.acquire()
    other.release()


def test_a_lock_file_that_is_removed_is_made_again(tmp_path):
    path = tmp_path / "file.lock"
    lock, other = ProcessLock(str(path), 0), ProcessLock(str(path), 0)
    assert lock.acquire()
    lock.release()
    path.unlink()
    assert lock.acquire()
    assert not other.acquire()
    lock.release()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        ProcessLock(str(tmp_path / "gone" / "file.lock"), 0).acquire()

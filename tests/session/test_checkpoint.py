"""Tests of the checkpoint file and leftovers of kills."""

from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from session.checkpoint import Run, read_checkpoint, remove_checkpoint, write_checkpoint
from session.resume_files import ResumeFiles
from zorkgpt.errors import MemoryStoreError
from zorkgpt.run_folder import CHECKPOINT

RUN = {"story": "0" * 64, "story_path": "a.z5", "title": "A", "seed": 1, "player": "rules", "remember": True}


def content(turn: int, size: int) -> dict[str, Any]:
    return {
        "episode": 1,
        "turn": turn,
        "run": RUN | {"max_turns": 9},
        "game": "A" * size,
        "log_bytes": 0,
        "snapshots": {},
    }


def leave_half_a_file(path: Path) -> None:
    """Leave what a kill during a write leaves."""
    Path(f"{path}.123.456.tmp").write_bytes(b'{"crc32": "' + b"x" * 9000)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_longer_and_shorter_checkpoints_are_read_back(tmp_path, is_interrupted):
    path = tmp_path / CHECKPOINT
    for turn, size in enumerate([4000, 8000, 40, 4000, 400]):
        write_checkpoint(path, content(turn, size))
        again = read_checkpoint(path)
        assert (again.turn, len(again.game)) == (turn, size)
        if is_interrupted:
            leave_half_a_file(path)


def test_link_or_folder_is_never_written_to(tmp_path):
    path = tmp_path / CHECKPOINT
    for turn in range(6):
        write_checkpoint(path, content(turn, 400))
        with path.open("rb") as before:
            write_checkpoint(path, content(turn, 300))
            assert b"A" * 400 in before.read()


def test_checkpoint_can_be_removed(tmp_path):
    for turn in range(3):
        write_checkpoint(tmp_path / CHECKPOINT, content(turn, 400))
    leave_half_a_file(tmp_path / CHECKPOINT)
    remove_checkpoint(tmp_path / CHECKPOINT)
    remove_checkpoint(tmp_path / CHECKPOINT)
    assert not list(tmp_path.iterdir())


class FullDisk:
    """A rollback in a database that can't be written."""

    name = "memories"

    def restore_point(self, number: int) -> dict[str, Any]:
        raise MemoryStoreError("disk full")

    def begin(self, folder: Path, number: int) -> None:
        raise MemoryStoreError("disk full")

    def end(self, *, remove: bool) -> None:
        raise MemoryStoreError("disk full")

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        raise MemoryStoreError("disk full")


def test_unwritable_database_ends_no_episode(tmp_path):
    directory = tmp_path / "1"
    directory.mkdir()
    files = ResumeFiles(directory, "log", [FullDisk()], FileLock(directory / "lock"))
    files.write_checkpoint(1, run=Run(**RUN, max_turns=9), game=b"", snapshots={})
    assert files.counts == {"failed_checkpoints": 1}
    write_checkpoint(directory / CHECKPOINT, content(2, 40))
    files.complete_checkpoint(2)
    assert files.counts == {"failed_checkpoints": 2}
    files.end(remove=True)
    files.close()

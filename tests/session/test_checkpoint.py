"""Tests of recording an episode in a database that can't be written."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from filelock import FileLock

from session.checkpoint import Run
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.restore_point import NoteChange
from zorkgpt.runlog.episode_record import EpisodeRecord

RUN = {"story": "0" * 64, "story_path": "a.z5", "title": "A", "seed": 1, "player": "rules", "remember": True}


class FullDisk:
    """A rollback in a database that can't be written."""

    name = "memories"

    def restore_point(self, number: int) -> dict[str, Any]:
        raise MemoryStoreError("disk full")

    def begin(self, number: int, note: NoteChange) -> None:
        raise MemoryStoreError("disk full")

    def end(self, *, remove: bool) -> None:
        raise MemoryStoreError("disk full")

    def restore(self, point: dict[str, Any], notes: Sequence[str]) -> bool:
        raise MemoryStoreError("disk full")


def test_unwritable_database_ends_no_episode(tmp_path):
    directory = tmp_path / "1"
    directory.mkdir()
    with closing(sidecar(tmp_path / "Memories.md")) as database:
        events = Events(database)
        record = EpisodeRecord(events, directory, "log", [FullDisk()], FileLock(directory / "lock"))
        record.save(1, run=Run(**RUN, max_turns=9), game=b"", snapshots={})
        assert record.counts == {"failed_checkpoints": 1}
        events.add(1, EventRow(2, EventKind.CHECKPOINT, "{}"))
        record.complete_checkpoint(2)
        assert record.counts == {"failed_checkpoints": 2}
        record.end(is_final=True)
        record.close()

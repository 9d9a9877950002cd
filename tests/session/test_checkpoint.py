"""Tests of recording an episode in a database that can't be written."""

import sqlite3
from contextlib import closing

from filelock import FileLock

from session.checkpoint import Run
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.runlog.episode_record import EpisodeRecord

RUN = {"story": "0" * 64, "story_path": "a.z5", "title": "A", "seed": 1, "player": "rules", "remember": True}


def test_unwritable_database_ends_no_episode(tmp_path):
    directory = tmp_path / "1"
    directory.mkdir()
    with closing(sidecar(tmp_path / "Memories.md", timeout_s=0.1)) as database:
        events = Events(database)
        events.add(1, EventRow(1, EventKind.CHECKPOINT, "{}"))
        record = EpisodeRecord(events, directory, "log", FileLock(directory / "lock"))
        with closing(sqlite3.connect(database.path)) as other:
            other.execute("BEGIN IMMEDIATE")
            record.save(2, run=Run(**RUN, max_turns=9), game=b"", snapshots={})
            record.end()
        assert record.counts == {"failed_checkpoints": 1}
        assert [event.turn for event in events.of(1)] == [1]
        record.close()

"""Tests of runs whose record is in one database: a SQLite file or PostgreSQL."""

import pytest

from tests.fixtures.knowledge import add
from tests.fixtures.runs import CtrlC, a_run, comparable_turns
from zorkgpt.record.events import EventKind
from zorkgpt.runlog.saved_episodes import find_resumable, recorded_in

pytestmark = pytest.mark.slow

LOG = "episode_log.jsonl"


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request):
    """Settings of a run with its memory in a database."""
    if request.param == "sqlite":
        return {"memory_file": "memories.sqlite"}
    return {"memory_address": request.getfixturevalue("postgres").address}


def test_interrupted_run_resumes_from_the_database_of_its_memory(tmp_path, settings):
    with a_run(tmp_path / "whole", turns=9) as run:
        run.play_episode()
    folder, memory = tmp_path / "run", next(iter(settings.values()))
    with a_run(folder, turns=9, watchers=(CtrlC(4),), settings=settings) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    assert find_resumable(folder, LOG, memory).checkpoint.turn == 4
    with a_run(folder, turns=9, settings=settings) as run:
        assert run.play_episode(resume=1).turns == 9
    assert comparable_turns(folder) == comparable_turns(tmp_path / "whole")
    assert not list(folder.glob("*.md*.sqlite"))
    assert not list(folder.glob("*.sqlite.sqlite"))


def test_forgotten_text_is_erased_from_the_events(tmp_path, settings):
    folder, memory = tmp_path / "run", next(iter(settings.values()))
    with a_run(folder, turns=3, settings=settings) as run:
        run.process_turn("say swordfish")
        run.process_turn("look")
        run.simple_memory.forget(text="swordfish")
    with recorded_in(folder, memory) as events:
        texts = "".join(event.content for event in events.of(1, EventKind.TURN, EventKind.DECISION))
    assert "swordfish" not in texts
    assert "[forgotten]" in texts


def test_folders_that_share_a_database_keep_their_own_knowledge_file(tmp_path, postgres):
    settings = {"memory_address": postgres.address}
    files = [tmp_path / name / "knowledgebase.md" for name in ("one", "other")]
    with a_run(files[0].parent, settings=settings) as one:
        add(one.services.knowledge, "It bites.", "It barks.")
        with a_run(files[1].parent, settings=settings) as other:
            assert files[1].read_bytes() == files[0].read_bytes()
            files[1].write_text(files[1].read_text().replace("It bites.", "It bites hard."))
            other.services.knowledge.refresh()
        one.services.knowledge.refresh()
    for file in files:
        assert "It bites hard." in file.read_text()
        assert "It barks." in file.read_text()
        assert "It bites." not in file.read_text()

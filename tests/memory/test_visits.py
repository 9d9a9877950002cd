"""Tests of counting visits."""

import os

import pytest

from tests.fixtures.memory import NOTHING, Answers, memory, remember
from zorkgpt.errors import LLMError
from zorkgpt.files import Disk
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.markdown import MarkdownStore


class CountingDisk(Disk):
    """A disk that records which files were replaced."""

    def __init__(self):
        self.written = []

    def replace(self, source, target):
        self.written.append(target)
        os.replace(source, target)


def test_each_visit_is_counted_once(play, state, home):
    manager = play()
    away = {"location_changed": True, "location_after": 6}
    manager.record_arrival(5, "Hall", "A hall.")
    manager.record_action_outcome(5, "Hall", "look", "A hall.")
    manager.record_action_outcome(5, "Hall", "up", "Attic", away)
    manager.record_arrival(6, "Attic", "An attic.")
    manager.record_action_outcome(6, "Attic", "down", "Hall", {"location_changed": True, "location_after": 5})
    manager.record_action_outcome(5, "Hall", "look", "A hall.")
    manager.record_action_outcome(5, "Hall", "wait", "Time passes.")
    assert home.text() == ""
    manager.add_memory(5, "Hall", memory(episode=3))
    assert "**Visits:** 2 | **Episodes:** 3\n" in home.text()
    manager.reset_episode()
    state.episode_id = 4
    manager.record_arrival(5, "Hall", "A hall.")
    manager.record_action_outcome(5, "Hall", "look", "A hall.")
    assert "**Visits:** 3 | **Episodes:** 3, 4\n" in home.text()


@pytest.mark.parametrize("answer", [remember("Rope"), NOTHING, LLMError("the server is gone"), ValueError("broken")])
def test_visit_and_memory_are_written_together(state, tmp_path, answer):
    path, disk = tmp_path / "Memories.md", CountingDisk()
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory(episode=2))
    manager = SimpleMemoryManager(game_state=state, path=MarkdownStore(path, disk=disk), synthesizer=Answers(answer))
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", {"inventory_changed": True})
    assert disk.written.count(str(path)) == 1
    assert "**Visits:** 2 | **Episodes:** 2, 3\n" in path.read_text()


def a_manager_with_two_places(state, path, disk, *answers):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory(episode=3))
        manager.add_memory(6, "Attic", memory(episode=2))
    return SimpleMemoryManager(game_state=state, path=MarkdownStore(path, disk=disk), synthesizer=Answers(*answers))


def visits_of_the_attic(path):
    return path.read_text().partition("Attic\n")[2].partition("\n")[0]


UP = {"location_changed": True, "location_after": 6}


def test_visit_is_written_with_what_the_exit_taught(state, tmp_path):
    path, disk = tmp_path / "Memories.md", CountingDisk()
    manager = a_manager_with_two_places(state, path, disk, remember("Up leads to the Attic"))
    manager.record_action_outcome(5, "Hall", "up", "Attic", UP)
    assert visits_of_the_attic(path) == "**Visits:** 2 | **Episodes:** 2, 3"
    manager.record_action_outcome(6, "Attic", "wait", "Time passes.")
    assert disk.written.count(str(path)) == 1


def test_visit_is_written_with_the_move(state, tmp_path):
    path = tmp_path / "Memories.md"
    manager = a_manager_with_two_places(state, path, Disk())
    manager.record_action_outcome(5, "Hall", "up", "Attic", UP)
    assert manager.get_visits(6) == (2, 2)
    assert visits_of_the_attic(path) == "**Visits:** 2 | **Episodes:** 2, 3"
    manager.record_action_outcome(6, "Attic", "wait", "Time passes.")
    assert visits_of_the_attic(path) == "**Visits:** 2 | **Episodes:** 2, 3"
    manager.record_action_outcome(5, "Hall", "up", "Attic", UP)
    manager.reset_episode()
    assert visits_of_the_attic(path) == "**Visits:** 3 | **Episodes:** 2, 3"
    manager.record_action_outcome(5, "Hall", "up", "You fall.", UP | {"died": True})
    manager.reset_episode()
    assert visits_of_the_attic(path) == "**Visits:** 3 | **Episodes:** 2, 3"


def test_failed_resume_writes_no_visits(state, tmp_path):
    path = tmp_path / "Memories.md"
    manager = SimpleMemoryManager(game_state=state, path=path, synthesizer=Answers())
    manager.record_action_outcome(5, "Hall", "up", "Attic", UP)
    saved = manager.snapshot()
    with a_manager_with_two_places(state, path, Disk()) as other:
        before = path.read_bytes()
        other.restore(saved)
        assert other.get_visits(6) == (2, 2)
        other.drop_episode()
    assert path.read_bytes() == before


def test_visits_include_the_current_one(play, state):
    manager = play()
    assert manager.get_visits(5) == (1, 1)
    manager.record_arrival(5, "Hall", "A hall.")
    assert manager.get_visits(5) == (1, 1)
    manager.add_memory(5, "Hall", memory(episode=3))
    manager.record_action_outcome(5, "Hall", "up", "Attic", {"location_changed": True, "location_after": 6})
    assert manager.get_visits(5) == (2, 1)
    manager.reset_episode()
    state.episode_id = 4
    assert manager.get_visits(5) == (2, 2)
    manager.record_arrival(5, "Hall", "A hall.")
    assert manager.get_visits(5) == (2, 2)

"""Tests that the page and the library agree on the memories of every turn."""

from typing import Any

import pytest

from tests.fixtures.runs import a_walkthrough
from tests.fixtures.stores import past_of
from tests.fixtures.viewer import played
from zorkgpt.viewer.run_files import open_run

FIELDS = ("title", "text", "category", "persistence", "status", "episode", "turns", "observation_count")
WANDERING = ("north", "south", "north", "take milestone", "drop letter", "take letter", "north", "look", "drop letter")


def memories_of_page(threads: list[list[dict[str, Any]]], at: int) -> list[tuple]:
    """Return the state of each memory at this time, as the page does."""
    states = []
    for thread in threads:
        versions = [version for version in thread if version["at"] <= at]
        if versions and not versions[-1].get("gone"):
            state = versions[-1]["memory"]
            states.append(tuple(state[name] for name in FIELDS))
    return sorted(states)


def count_agreements(workdir) -> int:
    """Compare the page with the library at every turn. Return the number of memories compared."""
    files, library = open_run(workdir), past_of(workdir / "Memories.md")
    compared = 0
    for number, index in files.episodes.items():
        for turn in range(index.last_turn + 1):
            remembered = library(number, turn)
            for place in {*remembered, *files.threads.places()}:
                memories = remembered.get(place, ())
                expected = sorted(tuple(getattr(memory, name) for name in FIELDS) for memory in memories)
                shown = memories_of_page(files.threads.of_place(place), number * 1_000_000 + turn)
                assert shown == expected, (number, turn, place)
                compared += len(expected)
    return compared


@pytest.mark.slow
def test_page_agrees_with_library_on_a_real_run(tmp_path):
    played(tmp_path, episodes=3, turns=40)
    assert count_agreements(tmp_path) > 500


def test_page_agrees_with_library_on_ephemeral_memories(tmp_path):
    with a_walkthrough(tmp_path, *WANDERING, turns=len(WANDERING)) as run:
        run.play_episode()
        run.play_episode()
    threads = open_run(tmp_path).threads
    first = [thread[0]["memory"] for place in threads.places() for thread in threads.of_place(place)]
    assert "ephemeral" in {memory["persistence"] for memory in first}
    assert count_agreements(tmp_path) > 30

"""The page and the library agree on what was remembered at every turn."""

from typing import Any

import pytest

from tests.fixtures.runs import a_walkthrough
from tests.fixtures.stores import past_of
from tests.fixtures.viewer import played
from zorkgpt.viewer.run_files import open_run

FIELDS = ("title", "text", "category", "persistence", "status", "episode", "turns", "observation_count")
WANDERING = ("north", "south", "north", "take milestone", "drop letter", "take letter", "north", "look", "drop letter")


def at_turn(threads: list[list[dict[str, Any]]], at: int) -> list[tuple]:
    """What the page makes of the versions of a place's memories."""
    found = []
    for thread in threads:
        versions = [version for version in thread if version["at"] <= at]
        if versions and not versions[-1].get("gone"):
            state: dict[str, Any] = {}
            for version in versions:
                state |= version["set"]
            found.append(tuple(state[name] for name in FIELDS))
    return sorted(found)


def agreed(workdir) -> int:
    """How many memories were compared."""
    files, library = open_run(workdir), past_of(workdir / "Memories.md")
    compared = 0
    for number, index in files.episodes.items():
        for turn in range(index.last_turn + 1):
            told = library.all_memories(number, turn)
            for place in {*told, *files.threads.places()}:
                kept = sorted(tuple(getattr(one, name) for name in FIELDS) for one in told.get(place, ()))
                assert at_turn(files.threads.of_place(place), number * 1_000_000 + turn) == kept, (number, turn, place)
                compared += len(kept)
    return compared


@pytest.mark.slow
def test_of_a_real_run(tmp_path):
    played(tmp_path, episodes=3, turns=40)
    assert agreed(tmp_path) > 500


def test_of_what_holds_for_one_episode_only(tmp_path):
    with a_walkthrough(tmp_path, *WANDERING, turns=len(WANDERING)) as run:
        run.play_episode()
        run.play_episode()
    threads = open_run(tmp_path).threads
    first = [thread[0]["set"] for place in threads.places() for thread in threads.of_place(place)]
    assert "ephemeral" in {memory["persistence"] for memory in first}
    assert agreed(tmp_path) > 30

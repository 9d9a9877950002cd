"""Tests of whole episodes in a world without a Z-machine, through the `Game` protocol alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from game_interface.game import Game
from tests.fixtures.runs import CtrlC, a_run, a_walkthrough, comparable_turns, turns_of
from tests.fixtures.saved import saved_in
from tests.fixtures.small_world import (
    CLIFF,
    COTTAGE,
    EXITS,
    JETTY,
    KEY,
    LAMP_ROOM,
    MAX_SCORE,
    PANTRY,
    WALKTHROUGH,
    SmallWorld,
)
from tests.fixtures.walks import loaded
from zorkgpt.errors import WorkdirError

pytestmark = pytest.mark.slow


def walkthrough(workdir: Path, *, game: Game | None = None, **options):
    return a_walkthrough(workdir, *WALKTHROUGH, game=game or SmallWorld(), **options)


def remembered(run) -> dict[int, list[tuple[str, str]]]:
    cache = run.simple_memory.memory_cache
    return {place: [(memory.title, memory.persistence) for memory in cache[place]] for place in sorted(cache)}


def test_walkthrough_wins_and_leaves_memories_by_location(tmp_path):
    with walkthrough(tmp_path) as run:
        end = run.play_episode()
        kept = remembered(run)
    assert (end.reason, end.score, end.max_score, end.turns) == ("victory", MAX_SCORE, MAX_SCORE, len(WALKTHROUGH))
    contents = ("Starts here", "core")
    assert kept == {
        JETTY: [contents],
        COTTAGE: [
            contents,
            ("unlock door with key: works", "permanent"),
            ("open door: works", "permanent"),
        ],
        PANTRY: [contents, ("open box: works", "permanent"), ("take oil: +5 points", "permanent")],
        LAMP_ROOM: [contents, ("turn on beacon: +10 points", "permanent")],
    }


def test_map_contains_the_exits_that_were_walked(tmp_path):
    with walkthrough(tmp_path) as run:
        run.play_episode()
        graph = run.services.map.graph
    walked = {(JETTY, "north"), (COTTAGE, "east"), (PANTRY, "west"), (COTTAGE, "up")}
    for known in (graph, loaded(tmp_path / "map_state.json")):
        ways = {(room, way): to for room in known.rooms for way, to in known.exits(room).items()}
        assert ways == {way: EXITS[way] for way in walked}
        assert known.rooms[LAMP_ROOM].name == "Lamp Room"


def test_second_episode_is_shown_memories_of_the_first(tmp_path):
    with walkthrough(tmp_path) as run:
        run.play_episode()
    with walkthrough(tmp_path) as run:
        end = run.play_episode()
    assert (end.episode, end.reason) == (2, "victory")
    shown = {action: memory for _, action, _, memory, _ in comparable_turns(tmp_path, 2)}
    assert "take oil: +5 points: You get the" in shown["open box"]
    assert "unlock door with key: works" in shown["unlock door with key"]


def test_dropped_thing_is_forgotten_and_death_is_remembered(tmp_path):
    commands = ("take key", "north", "drop key", "south", "west", "down")
    with a_walkthrough(tmp_path, *commands, game=SmallWorld()) as run:
        end = run.play_episode()
        dropped = [memory.title for memory in run.simple_memory.ephemeral_cache[COTTAGE]]
        run.reset_episode()
        assert (end.reason, end.deaths) == ("death", 1)
        assert dropped == ["Now here"]
        assert "Now here" not in run.simple_memory.get_location_memory(COTTAGE)
        assert "down: you died, cause unknown" in run.simple_memory.get_location_memory(CLIFF)


def test_memory_that_contradicts_a_new_game_is_invalidated(tmp_path):
    class MovedKey(SmallWorld):
        """The same story with the key elsewhere, as after a new edition."""

        def reset(self) -> str:
            super().reset()
            self._state.parents[KEY] = PANTRY
            return self._described()

    with walkthrough(tmp_path) as run:
        run.play_episode()
        assert "brass key" in run.simple_memory.get_location_memory(JETTY)
    with walkthrough(tmp_path, game=MovedKey()) as run:
        run.reset_episode()
        assert run.simple_memory.get_location_memory(JETTY) == ""


def test_rules_player_avoids_a_repeated_death(tmp_path):
    with a_run(tmp_path, turns=40, game=SmallWorld()) as run:
        ends = [run.play_episode() for _ in range(3)]
        graph = run.services.map.graph
        ways = {(room, way): to for room in graph.rooms for way, to in graph.exits(room).items()}
    assert ways.items() <= EXITS.items()
    assert [end.deaths for end in ends] == [1, 0, 0]
    assert [end.score for end in ends[1:]] == [5, 5]
    assert not any("make sense" in turn.response for turn in turns_of(tmp_path))


@pytest.mark.parametrize("at", [1, 4, 9])
def test_interrupted_episode_resumes(tmp_path, at):
    with walkthrough(tmp_path / "whole") as run:
        whole = run.play_episode()
    with walkthrough(tmp_path / "cut", watchers=(CtrlC(at),)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    saved = saved_in(tmp_path / "cut")
    assert saved.checkpoint.run.title == "The Lighthouse"
    with walkthrough(tmp_path / "cut") as run:
        end = run.play_episode(resume=1)
    assert (end.reason, end.turns, end.score, end.memories) == ("victory", whole.turns, whole.score, whole.memories)
    assert comparable_turns(tmp_path / "cut") == comparable_turns(tmp_path / "whole")


def test_folder_is_refused_for_another_story(tmp_path):
    with walkthrough(tmp_path) as run:
        run.play_episode()
    with pytest.raises(WorkdirError, match="The Lighthouse"):
        a_run(tmp_path)


def test_small_world_needs_no_jericho_and_no_process(tmp_path):
    code = """
import subprocess, sys
from pathlib import Path
from tests.fixtures.runs import a_walkthrough
from tests.fixtures.small_world import WALKTHROUGH, SmallWorld

def refuse(*arguments, **options):
    raise AssertionError("a process was started")

subprocess.Popen = refuse
with a_walkthrough(Path(sys.argv[1]), *WALKTHROUGH, game=SmallWorld()) as run:
    assert run.play_episode().reason == "victory"
assert "jericho" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)

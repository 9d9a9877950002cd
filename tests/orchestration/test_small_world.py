"""Whole episodes with memory in a world without a Z-machine: the loop needs nothing but the `Game` protocol."""

import subprocess
import sys
from pathlib import Path

import pytest

from game_interface.game import Game
from tests.fixtures.runs import CtrlC, a_run, a_walkthrough, turns_of
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
from zorkgpt.run_folder import EPISODE_LOG
from zorkgpt.runlog.saved_episodes import read_saved


def the_walkthrough(workdir: Path, *, game: Game | None = None, **options):
    return a_walkthrough(workdir, *WALKTHROUGH, game=game or SmallWorld(), **options)


def told(workdir: Path, episode: int = 1) -> list[tuple]:
    turns = turns_of(workdir, episode)
    return [(turn.turn, turn.action, turn.response, turn.memory_shown, turn.memory_events) for turn in turns]


def remembered(run) -> dict[int, list[tuple[str, str]]]:
    cache = run.simple_memory.memory_cache
    return {place: [(memory.title, memory.persistence) for memory in cache[place]] for place in sorted(cache)}


def test_a_walkthrough_wins_and_every_memory_stands_where_it_belongs(tmp_path):
    with the_walkthrough(tmp_path) as run:
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


def test_the_map_is_what_was_walked(tmp_path):
    with the_walkthrough(tmp_path) as run:
        run.play_episode()
        graph = run.services.map.graph
    walked = {(JETTY, "north"), (COTTAGE, "east"), (PANTRY, "west"), (COTTAGE, "up")}
    for known in (graph, loaded(tmp_path / "map_state.json")):
        ways = {(room, way): to for room in known.rooms for way, to in known.exits(room).items()}
        assert ways == {way: EXITS[way] for way in walked}
        assert known.rooms[LAMP_ROOM].name == "Lamp Room"


def test_the_next_episode_is_told_what_the_first_one_learned_also_in_another_process(tmp_path):
    with the_walkthrough(tmp_path) as run:
        run.play_episode()
    with the_walkthrough(tmp_path) as run:
        end = run.play_episode()
    assert (end.episode, end.reason) == (2, "victory")
    shown = {action: memory for _, action, _, memory, _ in told(tmp_path, 2)}
    assert "take oil: +5 points: You get the" in shown["open box"]
    assert "unlock door with key: works" in shown["unlock door with key"]


def test_what_was_dropped_is_forgotten_and_what_killed_is_not(tmp_path):
    commands = ("take key", "north", "drop key", "south", "west", "down")
    with a_walkthrough(tmp_path, *commands, game=SmallWorld()) as run:
        end = run.play_episode()
        dropped = [memory.title for memory in run.simple_memory.ephemeral_cache[COTTAGE]]
        run.reset_episode()
        assert (end.reason, end.deaths) == ("death", 1)
        assert dropped == ["Now here"]
        assert "Now here" not in run.simple_memory.get_location_memory(COTTAGE)
        assert "down: you died, cause unknown" in run.simple_memory.get_location_memory(CLIFF)


def test_a_memory_that_the_fresh_world_contradicts_is_marked_as_wrong(tmp_path):
    class MovedKey(SmallWorld):
        """The same story with the key elsewhere, as after a new edition."""

        def reset(self) -> str:
            super().reset()
            self._state.parents[KEY] = PANTRY
            return self._described()

    with the_walkthrough(tmp_path) as run:
        run.play_episode()
        assert "brass key" in run.simple_memory.get_location_memory(JETTY)
    with the_walkthrough(tmp_path, game=MovedKey()) as run:
        run.reset_episode()
        assert run.simple_memory.get_location_memory(JETTY) == ""


def test_the_rules_player_plays_by_the_worlds_own_grammar_and_learns_from_its_death(tmp_path):
    with a_run(tmp_path, turns=40, game=SmallWorld()) as run:
        ends = [run.play_episode() for _ in range(3)]
        graph = run.services.map.graph
        ways = {(room, way): to for room in graph.rooms for way, to in graph.exits(room).items()}
    assert ways.items() <= EXITS.items()
    assert [end.deaths for end in ends] == [1, 0, 0]
    assert [end.score for end in ends[1:]] == [5, 5]
    assert not any("make sense" in turn.response for turn in turns_of(tmp_path))


@pytest.mark.parametrize("at", [1, 4, 9])
def test_an_interrupted_episode_goes_on_from_its_checkpoint(tmp_path, at):
    with the_walkthrough(tmp_path / "whole") as run:
        whole = run.play_episode()
    with the_walkthrough(tmp_path / "cut", watchers=(CtrlC(at),)) as run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    saved = read_saved(tmp_path / "cut" / "runs" / "1", EPISODE_LOG)
    assert saved.checkpoint.run.title == "The Lighthouse"
    with the_walkthrough(tmp_path / "cut") as run:
        end = run.play_episode(resume=1)
    assert (end.reason, end.turns, end.score, end.memories) == ("victory", whole.turns, whole.score, whole.memories)
    assert told(tmp_path / "cut") == told(tmp_path / "whole")


def test_its_folder_is_no_other_storys(tmp_path):
    with the_walkthrough(tmp_path) as run:
        run.play_episode()
    with pytest.raises(WorkdirError, match="The Lighthouse"):
        a_run(tmp_path)


@pytest.mark.slow
def test_no_jericho_is_loaded_and_no_process_started(tmp_path):
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

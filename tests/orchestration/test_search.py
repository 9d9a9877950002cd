"""Tests of the search player."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from tests.fixtures import own_stories
from tests.fixtures.runs import SEARCH, a_run, turns_of
from tests.fixtures.stories import build
from tests.memory.test_processes import ROOT
from zorkgpt.errors import InterpreterError, StateError
from zorkgpt.explore.best_line import load_line
from zorkgpt.offline.search import StateSearch, searched_route
from zorkgpt.offline.search_archive import SearchArchive, load_archive, save_archive
from zorkgpt.offline.search_processes import BurstProcess
from zorkgpt.run_folder import BEST_LINE_FILE, SEARCH_FILE
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import EpisodeStarted
from zorkgpt.world.graph import MapGraph

pytestmark = pytest.mark.slow

STORY = find_story(own_stories.compiled("strongbox"))
"""Points require a command with two objects, and one whose effect shows only in a variable."""


def search(path, *, story=STORY, steps=100, seed=1, max_turns=100, known=None, processes=1):
    open_game = partial(JerichoInterface, story=story, seed=seed)
    return searched_route(
        path / SEARCH_FILE,
        known,
        open_game=open_game,
        seed=seed,
        steps=steps,
        processes=processes,
        max_turns=max_turns,
        graph=MapGraph(),
    )


def archive_in(path, *, story=STORY, seed=1):
    return load_archive(path / SEARCH_FILE, story.sha256, seed)


def search_run(workdir, *, steps=150, **options):
    settings = {"search_steps": steps}
    return a_run(workdir, choice=SEARCH, story=STORY, settings=settings, **options)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Working directory of two episodes of the search player."""
    folder = tmp_path_factory.mktemp("searched")
    with search_run(folder, turns=30) as run:
        run.play_episode()
        run.play_episode()
    return folder


def test_search_finds_commands_that_score_in_a_new_game(tmp_path):
    route = search(tmp_path)
    assert route.goal.score == 10
    with JerichoInterface(story=STORY) as game:
        game.reset()
        reached = [game.act(step.action).after.score for step in route.steps]
    assert reached[-1] == 10


_VAULT = """
!% -v5
Constant Story "VAULT";
Constant Headline "^A test.^";
Constant MAX_SCORE 10;
[ DrawStatusLine; ];
Include "Parser";
Include "VerbLib";
Object hall "Hall" with description "A hall. A study is east.", e_to study,
  before [; Say: wn = consult_from; if (NextWord() == 'mellow') { score = 10; deadflag = 2; "The vault opens."; } ],
  n_to [; "A voice asks for the word."; ], has light;
Object study "Study" with description "A study. The hall is west.", w_to hall, has light;
Object -> note "note" with name 'note', description "It says ~mellow~, and nothing else.";
[ Initialise; location = hall; "It is late."; ];
[ SaySub; "Nobody answers."; ];
Include "Grammar";
Extend 'say' first * topic -> Say;
"""


def test_search_says_a_word_that_it_has_read(inform, tmp_path):
    story = find_story(build(inform, tmp_path, _VAULT.lstrip(), 5))
    route = search(tmp_path, story=story, steps=200)
    with JerichoInterface(story=story) as game:
        game.reset()
        end = [game.act(step.action) for step in route.steps][-1]
    assert end.victory
    assert end.after.score == route.goal.score == 10


def test_same_seed_finds_the_same_commands(tmp_path):
    folders = [tmp_path / name for name in ("first", "second", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        folder.mkdir()
        search(folder, seed=seed)
    first, second, other = ((folder / SEARCH_FILE).read_bytes() for folder in folders)
    assert first == second != other
    assert archive_in(folders[0], seed=2).cells == []


def test_several_processes_find_the_same_commands(tmp_path):
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        search(folder, processes=2)
    assert (tmp_path / "first" / SEARCH_FILE).read_bytes() == (tmp_path / "second" / SEARCH_FILE).read_bytes()
    archive = archive_in(tmp_path / "first")
    assert archive.highest == 10
    assert 75 <= archive.steps <= 100
    assert multiprocessing.active_children() == []


def test_killed_search_process_is_an_error():
    archive = SearchArchive(STORY.sha256, 1)
    with (
        JerichoInterface(story=STORY) as game,
        closing(BurstProcess(partial(JerichoInterface, story=STORY), archive, MapGraph())) as helper,
    ):
        search = StateSearch(archive, game, MapGraph(), [helper])
        search.run(20)
        (process,) = multiprocessing.active_children()
        process.kill()
        with pytest.raises(InterpreterError, match="ended unexpectedly, with exit code -9"):
            search.run(100)
    assert multiprocessing.active_children() == []


INTERRUPTED = """
import multiprocessing, pathlib, sys
from functools import partial
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from zorkgpt.offline import search
from zorkgpt.world.graph import MapGraph

class Search(search.StateSearch):
    def run(self, steps):
        print(*(process.pid for process in multiprocessing.active_children()), flush=True)
        super().run(steps)

if __name__ == "__main__":
    search.StateSearch = Search
    open_game = partial(JerichoInterface, story=find_story(sys.argv[1]), seed=1)
    search.searched_route(pathlib.Path(sys.argv[2]), open_game=open_game, seed=1, steps=100_000, processes=2,
                      max_turns=100, graph=MapGraph())
"""


def test_ctrl_c_ends_search_processes(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(STORY.path), str(tmp_path / SEARCH_FILE)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as process:
        helper = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate()[1].strip().endswith("KeyboardInterrupt")
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


def test_states_are_stored_as_differences(tmp_path):
    search(tmp_path, steps=100)
    opening, *others = archive_in(tmp_path).cells
    assert others
    assert max(len(cell.state) for cell in others) < len(opening.state)


def test_search_respects_turn_and_step_limits(tmp_path):
    route = search(tmp_path, steps=50, max_turns=3)
    assert len(route.steps) <= 3
    assert 40 <= archive_in(tmp_path).steps <= 50


def test_found_commands_are_played_before_rules_take_over(searched):
    turns = turns_of(searched, 1)
    found = [turn.player for turn in turns].count("search")
    assert 0 < found < 30
    assert [turn.player for turn in turns] == ["search"] * found + ["rules"] * (30 - found)
    assert turns[found - 1].after.score >= 5


def test_log_records_that_the_search_uses_saves(searched):
    (started,) = (event for event in read_episode(searched, 1) if isinstance(event, EpisodeStarted))
    assert (started.player, started.uses_saves) == ("search", True)


def test_next_episode_continues_the_search(searched):
    archive = archive_in(searched)
    assert archive.steps > 150
    assert archive.highest >= 5


def test_best_line_is_saved_for_other_players(searched):
    line = load_line(searched / BEST_LINE_FILE, STORY.sha256, seed=1)
    assert line is not None
    assert line.score >= 5


def test_rules_player_uses_the_found_line(searched, tmp_path):
    with a_run(tmp_path, story=STORY, turns=7) as run:
        alone = run.play_episode()
    with a_run(searched, story=STORY, turns=7) as run:
        after = run.play_episode()
    assert {turn.player for turn in turns_of(searched, 3)} == {"rules"}
    assert after.score > alone.score


def test_search_continues_from_a_known_line(tmp_path):
    known = search(tmp_path)
    (tmp_path / SEARCH_FILE).unlink()
    alone = search(tmp_path, steps=30)
    (tmp_path / SEARCH_FILE).unlink()
    assert (alone.goal.score or 0) < search(tmp_path, steps=len(known.steps) * 2, known=known).goal.score == 10


def test_damaged_archive_is_reported_and_replaced(tmp_path, caplog):
    (tmp_path / SEARCH_FILE).write_bytes(b'{"cells": [')
    with caplog.at_level(logging.WARNING):
        assert search(tmp_path, steps=20) is not None
    assert "the archive of the search is damaged" in caplog.text
    archive = archive_in(tmp_path)
    assert 0 < archive.steps <= 20
    for cell in archive.cells:
        cell.state = b"cut off"
    save_archive(tmp_path / SEARCH_FILE, archive)
    with pytest.raises(StateError, match="State [0-9]+ of the search is damaged"):
        search(tmp_path, steps=20)


@pytest.mark.parametrize("name", ["menu", "keypress", "questions", "endless"])
def test_search_in_stories_with_questions_and_menus(name, tmp_path):
    story = find_story(own_stories.compiled(name))
    search(tmp_path, story=story, steps=60)
    assert len(archive_in(tmp_path, story=story).cells) > 1

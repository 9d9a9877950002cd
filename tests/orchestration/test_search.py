"""The search player: commands found from saved states, then played from a fresh start."""

import logging
from functools import partial

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from orchestration.players import PlayerChoice
from session.history import TurnRecord
from tests.fixtures import own_stories
from tests.fixtures.runs import a_run
from zorkgpt.explore.best_line import load_line
from zorkgpt.offline.search import StateSearch, searched_route
from zorkgpt.offline.search_archive import SearchArchive, load_archive
from zorkgpt.run_folder import BEST_LINE_FILE, SEARCH_FILE
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import EpisodeStarted

SEARCH = PlayerChoice("search", "a test", None)
STORY = find_story(own_stories.compiled("strongbox"))
"""Its points need a command with two objects, and one whose effect only a variable shows."""


def an_archive(steps, seed=1, story=STORY) -> SearchArchive:
    archive = SearchArchive(story.sha256, seed)
    with JerichoInterface(story=story, seed=seed) as game:
        StateSearch(archive, game).run(steps)
    return archive


def highest(archive) -> int:
    return max(cell.standing.score or 0 for cell in archive.cells)


def a_search_run(workdir, *, steps=500, **options):
    settings = {"search_steps": steps}
    return a_run(workdir, choice=SEARCH, story=STORY, settings=settings, **options)


def turns_of(workdir, episode):
    return [event for event in read_episode(workdir, episode) if isinstance(event, TurnRecord)]


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A folder with two episodes of the search player."""
    folder = tmp_path_factory.mktemp("searched")
    with a_search_run(folder, turns=30) as run:
        run.play_episode()
        run.play_episode()
    return folder


def test_it_finds_points_that_need_a_command_with_two_objects():
    route = an_archive(500).best_route(max_turns=100)
    assert route.goal.score == 5
    assert "open steel box with bent nail" in [step.action for step in route.steps]


def test_the_commands_lead_to_the_same_states_in_a_new_game():
    route = an_archive(500).best_route(max_turns=100)
    with JerichoInterface(story=STORY) as game:
        game.start()
        reached = [game.act(step.action).after for step in route.steps]
    wanted = [step.standing for step in route.steps]
    assert [(now.location_id, now.score) for now in reached] == [(one.place, one.score) for one in wanted]


def test_the_same_seed_finds_the_same():
    first, second, other = an_archive(200), an_archive(200), an_archive(200, seed=2)
    assert first == second
    assert first.cells != other.cells


def test_it_plays_no_more_commands_than_it_may():
    archive = an_archive(50)
    assert 50 <= archive.steps <= 54, "the last command may be repeated"


def test_several_processes_share_one_archive(tmp_path):
    open_game = partial(JerichoInterface, story=STORY)
    route = searched_route(tmp_path / SEARCH_FILE, open_game, seed=1, steps=500, max_turns=100, jobs=2)
    assert route.goal.score == 5


def test_no_line_is_longer_than_an_episode():
    assert len(an_archive(500).best_route(max_turns=3).steps) <= 3


def test_what_was_found_is_played_and_labeled_and_then_the_rules_play(searched):
    turns = turns_of(searched, 1)
    found = [turn.player for turn in turns].count("search")
    assert 0 < found < 30
    assert [turn.player for turn in turns] == ["search"] * found + ["rules"] * (30 - found)
    assert turns[found - 1].after.score >= 5


def test_the_log_says_that_saves_are_used(searched):
    (started,) = (event for event in read_episode(searched, 1) if isinstance(event, EpisodeStarted))
    assert (started.player, started.uses_saves) == ("search", True)


def test_the_next_episode_searches_on(searched):
    archive = load_archive(searched / SEARCH_FILE, STORY.sha256, seed=1)
    assert 1000 <= archive.steps <= 1008
    assert highest(archive) >= highest(an_archive(500))


def test_the_best_line_is_verified_and_kept_for_other_players(searched):
    line = load_line(searched / BEST_LINE_FILE, STORY.sha256, seed=1)
    assert line is not None
    assert line.score >= 5


def test_the_rules_gain_from_what_the_search_has_found(searched, tmp_path):
    with a_run(tmp_path, story=STORY, turns=7) as run:
        alone = run.play_episode()
    with a_run(searched, story=STORY, turns=7) as run:
        after = run.play_episode()
    assert {turn.player for turn in turns_of(searched, 3)} == {"rules"}
    assert after.score > alone.score


def test_it_searches_on_from_the_best_line_that_others_have_found(tmp_path):
    known = an_archive(500).best_route(max_turns=100)
    search = partial(searched_route, open_game=partial(JerichoInterface, story=STORY), seed=1, max_turns=100, jobs=1)
    alone = search(tmp_path / "alone.json", steps=60)
    route = search(tmp_path / "known.json", steps=60, known=known)
    assert (alone.goal.score or 0) < route.goal.score == known.goal.score
    archive = load_archive(tmp_path / "known.json", STORY.sha256, seed=1)
    assert 60 <= archive.steps <= 64
    with JerichoInterface(story=STORY) as game:
        game.start()
        reached = [game.act(step.action).after.score for step in route.steps]
    assert reached[-1] == known.goal.score


def test_a_damaged_archive_is_reported_and_made_again(tmp_path, caplog):
    path = tmp_path / SEARCH_FILE
    path.write_bytes(b'{"cells": [')
    with caplog.at_level(logging.WARNING):
        route = searched_route(path, partial(JerichoInterface, story=STORY), seed=1, steps=20, max_turns=100, jobs=1)
    assert "the archive of the search is damaged" in caplog.text
    assert route is not None
    assert load_archive(path, STORY.sha256, seed=1).steps >= 20


def test_an_archive_of_another_seed_is_not_used(tmp_path):
    path = tmp_path / SEARCH_FILE
    searched_route(path, partial(JerichoInterface, story=STORY), seed=1, steps=20, max_turns=100, jobs=1)
    assert load_archive(path, STORY.sha256, seed=2).cells == []


@pytest.mark.parametrize("name", ["menu", "keypress", "questions", "endless"])
def test_questions_are_answered_or_left_alone(name):
    archive = an_archive(60, story=find_story(own_stories.compiled(name)))
    assert len(archive.cells) > 1

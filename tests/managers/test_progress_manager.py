"""Tests of notices to the player about its own progress."""

import logging

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from managers.progress_manager import ProgressManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Extraction, TurnRecord
from tests.fixtures.runs import a_walkthrough, turns_of
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import EpisodeEnded

pytestmark = pytest.mark.slow

BACK_AND_FORTH = ["north", "south"] * 4


def test_player_is_told_about_a_circle(tmp_path):
    circle = "The world is in exactly the same state as 4 turns ago (turn 3). Your actions since then changed nothing."
    with a_walkthrough(tmp_path, *BACK_AND_FORTH, turns=8, remember=False) as run:
        run.reset_episode()
        for _ in range(7):
            run.process_turn()
        notices = run.managers.progress.notices()
        run.process_turn()
    assert notices == (circle,)
    notices = [turn.notices for turn in turns_of(tmp_path)]
    assert notices == [()] * 7 + [(circle,)]
    assert read_episode(tmp_path, 1)[-1].metrics["progress"] == {"loops": 1, "stuck": 0, "turns_stuck": 0}


def test_repeated_response_is_described(tmp_path):
    with a_walkthrough(tmp_path, *['push "east"'] * 3) as run:
        run.reset_episode()
        for _ in range(3):
            run.process_turn()
        (notice,) = run.managers.progress.notices()
        assert notice == "\"push 'east'\" got the same response 3 times in 3 turns, and nothing changed."
        run.process_turn("north")
        assert run.managers.progress.notices() == ()


def test_third_refusal_for_the_same_reason_is_answered_differently(tmp_path):
    commands = ["save", "restart", "save", "look"]
    with a_walkthrough(tmp_path, *commands, remember=False) as run:
        run.reset_episode()
        notices = []
        for _ in commands:
            run.process_turn()
            notices.append(run.managers.progress.notices())
    reason = (
        '"save" is not part of the game: saving, restoring, quitting and settings are not available. Try something in '
        "the game."
    )
    different = (
        f"Your last 3 commands were refused for the same reason, and nothing was played: {reason} Write a different "
        "kind of command: a verb and one thing that you see, or a direction."
    )
    assert notices == [(), (), (different,), ()]


def test_standstill_is_reported_until_something_is_new(bundled_story):
    manager = ProgressManager(logging.getLogger("test"), GameConfiguration(), GameState())
    with JerichoInterface(bundled_story) as game:
        game.reset()
        steps = [game.act("wait")] * 41 + [game.act("north")]
    notices = []
    for turn, step in enumerate(steps, 1):
        manager.process_turn(TurnRecord(1, turn, step, "", "given", ""))
        notices.append([line[:24] for line in manager.notices() if line.startswith("Nothing new")])
    assert notices == [[]] * 39 + [["Nothing new for 40 turns"], ["Nothing new for 41 turns"], []]
    counted = manager.get_status()["metrics"]
    assert (counted["stuck"], counted["turns_stuck"]) == (1, 2)


def test_repeated_blows_in_a_fight_are_not_reported(bundled_story):
    manager = ProgressManager(logging.getLogger("test"), GameConfiguration(), GameState())
    with JerichoInterface(bundled_story) as game:
        game.reset()
        steps = [game.act("jump") for _ in range(9)]
    for fighting in (True, False):
        manager.reset()
        notices = []
        for turn, step in enumerate(steps, 1):
            extraction = Extraction(combat=fighting, by="rules")
            manager.process_turn(TurnRecord(1, turn, step, "", "given", "", extraction=extraction))
            notices += manager.notices()
        assert bool(notices) is not fighting


def test_new_episode_starts_without_a_notice(tmp_path):
    with a_walkthrough(tmp_path, *BACK_AND_FORTH, turns=8) as run:
        run.play_episode()
        run.reset_episode()
        assert run.managers.progress.notices() == ()
        assert run.managers.progress.get_status()["metrics"] == {"loops": 0, "stuck": 0, "turns_stuck": 0}


def test_walkthrough_gets_no_notices(tmp_path):
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands)) as run:
        end = run.play_episode()
    assert end.metrics["progress"] == {"loops": 0, "stuck": 0, "turns_stuck": 0}
    assert isinstance(read_episode(tmp_path, 1)[-1], EpisodeEnded)

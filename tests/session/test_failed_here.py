"""Tests that failures hold for the state in which they occurred."""

from dataclasses import replace

import pytest

from game_interface.core import worker
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures.halting import halting_program
from tests.fixtures.kills import kill, killed
from tests.fixtures.runs import AfterTurn, a_walkthrough, resume
from zorkgpt.record.experience import ActionResult


def failed_here(run: ZorkOrchestratorV2) -> tuple[str, ...]:
    return run.managers.context.player_context(run.services.game.observe(), "").failed_here


@pytest.mark.slow
def test_failures_are_shown_while_the_same_things_are_carried(tmp_path):
    commands = ("eat me", "take penny", "eat me", "drop penny", "take penny")
    shown = []
    with a_walkthrough(tmp_path, *commands) as run:
        run.reset_episode()
        for _ in commands:
            run.process_turn()
            shown.append(failed_here(run))
    assert shown == [("eat me",), (), ("eat me",), ("eat me",), ("eat me",)]


def test_failures_are_hidden_after_opening_or_lighting(tmp_path, zork1):
    from game_interface.story import find_story

    shown = {}
    commands = ("take door", "open mailbox", "take door", "close mailbox")
    with a_walkthrough(tmp_path, *commands, story=find_story(zork1)) as run:
        run.reset_episode()
        for number, _ in enumerate(commands):
            run.process_turn()
            shown[number] = failed_here(run)
    assert list(shown.values()) == [("take door",), (), ("take door",), ("take door",)]


def test_success_in_the_same_state_removes_a_failure(tmp_path):
    with a_walkthrough(tmp_path, "north") as run:
        run.reset_episode()
        failure = run.process_turn("take me")
        assert failed_here(run) == ("take me",)
        run.game_state.add_experience(replace(failure, transition=replace(failure.transition, unnamed_change=True)))
        assert failed_here(run) == ()


@pytest.mark.slow
def test_command_on_which_the_interpreter_halted_counts_as_failed_here(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "PROGRAM", halting_program(tmp_path, ["sing"]))
    with a_walkthrough(tmp_path, "sing", "north") as run:
        run.reset_episode()
        assert run.process_turn().transition.fault
        assert failed_here(run) == ("sing",)
        run.process_turn()
        assert failed_here(run) == ()


def play_and_die(workdir, commands) -> None:
    a_walkthrough(workdir, *commands, watchers=(AfterTurn(4, kill),)).play_episode()


@pytest.mark.slow
def test_failures_are_restored_after_a_kill(tmp_path):
    commands = ("eat me", "take penny", "take me", "wait", "wait")
    killed(play_and_die, tmp_path, commands)
    with a_walkthrough(tmp_path, *commands) as run:
        resume(run, 4)
        assert failed_here(run) == ("take me",)
        run.process_turn("drop penny")
        failed = [row.action for row in run.game_state.experience.rows if row.shows(ActionResult.FAILED)]
        assert failed == ["eat me", "take me"]

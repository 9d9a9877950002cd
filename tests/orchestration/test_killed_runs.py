"""Tests that a run that is killed or interrupted at any moment ends like an uninterrupted one after it is resumed."""

import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.kills import (
    interrupt,
    interrupt_afterwards,
    interrupt_in_del,
    interrupt_swallowed,
    kill,
    left_behind,
    played,
)
from zorkgpt.cli.process import ExitCode
from zorkgpt.runlog.episodes import last_end, read_episode
from zorkgpt.runlog.saved_episodes import can_be_resumed

TURNS = 18
KILLS = 8
PLAY = ("--episodes", "1", "--max-turns", str(TURNS))


@dataclass(frozen=True)
class Uninterrupted:
    """A second episode that ran without interruption."""

    before: Path
    """Working directory after the first episode."""
    left: dict[str, Any]
    touched: tuple[str, ...]
    """File accesses of the second episode: event and file."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Uninterrupted:
    before = tmp_path_factory.mktemp("before")
    assert played(before, *PLAY).code == 0
    workdir = tmp_path_factory.mktemp("uninterrupted") / "work"
    shutil.copytree(before, workdir)
    second = played(workdir, *PLAY)
    assert second.code == 0
    return Uninterrupted(before, left_behind(workdir, 2), second.touched)


def kill_at_access(whole: Uninterrupted, workdir: Path, kill_at: int) -> bool:
    """Kill the second episode at a file access. Return whether it had started and not ended."""
    shutil.copytree(whole.before, workdir)
    assert played(workdir, *PLAY, kill_at=kill_at).code == -signal.SIGKILL
    return can_be_resumed(workdir, 2) and last_end(read_episode(workdir, 2)) is None


@pytest.mark.slow
@pytest.mark.parametrize("part", range(KILLS))
def test_run_killed_anywhere_resumes(whole, tmp_path, part):
    started = whole.touched.index("event checkpoint") + 2
    # One moment in each part of the episode.
    first, last = (started + 1 + (len(whole.touched) - started - 10) * each // KILLS for each in (part, part + 1))
    kill_at = random.Random(part).randrange(first, last)
    assert kill_at_access(whole, tmp_path / "work", kill_at)
    assert played(tmp_path / "work", "--resume").code == 0
    assert left_behind(tmp_path / "work", 2) == whole.left, f"killed at file access {kill_at} of {len(whole.touched)}"


@pytest.mark.slow
def test_run_killed_repeatedly_while_resuming(whole, tmp_path):
    workdir = tmp_path / "work"
    assert kill_at_access(whole, workdir, len(whole.touched) // 3)
    for kill_at in (7, 25, 60, 90, 120):
        assert played(workdir, "--resume", kill_at=kill_at).code == -signal.SIGKILL
    assert played(workdir, "--resume").code == 0
    assert left_behind(workdir, 2) == whole.left


@pytest.mark.slow
def test_interrupted_first_episode_resumes(tmp_path):
    limit = ("--episodes", "1", "--max-turns", "33")
    whole = played(tmp_path / "whole", *limit)
    assert whole.code == 0
    for how, part in ((kill, 3), (interrupt, 4), (kill, 5), (interrupt, 6)):
        workdir = tmp_path / f"{how.__name__} {part}"
        assert played(workdir, *limit, kill_at=len(whole.touched) * part // 10, how=how).code != 0
        assert played(workdir, "--resume").code == 0
        assert left_behind(workdir, 1) == left_behind(tmp_path / "whole", 1), f"{how.__name__} at {part} tenths"


@pytest.mark.slow
@pytest.mark.parametrize(("how", "times"), [(interrupt, 2), (interrupt_in_del, 1), (interrupt_swallowed, 1)])
def test_run_interrupted_anywhere_resumes(whole, tmp_path, how, times):
    # Before this range the episode may not have started, and after it the episode may be closing.
    moments = random.Random(3).sample(range(len(whole.touched) * 2 // 5, len(whole.touched) * 3 // 5), times)
    for moment in moments:
        assert_resumes(whole, tmp_path / str(moment), moment, how)


@pytest.mark.slow
def test_run_interrupted_during_a_checkpoint_resumes_from_it(whole, tmp_path):
    checkpoints = [at for at, touch in enumerate(whole.touched, 1) if touch == "event checkpoint"]
    committed = checkpoints[len(checkpoints) // 2] + 1
    assert whole.touched[committed - 1] == "commit"
    assert_resumes(whole, tmp_path / "work", committed, interrupt_afterwards)


def assert_resumes(whole: Uninterrupted, workdir: Path, moment: int, how: Callable[[], None]) -> None:
    """Interrupt an episode at this file access, resume it, and compare what it leaves."""
    shutil.copytree(whole.before, workdir)
    assert played(workdir, *PLAY, kill_at=moment, how=how).code == ExitCode.INTERRUPTED
    assert last_end(read_episode(workdir, 2)).reason == "interrupted"
    assert played(workdir, "--resume").code == 0
    assert left_behind(workdir, 2) == whole.left, f"interrupted at file access {moment} of {len(whole.touched)}"

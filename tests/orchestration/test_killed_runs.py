"""A run that is killed, at whatever moment, and gone on with: it comes to what it would have come to."""

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
    interrupt_kept,
    interrupt_unheard,
    kill,
    left_behind,
    played,
)
from zorkgpt.cli.process import ExitCode
from zorkgpt.runlog.episodes import last_end, read_episode

TURNS = 18
KILLS = 8
PLAY = ("--episodes", "1", "--max-turns", str(TURNS))


@dataclass(frozen=True)
class Uninterrupted:
    """A second episode that nobody kills."""

    before: Path
    """The working directory, with one episode behind it."""
    left: dict[str, Any]
    touched: tuple[str, ...]
    """Each time that it touched a file: the event and the file."""

    @property
    def touches(self) -> int:
        """How often it did."""
        return len(self.touched)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Uninterrupted:
    before = tmp_path_factory.mktemp("before")
    assert played(before, *PLAY).code == 0
    workdir = tmp_path_factory.mktemp("uninterrupted") / "work"
    shutil.copytree(before, workdir)
    second = played(workdir, *PLAY)
    assert second.code == 0
    return Uninterrupted(before, left_behind(workdir, 2), second.touched)


def killed(whole: Uninterrupted, workdir: Path, kill_at: int) -> bool:
    """Return whether the episode had begun by then, and was not over yet."""
    shutil.copytree(whole.before, workdir)
    assert played(workdir, *PLAY, kill_at=kill_at).code == -signal.SIGKILL
    begun = (workdir / "runs" / "2" / "checkpoint.json").exists()
    return begun and last_end(read_episode(workdir, 2)) is None


@pytest.mark.slow
@pytest.mark.parametrize("part", range(KILLS))
def test_killed_anywhere_a_resumed_run_leaves_what_an_uninterrupted_one_leaves(whole, tmp_path, part):
    begun = next(at for at, touch in enumerate(whole.touched, 1) if touch.startswith("os.rename checkpoint.json."))
    # In each part of the episode, one moment.
    first, last = (begun + 1 + (whole.touches - begun - 10) * each // KILLS for each in (part, part + 1))
    kill_at = random.Random(part).randrange(first, last)
    assert killed(whole, tmp_path / "work", kill_at)
    assert played(tmp_path / "work", "--resume").code == 0
    assert left_behind(tmp_path / "work", 2) == whole.left, f"killed at file access {kill_at} of {whole.touches}"


@pytest.mark.slow
def test_killed_again_and_again_while_it_is_resumed(whole, tmp_path):
    workdir = tmp_path / "work"
    assert killed(whole, workdir, whole.touches // 3)
    for kill_at in (7, 25, 60, 90, 120):
        assert played(workdir, "--resume", kill_at=kill_at).code == -signal.SIGKILL
    assert played(workdir, "--resume").code == 0
    assert left_behind(workdir, 2) == whole.left


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("ORCHESTRATOR__CHECKPOINT_INTERVAL_TURNS", "1")])
def test_killed_with_a_checkpoint_every_turn_or_on_the_way_back(tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(f"ZORKGPT_{name}", value)
    before, second = tmp_path / "before", tmp_path / "second"
    assert played(before, *PLAY).code == 0
    shutil.copytree(before, second)
    whole = Uninterrupted(before, {}, played(second, *PLAY).touched)
    for part in (4, 8):
        workdir = tmp_path / str(part)
        assert killed(whole, workdir, whole.touches * part // 9)
        assert played(workdir, "--resume").code == 0
        assert left_behind(workdir, 2) == left_behind(second, 2), f"killed at {part} ninths"


@pytest.mark.slow
def test_a_first_episode_that_was_cut_short_leaves_no_trace_of_what_it_knew_then(tmp_path):
    limit = ("--episodes", "1", "--max-turns", "33")
    whole = played(tmp_path / "whole", *limit)
    assert whole.code == 0
    for how, part in ((kill, 3), (interrupt, 4), (kill, 5), (interrupt, 6)):
        workdir = tmp_path / f"{how.__name__} {part}"
        assert played(workdir, *limit, kill_at=whole.touches * part // 10, how=how).code != 0
        assert played(workdir, "--resume").code == 0
        assert left_behind(workdir, 1) == left_behind(tmp_path / "whole", 1), f"{how.__name__} at {part} tenths"


@pytest.mark.slow
@pytest.mark.parametrize(("how", "times"), [(interrupt, 2), (interrupt_unheard, 1), (interrupt_kept, 1)])
def test_interrupted_anywhere_it_goes_on_as_after_a_kill(whole, tmp_path, how, times):
    # Before these the episode has not begun yet, and after them its closing has.
    moments = random.Random(3).sample(range(whole.touches * 2 // 5, whole.touches * 3 // 5), times)
    for moment in moments:
        assert_goes_on(whole, tmp_path / str(moment), moment, how)


@pytest.mark.slow
def test_interrupted_while_a_checkpoint_is_completed_it_goes_on_from_that(whole, tmp_path):
    renamed = "os.rename checkpoint.json."
    [_, second, _] = (at for at, touch in enumerate(whole.touched, 1) if touch.startswith(renamed))
    assert_goes_on(whole, tmp_path / "work", second, interrupt_afterwards)


def assert_goes_on(whole: Uninterrupted, workdir: Path, moment: int, how: Callable[[], None]) -> None:
    """Check what an episode leaves that is interrupted at this file access, and resumed."""
    shutil.copytree(whole.before, workdir)
    assert played(workdir, *PLAY, kill_at=moment, how=how).code == ExitCode.INTERRUPTED
    assert last_end(read_episode(workdir, 2)).reason == "interrupted"
    assert played(workdir, "--resume").code == 0
    assert left_behind(workdir, 2) == whole.left, f"interrupted at file access {moment} of {whole.touches}"

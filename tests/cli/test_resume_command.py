"""Tests of `play --resume`."""

import json
import shutil
import signal

import pytest

from tests.fixtures.command_line import Started, command

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def interrupted_once(tmp_path_factory):
    """Working directory of an episode that was interrupted with Ctrl-C."""
    workdir = tmp_path_factory.mktemp("interrupted")
    options = ("--seed", "3", "--player", "rules", "--max-turns", "30", "--episodes", "1", "--delay", "0.05")
    with Started("--workdir", str(workdir), *options) as process:
        for line in process.stdout:
            if line.startswith("[1.6]"):
                process.send_signal(signal.SIGINT)
                break
        process.finish()
    return workdir


@pytest.fixture
def interrupted(interrupted_once, tmp_path):
    """A copy of the working directory, which a test may change."""
    return shutil.copytree(interrupted_once, tmp_path / "work")


def test_resume_finishes_the_episode(interrupted):
    done = command("--workdir", str(interrupted), "--resume", "--json", "--delay", "0")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [(episode["episode"], episode["ending"], episode["turns"]) for episode in summary["episodes"]] == [
        (1, "turn limit", 30)
    ]
    assert (summary["player"], summary["why"]) == ("rules", "resumed")
    again = command("--workdir", str(interrupted), "--resume", "--json")
    assert again.returncode == 2
    assert "its limit of 30 turns is reached; allow more with --max-turns" in again.stderr


def test_resume_by_number_plays_further_episodes(interrupted):
    done = command(
        "--workdir", str(interrupted), "--resume", "1", "--episodes", "2", "--max-turns", "12", "--delay", "0"
    )
    assert done.returncode == 0, done.stderr
    assert "Episode 1 resumed after turn" in done.stdout
    assert "[2.1]" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume", "5"], "Episode 5 can't be resumed: there is no"),
        (["--resume", "9" * 5000], "--resume takes an episode number, not '999"),
        (["--resume=nonsense"], "--resume takes an episode number, not 'nonsense'"),
        (["--resume", "--seed", "4"], "started with seed 3, not 4"),
        (["--resume", "--no-memory"], "started with remember True, not False"),
        (["--resume", "--player", "human"], "started with player rules, not human"),
    ],
)
def test_invalid_resume_changes_nothing(interrupted, options, message):
    before = (interrupted / "runs" / "1" / "episode_log.jsonl").read_bytes()
    done = command("--workdir", str(interrupted), *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (interrupted / "runs" / "1" / "episode_log.jsonl").read_bytes() == before


def test_resume_without_episodes_is_refused(tmp_path):
    done = command("--workdir", str(tmp_path), "--resume")
    assert done.returncode == 2
    assert "There is nothing to resume: no episode was played" in done.stderr

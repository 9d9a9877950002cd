"""What is printed where it can't be printed as meant: closed, full and narrow outputs, and those of few letters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.command_line import ROOT, command, environment

pytestmark = pytest.mark.slow

MAIN = f"{sys.executable} {ROOT / 'main.py'}"


def in_a_shell(line: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", line], env=environment(**more), capture_output=True, text=True, timeout=120)


def last_event(workdir: Path) -> dict:
    return json.loads((workdir / "runs" / "1" / "episode_log.jsonl").read_text("utf-8").splitlines()[-1])


def test_a_reader_that_goes_away_ends_the_run_quietly_with_everything_saved(tmp_path):
    done = in_a_shell(f"set -o pipefail; {MAIN} --workdir {tmp_path} --max-turns 300 --episodes 1 | head -1")
    assert done.stderr == ""
    assert done.stdout.startswith("Slack Water")
    assert last_event(tmp_path)["event"] == "episode_ended"
    assert (tmp_path / "Memories.md").exists()


def test_a_memory_command_ends_quietly_when_its_reader_goes_away(tmp_path):
    command("--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "1", "--quiet")
    done = in_a_shell(f"{MAIN} memories show --workdir {tmp_path} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("options", ["", "--quiet", "--json"])
def test_an_output_without_room_is_a_message_with_everything_saved(tmp_path, options):
    done = in_a_shell(f"{MAIN} --workdir {tmp_path} --max-turns 5 --episodes 1 {options} > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("zorkgpt: ")
    assert "No space left on device" in done.stderr
    assert last_event(tmp_path)["event"] == "episode_ended"


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_run_without_an_output_plays_all_the_same(tmp_path, closed):
    done = in_a_shell(f"{MAIN} --workdir {tmp_path} --max-turns 5 --episodes 1 {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert last_event(tmp_path)["turns"] == 5


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_letter_that_the_output_does_not_have_is_replaced(tmp_path, encoding):
    done = command("--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "1", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Slack Water ? player: rules" in done.stdout


@pytest.mark.parametrize("columns", ["0", "1", "20", "x"])
def test_no_width_of_the_terminal_is_too_small_for_the_summary(tmp_path, columns):
    done = command("--workdir", str(tmp_path), "--max-turns", "2", "--episodes", "1", "--quiet", COLUMNS=columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert "main.py view" in done.stdout


def test_bytes_that_are_no_text_are_refused_as_a_command_and_the_game_goes_on(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), "--workdir", str(tmp_path), "--player", "human", "--episodes", "1"],
        env=environment(),
        input=b"look\n\xff\xfe\nnorth\n",
        capture_output=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert last_event(tmp_path)["turns"] == 3


def test_a_disk_without_room_ends_the_run_with_what_was_learned(tmp_path):
    walkthrough = tmp_path / "walkthrough.txt"
    walkthrough.write_text("look\n" * 500, "utf-8")
    # A limit on the size of a file, above the story's own: the system's answer is of the same kind as a full disk's.
    play = f"{MAIN} --workdir {tmp_path} --walkthrough {walkthrough} --max-turns 500 --episodes 1 --json"
    done = in_a_shell(f"ulimit -f 600; {play}")
    assert (done.returncode, done.stderr) == (1, "")
    episode = json.loads(done.stdout)["episodes"][0]
    assert episode["ending"] == "error"
    assert "can't be written: File too large" in episode["message"]
    assert "0 lines not parsed" in command("memories", "check", "--workdir", str(tmp_path)).stdout


def test_a_temporary_folder_without_room_is_named(tmp_path):
    done = in_a_shell(f"ulimit -f 16; {MAIN} --workdir {tmp_path} --quiet", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"zorkgpt: The story can't be copied to {tmp_path}: File too large.")


def test_a_summary_of_usual_width_cuts_no_word(tmp_path):
    walkthrough = tmp_path / "walkthrough.txt"
    walkthrough.write_text("look\n", "utf-8")
    done = command(
        "--workdir", str(tmp_path), "--walkthrough", str(walkthrough), "--episodes", "1", "--quiet", COLUMNS="80"
    )
    assert "…" not in done.stdout
    assert "stopped" in done.stdout


def test_a_dumb_terminal_gets_one_line_per_turn(tmp_path):
    played = f"TERM=dumb {MAIN} --workdir {tmp_path} --max-turns 3 --episodes 2"
    done = in_a_shell(f"script -qec '{played}' /dev/null | tr -d '\\r'")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Slack Water")
    assert [line[:5] for line in lines[1:9]] == ["[1.1]", "[1.2]", "[1.3]", "Episo", "[2.1]", "[2.2]", "[2.3]", "Episo"]
    assert "\x1b" not in done.stdout

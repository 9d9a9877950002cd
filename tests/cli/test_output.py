"""Tests of output to closed, full, narrow and non-Unicode streams."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.command_line import ROOT, command, environment

pytestmark = pytest.mark.slow

MAIN = f"{sys.executable} {ROOT / 'main.py'}"


def run_in_shell(line: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", line], env=environment(**more), capture_output=True, text=True, timeout=120)


def last_event(workdir: Path) -> dict:
    return json.loads((workdir / "runs" / "1" / "episode_log.jsonl").read_text("utf-8").splitlines()[-1])


def test_closed_pipe_ends_the_run_with_everything_saved(tmp_path):
    done = run_in_shell(f"set -o pipefail; {MAIN} --workdir {tmp_path} --max-turns 300 --episodes 1 | head -1")
    assert done.stderr == ""
    assert done.stdout.startswith("Slack Water")
    assert last_event(tmp_path)["event"] == "episode_ended"
    assert (tmp_path / "Memories.md").exists()


def test_closed_pipe_ends_a_memory_command_quietly(tmp_path):
    command("--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "1", "--quiet")
    done = run_in_shell(f"{MAIN} memories show --workdir {tmp_path} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("options", ["", "--quiet", "--json"])
def test_full_output_device_is_an_error_with_everything_saved(tmp_path, options):
    done = run_in_shell(f"{MAIN} --workdir {tmp_path} --max-turns 5 --episodes 1 {options} > /dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("zorkgpt: ")
    assert "No space left on device" in done.stderr
    assert last_event(tmp_path)["event"] == "episode_ended"


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_run_without_output_streams(tmp_path, closed):
    done = run_in_shell(f"{MAIN} --workdir {tmp_path} --max-turns 5 --episodes 1 {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert last_event(tmp_path)["turns"] == 5


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_outside_the_output_encoding_are_replaced(tmp_path, encoding):
    done = command("--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "1", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Slack Water ? player: rules" in done.stdout


@pytest.mark.parametrize("columns", ["0", "1", "20", "x"])
def test_summary_fits_any_terminal_width(tmp_path, columns):
    done = command("--workdir", str(tmp_path), "--max-turns", "2", "--episodes", "1", "--quiet", COLUMNS=columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert "main.py view" in done.stdout


def test_undecodable_input_is_refused_as_a_command(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), "--workdir", str(tmp_path), "--player", "human", "--episodes", "1"],
        env=environment(),
        input=b"look\n\xff\xfe\nnorth\n",
        capture_output=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert last_event(tmp_path)["turns"] == 3


def test_full_disk_ends_the_run_with_memories_saved(tmp_path):
    walkthrough = tmp_path / "walkthrough.txt"
    walkthrough.write_text("look\n" * 500, "utf-8")
    # The limit on file size is larger than the story. The error is of the same kind as that of a full disk.
    play = f"{MAIN} --workdir {tmp_path} --walkthrough {walkthrough} --max-turns 500 --episodes 1 --json"
    done = run_in_shell(f"ulimit -f 600; {play}")
    assert (done.returncode, done.stderr) == (1, "")
    episode = json.loads(done.stdout)["episodes"][0]
    assert episode["ending"] == "error"
    assert episode["message"].startswith(f"Can't write {tmp_path}/Memories.md.sqlite: ")
    assert "0 lines not parsed" in command("memories", "check", "--workdir", str(tmp_path)).stdout


def test_full_temporary_folder_is_refused(tmp_path):
    done = run_in_shell(f"ulimit -f 16; {MAIN} --workdir {tmp_path} --quiet", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"zorkgpt: The story can't be copied to {tmp_path}: File too large.")


def test_summary_of_80_columns_truncates_nothing(tmp_path):
    walkthrough = tmp_path / "walkthrough.txt"
    walkthrough.write_text("look\n", "utf-8")
    done = command(
        "--workdir", str(tmp_path), "--walkthrough", str(walkthrough), "--episodes", "1", "--quiet", COLUMNS="80"
    )
    assert "…" not in done.stdout
    assert "stopped" in done.stdout


def test_dumb_terminal_gets_one_line_per_turn(tmp_path):
    played = f"TERM=dumb {MAIN} --workdir {tmp_path} --max-turns 3 --episodes 2"
    done = run_in_shell(f"script -qec '{played}' /dev/null | tr -d '\\r'")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Slack Water")
    assert [line[:5] for line in lines[1:9]] == ["[1.1]", "[1.2]", "[1.3]", "Episo", "[2.1]", "[2.2]", "[2.3]", "Episo"]
    assert "\x1b" not in done.stdout

"""The main job, as a new user runs it."""

import re

import pytest

from tests.fixtures.command_line import command


@pytest.mark.slow
def test_the_main_job_plays_ten_episodes_and_prints_one_summary(tmp_path):
    done = command("--workdir", str(tmp_path), "--max-turns", "15")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    played, summary = lines[: lines.index("")], lines[lines.index("") :]
    assert played[0] == "Slack Water — player: rules"
    assert all(re.match(r"\[(?:[1-9]|10)\.\d+\] .+ > .+|Episode (?:[1-9]|10) ended: ", line) for line in played[1:])
    assert sum(line.startswith("Episode ") for line in played) == 10
    assert len(summary) < 29
    for text in ("Results", "Repeated mistakes: ", "control episode without memory", "Most useful memories", "--model"):
        assert text in "\n".join(summary)

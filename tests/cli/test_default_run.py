"""Test of a run with default options."""

import re

import pytest

from tests.fixtures.command_line import command


@pytest.mark.slow
def test_default_run_plays_ten_episodes_and_prints_one_summary(tmp_path):
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

"""The main job, as a new user runs it."""

import re

from tests.fixtures.command_line import command


def test_the_main_job_plays_five_episodes_and_sums_them_up(tmp_path):
    done = command("--workdir", str(tmp_path), "--max-turns", "40")
    assert (done.returncode, done.stderr) == (0, "")
    assert "── Episode 1 ──" in done.stdout
    assert "── Episode 5 ──" in done.stdout
    assert "without a language model" in done.stdout
    assert re.search(r"\[1\.1\] .+ > .+", done.stdout)
    assert "+ added: " in done.stdout
    assert re.search(r"knew \d+ things? about \S", done.stdout)
    for what in (
        "What came of it",
        "Turns to 2 points: ",
        "The memories that did most",
        "Memories.md",
        "--model",
        "To play Zork",
    ):
        assert what in done.stdout

"""Tests of the command line in real processes: options, errors, exit codes and terminals."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.fixtures import own_stories
from tests.fixtures.command_line import ROOT, Started, command, environment

pytestmark = pytest.mark.slow


def test_second_run_continues_episode_numbers(tmp_path):
    for expected in ([1, 2], [3, 4]):
        done = command("--workdir", str(tmp_path), "--max-turns", "10", "--episodes", "2", "--json")
        summary = json.loads(done.stdout)
        assert [episode["episode"] for episode in summary["episodes"]] == expected
    assert (summary["player"], summary["language_model"]) == ("rules", None)
    assert summary["episodes"][0]["memories"]["core"] > 0
    assert summary["episodes"][0]["turns_by_rules"] == 0


def test_walkthrough_that_is_not_text_is_refused(tmp_path):
    picture = tmp_path / "map.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    done = command("--workdir", str(tmp_path / "run"), "--walkthrough", str(picture))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"The walkthrough {picture} is not a text file. It needs one command per line, in UTF-8." in done.stderr
    done = command("--workdir", str(tmp_path / "run"), "--walkthrough", "/dev/zero")
    assert (done.returncode, done.stderr) == (
        2,
        "zorkgpt: The walkthrough has more than 1,048,576 bytes. It is not played.\n",
    )


def test_offline_is_an_alias_of_the_rules_player(tmp_path):
    done = command("--workdir", str(tmp_path), "--player", "rules", "--max-turns", "2", "--episodes", "1", "--json")
    assert json.loads(done.stdout)["player"] == "rules"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("map_state.json", "the map file is damaged and was set aside"),
        ("Memories.md", "a file was recovered from its backup"),
    ],
)
def test_damaged_file_is_set_aside_and_reported(tmp_path, name, message):
    short = ("--workdir", str(tmp_path), "--max-turns", "20", "--episodes", "1", "--quiet")
    assert "Note:" not in command(*short).stdout
    broken = b"\x80\xfe" * 40_000
    (tmp_path / name).write_bytes(broken)
    done = command(*short)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Note: {message}: {tmp_path / name}.damaged-1\n" in done.stdout
    assert (tmp_path / f"{name}.damaged-1").read_bytes() == broken
    assert (tmp_path / "zorkgpt.log").stat().st_size < 10_000


def test_unknown_location_is_reported_once(tmp_path):
    done = command(
        "--game",
        str(own_stories.compiled("keypress")),
        "--workdir",
        str(tmp_path),
        "--max-turns",
        "3",
        "--episodes",
        "1",
    )
    assert done.stdout.count("The player's location is unknown") == 1


def test_quiet_prints_only_the_summary(tmp_path):
    done = command("--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "1", "--quiet")
    assert "[1.1]" not in done.stdout
    assert "Results" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "nowhere.z5"], "No story file at nowhere.z5"),
        (["--player", "nobody"], "Unknown player 'nobody'"),
        (["--player", "model"], "--model"),
        (["--player", "walkthrough"], "--walkthrough"),
        (["--walkthrough", "missing.txt"], "missing.txt"),
        (["--seed", "0"], "--seed"),
        (["--max-turns", "0"], "max_turns_per_episode"),
        (["--base-url", "http://127.0.0.1:9/v1"], "--model"),
        (["--no-such-option"], "--no-such-option"),
        (["dance"], "dance"),
    ],
)
def test_invalid_options_exit_with_code_2(tmp_path, arguments, message):
    done = command(*arguments, *([] if arguments == ["dance"] else ["--workdir", str(tmp_path / "work")]))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"Once upon a time\n" * 20, "it is a text file"),
        (b"<!DOCTYPE html><html>404</html>" + b" " * 100, "it is a web page"),
        (b"Glul" + bytes(200), "Glulx"),
        (b"\x05" + bytes(30), "less than the header"),
    ],
)
def test_file_that_is_not_a_story_is_refused(tmp_path, content, message):
    (tmp_path / "story.z5").write_bytes(content)
    done = command("--game", str(tmp_path / "story.z5"), "--workdir", str(tmp_path / "work"))
    assert done.returncode == 2
    assert message in done.stderr


def test_misspelled_setting_causes_one_warning(tmp_path):
    arguments = ("--workdir", str(tmp_path), "--episodes", "1", "--max-turns", "1", "--quiet")
    done = command(*arguments, ZORKGPT_GAMPLAY__TURN_DELAY_SECONDS="1")
    assert done.returncode == 0
    assert done.stderr.count("Did you mean 'gameplay.turn_delay_seconds'?") == 1


def test_unreachable_model_is_an_error(tmp_path):
    done = command("--workdir", str(tmp_path), "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 3
    assert "127.0.0.1:9" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_workdir_that_cannot_be_created_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    done = command("--workdir", str(tmp_path / "taken"))
    assert done.returncode == 2
    assert "can't be written" in done.stderr


def test_human_player_can_see_the_agents_context(tmp_path):
    done = command(
        "--player", "human", "--workdir", str(tmp_path), stdin="read letter\nnorth\nsouth\n\\x\n/see\n/dance\nquit\n"
    )
    assert done.returncode == 0
    assert done.stdout.count("## Exits from here") == 1
    assert done.stdout.count("## Memories of this place") == 1
    assert "Unknown command /dance" in done.stdout
    assert "You stopped." in done.stdout
    assert f"--resume 1 --workdir {tmp_path}" in done.stdout


def test_human_player_can_undo_turns(tmp_path):
    commands = "take penny\nnorth\nundo\n/undo\nundo\ni\nlook\n"
    done = command("--player", "human", "--workdir", str(tmp_path), stdin=commands)
    assert done.returncode == 0
    assert "Undone: north." in done.stdout
    assert "Undone: take penny. You are back at Causeway End." in done.stdout
    assert "There is nothing to undo." in done.stdout
    log = (tmp_path / "runs" / "1" / "episode_log.jsonl").read_text("utf-8").splitlines()
    turns = [event for event in map(json.loads, log) if event["event"] == "turn_played"]
    assert [turn["action"] for turn in turns] == ["take penny", "north", "i", "look"]
    assert turns[2]["reasoning"] == "Undid turn 2 (north), turn 1 (take penny)."
    assert turns[2]["before"]["location"]["name"] == "Causeway End"
    assert any("penny" in item["name"] for item in turns[0]["after"]["inventory"])
    assert not any("penny" in item["name"] for item in turns[2]["after"]["inventory"])


def test_episode_resumes_after_undo(tmp_path):
    command("--player", "human", "--workdir", str(tmp_path), stdin="north\nundo\nquit\n")
    done = command("--resume", "--workdir", str(tmp_path), stdin="look\n/see\nquit\n")
    assert "resumed after turn 1." in done.stdout
    assert '- Turn 3 of 500, episode 1\n- Place: "Causeway End" (location ' in done.stdout
    assert "The lane has been walked" not in done.stdout


def test_human_player_sees_the_ending(tmp_path):
    walkthrough = (ROOT / "infrastructure" / "games" / "slackwater.walkthrough.txt").read_text("utf-8")
    done = command("--player", "human", "--workdir", str(tmp_path), stdin=walkthrough)
    assert "Episode 1 ended: victory, score 100/100, " in done.stdout
    assert "*** " in done.stdout


def test_ctrl_c_saves_the_episode(tmp_path):
    with Started("--workdir", str(tmp_path), "--delay", "0.05") as process:
        for line in process.stdout:
            if line.startswith("[1.5]"):
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGINT)
                break
        rest, _ = process.finish()
    assert process.returncode == 130
    assert "interrupted" in rest
    assert "Results" in rest
    last = (tmp_path / "runs" / "1" / "episode_log.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(last)["reason"] == "interrupted"


def test_games_lists_bundled_stories():
    done = command("games")
    assert done.returncode == 0
    assert "(bundled): Slack Water, version 5, release 4" in done.stdout
    assert "known: player: object 21; location: Causeway End; score: from the story's memory;" in done.stdout
    assert "Not known" not in done.stdout
    assert "infrastructure/" in done.stdout


def test_doctor_reports_working_and_missing_parts(tmp_path, bundled_story):
    whole = bundled_story.read_bytes()
    done = command("doctor", "--workdir", str(tmp_path))
    assert done.returncode == 0
    for line in (r"settings\s+ok", r"story\s+ok\s+Slack Water starts", r"model\s+none", r"files\s+ok"):
        assert re.search(line, done.stdout), done.stdout
    unplaced = command("doctor", "--workdir", str(tmp_path / "other"), "--game", str(own_stories.compiled("keypress")))
    assert "Unknown: location (there" in unplaced.stdout
    assert "no memories of places, no map" in unplaced.stdout
    assert "no memories of places" not in done.stdout
    patched = tmp_path / "patched.z5"
    patched.write_bytes(whole[:0x1C] + b"\x12\x34" + whole[0x1E:])
    wrong = command("doctor", "--workdir", str(tmp_path), "--game", str(patched))
    assert re.search(r"story\s+ok", wrong.stdout)
    assert f"The checksum in the header of {patched} is wrong" in wrong.stderr
    broken = command("doctor", "--workdir", str(tmp_path), "--game", "nowhere.z5")
    assert broken.returncode == 2
    assert re.search(r"story\s+missing\s+No story file", broken.stdout)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_first_steps_commands_and_options(option):
    done = command(option)
    assert done.returncode == 0
    for name in (
        "First steps:",
        "--player human",
        "doctor",
        "games",
        "memories",
        "--max-turns",
        "--resume",
        "--version",
    ):
        assert name in done.stdout


def test_version_matches_the_package():
    assert command("--version").stdout == f"zorkgpt {version('zorkgpt')}\n"


def test_story_text_is_not_interpreted_as_markup(tmp_path):
    done = command(
        "--walkthrough",
        _file(tmp_path, "say [bold red]hello[/bold red]"),
        "--workdir",
        str(tmp_path),
        "--episodes",
        "1",
    )
    assert done.returncode == 0
    assert "[bold red]hello[/bold red]" in done.stdout
    assert "\x1b" not in done.stdout


def _file(folder: Path, text: str) -> str:
    path = folder / "commands.txt"
    path.write_text(text + "\n", encoding="utf-8")
    return str(path)


def terminal_output(columns: int, lines: int, *arguments: str) -> str:
    """Return what a run writes to a terminal of this size."""
    parent, child = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *arguments],
        cwd=ROOT,
        env=environment(**size),
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    sent, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([parent], [], [], 0.2)[0]:
            try:
                block = os.read(parent, 65536)
            except OSError:
                break
            if not block:
                break
            sent += block
        elif process.poll() is not None:
            break
    os.close(parent)
    assert process.wait(10) == 0
    return sent.decode("utf-8", "replace")


def test_wide_terminal_shows_panels(tmp_path):
    sent = terminal_output(140, 40, "--workdir", str(tmp_path), "--max-turns", "30", "--episodes", "1", "--seed", "2")
    for title in ("Learned in this episode", "memory shown (", "turn 30/30", "Results"):
        assert title in sent


def test_narrow_terminal_shows_lines(tmp_path):
    sent = terminal_output(60, 20, "--workdir", str(tmp_path), "--max-turns", "5", "--episodes", "2")
    assert "Learned in this episode" not in sent
    assert sent.index("starting …") < sent.index("loading the story") < sent.index("Slack Water")
    assert "Episode 2 ended: turn limit" in sent

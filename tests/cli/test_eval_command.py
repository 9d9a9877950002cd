"""Tests of the `eval` command."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.command_line import ROOT, Started, command, environment
from zorkgpt.cli.app import run

SHORT = ("learning-2x4", "--seeds", "1", "--ablate", "off", "--jobs", "2")


def without_times(results: dict) -> dict:
    """Return the results without times, which differ between evaluations."""

    def is_time(key):
        return "seconds" in key or key in ("ms_by_part", "parts_s")

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if not is_time(key)}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(results)


def logs(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in out.rglob("episode_log.jsonl")}


@pytest.fixture
def evaluate(monkeypatch, capsys):
    """Run the command in this process, with default settings."""
    with monkeypatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("OPENAI_", "ZORKGPT_"))]:
            patch.delenv(name)

        def evaluated(*arguments: str) -> subprocess.CompletedProcess:
            code = run(["eval", *arguments])
            return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

        yield evaluated


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
def test_second_evaluation_reuses_finished_runs(tmp_path, evaluate):
    done = evaluate(*SHORT, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stderr.splitlines()) == sorted(
        f"Slack Water, {ablation}, seed 1: finished" for ablation in ("on", "off")
    )
    assert "| repeated failures, share of all actions |" in done.stdout
    assert "| on − off |" in done.stdout.replace("|  | on", "| on")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"runs", "results.json", "episodes.csv", "report.md", "report.html"}
    pages = sorted((tmp_path / "out").rglob("episodes.html"))
    assert len(pages) == 2
    played = logs(tmp_path / "out")
    again = evaluate(*SHORT, "--out", str(tmp_path / "out"), "--json")
    assert (again.returncode, again.stderr) == (0, "")
    assert logs(tmp_path / "out") == played
    assert json.loads(again.stdout) == json.loads((tmp_path / "out" / "results.json").read_bytes())


@pytest.mark.slow
def test_terminal_shows_progress_bar_with_time_left(tmp_path):
    ours, theirs = os.openpty()
    arguments = ["eval", "learning-1x3", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path), "--no-pages"]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        seen = b""
        # On Linux, reading raises once the other end is closed.
        with contextlib.suppress(OSError):
            while more := os.read(ours, 4096):
                seen += more
    os.close(ours)
    assert process.returncode == 0
    output = seen.decode()
    assert "0 of 1 run finished" in output
    assert re.search(r"\d+%.*\d+:\d\d:\d\d", output)


PAST_A_CHECKPOINT = 12
"""A turn after the first checkpoint, which is saved after turn 10."""

LONGER = ("learning-2x20", "--seeds", "1", "--ablate", "off", "--jobs", "2", "--json", "--no-pages")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Results of the longer evaluation without an interruption."""
    done = command("eval", *LONGER, "--out", str(tmp_path_factory.mktemp("whole")))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
@pytest.mark.parametrize("stop_signal", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_evaluation_resumes(tmp_path, stop_signal, uninterrupted, evaluate):
    cut = tmp_path / "cut"
    with Started("eval", *LONGER, "--out", str(cut)) as started:
        while not logs_past_a_checkpoint(cut):
            time.sleep(0.05)
            assert started.returncode is None, started.finish()
        started.send_signal(stop_signal)
        _, message = started.finish()
        assert started.returncode == (-stop_signal if stop_signal is signal.SIGKILL else 130)
    assert stop_signal is signal.SIGKILL or "Run the same command to continue" in message
    # A run that has hardly started may start again.
    started_logs = {path: data[:2000] for path, data in logs_past_a_checkpoint(cut).items()}
    assert started_logs
    again = evaluate(*LONGER, "--out", str(cut))
    assert again.returncode == 0, again.stderr
    assert without_times(json.loads(again.stdout)) == without_times(uninterrupted)
    # Finished turns were not played again.
    assert {path: path.read_bytes()[:2000] for path in started_logs} == started_logs


def logs_past_a_checkpoint(out: Path) -> dict[Path, bytes]:
    logs = {path: path.read_bytes() for path in out.rglob("episode_log.jsonl")}
    return {path: log for path, log in logs.items() if log.count(b'"event":"turn_played"') >= PAST_A_CHECKPOINT}


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
def test_failed_run_does_not_stop_the_others(tmp_path, evaluate):
    commands = tmp_path / "commands.txt"
    commands.write_text("north\nnorth\n")
    out = tmp_path / "out"
    evaluate("learning-1x2", "--seeds", "1", "--walkthrough", str(commands), "--out", str(out))
    # One command is too few for the run without memory. The other run already has its episode.
    commands.write_text("north\n")
    done = evaluate(
        *("learning-1x2", "--seeds", "1", "--ablate", "off", "--walkthrough", str(commands)),
        *("--out", str(out), "--json"),
    )
    assert done.returncode == 1
    results = json.loads(done.stdout)
    assert [(run["ablation"], run["metrics"]["places"]) for run in results["runs"]] == [("on", 3)]
    [failure] = results["failures"]
    assert failure["ablation"] == "off"
    assert failure["reason"].startswith("Episode 1 ended (player stopped): ")
    assert failure["reason"] in done.stderr
    assert failure["reason"] in (out / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
def test_results_are_stored_at_a_url(tmp_path, monkeypatch, evaluate):
    stored, first, second = (tmp_path / name for name in ("stored", "first", "second"))
    for folder in (first, second):
        folder.mkdir()
        monkeypatch.chdir(folder)
        done = evaluate("learning-1x2", "--seeds", "1", "--out", f"file://{stored}", "--no-pages")
        assert done.returncode == 0, done.stderr
        assert f"Stored: file://{stored}" in done.stdout
    names = {path.name for path in stored.iterdir()}
    assert names == {"runs", "results.json", "episodes.csv", "report.md", "report.html"}
    # The second evaluation found everything in the store.
    assert "finished" not in done.stderr
    assert len(logs(second)) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
def test_model_plays_in_parallel_processes(tmp_path, evaluate):
    with ChatServer(lambda asked: Answer("ACTION: look")) as server:
        done = evaluate(
            *("learning-1x2", "--seeds", "1,2", "--model", server.model, "--base-url", server.url),
            *("--jobs", "2", "--out", str(tmp_path), "--no-pages"),
        )
    assert done.returncode == 0, done.stderr
    assert "| agent | 4 |" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["learning"], "Unknown protocol 'learning'. Choose from: tales-100"),
        (["learning-1x2", "--seeds", "0"], "--seeds takes positive numbers, such as 1,2,3 or 1-10, not '0'."),
        (["learning-1x2", "--seeds", "3-1"], "not '3-1'."),
        (["learning-1x2", "--seeds", "1-999999999"], "not '1-999999999'."),
        (["learning-1x2", "--ablate", "everything"], "Unknown ablation 'everything'. Choose from: on, off, plain"),
        (["learning-1x2", "--player", "human"], "The player 'human' can't be evaluated."),
        (["learning-1x2", "--player", "walkthrough"], "Name one with --walkthrough"),
        (["learning-1x2", "--games", "no such story"], "No story file at no such story"),
    ],
)
def test_invalid_options_are_refused(tmp_path, options, message, evaluate):
    done = evaluate(*options, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_invalid_output_folder_is_refused(tmp_path, evaluate):
    (tmp_path / "out").write_text("a file")
    for out, message in ((tmp_path / "out", "out can't be used as a folder: "), ("", "--out is empty. Name a folder")):
        done = evaluate("learning-1x2", "--seeds", "1", "--out", str(out))
        assert done.returncode == 2
        assert message in done.stderr


def test_missing_walkthrough_is_refused(tmp_path, evaluate):
    done = evaluate("learning-1x2", "--walkthrough", str(tmp_path / "none"), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "none can't be read: " in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_forks")
def test_unwritable_store_does_not_stop_runs(tmp_path, monkeypatch, evaluate):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").write_text("a file, not a folder")
    done = evaluate("learning-1x2", "--seeds", "1-2", "--no-pages", "--out", f"file://{tmp_path}/kept/here")
    assert done.returncode == 1
    assert done.stderr.count("finished") == 2
    assert done.stderr.count("The runs are kept in ") == 1
    assert "Run the same command to upload them" in done.stderr


def test_unreachable_model_exits_with_code_3(tmp_path, evaluate):
    done = evaluate(
        *("learning-1x2", "--model", "m", "--base-url", "http://localhost:9/v1", "--out", str(tmp_path / "out"))
    )
    assert done.returncode == 3
    assert not (tmp_path / "out").exists()

"""Tests of Ctrl-C and SIGTERM at different moments."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.command_line import ROOT, Started
from tests.fixtures.kills import interrupt, interrupt_in_del, interrupt_swallowed, played
from zorkgpt.cli.process import ExitCode
from zorkgpt.runlog.episodes import last_end, read_episode

pytestmark = pytest.mark.slow


def started_run(workdir) -> Started:
    """Start a run and wait until it handles signals itself."""
    process = Started("--workdir", str(workdir), "--max-turns", "150", "--quiet")
    while process.returncode is None and not caught_signals(process.pid) >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.005)
    return process


def caught_signals(pid: int) -> int:
    """Return the signals that the process handles, as a bit set."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("SigCgt:")[1].split()[0], 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "after_s"),
    [
        *((signal.SIGINT, after_s) for after_s in (0.0, 0.1, 0.4)),
        *((signal.SIGTERM, after_s) for after_s in (0.0, 0.2, 0.8)),
    ],
)
def test_signal_at_any_moment_ends_the_run_cleanly(tmp_path, number, after_s):
    with started_run(tmp_path) as process:
        time.sleep(after_s)
        for _ in range(3):
            process.send_signal(number)
            time.sleep(0.02)
        _, message = process.finish()
    assert process.returncode in (0, 130), message
    assert re.fullmatch(r"(zorkgpt: Interrupted[;.] .*\n)?", message)
    for log in tmp_path.glob("runs/*/episode_log.jsonl"):
        assert json.loads(log.read_text("utf-8").splitlines()[-1])["event"] == "episode_ended"


@pytest.mark.parametrize("how", [interrupt, interrupt_in_del, interrupt_swallowed])
def test_swallowed_interrupt_still_stops_the_run(tmp_path, how):
    options = ("--episodes", "2", "--max-turns", "30", "--seed", "2")
    assert played(tmp_path, *options, kill_at=60, how=how).code == ExitCode.INTERRUPTED
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["1"]
    assert last_end(read_episode(tmp_path, 1)).reason == "interrupted"
    assert played(tmp_path, "--resume").code == ExitCode.OK
    assert last_end(read_episode(tmp_path, 1)).turns == 30


RAISES_IN_DEL = """
import os, signal, time
from zorkgpt.cli.process import STOP

class Gone:
    def __del__(self):
        {what}

STOP.install()
Gone()
try:
    time.sleep({then_s})
except KeyboardInterrupt:
    print("stopped")
"""


def run_with_error_in_del(what: str, then_s: int) -> subprocess.CompletedProcess:
    script = RAISES_IN_DEL.format(what=what, then_s=then_s)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)


def test_interrupt_in_del_stops_sleeping_code():
    done = run_with_error_in_del("os.kill(os.getpid(), signal.SIGINT)", then_s=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


INTERRUPTS_SCHEMA_BUILDING = """
import os, signal
from pydantic import GetCoreSchemaHandler, TypeAdapter
from zorkgpt.cli.process import STOP

class Slow:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> dict:
        os.kill(os.getpid(), signal.SIGINT)
        print("built to its end")
        return {"type": "any"}

STOP.install()
try:
    TypeAdapter(list[Slow])
    signal.pause()
except KeyboardInterrupt:
    print("stopped")
"""


def test_interrupt_does_not_break_schema_building():
    done = subprocess.run([sys.executable, "-c", INTERRUPTS_SCHEMA_BUILDING], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "built to its end\nstopped\n", "")


def test_other_errors_in_del_are_still_reported():
    done = run_with_error_in_del("raise ValueError('of somebody else')", then_s=0)
    assert (done.returncode, done.stdout) == (0, "")
    assert "ValueError: of somebody else" in done.stderr

"""Ctrl-C and SIGTERM, at whatever moment they come."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_play import ROOT, environment


def started(workdir) -> subprocess.Popen:
    """A run that has taken over the signals; before that, the interpreter that starts up is in charge of them."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "--workdir", str(workdir), "--max-turns", "150", "--quiet"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not caught(process.pid) >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.005)
    return process


def caught(pid: int) -> int:
    """The set of signals, a bit each, that the process handles itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("SigCgt:")[1].split()[0], 16)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.6, 2.0])
def test_any_moment_is_a_good_one_to_stop(tmp_path, number, after_s):
    process = started(tmp_path)
    time.sleep(after_s)
    for _ in range(3):
        process.send_signal(number)
        time.sleep(0.02)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130), said
    assert said == ""
    for log in tmp_path.glob("runs/*/episode_log.jsonl"):
        assert json.loads(log.read_text("utf-8").splitlines()[-1])["event"] == "episode_ended"

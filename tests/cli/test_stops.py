"""Ctrl-C and SIGTERM, at whatever moment they come."""

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.test_play import ROOT, environment


def started(workdir) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "--workdir", str(workdir), "--max-turns", "150", "--quiet"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.15, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1])
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

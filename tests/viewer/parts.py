"""Runs to look at, and the page that shows them."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tests.orchestration.parts import a_run
from zorkgpt.viewer.app import make_app
from zorkgpt.viewer.guard import Rules
from zorkgpt.viewer.run_files import open_run

HOST = "http://127.0.0.1:8765"


def played(workdir: Path, *, episodes: int = 2, turns: int = 25) -> Path:
    """A real run of the bundled story."""
    with a_run(workdir, turns=turns) as run:
        for _ in range(episodes):
            run.play_episode()
    return workdir


def client(workdir: Path, rules: Rules | None = None) -> TestClient:
    return TestClient(make_app(open_run(workdir, may_be_empty=True), rules or Rules()), base_url=HOST)


def write_log(workdir: Path, *records: dict[str, Any], episode: int = 1, end: str = "\n") -> Path:
    """A log of these lines."""
    path = workdir / "runs" / str(episode) / "episode_log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(json.dumps({"v": 1, **record}) for record in records) + end)
    return path


def started(episode: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "event": "episode_started",
        "episode": episode,
        "time": "2026-01-01T00:00:00+00:00",
        "player": "offline",
        "story": {"title": "A Story"},
        "seed": 1,
        "max_turns": 100,
        "opening": "You wake up.",
        "location_id": 10,
        "location": "Hall",
    } | fields


def turn(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "event": "turn_played",
        "episode": 1,
        "turn": number,
        "player": "offline",
        "location_id": 10,
        "location": "Hall",
        "location_after_id": 10,
        "location_after": "Hall",
        "action": f"look {number}",
        "reasoning": "Because.",
        "response": f"You see {number}.",
        "score_before": 0,
        "score": 0,
        "moves": number,
        "inventory": [],
        "died": False,
        "finished": False,
        "victory": False,
        "failed": False,
    } | fields


@contextmanager
def served(workdir: Path, *options: str) -> Iterator[str]:
    """The command `view` in a process of its own; the address that it prints."""
    command = [sys.executable, "-m", "zorkgpt", "view", str(workdir), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found, "the viewer did not start"
            yield found[0]
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def playing(workdir: Path, *, episodes: int = 1, turns: int = 200, delay_s: float = 0.2) -> Iterator[subprocess.Popen]:
    """A run that goes on while something else happens."""
    options = ["--episodes", str(episodes), "--max-turns", str(turns), "--delay", str(delay_s), "--quiet"]
    command = [sys.executable, "-m", "zorkgpt", "play", "--workdir", str(workdir), "--player", "offline", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)

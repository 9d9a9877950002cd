"""Runs of the command line in a process of their own that is killed or stopped, really and at a chosen moment."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zorkgpt.cli.play  # noqa: F401  Loaded once, for all forks.
from zorkgpt.cli.app import run
from zorkgpt.cli.stopping import STOP
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted
from zorkgpt.runlog.reader import read_episode

_TOUCHING = ("open", "os.rename", "os.link", "os.remove", "os.truncate", "os.mkdir")
"""Events of Python's own that come before a file is opened, replaced or removed."""

_OF_THE_PROCESS = ("deduplication_metrics", "checkpoint", "extraction")
"""Counts of an episode's end that are of the work, and the time, of the process that played its end."""


@dataclass(frozen=True)
class Played:
    """How a run ended."""

    code: int
    """Its exit code, or minus the signal that ended it."""
    touches: int
    """How often it touched a file of the working directory; 0 if it was killed."""


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    """Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_unheard() -> None:
    """Ctrl-C at a moment when Python ignores what is raised."""

    class Gone:
        def __del__(self) -> None:
            interrupt()

    Gone()


def interrupt_kept() -> None:
    """Ctrl-C within a library that goes on after whatever is raised."""
    with suppress(BaseException):
        interrupt()


def played(workdir: Path, *arguments: str, kill_at: int | None = None, how: Callable[[], None] = kill) -> Played:
    """Run `main.py` with these arguments in a fork of this process.

    Args:
        kill_at: before it touches a file of the working directory for the so many'th time, this happens to it.
        how: what happens.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _in_the_child(_Watch(str(workdir), kill_at, how), ["--workdir", str(workdir), "--quiet", *arguments], theirs)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        touches = int(pipe.read() or b"0")
    return Played(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), touches)


def _in_the_child(watch: "_Watch", arguments: list[str], pipe: int) -> None:
    code = 99
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.environ["ZORKGPT_MEMORY_DEDUPLICATION__PROVIDER"] = "none"
        sys.addaudithook(watch)
        STOP.listen()
        code = run(arguments)
        os.write(pipe, str(watch.touches).encode())
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


class _Watch:
    def __init__(self, folder: str, kill_at: int | None, how: Callable[[], None]) -> None:
        self._folder = folder
        self._how = how
        self._kill_at = kill_at
        self.touches = 0

    def __call__(self, event: str, arguments: tuple) -> None:
        if event in _TOUCHING and any(self._folder in str(argument) for argument in arguments[:2]):
            self.touches += 1
            if self.touches == self._kill_at:
                self._how()


def left_behind(workdir: Path, episode: int) -> dict[str, Any]:
    """All that a run leaves, without what no two runs have in common: times, and that one was resumed."""
    events = read_episode(workdir, episode)
    told = [event for event in events if not isinstance(event, EpisodeStarted | EpisodeResumed | EpisodeEnded)]
    session = _json(workdir / "runs" / str(episode) / "ephemeral_session.json")
    world, objectives = _json(workdir / "map_state.json"), _json(workdir / "objectives.json")
    del world["metadata"]["timestamp"], objectives["metadata"]["timestamp"]
    del session["under_way"]["keeper"]["deduplication"]["total_ms"]
    return {
        "events": [_fields(event, "duration_s") for event in told],
        "end": _fields(events[-1], "time", "metrics"),
        "learning": _learning(events[-1].metrics),
        "memories": (workdir / "Memories.md").read_bytes(),
        "history": _rows(workdir / "Memories.history.jsonl"),
        "trials": _rows(workdir / "Memories.trials.jsonl"),
        "judged": judged.read_bytes() if (judged := workdir / "Memories.judged.jsonl").exists() else b"",
        "knowledge": (workdir / "knowledgebase.md").read_bytes(),
        "objectives": objectives,
        "map": world,
        "state": _json(workdir / "current_state.json"),
        "session": session,
    }


def _learning(metrics: dict[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in metrics.items() if key not in _OF_THE_PROCESS}
    # How often lines held is counted by the process that looked back, which an interrupt may end right after.
    told["knowledge"] = {key: value for key, value in told["knowledge"].items() if key != "borne_out"}
    return told


def _fields(event: Any, *without: str) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__dataclass_fields__ if name not in without}


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [{key: value for key, value in row.items() if key != "at"} for row in rows]

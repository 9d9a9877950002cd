"""Reads the runs of a working directory back."""

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, Event, from_record

log = logging.getLogger("zorkgpt.runlog")

RUNS = "runs"
MODEL_CALLS = "model_calls.jsonl"
"""Beside the log of an episode: every question to a model, with its answer."""


def run_directory(workdir: Path, episode: int | str) -> Path:
    """Where the files of an episode are kept."""
    return workdir / RUNS / str(episode)


def episodes_in(workdir: Path) -> list[int]:
    """The numbers of the episodes that were played in this working directory, in order."""
    runs = workdir / RUNS
    if not runs.is_dir():
        return []
    return sorted(int(entry.name) for entry in runs.iterdir() if entry.is_dir() and entry.name.isdecimal())


def read_events(path: Path, *, after: int = 0) -> Iterator[Event]:
    """The events of a log; a line that is half written or not understood is left out and logged.

    Args:
        after: so many bytes, which end with a line.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        file.seek(after)
        for number, line in enumerate(file, 1):
            try:
                event = from_record(json.loads(line))
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                log.warning(
                    "a line of the run log is unreadable", extra={"path": str(path), "line": number, "why": str(error)}
                )
                continue
            if event is not None:
                yield event


def read_episode(workdir: Path, episode: int, file_name: str = "episode_log.jsonl") -> list[Event]:
    """The events of one episode; none if it left no log."""
    path = run_directory(workdir, episode) / file_name
    return list(read_events(path)) if path.is_file() else []


def last_end(events: Iterable[Event]) -> EpisodeEnded | None:
    """How an episode ended: of one that was resumed, how it ended last; None if it goes on or was killed."""
    end: EpisodeEnded | None = None
    for event in events:
        if isinstance(event, EpisodeEnded):
            end = event
        elif isinstance(event, EpisodeResumed):
            end = None
    return end

"""Appends events to the log of an episode."""

import json
from pathlib import Path
from types import TracebackType

from zorkgpt.runlog.events import Event, to_record


class RunLogWriter:
    """The log of one episode, a JSON object a line; every line is with the system when `write` returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Half a surrogate pair, which models write at times, becomes its JSON escape, and so comes back.
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)

    def write(self, event: Event) -> None:
        self._file.write(json.dumps(to_record(event), ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "RunLogWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

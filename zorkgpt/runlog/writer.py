"""Appends events to the log of an episode."""

from pathlib import Path
from types import TracebackType

from zorkgpt.encoding import as_json
from zorkgpt.runlog.events import Event, to_record


class RunLogWriter:
    """The log of one episode, a JSON object a line; every line is with the system when `write` returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")

    def write(self, event: Event) -> None:
        self._file.write(as_json(to_record(event)) + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "RunLogWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

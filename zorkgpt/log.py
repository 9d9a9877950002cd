"""Logging for a run: a fixed phrase, then fields."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The attributes of every LogRecord; all others were passed as `extra`.
_BUILT_IN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LogFile(logging.FileHandler):
    """A log file that ignores write errors, such as a missing folder."""

    def emit(self, record: logging.LogRecord) -> None:
        # The first record opens the file, which may raise. Later errors go to `handleError`.
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class FieldFormatter(logging.Formatter):
    """Formats records as `10:31:02 WARNING zorkgpt.memory: lock is taken path=Memories.md waited_s=10`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        # Libraries such as Ray add private fields, whose names begin with an underscore.
        extra = ((key, value) for key, value in vars(record).items() if key not in _BUILT_IN and key[0] != "_")
        fields = " ".join(f"{key}={value!r}" for key, value in extra)
        line = super().formatMessage(record)
        return f"{line} {fields}" if fields else line


def get_logger(name: str) -> logging.Logger:
    """Return the logger of this name below `zorkgpt`."""
    return logging.getLogger(name if name.startswith("zorkgpt") else f"zorkgpt.{name}")


class DamagedFiles(logging.Handler):
    """A log handler that collects reports of damaged, missing or unwritable files, to show them to the user."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.reports: list[dict[str, str]] = []
        self.on_report: Callable[[dict[str, str]], None] = lambda report: None
        """Called with each new report."""

    def emit(self, record: logging.LogRecord) -> None:
        set_aside = getattr(record, "set_aside", None)
        if set_aside is not None:
            report = {
                "what": record.getMessage(),
                "file": getattr(record, "path", ""),
                "set_aside": set_aside,
                "way_out": getattr(record, "way_out", ""),
            }
            self.reports.append(report)
            self.on_report(report)


@contextmanager
def logging_to(path: Path) -> Iterator[DamagedFiles]:
    """Send all log records below `zorkgpt` to a file and none to the screen."""
    handler = LogFile(path, encoding="utf-8", delay=True)
    handler.setFormatter(FieldFormatter())
    root = logging.getLogger("zorkgpt")
    before = root.level, root.propagate
    root.setLevel(logging.INFO)
    root.propagate = False
    damaged = DamagedFiles()
    root.addHandler(handler)
    root.addHandler(damaged)
    try:
        yield damaged
    finally:
        root.removeHandler(damaged)
        root.removeHandler(handler)
        handler.close()
        root.setLevel(before[0])
        root.propagate = before[1]

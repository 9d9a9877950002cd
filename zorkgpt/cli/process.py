"""The process and its shell: exit codes, the standard streams, Ctrl-C and SIGTERM."""

import os
import signal
import sys
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class ExitCode(IntEnum):
    """Exit codes that scripts can use."""

    OK = 0
    EPISODE_FAILED = 1
    """An episode ended with an error of the model or the interpreter. What was learned is saved."""
    UNPARSED_LINES = 1
    """`memories check` found lines that can't be parsed."""
    BAD_INPUT = 2
    """A file, a setting or an argument is invalid. Nothing was changed."""
    MODEL_UNREACHABLE = 3
    """The configured model can't be reached."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM. Everything is saved."""


def prepare_streams() -> None:
    """Redirect closed streams to the null device, and replace unencodable characters with `?`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # Never closed, so that no other file gets the descriptor of a standard stream.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="replace")


def announce_start() -> None:
    """On a terminal, print a line that the next output overwrites."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write("starting …\r")
        sys.stdout.flush()


def flush_stdout(code: int) -> int:
    """Flush standard output. Return `code`, or 1 instead of 0 if that failed."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python flushes again at exit and would report the error a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code != ExitCode.OK:
            return code
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"zorkgpt: {error}\n")
        return ExitCode.EPISODE_FAILED
    return code


_RETRY_S = 0.01
_UNINTERRUPTIBLE = ("<frozen importlib", f"{os.sep}pydantic{os.sep}")


class Stop:
    """A signal handler that raises KeyboardInterrupt once. Later signals are ignored, since they would disturb saving.

    Where an exception would be lost, it is raised a moment later. `requested` stays set even if a library suppresses
    the exception.
    """

    def __init__(self) -> None:
        self.requested = False
        self._report = sys.__unraisablehook__

    def install(self) -> None:
        """Install the signal handlers."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._request)
        signal.signal(signal.SIGALRM, self._raise)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._raise_lost

    def raise_if_requested(self) -> None:
        """Raise KeyboardInterrupt if a signal has arrived."""
        if self.requested:
            # Cancel a delayed interrupt, which would disturb saving.
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    def ignore(self) -> None:
        """Ignore all further signals."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)

    def _request(self, signum: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            self._raise(signum, frame)

    def _raise(self, signum: int, frame: FrameType | None) -> None:
        if not _is_uninterruptible(frame):
            raise KeyboardInterrupt
        _raise_later()

    def _raise_lost(self, lost: "UnraisableHookArgs") -> None:
        """Raise a KeyboardInterrupt again if it was lost in `__del__` or in a callback from C."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _raise_later()
        else:
            self._report(lost)


STOP = Stop()
"""The handler of this process."""


def _raise_later() -> None:
    signal.setitimer(signal.ITIMER_REAL, _RETRY_S)


def _is_uninterruptible(frame: FrameType | None) -> bool:
    """Return whether a module is being imported or a pydantic model is being built.

    Both are short, and both would convert the interrupt to another exception.
    """
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in _UNINTERRUPTIBLE):
            return True
        frame = frame.f_back
    return False

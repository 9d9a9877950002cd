"""What the shell sees of the process: exit codes and the standard streams."""

import os
import sys
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes that scripts can use."""

    OK = 0
    EPISODE_FAILED = 1
    """An episode ended with an error of the model or the interpreter; what was learned is saved."""
    NOT_UNDERSTOOD = 1
    """`memories check` found lines that are not understood."""
    BAD_INPUT = 2
    """A file, a setting or an argument can't be used; nothing was changed."""
    MODEL_UNREACHABLE = 3
    """The configured model can't be reached."""
    INTERRUPTED = 130
    """Ctrl-C or SIGTERM; everything is saved."""


def prepare_streams() -> None:
    """Replace closed streams with the null device, and characters that an output can't encode with `?`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # It stays open until the end: it has the file descriptor of the closed one, which no other file may get.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="replace")


def announce_start() -> None:
    """Print a line on a terminal that the next output replaces."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write("starting …\r")
        sys.stdout.flush()


def flush_stdout(code: int) -> int:
    """Flush the standard output. Returns the exit code, 1 in the place of 0 where that failed."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more when it exits, and would report the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code != ExitCode.OK:
            return code
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"zorkgpt: {error}\n")
        return ExitCode.EPISODE_FAILED
    return code

"""Standard input and output as the commands need them, whatever the shell has made of them."""

import os
import sys

from zorkgpt.cli import exits


def ready_streams() -> None:
    """A closed stream reads and writes nothing; a letter that an output does not have is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # Open to the end: it has the number of the closed one, which no other file may get.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="replace")


def shut_stdout(code: int) -> int:
    """Write what is not written yet. Returns the exit code, 1 for 0 where that failed."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python tries once more when it ends, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code != exits.OK:
            return code
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"zorkgpt: {error}\n")
        return exits.EPISODE_FAILED
    return code

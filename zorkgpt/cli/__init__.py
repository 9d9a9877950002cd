"""The command line."""

import signal
import sys
from types import FrameType

_IMPORT_CHECK_S = 0.01


def main(arguments: list[str] | None = None) -> None:
    """Run a command; without one, `play`. Exits with 0, or with the code that `zorkgpt.cli.exits` explains."""
    _stop_politely()
    try:
        from zorkgpt.cli.app import run
        from zorkgpt.cli.streams import ready_streams, shut_stdout

        ready_streams()
        code = shut_stdout(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        code = 130
    finally:
        # What is left to do takes no time, and nothing in it may be cut short.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _stop_politely() -> None:
    """The first Ctrl-C or SIGTERM ends the run with everything saved, and the next ones don't disturb the saving."""
    asked: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        asked.append(signum)
        if len(asked) == 1:
            stop_when_loaded(signum, frame)

    def stop_when_loaded(signum: int, frame: FrameType | None) -> None:
        if not _importing(frame):
            raise KeyboardInterrupt
        # A module that is cut short turns the interrupt into an error of its own, so it loads to its end.
        signal.setitimer(signal.ITIMER_REAL, _IMPORT_CHECK_S)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    signal.signal(signal.SIGALRM, stop_when_loaded)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False

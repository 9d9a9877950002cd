"""The command line."""

import signal
import sys


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
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _stop_politely() -> None:
    """The first Ctrl-C or SIGTERM ends the run with everything saved, and the next ones don't disturb the saving."""
    asked: list[int] = []

    def stop(signum: int, frame: object) -> None:
        asked.append(signum)
        if len(asked) == 1:
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)

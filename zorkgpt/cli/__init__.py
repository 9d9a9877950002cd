"""The command line."""

import sys

from zorkgpt.cli.stopping import STOP


def main(arguments: list[str] | None = None) -> None:
    """Run a command; without one, `play`. Exits with 0, or with the code that `zorkgpt.cli.exits` explains."""
    STOP.listen()
    try:
        from zorkgpt.cli.app import run
        from zorkgpt.cli.streams import ready_streams, shut_stdout

        ready_streams()
        code = shut_stdout(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        code = 130
    finally:
        # What is left to do takes no time.
        STOP.be_deaf()
    sys.exit(code)

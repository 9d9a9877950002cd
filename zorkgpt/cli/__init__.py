"""The command line, which needs the extra `cli`."""

import sys

from zorkgpt.cli.process import STOP, ExitCode, flush_stdout, prepare_streams
from zorkgpt.extras import require

require("cli")


def main(arguments: list[str] | None = None) -> None:
    """Run a command (by default `play`), then exit with an `ExitCode`."""
    try:
        STOP.install()
        from zorkgpt.cli.app import run

        prepare_streams()
        code = flush_stdout(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("zorkgpt: Interrupted. No file was left half-written.\n")
        code = ExitCode.INTERRUPTED
    finally:
        # The process is about to exit.
        STOP.ignore()
    sys.exit(code)

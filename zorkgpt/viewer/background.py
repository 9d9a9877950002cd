"""The page beside a run: a process of its own that reads the run's files, and ends with whoever started it."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from zorkgpt.errors import ViewerError
from zorkgpt.viewer.run_files import Names
from zorkgpt.viewer.server import serve

_STOP_S = 5
# The game comes first, where both want the same processor.
_NICENESS = 10


class BackgroundPage:
    """Shows a run while it is played. Its address is known once it is made.

    Raises:
        ViewerError: the page can't be served.
    """

    def __init__(self, workdir: Path, *, names: Names | None = None) -> None:
        names = names or Names()
        command = [sys.executable, "-m", __name__, str(workdir.resolve()), names.log, names.memory]
        # A session of its own: a Ctrl-C is the game's, which then ends the page.
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        told = self._process.stdout.readline().strip()
        if not told.startswith("http"):
            self.close()
            raise ViewerError(told or "The page can't be served; `zorkgpt view` says why.")
        self.address = told
        self.process_id = self._process.pid

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> "BackgroundPage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _main(workdir: str, log: str, memory: str) -> None:
    with suppress(OSError):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    try:
        serve(Path(workdir), may_be_empty=True, names=Names(log, memory), ready=_tell)
    except ViewerError as error:
        _tell(str(error))


def _tell(line: str) -> None:
    print(line, flush=True)


def _end_with_the_parent() -> None:
    """The pipe ends when the parent closes it, or when it is gone, however that came about."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])

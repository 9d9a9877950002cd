"""The control episode: one episode without memory, played by the rules for comparison with a run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from zorkgpt.log import get_logger
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import Event

log = get_logger(__name__)

_WAIT_S = 30.0
"""Maximum wait of a finished run for its control episode."""


class ControlEpisode:
    """One episode without memory in a second process, which ends with the run and leaves no files.

    Args:
        story: The story file.
        log_name: The name of an episode's log.
    """

    def __init__(self, story: Path, seed: int, max_turns: int, log_name: str) -> None:
        self._log_name = log_name
        self._folder = tempfile.TemporaryDirectory(prefix="zorkgpt-control-", ignore_cleanup_errors=True)
        command = [sys.executable, "-m", "zorkgpt", "play", "--player", "rules", "--no-memory", "--episodes", "1"]
        command += ["--game", str(story.resolve()), "--seed", str(seed), "--max-turns", str(max_turns)]
        command += ["--delay", "0", "--workdir", self._folder.name, "--json"]
        paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is only for the run.
            start_new_session=True,
            # TMPDIR keeps the interpreter's temporary files in the folder.
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": self._folder.name},
        )

    def events(self) -> Sequence[Event]:
        """Wait for the end of the episode and return its events, or none if it failed."""
        try:
            code = self._process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            log.warning("control episode failed", extra={"exit_code": code})
            return ()
        return read_episode(Path(self._folder.name), 1, self._log_name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

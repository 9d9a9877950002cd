"""The control episode: one episode without memory, played by the rules for comparison with a run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from zorkgpt.log import get_logger
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import Event

log = get_logger(__name__)

_WAIT_S = 30.0
"""Maximum wait of a finished run for its control episode."""


@contextmanager
def control_episode(story: Path, seed: int, max_turns: int, log_name: str) -> Iterator[Callable[[], Sequence[Event]]]:
    """Play one episode without memory in a second process, which ends with the run and leaves no files.

    Args:
        story: The story file.
        log_name: The name of an episode's log.

    Yields:
        A function that waits for the end of the episode and returns its events, or none if it failed.
    """
    with tempfile.TemporaryDirectory(prefix="zorkgpt-control-", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "zorkgpt", "play", "--player", "rules", "--no-memory", "--episodes", "1"]
        command += ["--game", str(story.resolve()), "--seed", str(seed), "--max-turns", str(max_turns)]
        command += ["--delay", "0", "--workdir", folder, "--json"]
        paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is only for the run.
            start_new_session=True,
            # TMPDIR keeps the interpreter's temporary files in the folder.
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": folder},
        )

        def events() -> Sequence[Event]:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_WAIT_S)
            if process.returncode == 0:
                return read_episode(Path(folder), 1, log_name)
            log.warning("control episode failed", extra={"exit_code": process.returncode})
            return ()

        try:
            yield events
        finally:
            process.kill()
            process.wait()

"""Keep the folders of old episodes small: compress their logs, and delete files that are only for resuming."""

import logging
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from filelock import Timeout

from zorkgpt.errors import FileError
from zorkgpt.log_files import pack_log
from zorkgpt.run_folder import CHECKPOINT, MODEL_CALLS, TURN_JOURNAL, UNDO, episodes_in, run_directory
from zorkgpt.runlog.episodes import playing_lock

log = logging.getLogger("zorkgpt.runlog")


def pack_old_episodes(workdir: Path, keep: int, log_name: str) -> None:
    """Compress all episodes except the newest and the running ones.

    They can still be viewed and evaluated, but not resumed. Errors are logged.

    Args:
        keep: The number of episodes to leave unchanged.
    """
    for number in episodes_in(workdir)[:-keep]:
        directory = run_directory(workdir, number)
        logs = [path for name in (log_name, MODEL_CALLS) if (path := directory / name).is_file()]
        if not logs:
            continue
        try:
            with playing_lock(directory).acquire(timeout=0):
                _pack(directory, logs)
        except Timeout:
            # It is being played.
            continue
        except (OSError, FileError) as error:
            log.warning("an old episode was not compressed", extra={"path": str(directory), "reason": str(error)})


def _pack(directory: Path, logs: Iterable[Path]) -> None:
    # Delete the checkpoint first, because it refers to positions in the log.
    for name in (CHECKPOINT, TURN_JOURNAL):
        (directory / name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(directory / UNDO)
    for log_file in logs:
        pack_log(log_file)

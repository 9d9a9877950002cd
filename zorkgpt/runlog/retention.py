"""Keep the folders of old episodes small: compress their logs, and delete files that are only for resuming."""

import logging
from pathlib import Path

from filelock import Timeout

from zorkgpt.errors import ZorkGPTError
from zorkgpt.log_files import pack_log
from zorkgpt.record.events import FOR_RESUMING, Events
from zorkgpt.run_folder import MODEL_CALLS, episodes_in, run_directory
from zorkgpt.runlog.episodes import playing_lock

log = logging.getLogger("zorkgpt.runlog")


def pack_old_episodes(workdir: Path, events: Events, keep: int, log_name: str) -> None:
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
                # First, because it refers to positions in the log.
                events.remove(number, *FOR_RESUMING)
                for log_file in logs:
                    pack_log(log_file)
        except Timeout:
            # It is being played.
            continue
        except (OSError, ZorkGPTError) as error:
            log.warning("an old episode was not compressed", extra={"path": str(directory), "reason": str(error)})

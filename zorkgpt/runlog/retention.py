"""Keep the folders of old episodes small: compress their logs, and delete what only a resume would need."""

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from zorkgpt.errors import FileError
from zorkgpt.log_files import pack_log
from zorkgpt.run_folder import CHECKPOINT, MODEL_CALLS, TURN_JOURNAL, UNDO, episodes_in, run_directory
from zorkgpt.runlog.episodes import is_played

log = logging.getLogger("zorkgpt.runlog")


def pack_old_episodes(workdir: Path, keep: int, log_name: str) -> list[int]:
    """Pack all episodes but the newest, except those that a process plays, and return the packed ones.

    They can be viewed and evaluated as before, but not resumed. A folder that can't be written is logged and left.

    Args:
        keep: The number of episodes that stay as they are.
    """
    done = []
    for number in episodes_in(workdir)[:-keep]:
        directory = run_directory(workdir, number)
        logs = [path for name in (log_name, MODEL_CALLS) if (path := directory / name).is_file()]
        if not logs or is_played(directory):
            continue
        try:
            # First the checkpoint: it needs the log as it is.
            for name in (CHECKPOINT, TURN_JOURNAL):
                (directory / name).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.rmtree(directory / UNDO)
            for path in logs:
                pack_log(path)
        except (OSError, FileError) as error:
            log.warning("an old episode was not compressed", extra={"path": str(directory), "reason": str(error)})
            continue
        done.append(number)
    return done

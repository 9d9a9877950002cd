"""Which episode of a working directory can go on."""

from pathlib import Path

from filelock import Timeout

from managers.checkpoint_manager import FOR_GOOD, Saved, playing_lock, read_saved
from session import checkpoint
from zorkgpt.errors import CheckpointError
from zorkgpt.runlog.episodes import PATIENCE_S, episodes_in, last_end, read_events, run_directory
from zorkgpt.runlog.events import EpisodeEnded

_TAIL_BYTES = 1 << 16
"""Of a log; how an episode ended stands in its last line."""


def unfinished(workdir: Path, log_name: str, *, episode: int | None = None, max_turns: int | None = None) -> Saved:
    """The last episode that was cut short and that nobody plays, or the given one.

    Args:
        max_turns: how many turns it may have now; None: as many as it could have before.

    Raises:
        CheckpointError: there is none, it can't go on, or what was kept of it is damaged; the message says why.
    """
    why = {}
    for number in [episode] if episode is not None else reversed(episodes_in(workdir)):
        directory = run_directory(workdir, number)
        end = _end(directory / log_name)
        reason = _why_not(directory, end)
        if reason is None:
            saved = read_saved(directory)
            limit = max_turns or saved.checkpoint.run.max_turns
            # Without an end it was killed, at the latest while it was being closed.
            if saved.checkpoint.turn < limit or end is None:
                return saved
            reason = f"its limit of {limit} turns is reached; allow more with --max-turns"
        why[number] = reason
    if not why:
        raise CheckpointError(f"There is nothing to resume: no episode was played in {workdir}.")
    number, reason = next(iter(why.items()))
    which = f"Episode {number}" if episode is not None else f"There is nothing to resume: the last episode, {number},"
    raise CheckpointError(f"{which} can't go on: {reason}. Without --resume a new one begins.")


def _why_not(directory: Path, end: EpisodeEnded | None) -> str | None:
    """None: it was cut short."""
    if not directory.is_dir():
        return f"there is no {directory}"
    try:
        with playing_lock(directory).acquire(timeout=PATIENCE_S):
            pass
    except Timeout:
        return "another process plays it"
    if end is not None and end.reason in FOR_GOOD:
        return f"it is over ({end.reason})"
    return None if (directory / checkpoint.FILE_NAME).is_file() else "it was cut short before it began"


def _end(log: Path) -> EpisodeEnded | None:
    if not log.is_file():
        return None
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        if size > _TAIL_BYTES:
            file.readline()
        return last_end(read_events(log, after=file.tell()))

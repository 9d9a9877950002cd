"""Interrupted episodes on disk: read the saved state of one, and find the one to resume."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from session import checkpoint, journal
from session.checkpoint import Checkpoint, Run
from session.history import TurnRecord
from session.journal import JournalContent, TurnDecision
from zorkgpt.errors import CheckpointError, EpisodeInUse, WorkdirError
from zorkgpt.log_files import packed
from zorkgpt.run_folder import CHECKPOINT, TURN_JOURNAL, episodes_in, run_directory
from zorkgpt.runlog.episodes import PATIENCE_S, last_end, playing_lock, read_events, turns_in
from zorkgpt.runlog.events import FINAL_ENDINGS, EpisodeEnded

_TAIL_BYTES = 1 << 16
"""The bytes at the end of a log that are read for its last line, which contains the ending."""


@dataclass(frozen=True, slots=True)
class SavedEpisode:
    """An episode that can be resumed."""

    checkpoint: Checkpoint
    journal: JournalContent
    turns: dict[int, TurnRecord]
    """The turns in the log, by number."""

    def check(self, run: Run) -> None:
        """Check that the episode was started with the story and options of this run.

        Raises:
            CheckpointError: If it was not.
        """
        theirs, episode = self.checkpoint.run, self.checkpoint.episode
        if theirs.story != run.story:
            raise CheckpointError(
                f"Episode {episode} was played with another story: {theirs.title} "
                f"(sha256 {theirs.story[:12]}…, not {run.story[:12]}…), from {theirs.story_path}. Name it with --game."
            )
        for option in ("seed", "player", "remember"):
            was, now = getattr(theirs, option), getattr(run, option)
            if was != now:
                raise CheckpointError(f"Episode {episode} was started with {option} {was}, not {now}.")
        if run.remember and "memory" not in self.checkpoint.snapshots:
            raise CheckpointError(f"Episode {episode} can't be resumed: its memory is missing. Start a new episode.")

    @property
    def played(self) -> list[TurnRecord]:
        """The turns before the checkpoint, in order."""
        return [self.turns[turn] for turn in range(1, self.checkpoint.turn + 1)]

    @property
    def decided(self) -> dict[int, TurnDecision]:
        """The decisions after the checkpoint, which are played again without asking the player."""
        return {turn: each for turn, each in self.journal.decided.items() if turn > self.checkpoint.turn}


def read_saved(directory: Path, log_name: str) -> SavedEpisode:
    """Read and validate the saved state of an episode.

    Raises:
        CheckpointError: If it is missing, damaged or of a later version.
    """
    path, log = directory / CHECKPOINT, directory / log_name
    events = read_events(log) if log.is_file() else ()
    saved = SavedEpisode(
        checkpoint.read_checkpoint(path), journal.read_journal(directory / TURN_JOURNAL), turns_in(events)
    )
    if str(saved.checkpoint.episode) != directory.name:
        raise CheckpointError(f"The checkpoint {path} is of episode {saved.checkpoint.episode}, not of this one.")
    missing = set(range(1, saved.checkpoint.turn + 1)) - set(saved.turns)
    if missing:
        raise CheckpointError(f"The log {log} lacks turn {min(missing)}.")
    if not _ends_a_line(log, saved.checkpoint.log_bytes):
        raise CheckpointError(f"The log {log} was edited after the checkpoint was written. Undo the edit to resume.")
    return saved


def _ends_a_line(log: Path, position: int) -> bool:
    """Return whether a line of the log ends at this position. True if the log is shorter."""
    if position == 0 or not log.is_file():
        return True
    with _opened(log) as file:
        file.seek(position - 1)
        return file.read(1) in (b"\n", b"")


def _opened(log: Path) -> BinaryIO:
    try:
        return log.open("rb")
    except OSError as error:
        raise CheckpointError(f"The log {log} can't be read: {error.strerror}.") from None


def lock_for_playing(directory: Path) -> FileLock:
    """Claim the episode of a directory for this process and return its lock.

    Raises:
        EpisodeInUse: If another process plays it.
        WorkdirError: If the directory can't be written.
    """
    lock = playing_lock(directory)
    try:
        lock.acquire(timeout=PATIENCE_S)
    except Timeout:
        raise EpisodeInUse(f"Episode {directory.name} is being played by another process.") from None
    except OSError as error:
        raise WorkdirError(f"The folder of episode {directory.name} can't be written: {error.strerror}.") from None
    return lock


def find_resumable(
    workdir: Path, log_name: str, *, episode: int | None = None, max_turns: int | None = None
) -> SavedEpisode:
    """Return the given episode, or the last interrupted one that no process plays.

    Args:
        max_turns: The new limit of turns. Defaults to the limit that it was started with.

    Raises:
        CheckpointError: If there is none, or it can't be resumed.
    """
    reasons = {}
    for number in [episode] if episode is not None else reversed(episodes_in(workdir)):
        directory = run_directory(workdir, number)
        end = _end_of(directory / log_name)
        reason = _obstacle(directory, directory / log_name, end)
        if reason is None:
            saved = read_saved(directory, log_name)
            limit = max_turns or saved.checkpoint.run.max_turns
            # An episode without an end was killed. That may have happened after its last turn, while it was closed.
            if saved.checkpoint.turn < limit or end is None:
                return saved
            reason = f"its limit of {limit} turns is reached; allow more with --max-turns"
        reasons[number] = reason
    if not reasons:
        raise CheckpointError(f"There is nothing to resume: no episode was played in {workdir}.")
    number, reason = next(iter(reasons.items()))
    which = f"Episode {number}" if episode is not None else f"The last episode, {number},"
    raise CheckpointError(f"{which} can't be resumed: {reason}. Omit --resume to start a new episode.")


def _obstacle(directory: Path, log: Path, end: EpisodeEnded | None) -> str | None:
    """Return why the episode can't be resumed; None if it can."""
    if not directory.is_dir():
        return f"there is no {directory}"
    try:
        with playing_lock(directory).acquire(timeout=PATIENCE_S):
            pass
    except Timeout:
        return "another process plays it"
    if end is not None and end.reason in FINAL_ENDINGS:
        return f"it is over ({end.reason})"
    if packed(log).is_file():
        return "it is old, and its log was compressed"
    return None if (directory / CHECKPOINT).is_file() else "it was cut short before it began"


def _end_of(log: Path) -> EpisodeEnded | None:
    if not log.is_file():
        return None
    with _opened(log) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        if size > _TAIL_BYTES:
            file.readline()
        return last_end(read_events(log, after=file.tell()))

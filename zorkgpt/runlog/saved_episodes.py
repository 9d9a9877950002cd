"""Interrupted episodes: read the saved state of one, and find the one to resume."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from session.checkpoint import Checkpoint, Run, TurnDecision
from session.history import TurnRecord
from zorkgpt.bounded import RECORD, SAVED_FILE, parse_json
from zorkgpt.errors import CheckpointError, EpisodeInUse, WorkdirError
from zorkgpt.log_files import packed
from zorkgpt.memory.settings import MEMORY_FILE
from zorkgpt.memory.storage.addresses import open_record
from zorkgpt.record.events import FOR_RESUMING, EventKind, Events
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.runlog.episodes import PATIENCE_S, playing_lock
from zorkgpt.runlog.events import Event, from_record

_CHECKPOINT, _DECISION = TypeAdapter(Checkpoint), TypeAdapter(TurnDecision)
_LOGGED = (EventKind.TURN, EventKind.LOG, EventKind.PLAYED)


@dataclass(frozen=True, slots=True)
class SavedEpisode:
    """An episode that can be resumed."""

    episode: int
    checkpoint: Checkpoint
    opening: TurnRecord
    """The opening, as turn 0."""
    decision: TurnDecision | None
    """The decision after the checkpoint, which is played again without asking the player. None if there is none."""
    events: list[Event]
    """The events of the log before the checkpoint, in order."""
    log: list[str]
    """The lines of the log, without those after the checkpoint that are lost."""

    @property
    def played(self) -> list[TurnRecord]:
        """The turns before the checkpoint, in order."""
        return [event for event in self.events if isinstance(event, TurnRecord)]

    def check(self, run: Run) -> None:
        """Check that the episode was started with the story and options of this run.

        Raises:
            CheckpointError: If it was not.
        """
        theirs, episode = self.checkpoint.run, self.episode
        if theirs.story != run.story:
            raise CheckpointError(
                f"Episode {episode} was played with another story: {theirs.title} "
                f"(sha256 {theirs.story[:12]}…, not {run.story[:12]}…), from {theirs.story_path}. Name it with --game."
            )
        for option in ("seed", "player", "remember"):
            was, now = getattr(theirs, option), getattr(run, option)
            if was != now:
                raise CheckpointError(f"Episode {episode} was started with {option} {was}, not {now}.")
        if run.remember and self.checkpoint.memory is None:
            raise CheckpointError(f"Episode {episode} can't be resumed: its memory is missing. Start a new episode.")


def read_saved(events: Events, episode: int) -> SavedEpisode:
    """Read and validate the saved state of an episode.

    Raises:
        CheckpointError: If it is missing or malformed.
        MemoryStoreError: If the record can't be read.
    """
    checkpoint: Checkpoint | None = None
    opening: Event | None = None
    decision: TurnDecision | None = None
    read: list[Event] = []
    log: list[str] = []
    rows = events.of(episode, *FOR_RESUMING)
    last = max((at for at, row in enumerate(rows) if row.kind is EventKind.CHECKPOINT), default=-1)
    try:
        for at, row in enumerate(rows):
            content = parse_json(row.content, SAVED_FILE if at == last else RECORD, finite=row.kind not in _LOGGED)
            if at == last:
                checkpoint = _CHECKPOINT.validate_python(content)
            elif row.kind is EventKind.OPENING:
                opening = from_record(content)
            elif row.kind is EventKind.DECISION:
                decision = _DECISION.validate_python(content)
            elif at < last or row.kind is EventKind.PLAYED:
                log.append(row.content)
                if at < last and (event := from_record(content)) is not None:
                    read.append(event)
    except (ValueError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise CheckpointError(f"The record of episode {episode} is malformed: {reason}. Start a new episode.") from None
    if checkpoint is None or not isinstance(opening, TurnRecord):
        raise CheckpointError(f"Episode {episode} can't be resumed: it was cut short before it began.")
    saved = SavedEpisode(episode, checkpoint, opening, decision, read, log)
    if missing := set(range(1, checkpoint.turn + 1)) - {turn.turn for turn in saved.played}:
        raise CheckpointError(f"The record of episode {episode} lacks turn {min(missing)}. Start a new episode.")
    is_later = decision is not None and decision.turn > checkpoint.turn
    return saved if is_later else replace(saved, decision=None)


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


@contextmanager
def recorded_in(workdir: Path, memory: str = MEMORY_FILE) -> Iterator[Events]:
    """Open the record of a working directory for reading its events. It is never created.

    Args:
        memory: The name of the memory file, or the address of the memory.
    """
    with closing(open_record(workdir, memory)) as database:
        yield Events(database)


def can_be_resumed(workdir: Path, episode: int, memory: str = MEMORY_FILE) -> bool:
    """Return whether there are a folder and a checkpoint of an episode.

    Raises:
        MemoryStoreError: If the record can't be read.
    """
    if not run_directory(workdir, episode).is_dir():
        return False
    with recorded_in(workdir, memory) as events:
        return events.last(episode, EventKind.CHECKPOINT) is not None


def find_resumable(
    workdir: Path,
    log_name: str,
    memory: str = MEMORY_FILE,
    *,
    episode: int | None = None,
    max_turns: int | None = None,
) -> SavedEpisode:
    """Return the given episode, or the last interrupted one that no process plays.

    Args:
        memory: The name of the memory file, or the address of the memory.
        max_turns: The new limit of turns. Defaults to the limit that it was started with.

    Raises:
        CheckpointError: If there is none, or it can't be resumed.
        MemoryStoreError: If the record can't be read.
    """
    reasons = {}
    with recorded_in(workdir, memory) as events:
        for number in [episode] if episode is not None else reversed(episodes_in(workdir)):
            directory = run_directory(workdir, number)
            reason = _obstacle(directory, events, directory / log_name)
            if reason is None:
                saved = read_saved(events, number)
                limit = max_turns or saved.checkpoint.run.max_turns
                # An episode without an end was killed. That may have happened after its last turn.
                if saved.checkpoint.turn < limit or events.last(number, EventKind.TRAIL) is None:
                    return saved
                reason = f"its limit of {limit} turns is reached; allow more with --max-turns"
            reasons[number] = reason
    if not reasons:
        raise CheckpointError(f"There is nothing to resume: no episode was played in {workdir}.")
    number, reason = next(iter(reasons.items()))
    which = f"Episode {number}" if episode is not None else f"The last episode, {number},"
    raise CheckpointError(f"{which} can't be resumed: {reason}. Omit --resume to start a new episode.")


def _obstacle(directory: Path, events: Events, log: Path) -> str | None:
    """Return why the episode can't be resumed; None if it can."""
    if not directory.is_dir():
        return f"there is no {directory}"
    try:
        with playing_lock(directory).acquire(timeout=PATIENCE_S):
            pass
    except Timeout:
        return "another process plays it"
    if events.last(int(directory.name), EventKind.CHECKPOINT) is not None:
        return None
    if packed(log).is_file():
        return "it is old, and its log was compressed"
    is_over = events.last(int(directory.name), EventKind.TRAIL) is not None
    return "it is over" if is_over else "it was cut short before it began, or an earlier version has played it"

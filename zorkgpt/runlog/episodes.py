"""The episodes in a working directory: write, read, replay and compress their logs, and detect running ones."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from filelock import FileLock, Timeout

from session.history import TurnRecord
from session.outcome import failed
from zorkgpt.bounded import RECORD, lines_of, parse_json
from zorkgpt.directions import exit_name
from zorkgpt.errors import ConfigurationError, FileError, WorkdirError, ZorkGPTError
from zorkgpt.llm.usage import CallRecord
from zorkgpt.log_files import UNREADABLE, has_log, open_log, pack_log
from zorkgpt.record.events import FOR_RESUMING, Events
from zorkgpt.run_folder import EPISODE_LOG, MODEL_CALLS, episodes_in, run_directory
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted, Event, ModelCalled, from_record

log = logging.getLogger("zorkgpt.runlog")

LOCK = "playing.lock"
"""A file in the episode's folder, locked while a process plays the episode."""
PATIENCE_S = 0.2
"""The timeout of the lock. A process that only checks it holds it for an instant."""


def claim_run_directory(workdir: Path, episode: int) -> bool:
    """Create the folder of an episode and return True; False if it exists, because another process has claimed it.

    Raises:
        WorkdirError: If the working directory can't be written.
    """
    try:
        run_directory(workdir, episode).mkdir(parents=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise WorkdirError(
            f"The working directory {workdir} can't be written: {error.strerror}. Name another with --workdir."
        ) from None
    return True


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a log. Incomplete or invalid lines are skipped and logged.

    Raises:
        FileError: If the log can't be read.
    """
    for number, line in enumerate(_lines(path), 1):
        try:
            event = from_record(parse_json(line.decode("utf-8", "replace"), RECORD))
        except (ValueError, TypeError, AttributeError) as error:
            log.warning(
                "a line of the run log is unreadable", extra={"path": str(path), "line": number, "why": str(error)}
            )
            continue
        if event is not None:
            yield event


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_log(path) as file:
            yield from lines_of(file, RECORD)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"The log {path} can't be read: {reason}.") from None


def read_episode(workdir: Path, episode: int, file_name: str = EPISODE_LOG) -> list[Event]:
    """Return the events of an episode; an empty list without a log."""
    path = run_directory(workdir, episode) / file_name
    return list(read_events(path)) if has_log(path) else []


def turns_in(events: Iterable[Event]) -> dict[int, TurnRecord]:
    """Return the turns by number, in order. For turns that were played again, return the last record."""
    played = {event.turn: event for event in events if isinstance(event, TurnRecord)}
    return dict(sorted(played.items()))


def last_end(events: Iterable[Event]) -> EpisodeEnded | None:
    """Return the last end of an episode; None if it is running or was killed."""
    end: EpisodeEnded | None = None
    for event in events:
        if isinstance(event, EpisodeEnded):
            end = event
        elif isinstance(event, EpisodeResumed):
            end = None
    return end


def append_line(path: Path, line: bytes, *, creates: bool = False) -> None:
    """Append a line to a log, after a line break if somebody has cut the last line short.

    Args:
        line: The line without its end.
        creates: Whether to create the log and its folder if they don't exist.

    Raises:
        OSError: If the log does not exist or can't be written.
    """
    if creates:
        path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b" if creates else "r+b") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        end = b"" if file.read(1) in (b"", b"\n") else b"\n"
        file.write(end + line + b"\n")


def playing_lock(directory: Path) -> FileLock:
    """Return the lock of the process that plays the episode. The system releases it if the process is killed."""
    return FileLock(directory / LOCK, thread_local=False)


def is_played(directory: Path) -> bool | None:
    """Return whether a process is playing the episode; None if unknown."""
    try:
        import fcntl

        with (directory / LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except (ImportError, OSError):
        # The system has no such locks, or there is no lock file.
        return None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Counts of one episode's actions."""

    actions: int
    failed: int
    repeated: int
    """Failed actions that had failed at the same place before, in this or an earlier episode."""

    @property
    def repeated_share(self) -> float:
        """The share of repeated failures in all actions, in [0, 1]."""
        return self.repeated / self.actions if self.actions else 0.0


def count_failures(episodes: Iterable[Iterable[Event]]) -> Iterator[FailureCount]:
    """Count the failures of each episode. Episodes must be in order, from the first one."""
    failed_before: set[tuple[int | None, str]] = set()
    for events in episodes:
        turns = list(turns_in(events).values())
        failures = [(turn.before.location_id, exit_name(turn.action)) for turn in turns if failed(turn.transition)]
        yield FailureCount(len(turns), len(failures), repeated_failures(failures, failed_before))


def repeated_failures(failures: Iterable[tuple[int | None, str]], failed_before: set[tuple[int | None, str]]) -> int:
    """Count the failures, as location and action, that happened before, and add them to `failed_before`."""
    repeated = 0
    for failure in failures:
        repeated += failure in failed_before
        failed_before.add(failure)
    return repeated


def turns_to_scores(turns: Iterable[TurnRecord]) -> dict[int, int]:
    """Return each new highest score → the turn that reached it."""
    scored: dict[int, int] = {}
    best = 0
    for turn in turns:
        if turn.after.score is not None and turn.after.score > best:
            best = turn.after.score
            scored[best] = turn.turn
    return scored


def played_turns(workdir: Path, episode: int, file_name: str = EPISODE_LOG) -> tuple[tuple[TurnRecord, ...], str]:
    """Return the turns of an episode, and the reason why it ended; "" if unknown.

    Raises:
        FileError: If the log can't be read.
    """
    events = read_episode(workdir, episode, file_name)
    reason = next((event.reason for event in reversed(events) if isinstance(event, EpisodeEnded)), "")
    return tuple(turns_in(events).values()), reason


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


AppliedAnswers = Mapping[tuple[int, int], Sequence[str]]
"""Episode and turn → the names of the questions whose answers were applied after its action, in order. Answers applied
after the last turn have the next turn number."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The data for repeating a run."""

    started: EpisodeStarted
    """The start of its first episode."""
    episodes: int
    calls: tuple[CallRecord, ...]
    """All calls, oldest first."""
    answers: AppliedAnswers | None = None
    """None if every question was answered at once."""


def recording_in(workdir: Path) -> Recording:
    """Read the run in a folder.

    Raises:
        ConfigurationError: If the folder has no run from its first episode on, or no model was asked in it.
    """
    numbers = episodes_in(workdir)
    events = read_episode(workdir, 1)
    started = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    logs = (run_directory(workdir, number) / MODEL_CALLS for number in numbers)
    asked = (event for log in logs if has_log(log) for event in read_events(log))
    calls = tuple(event.call for event in asked if isinstance(event, ModelCalled))
    if started is None or not calls:
        raise ConfigurationError(
            f"--replay {workdir}: there is no run of a model from its first episode on. Name the folder that contains "
            f"its runs/1/{MODEL_CALLS}."
        )
    answers = None
    if started.background:
        answers = dict(chain.from_iterable(_answers(read_episode(workdir, each)) for each in numbers))
    return Recording(started, len(numbers), calls, answers)


def _answers(events: Iterable[Event]) -> Iterator[tuple[tuple[int, int], tuple[str, ...]]]:
    for event in events:
        if isinstance(event, TurnRecord):
            yield (event.episode, event.turn), event.answers
        elif isinstance(event, EpisodeEnded):
            yield (event.episode, event.turns + 1), event.answers

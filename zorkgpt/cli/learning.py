"""Learning across the episodes of a folder: scores, repeated failures, and the most useful memories."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import maxsize

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.losses import loss_in
from zorkgpt.memory.models import NO_EFFECT, Category, Memory, MemoryKind, SubjectKey
from zorkgpt.memory.places import is_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.history import Trial
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import FailureCount, count_failures, last_end, read_episode, turns_in
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event, PlayerKind

TitleKey = tuple[SubjectKey, str]
"""The location and the title of a memory."""
_SHOWN_MEMORIES = 3


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """A finished episode."""

    end: EpisodeEnded
    failures: FailureCount
    rules_turns: int = 0
    """Turns chosen by the rules because the model gave no usable answer."""


@dataclass(frozen=True, slots=True)
class UsefulMemory:
    """A memory that the player followed with success."""

    title: str
    place: str
    followed: int
    worked: int
    points: int
    """Points scored in the turns in which it worked."""


@dataclass(frozen=True, slots=True)
class Learning:
    """The finished episodes and their most useful memories."""

    episodes: tuple[PlayedEpisode, ...]
    memories: tuple[UsefulMemory, ...]
    """Best first."""
    control: FailureCount | None = None
    """Failures of the control episode, counted as a second episode without memory. None if none was played."""


def learning_of(workdir: Path, log_name: str, memories: Path | str, control: Sequence[Event] = ()) -> Learning:
    """Measure the learning across the episodes of a folder.

    Args:
        memories: The memory file, or the address of a PostgreSQL database.
        control: The events of the control episode, if there was one.
    """
    numbers = episodes_in(workdir)
    known, every_trial = _memories_and_trials(memories)
    # Other folders that share the memory use other episode numbers.
    trials = [trial for trial in every_trial if trial.episode in numbers]
    gains: dict[tuple[int | str, int], int] = {}
    # The end of each episode, and the number of turns in which the rules replaced its player.
    played: list[tuple[EpisodeEnded | None, int]] = []

    def logs() -> Iterator[Sequence[Event]]:
        for number in numbers:
            events = read_episode(workdir, number, log_name)
            turns = turns_in(events).values()
            gains.update(((turn.episode, turn.turn), turn.transition.points) for turn in turns)
            player = next((event.player for event in events if isinstance(event, EpisodeStarted)), "")
            played.append((last_end(events), sum(turn.player == PlayerKind.RULES != player for turn in turns)))
            yield events

    failures = list(count_failures(logs()))
    counted = zip(played, failures, strict=True)
    episodes = tuple(PlayedEpisode(end, failed, rules) for (end, rules), failed in counted if end is not None)
    control_failures = None
    if control and numbers:
        # As if the control episode were played after the folder's first episode.
        _, control_failures = count_failures([read_episode(workdir, numbers[0], log_name), control])
    return Learning(episodes, _useful_memories(known, trials, gains), control_failures)


def _memories_and_trials(memories: Path | str) -> tuple[list[LocatedMemory], list[Trial]]:
    try:
        with AgentMemory(path=memories) as manager:
            return manager.find(limit=maxsize), list(manager.store.journal.trials())
    except MemoryStoreError:
        # The run has already reported the error. The scores can still be shown.
        return [], []


def _useful_memories(
    memories: Iterable[LocatedMemory], trials: Iterable[Trial], gains: dict[tuple[int | str, int], int]
) -> tuple[UsefulMemory, ...]:
    by_title: dict[TitleKey, LocatedMemory] = {}
    for each in memories:
        by_title.setdefault((each.location_id, each.memory.title), each)
    by_memory: defaultdict[TitleKey, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_memory[trial.location_id, trial.title].append(trial)
    useful = []
    for (place, title), followed in by_memory.items():
        worked = [trial for trial in followed if trial.worked]
        located = by_title.get((place, title))
        points = sum(gains.get((trial.episode, trial.turn), 0) for trial in worked)
        if located is None or not _promises_gain(located.memory) or not worked or points < 0:
            continue
        if not is_place(place) or not located.location_name:
            continue
        useful.append(UsefulMemory(title, located.location_name, len(followed), len(worked), points))
    useful.sort(key=lambda memory: (memory.points, memory.worked), reverse=True)
    return tuple(useful[:_SHOWN_MEMORIES])


def _promises_gain(memory: Memory) -> bool:
    """Return whether following the memory is meant to help, unlike a warning of a loss or of a vain action."""
    is_warning = memory.kind is MemoryKind.DANGER or memory.category in (Category.DANGER, Category.FAILURE)
    return not is_warning and memory.outcome != NO_EFFECT and loss_in(memory.outcome) is None

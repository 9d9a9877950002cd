"""What the episodes of a folder show of learning: the score of each, and the memories that gained the most."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from session.history import TurnRecord
from zorkgpt.delegating_players import RULES
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.lasting import LastingMemories, heading_of
from zorkgpt.memory.storage.markdown import read_document, sidecar
from zorkgpt.memory.storage.tables import Trials
from zorkgpt.memory.storage.trials import Trial
from zorkgpt.memory.storage.versions import is_current, seen_first
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import FailureCount, count_failures, last_end, read_episode, turns_in
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event

TitleKey = tuple[SubjectKey, str]
"""The location and the title of a memory."""
_SHOWN_MEMORIES = 3


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode that has ended."""

    end: EpisodeEnded
    failures: FailureCount
    rules_turns: int = 0
    """The turns that the rules chose, since the model gave no usable answer."""


@dataclass(frozen=True, slots=True)
class UsefulMemory:
    """A memory that the player followed."""

    title: str
    place: str
    learned_in: int | str
    """The episode that it was learned in."""
    shown: int
    """The turns in which the player was shown it."""
    followed: int
    worked: int
    points: int
    """What was scored in the turns in which it was followed."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Episodes that have ended, and the memories that they gained from."""

    episodes: tuple[PlayedEpisode, ...]
    memories: tuple[UsefulMemory, ...]
    """The most useful memories, best first."""
    control: FailureCount | None = None
    """The failures of the control episode as a second episode without memory of the first; None if none was played."""


def learning_of(workdir: Path, log_name: str, memories: Path | str, control: Sequence[Event] = ()) -> Learning:
    """Read what the episodes of a folder show of learning.

    Args:
        memories: The memory file, or the address of a PostgreSQL database.
        control: The events of the control episode, if there was one.
    """
    document, trials = _remembered(memories)
    numbers = episodes_in(workdir)
    shown: Counter[TitleKey] = Counter()
    gains: dict[tuple[int | str, int], int] = {}
    followed = {(one.location_id, one.title) for one in trials}
    ends: list[tuple[EpisodeEnded, str, list[TurnRecord]]] = []

    def logs() -> Iterable[Sequence[Event]]:
        for number in numbers:
            events = read_episode(workdir, number, log_name)
            turns = list(turns_in(events).values())
            for turn in turns:
                shown.update(key for key in followed if key[0] == turn.before.location_id and _is_shown(key[1], turn))
                gains[turn.episode, turn.turn] = turn.transition.points
            if (end := last_end(events)) is not None:
                player = next((event.player for event in events if isinstance(event, EpisodeStarted)), "")
                ends.append((end, player, turns))
            yield events

    failures = {count.episode: count for count in count_failures(logs())}
    episodes = tuple(
        PlayedEpisode(
            end,
            failures.get(end.episode) or FailureCount(end.episode, 0, 0, 0),
            sum(turn.player == RULES != player for turn in turns),
        )
        for end, player, turns in ends
    )
    compared = _control_failures(read_episode(workdir, numbers[0], log_name), control) if numbers else None
    return Learning(episodes, _useful_memories(document, trials, gains, shown), compared)


def _control_failures(first: Sequence[Event], control: Sequence[Event]) -> FailureCount | None:
    """Count the failures of the control episode as if it were the second one, after the first of the folder."""
    counts = list(count_failures([first, control]))
    return counts[-1] if control and len(counts) > 1 else None


def _remembered(memories: Path | str) -> tuple[LastingMemories, list[Trial]]:
    if isinstance(memories, Path):
        document = read_document(memories) if memories.is_file() else Document()
        return document, list(Trials(sidecar(memories)).trials())
    try:
        with AgentMemory(path=memories) as manager:
            # Of other machines there are no logs here, and their episodes have other numbers.
            return manager.store.document, list(manager.store.trials.own_trials())
    except MemoryStoreError:
        # The run has reported it; the scores can be shown anyway.
        return Document(), []


def _is_shown(title: str, turn: TurnRecord) -> bool:
    return f"] {title}:" in turn.memory_shown


def _useful_memories(
    lasting: LastingMemories, trials: Iterable[Trial], gains: dict[tuple[int | str, int], int], shown: Counter[TitleKey]
) -> tuple[UsefulMemory, ...]:
    by_memory: defaultdict[TitleKey, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_memory[trial.location_id, trial.title].append(trial)
    found = []
    for (place, title), its in by_memory.items():
        kept = [one for one in lasting.memories(place) if one.title == title and is_current(one)]
        if not kept or not any(trial.worked for trial in its):
            continue
        found.append(
            UsefulMemory(
                title=title,
                place=heading_of(lasting, place).name,
                learned_in=_first_episode(kept[0]),
                shown=max(shown[place, title], len(its)),
                followed=len(its),
                worked=sum(trial.worked for trial in its),
                points=sum(gains.get((trial.episode, trial.turn), 0) for trial in its if trial.worked),
            )
        )
    found.sort(key=lambda one: (one.points, one.worked), reverse=True)
    return tuple(found[:_SHOWN_MEMORIES])


def _first_episode(memory: Memory) -> int | str:
    return memory.episode if memory.first_episode is None else seen_first(memory).episode

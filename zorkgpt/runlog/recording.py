"""A recorded run with a model: its options and the answers of its models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from session.history import TurnRecord
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.usage import CallRecord
from zorkgpt.log_files import has_log
from zorkgpt.run_folder import MODEL_CALLS, episodes_in, run_directory
from zorkgpt.runlog.episodes import read_episode, read_events
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event, ModelCalled

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

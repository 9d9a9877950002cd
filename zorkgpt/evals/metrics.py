"""What a run comes to, by what it has left in its folder: figures of each episode, and of the run as a whole."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from zorkgpt.evals.runs import EpisodeFiles, EvaluationRun
from zorkgpt.evals.truth import Key, ShownMemories, read_shown
from zorkgpt.memory.storage.trials import TrialFile
from zorkgpt.runlog.episodes import (
    MODEL_CALLS,
    FailureCount,
    count_failures,
    last_end,
    read_episode,
    read_events,
    turns_to_scores,
)
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event, ModelCalled, TurnPlayed


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """What one role's calls to its model took."""

    calls: int = 0
    tokens: int = 0
    """Read and written, as far as the server said."""
    cost: float | None = 0.0
    """None: a call's cost is not known."""
    seconds: float = 0.0

    def plus(self, other: "RoleUsage") -> "RoleUsage":
        """Return both together."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return RoleUsage(self.calls + other.calls, self.tokens + other.tokens, cost, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """The figures of one episode."""

    episode: int
    """Counted from 1 in its run."""
    directory: str
    """Where it lies, seen from the folder of the evaluation."""
    seed: int
    reason: str
    turns: int
    score: int | None
    """At the end."""
    best_score: int | None
    """The highest at any turn."""
    max_score: int | None
    places: tuple[int, ...]
    """The locations that the player was at."""
    deaths: int
    failed: int
    repeated_failed: int
    scored: dict[int, int]
    """Each new highest score, with the turn in which it was reached."""
    score_turns: dict[int, int]
    shown: int
    """Memories that the player was shown, counted on every turn."""
    decided: int
    """Of those, the ones that the object tree confirms or denies."""
    untrue: int
    """Of the decided, the denied ones without a note that says so."""
    undone: int
    """Memories of the places it came to that the restart before the episode had undone."""
    undone_shown: int
    """Of those, the ones that it was shown before it had learned them again."""
    followed: int
    """Times that the player did what a shown memory speaks of."""
    worked: int
    """Of those, the ones that came out as the memory says."""
    usage: dict[str, RoleUsage] = field(default_factory=dict)
    """By role."""
    seconds: float = 0.0
    """From the beginning to the end; what lay between an interruption and the next session counts too."""
    turn_seconds: float = 0.0
    """Of all turns, models included."""

    @property
    def share(self) -> float | None:
        """The final score as a share of the maximum."""
        return _share(self.score, self.max_score)

    @property
    def repeated_share(self) -> float:
        """The share of repeated failures in all actions."""
        return self.repeated_failed / self.turns if self.turns else 0.0


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of a run."""

    run: EvaluationRun
    episodes: tuple[EpisodeFigures, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a whole run, and how it is shown."""

    name: str
    """As in the JSON and CSV files."""
    label: str
    of: Callable[[Sequence[EpisodeFigures]], float | None]
    """None: it does not apply, or is not known."""
    unit: str = ""
    """"%": the value is a share, and shown in percent."""

    def shown(self, value: float) -> str:
        """Return the value for people."""
        return f"{100 * value:.1f} %" if self.unit == "%" else f"{value:,.4g}"


def figures_of(run: EvaluationRun) -> RunFigures:
    """Read what a run has left; only its finished episodes count."""
    played = run.played()
    name = run.config.episode_log_file
    logs = [read_episode(files.workdir, files.number, name) for files in played]
    failures = _failures(logs)
    rows = zip(played, logs, failures, strict=True)
    return RunFigures(
        run,
        tuple(_episode(run, number, files, events, failed) for number, (files, events, failed) in enumerate(rows, 1)),
    )


def _failures(logs: Sequence[Sequence[Event]]) -> list[FailureCount]:
    """Return a count for each log, in order, also for those without turns."""
    counted = iter(count_failures(logs))
    return [
        next(counted) if any(isinstance(event, TurnPlayed) for event in events) else FailureCount(0, 0, 0, 0)
        for events in logs
    ]


def _episode(
    run: EvaluationRun, number: int, files: EpisodeFiles, events: Sequence[Event], failed: FailureCount
) -> EpisodeFigures:
    begun = next(event for event in events if isinstance(event, EpisodeStarted))
    end = last_end(events)
    assert end is not None
    turns = [event for event in events if isinstance(event, TurnPlayed)]
    shown = list(read_shown(files.directory))
    followed, worked = _trials(run, files)
    places = _places(begun, turns)
    undone = [key for row in shown for key in row.undone_keys]
    return EpisodeFigures(
        episode=number,
        directory=files.directory.relative_to(run.root).as_posix(),
        seed=begun.seed,
        reason=end.reason,
        turns=end.turns,
        score=end.score,
        best_score=max((turn.score for turn in turns if turn.score is not None), default=end.score),
        max_score=end.max_score,
        places=tuple(sorted(places)),
        deaths=end.deaths,
        failed=failed.failed,
        repeated_failed=failed.repeated,
        scored=turns_to_scores(turns),
        score_turns={turn.turn: turn.score for turn in _changes(turns) if turn.score is not None},
        shown=sum(row.shown for row in shown),
        decided=sum(row.decided for row in shown),
        untrue=sum(row.untrue for row in shown),
        undone=sum(place in places for place, _, _ in undone),
        undone_shown=_still_shown(undone, shown, turns),
        followed=followed,
        worked=worked,
        usage=_usage(files),
        seconds=_seconds(begun, end),
        turn_seconds=sum(turn.duration_s for turn in turns),
    )


def _places(begun: EpisodeStarted, turns: Iterable[TurnPlayed]) -> set[int]:
    found = {begun.location_id, *(turn.location_after_id for turn in turns)}
    return {place for place in found if place is not None}


def _still_shown(undone: Sequence[Key], shown: Iterable[ShownMemories], turns: Iterable[TurnPlayed]) -> int:
    """Count the memories that were shown although a restart had undone them, and before they were learned again."""
    learned: dict[Key, int] = {}
    for turn in turns:
        for event in turn.memory_events:
            learned.setdefault((event["location_id"], event["title"], event["text"]), turn.turn)
    found = {undone[index] for row in shown for index in row.undone if row.turn <= learned.get(undone[index], row.turn)}
    return len(found)


def _changes(turns: Iterable[TurnPlayed]) -> list[TurnPlayed]:
    """Return the turns that changed the score."""
    return [turn for turn in turns if turn.score != turn.score_before]


def _trials(run: EvaluationRun, files: EpisodeFiles) -> tuple[int, int]:
    path = (files.workdir / run.config.memory_file).with_suffix(".trials.jsonl")
    trials = [one for one in TrialFile(path).trials() if str(one.episode) == str(files.number)]
    return len(trials), sum(one.worked for one in trials)


def _usage(files: EpisodeFiles) -> dict[str, RoleUsage]:
    path = files.directory / MODEL_CALLS
    used: dict[str, RoleUsage] = {}
    for call in read_events(path) if path.is_file() else ():
        if isinstance(call, ModelCalled):
            tokens = (call.prompt_tokens or 0) + (call.completion_tokens or 0)
            one = RoleUsage(1, tokens, call.cost, call.latency_s)
            used[call.role] = used.get(call.role, RoleUsage()).plus(one)
    return used


def _seconds(begun: EpisodeStarted, end: EpisodeEnded) -> float:
    return (datetime.fromisoformat(end.time) - datetime.fromisoformat(begun.time)).total_seconds()


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _mean(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) / len(given) if given else None


def _area(episodes: Sequence[EpisodeFigures]) -> float | None:
    return _mean(one.share for one in episodes)


def _best(episodes: Sequence[EpisodeFigures]) -> float | None:
    return max((one.best_score for one in episodes if one.best_score is not None), default=None)


def _best_share(episodes: Sequence[EpisodeFigures]) -> float | None:
    return _share(_best(episodes), episodes[0].max_score) if episodes else None


def _turns_to_half(episodes: Sequence[EpisodeFigures]) -> float | None:
    """Return the turn of the last episode in which half of its final score was reached first."""
    last = episodes[-1] if episodes else None
    if last is None or not last.score or last.score < 0:
        return None
    return min((turn for score, turn in last.scored.items() if 2 * score >= last.score), default=None)


def _ratio(part: str, whole: str) -> Callable[[Sequence[EpisodeFigures]], float | None]:
    """Return a function for the ratio of two fields, each summed over all episodes."""
    return lambda all_: _share(sum(getattr(one, part) for one in all_), sum(getattr(one, whole) for one in all_))


def _total(name: str) -> Callable[[Sequence[EpisodeFigures]], float | None]:
    """Return a function for the sum of a field over all roles and episodes; None if no model was asked."""

    def total(episodes: Sequence[EpisodeFigures]) -> float | None:
        values = [getattr(usage, name) for one in episodes for usage in one.usage.values()]
        return sum(values) if values else None

    return total


def _cost(episodes: Sequence[EpisodeFigures]) -> float | None:
    costs = [usage.cost for one in episodes for usage in one.usage.values()]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


METRICS: tuple[Metric, ...] = (
    Metric("area", "final scores, mean share of the maximum", _area, "%"),
    Metric("best_share", "highest score, share of the maximum", _best_share, "%"),
    Metric("first_score", "score of the first episode", lambda all_: all_[0].score if all_ else None),
    Metric("last_score", "score of the last episode", lambda all_: all_[-1].score if all_ else None),
    Metric("best_score", "highest score", _best),
    Metric("turns_to_half", "turns to half of the last score", _turns_to_half),
    Metric("places", "places seen in all episodes", lambda all_: len({place for one in all_ for place in one.places})),
    Metric("deaths", "deaths", lambda all_: sum(one.deaths for one in all_)),
    Metric("failed", "failed, of all actions", _ratio("failed", "turns"), "%"),
    Metric("repeated", "repeated failures, of all actions", _ratio("repeated_failed", "turns"), "%"),
    Metric("shown", "memories shown, for each turn", _ratio("shown", "turns")),
    Metric("untrue", "untrue, of the shown that can be decided", _ratio("untrue", "decided"), "%"),
    Metric("undone", "still shown, of what a restart undid", _ratio("undone_shown", "undone"), "%"),
    Metric("followed", "memories followed, for each turn", _ratio("followed", "turns")),
    Metric("worked", "worked, of the followed", _ratio("worked", "followed"), "%"),
    Metric("calls", "calls to models", _total("calls")),
    Metric("tokens", "tokens", _total("tokens")),
    Metric("cost", "cost", _cost),
    Metric("seconds", "seconds", lambda all_: sum(one.seconds for one in all_)),
    Metric("model_seconds", "of them waiting for models", _total("seconds")),
)
"""Everything that is told of a run."""


def roles_in(runs: Iterable[RunFigures]) -> dict[str, RoleUsage]:
    """Return what each role has used in all runs together."""
    total: dict[str, RoleUsage] = {}
    for run in runs:
        for one in run.episodes:
            for role, usage in one.usage.items():
                total[role] = total.get(role, RoleUsage()).plus(usage)
    return total

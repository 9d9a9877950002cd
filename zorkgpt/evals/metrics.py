"""Figures of each episode and metrics of a whole run, computed from the files in its folder."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import EvaluationFailed
from zorkgpt.evals.runs import EpisodeFiles, EvaluationRun
from zorkgpt.evals.truth import ShownMemories, StatementKey, read_shown
from zorkgpt.log_files import has_log
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.tables import Trials
from zorkgpt.run_folder import MODEL_CALLS
from zorkgpt.runlog.episodes import (
    FailureCount,
    count_failures,
    last_end,
    read_episode,
    read_events,
    turns_in,
    turns_to_scores,
)
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event, ModelCalled


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """What one role's calls to its model took."""

    calls: int = 0
    tokens: int = 0
    """Read and written, as far as the server said."""
    cost: float | None = 0.0
    """None if the cost of a call is unknown."""
    seconds: float = 0.0

    def plus(self, other: "RoleUsage") -> "RoleUsage":
        """Return both together."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return RoleUsage(self.calls + other.calls, self.tokens + other.tokens, cost, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class TruthCounts:
    """How the beliefs of an episode's places stand to the object tree; what each count means: `ShownMemories`."""

    stored: int = 0
    stored_true: int = 0
    points: int = 0
    points_known: int = 0
    updates: int = 0
    misled: int = 0
    omitted: int = 0
    stale: int = 0
    resolved: int = 0
    stale_turns: int = 0
    """Turns with a stale belief of the place."""
    acted_on_stale: int = 0
    """Of those, the turns whose action names a thing of one."""
    in_vain: int = 0
    """Of these, the turns whose action did nothing."""

    @classmethod
    def of(cls, rows: Sequence[ShownMemories]) -> "TruthCounts":
        """Add up what was written down of the turns."""
        names = ("stored", "stored_true", "points", "points_known", "updates", "misled", "omitted", "stale", "resolved")
        return cls(
            **{name: sum(getattr(row, name) for row in rows) for name in names},
            stale_turns=sum(row.stale > 0 for row in rows),
            acted_on_stale=sum(row.acted_on_stale for row in rows),
            in_vain=sum(row.in_vain for row in rows),
        )

    @property
    def updates_correct(self) -> int:
        return self.updates - self.misled - self.omitted

    @property
    def resisted_turns(self) -> int:
        """Return the turns with a stale belief on which the player did not act on it in vain."""
        return self.stale_turns - self.in_vain

    @property
    def adapted(self) -> int:
        """Return the turns whose action names a thing of a stale belief, and did something."""
        return self.acted_on_stale - self.in_vain


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
    earlier: int
    """Of those, the ones that an earlier episode has taught."""
    decided: int
    """Of the shown, the ones that the object tree confirms or denies."""
    untrue: int
    """Of the decided, the denied ones without a note that says so."""
    untrue_memories: int
    """The different memories among the untrue."""
    untrue_turns: int
    """For each of these, the turns from its first untrue showing to its last, both included; added up."""
    undone: int
    """Memories of the places it came to that the restart before the episode had undone."""
    undone_shown: int
    """Of those, the ones that it was shown before it had learned them again."""
    followed: int
    """Times that the player did what a shown memory speaks of."""
    worked: int
    """Of those, the ones that came out as the memory says."""
    truth: "TruthCounts"
    transcript: str = ""
    """SHA-256 of the action, location and score of each turn. Responses don't count: a story's random remarks would
    make identical games look different."""
    usage: dict[str, RoleUsage] = field(default_factory=dict)
    """By role."""
    parts_s: dict[str, float] = field(default_factory=dict)
    """Seconds by part of the loop, models included; empty in logs that did not record it."""
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

    @property
    def last(self) -> int:
        """The number of the last episode; 0 if there is none."""
        return max((one.episode for one in self.episodes), default=0)

    @property
    def transcript(self) -> tuple[str, ...]:
        """The transcripts of the episodes: equal for identical games."""
        return tuple(episode.transcript for episode in self.episodes)


class Group(StrEnum):
    """Which metrics stand together, with the heading above them."""

    SCORE = "Score"
    PLAY = "Play"
    SHOWN = "Memories shown"
    HALUMEM = "Memory accuracy in the terms of HaluMem, judged by the object tree"
    STALE = "Memory accuracy in the terms of STALE, judged by the object tree"
    COST = "Cost and time"


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a whole run, and how it is shown."""

    name: str
    """As in the JSON and CSV files."""
    group: Group
    label: str
    of: Callable[[Sequence[EpisodeFigures]], float | None]
    """None if it does not apply or is unknown."""
    unit: str = ""
    """"%": the value is a share, and shown in percent."""

    def shown(self, value: float) -> str:
        """Return the value for people."""
        if self.unit == "%":
            # Adding zero takes the sign from what is rounded to nothing.
            return f"{round(100 * value, 1) + 0.0:.1f} %"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def figures_of(run: EvaluationRun) -> RunFigures:
    """Read what a run has left; only its finished episodes count.

    Raises:
        EvaluationFailed: If turns are missing in a log. Other damage raises the error of reading it.
    """
    played = run.played()
    name = run.config.episode_log_file
    logs = [read_episode(files.workdir, files.number, name) for files in played]
    failures = _failures(logs)
    rows = zip(played, logs, failures, strict=True)
    return RunFigures(run, tuple(_episode(run, files, events, failed) for files, events, failed in rows))


def _failures(logs: Sequence[Sequence[Event]]) -> list[FailureCount]:
    """Return a count for each log, in order, also for those without turns."""
    counted = iter(count_failures(logs))
    return [
        next(counted) if any(isinstance(event, TurnRecord) for event in events) else FailureCount(0, 0, 0, 0)
        for events in logs
    ]


def _episode(run: EvaluationRun, files: EpisodeFiles, events: Sequence[Event], failed: FailureCount) -> EpisodeFigures:
    begun = next(event for event in events if isinstance(event, EpisodeStarted))
    end = last_end(events)
    assert end is not None
    by_number = turns_in(events)
    if len(by_number) != end.turns or not all(1 <= number <= end.turns for number in by_number):
        raise EvaluationFailed(f"turns are missing in the log of episode {files.episode}, {files.directory}")
    turns = tuple(by_number.values())
    scores = {turn.turn: score for turn in turns if (score := turn.after.score) is not None}
    played = [(turn.action, turn.after.location_id, turn.after.score) for turn in turns]
    shown = list(read_shown(files.directory))
    followed, worked = _trials(run, files)
    places = _places(begun, turns)
    undone = [key for row in shown for key in row.undone_keys]
    return EpisodeFigures(
        episode=files.episode,
        directory=files.directory.relative_to(run.root).as_posix(),
        seed=begun.seed,
        reason=end.reason,
        turns=end.turns,
        score=end.score,
        best_score=max(scores.values(), default=end.score),
        max_score=end.max_score,
        places=tuple(sorted(places)),
        deaths=end.deaths,
        failed=failed.failed,
        repeated_failed=failed.repeated,
        scored=turns_to_scores(turns),
        score_turns={turn.turn: scores[turn.turn] for turn in turns if turn.transition.points},
        shown=sum(row.shown for row in shown),
        earlier=sum(row.earlier for row in shown),
        decided=sum(row.decided for row in shown),
        untrue=sum(row.untrue for row in shown),
        untrue_memories=len(spans := _untrue_spans(shown)),
        untrue_turns=sum(spans),
        undone=sum(place in places for place, _, _ in undone),
        undone_shown=_still_shown(undone, shown, turns),
        followed=followed,
        worked=worked,
        truth=TruthCounts.of(shown),
        transcript=sha256(as_json(played)).hexdigest(),
        usage=_usage(files),
        parts_s=_parts(turns),
        seconds=_seconds(begun, end),
        turn_seconds=sum(turn.duration_s for turn in turns),
    )


def _places(begun: EpisodeStarted, turns: Iterable[TurnRecord]) -> set[int]:
    found = {begun.location_id, *(turn.after.location_id for turn in turns)}
    return {place for place in found if place is not None}


def _still_shown(undone: Sequence[StatementKey], shown: Iterable[ShownMemories], turns: Iterable[TurnRecord]) -> int:
    """Count the memories that were shown although a restart had undone them, and before they were learned again."""
    learned: dict[StatementKey, int] = {}
    for turn in turns:
        for event in turn.memory_events:
            if event.location_id is None:
                continue
            learned.setdefault((event.location_id, event.title, event.text), turn.turn)
    found = {undone[index] for row in shown for index in row.undone if row.turn <= learned.get(undone[index], row.turn)}
    return len(found)


def _untrue_spans(rows: Iterable[ShownMemories]) -> list[int]:
    """Return for each memory that was shown untrue the turns from the first time to the last, both included."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for row in rows:
        for one in row.untrue_ids:
            first.setdefault(one, row.turn)
            last[one] = row.turn
    return [last[one] - turn + 1 for one, turn in first.items()]


def _parts(turns: Iterable[TurnRecord]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for turn in turns:
        total.update(turn.parts_s)
    return dict(total)


def _trials(run: EvaluationRun, files: EpisodeFiles) -> tuple[int, int]:
    trials = list(Trials(sidecar(files.workdir / run.config.memory_file)).own_trials(files.number))
    return len(trials), sum(one.worked for one in trials)


def _usage(files: EpisodeFiles) -> dict[str, RoleUsage]:
    path = files.directory / MODEL_CALLS
    used: dict[str, RoleUsage] = {}
    for event in read_events(path) if has_log(path) else ():
        if isinstance(event, ModelCalled):
            call = event.call
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


def _of_truth(part: str, whole: str) -> Callable[[Sequence[EpisodeFigures]], float | None]:
    """Return a function for the ratio of two counts of truth, each summed over all episodes."""
    return lambda all_: _share(
        sum(getattr(one.truth, part) for one in all_), sum(getattr(one.truth, whole) for one in all_)
    )


def _resistance(episodes: Sequence[EpisodeFigures]) -> float | None:
    shown = _ratio("undone_shown", "undone")(episodes)
    return None if shown is None else 1 - shown


METRICS: tuple[Metric, ...] = (
    Metric("area", Group.SCORE, "mean final score, share of the maximum", _area, "%"),
    Metric("best_share", Group.SCORE, "highest score, share of the maximum", _best_share, "%"),
    Metric("first_score", Group.SCORE, "score of the first episode", lambda all_: all_[0].score if all_ else None),
    Metric("last_score", Group.SCORE, "score of the last episode", lambda all_: all_[-1].score if all_ else None),
    Metric("best_score", Group.SCORE, "highest score", _best),
    Metric("turns_to_half", Group.SCORE, "turns to half of the last score", _turns_to_half),
    Metric(
        "places",
        Group.PLAY,
        "places visited",
        lambda all_: len({place for one in all_ for place in one.places}),
    ),
    Metric("deaths", Group.PLAY, "deaths", lambda all_: sum(one.deaths for one in all_)),
    Metric("failed", Group.PLAY, "failed actions, share of all", _ratio("failed", "turns"), "%"),
    Metric("repeated", Group.PLAY, "repeated failures, share of all actions", _ratio("repeated_failed", "turns"), "%"),
    Metric("shown", Group.SHOWN, "memories shown per turn", _ratio("shown", "turns")),
    Metric("earlier", Group.SHOWN, "shown memories from earlier episodes", _ratio("earlier", "shown"), "%"),
    Metric(
        "untrue", Group.SHOWN, "untrue memories, share of the decidable ones shown", _ratio("untrue", "decided"), "%"
    ),
    Metric(
        "untrue_showings",
        Group.SHOWN,
        "times an untrue memory is shown",
        _ratio("untrue", "untrue_memories"),
    ),
    Metric(
        "untrue_turns",
        Group.SHOWN,
        "turns until an untrue memory is gone",
        _ratio("untrue_turns", "untrue_memories"),
    ),
    Metric(
        "undone", Group.SHOWN, "memories still shown after a restart undid them", _ratio("undone_shown", "undone"), "%"
    ),
    Metric("followed", Group.SHOWN, "shown memories that the player followed", _ratio("followed", "shown"), "%"),
    Metric("worked", Group.SHOWN, "followed memories that worked", _ratio("worked", "followed"), "%"),
    Metric(
        "extraction_precision",
        Group.HALUMEM,
        "extraction precision: stored memories that are true",
        _of_truth("stored_true", "stored"),
        "%",
    ),
    Metric(
        "extraction_recall",
        Group.HALUMEM,
        "extraction recall: visible facts that were stored",
        _of_truth("points_known", "points"),
        "%",
    ),
    Metric(
        "updates_correct",
        Group.HALUMEM,
        "updates correct: outdated memories withdrawn or annotated",
        _of_truth("updates_correct", "updates"),
        "%",
    ),
    Metric(
        "updates_hallucinated",
        Group.HALUMEM,
        "updates hallucinated: another untrue memory was stored",
        _of_truth("misled", "updates"),
        "%",
    ),
    Metric(
        "updates_omitted",
        Group.HALUMEM,
        "updates omitted: outdated memories left unchanged",
        _of_truth("omitted", "updates"),
        "%",
    ),
    Metric(
        "false_memory_resistance",
        Group.HALUMEM,
        "false memory resistance: undone memories not shown",
        _resistance,
        "%",
    ),
    Metric(
        "state_resolution",
        Group.STALE,
        "state resolution: stale memories not shown as true",
        _of_truth("resolved", "stale"),
        "%",
    ),
    Metric(
        "premise_resistance",
        Group.STALE,
        "premise resistance: turns with a stale memory and no failed action on it",
        _of_truth("resisted_turns", "stale_turns"),
        "%",
    ),
    Metric(
        "policy_adaptation",
        Group.STALE,
        "policy adaptation: actions on a thing of a stale memory that had an effect",
        _of_truth("adapted", "acted_on_stale"),
        "%",
    ),
    Metric("calls", Group.COST, "model calls", _total("calls")),
    Metric("tokens", Group.COST, "tokens", _total("tokens")),
    Metric("cost", Group.COST, "cost", _cost),
    Metric("seconds", Group.COST, "seconds", lambda all_: sum(one.seconds for one in all_)),
    Metric("model_seconds", Group.COST, "seconds of model calls", _total("seconds")),
)
"""All metrics of a run."""

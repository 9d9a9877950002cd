"""Figures of an episode and metrics of a run, computed from the files of the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter

from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import EvaluationFailed
from zorkgpt.evals.runs import EpisodeFiles, EvaluationRun
from zorkgpt.evals.truth import ShownMemories, StatementKey, read_shown
from zorkgpt.llm.usage import Tally
from zorkgpt.memory.parts import open_store
from zorkgpt.runlog.episodes import (
    FailureCount,
    count_failures,
    last_end,
    read_episode,
    turns_in,
    turns_to_scores,
)
from zorkgpt.runlog.events import EpisodeStarted, Event


@dataclass(frozen=True, slots=True)
class TruthCounts:
    """Counts of true and untrue memories, added up over the turns of an episode. See `ShownMemories`."""

    shown: int = 0
    earlier: int = 0
    decided: int = 0
    untrue: int = 0
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
    """Turns with a stale belief about the place."""
    acted_on_stale: int = 0
    """Of those, turns whose action mentions an object of a stale belief."""
    failed_on_stale: int = 0
    """Of those, turns whose action had no effect."""

    @classmethod
    def of(cls, rows: Sequence[ShownMemories]) -> "TruthCounts":
        """Return the sums of the counts of each turn."""
        counts = {
            each.name: sum(getattr(row, each.name) for row in rows)
            for each in fields(cls)
            if each.name != "stale_turns"
        }
        return cls(**counts, stale_turns=sum(row.stale > 0 for row in rows))

    @property
    def updates_correct(self) -> int:
        return self.updates - self.misled - self.omitted

    @property
    def resisted_turns(self) -> int:
        """Turns with a stale belief and no failed action based on it."""
        return self.stale_turns - self.failed_on_stale

    @property
    def adapted(self) -> int:
        """Turns whose action mentions an object of a stale belief and had an effect."""
        return self.acted_on_stale - self.failed_on_stale


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """The figures of one episode."""

    episode: int
    """Counted from 1 in the run."""
    directory: str
    """Relative to the folder of the evaluation."""
    seed: int
    reason: str
    turns: int
    score: int | None
    """The final score."""
    best_score: int | None
    """The highest score at any turn."""
    max_score: int | None
    places: tuple[int, ...]
    """The locations that the player visited."""
    deaths: int
    failed: int
    repeated_failed: int
    scored: dict[int, int]
    """Each new highest score → the turn in which it was reached."""
    score_turns: dict[int, int]
    """Each turn that changed the score → the score after it."""
    untrue_memories: int
    """The number of different untrue memories."""
    untrue_turns: int
    """For each untrue memory, the turns from its first to its last untrue showing, inclusive. Summed."""
    undone: int
    """Memories of visited places that the restart before the episode made untrue."""
    undone_shown: int
    """Of those, memories shown before they were learned again."""
    followed: int
    """Number of times that the player followed a shown memory."""
    worked: int
    """Of those, the times with the outcome that the memory predicts."""
    truth: "TruthCounts"
    transcript: str = ""
    """SHA-256 of the action, location and score of each turn. Without responses, because random remarks of a story
    would make identical games look different."""
    usage: dict[str, Tally] = field(default_factory=dict)
    """The model calls by role."""
    parts_s: dict[str, float] = field(default_factory=dict)
    """Seconds by part of the loop, including model calls. Empty if the log has no times."""
    seconds: float = 0.0
    """From the start to the end, including interruptions."""
    turn_seconds: float = 0.0
    """Total time of all turns, including model calls."""

    @property
    def share(self) -> float | None:
        """The final score as a share of the maximum."""
        return _share(self.score, self.max_score)

    @property
    def repeated_share(self) -> float:
        """Repeated failures as a share of all actions."""
        return self.repeated_failed / self.turns if self.turns else 0.0


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of a run."""

    run: EvaluationRun
    episodes: tuple[EpisodeFigures, ...]

    @property
    def last(self) -> int:
        """The number of the last episode, or 0 if there is none."""
        return max((episode.episode for episode in self.episodes), default=0)

    @property
    def transcript(self) -> tuple[str, ...]:
        """The transcripts of the episodes. Identical games have equal transcripts."""
        return tuple(episode.transcript for episode in self.episodes)


class Group(StrEnum):
    """A group of metrics, with its heading."""

    SCORE = "Score"
    PLAY = "Play"
    SHOWN = "Memories shown"
    HALUMEM = "Memory accuracy in the terms of HaluMem, judged by the object tree"
    STALE = "Memory accuracy in the terms of STALE, judged by the object tree"
    COST = "Cost and time"


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a run and its format."""

    name: str
    """The name in the JSON file."""
    group: Group
    label: str
    of: Callable[[Sequence[EpisodeFigures]], float | None]
    """Computes the value. None if it doesn't apply or is unknown."""
    unit: str = ""
    """"%" if the value is a share, to be shown in percent."""

    def shown(self, value: float) -> str:
        """Format a value."""
        if self.unit == "%":
            # Adding zero turns -0.0 into 0.0.
            return f"{round(100 * value, 1) + 0.0:.1f} %"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def figures_of(run: EvaluationRun) -> RunFigures:
    """Compute the figures of a run from its files. Only finished episodes count.

    Raises:
        EvaluationFailed: If turns, the beginning or the end are missing in a log.
            Other damage raises the error from reading the file.
    """
    played = run.played()
    name = run.config.episode_log_file
    logs = [read_episode(files.workdir, files.number, name) for files in played]
    rows = zip(played, logs, count_failures(logs), strict=True)
    return RunFigures(run, tuple(_episode(run, files, events, failed) for files, events, failed in rows))


def _episode(run: EvaluationRun, files: EpisodeFiles, events: Sequence[Event], failed: FailureCount) -> EpisodeFigures:
    start = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    end = last_end(events)
    if start is None or end is None:
        raise EvaluationFailed(f"the log of episode {files.episode} has no beginning or no end, {files.directory}")
    by_number = turns_in(events)
    if len(by_number) != end.turns or not all(1 <= number <= end.turns for number in by_number):
        raise EvaluationFailed(f"turns are missing in the log of episode {files.episode}, {files.directory}")
    turns = tuple(by_number.values())
    scores = {turn.turn: score for turn in turns if (score := turn.after.score) is not None}
    played = [(turn.action, turn.after.location_id, turn.after.score) for turn in turns]
    shown = list(read_shown(files.directory))
    followed, worked = _trials(run, files)
    places = _places(start, turns)
    untrue_spans = _untrue_spans(shown)
    undone = [key for row in shown for key in row.undone_keys]
    return EpisodeFigures(
        episode=files.episode,
        directory=files.directory.relative_to(run.root).as_posix(),
        seed=start.seed,
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
        untrue_memories=len(untrue_spans),
        untrue_turns=sum(untrue_spans),
        undone=sum(place in places for place, _, _ in undone),
        undone_shown=_undone_shown(undone, shown, turns),
        followed=followed,
        worked=worked,
        truth=TruthCounts.of(shown),
        transcript=sha256(as_json(played)).hexdigest(),
        usage={role: Tally.of_values(used) for role, used in end.metrics.get("model_usage", {}).items()},
        parts_s=_parts(turns),
        seconds=(datetime.fromisoformat(end.time) - datetime.fromisoformat(start.time)).total_seconds(),
        turn_seconds=sum(turn.duration_s for turn in turns),
    )


def _places(start: EpisodeStarted, turns: Iterable[TurnRecord]) -> set[int]:
    places = {start.location_id, *(turn.after.location_id for turn in turns)}
    return {place for place in places if place is not None}


def _undone_shown(undone: Sequence[StatementKey], shown: Iterable[ShownMemories], turns: Iterable[TurnRecord]) -> int:
    """Count the undone memories that were shown before they were learned again."""
    learned: dict[StatementKey, int] = {}
    for turn in turns:
        for event in turn.memory_events:
            if event.location_id is not None:
                learned.setdefault((event.location_id, event.title, event.text), turn.turn)
    keys = {undone[index] for row in shown for index in row.undone if row.turn <= learned.get(undone[index], row.turn)}
    return len(keys)


def _untrue_spans(rows: Iterable[ShownMemories]) -> list[int]:
    """Return for each untrue memory the number of turns from its first to its last showing, inclusive."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for row in rows:
        for identifier in row.untrue_ids:
            first.setdefault(identifier, row.turn)
            last[identifier] = row.turn
    return [last[identifier] - turn + 1 for identifier, turn in first.items()]


def _parts(turns: Iterable[TurnRecord]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for turn in turns:
        total.update(turn.parts_s)
    return dict(total)


def _trials(run: EvaluationRun, files: EpisodeFiles) -> tuple[int, int]:
    with closing(open_store(files.workdir / run.config.memory_file)) as store:
        trials = list(store.journal.trials(files.number))
    return len(trials), sum(trial.worked for trial in trials)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _area(episodes: Sequence[EpisodeFigures]) -> float | None:
    return _mean(episode.share for episode in episodes)


def _best(episodes: Sequence[EpisodeFigures]) -> float | None:
    return max((episode.best_score for episode in episodes if episode.best_score is not None), default=None)


def _best_share(episodes: Sequence[EpisodeFigures]) -> float | None:
    return _share(_best(episodes), episodes[0].max_score) if episodes else None


def _turns_to_half(episodes: Sequence[EpisodeFigures]) -> float | None:
    """Return the first turn of the last episode with at least half of its final score."""
    last = episodes[-1] if episodes else None
    if last is None or not last.score or last.score < 0:
        return None
    return min((turn for score, turn in last.scored.items() if 2 * score >= last.score), default=None)


def _ratio(part: str, whole: str) -> Callable[[Sequence[EpisodeFigures]], float | None]:
    """Return a function that computes the ratio of two fields, each summed over all episodes. See `attrgetter`."""
    parts, wholes = attrgetter(part), attrgetter(whole)
    return lambda episodes: _share(sum(map(parts, episodes)), sum(map(wholes, episodes)))


def _total(name: str) -> Callable[[Sequence[EpisodeFigures]], float | None]:
    """Return a function that sums a field over all roles and episodes. None without model calls."""

    def total(episodes: Sequence[EpisodeFigures]) -> float | None:
        values = [getattr(usage, name) for episode in episodes for usage in episode.usage.values()]
        return sum(values) if values else None

    return total


def _cost(episodes: Sequence[EpisodeFigures]) -> float | None:
    costs = [usage.whole_cost for episode in episodes for usage in episode.usage.values()]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


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
    Metric("places", Group.PLAY, "places visited", lambda all_: len({place for one in all_ for place in one.places})),
    Metric("deaths", Group.PLAY, "deaths", lambda all_: sum(one.deaths for one in all_)),
    Metric("failed", Group.PLAY, "failed actions, share of all", _ratio("failed", "turns"), "%"),
    Metric("repeated", Group.PLAY, "repeated failures, share of all actions", _ratio("repeated_failed", "turns"), "%"),
    Metric("shown", Group.SHOWN, "memories shown per turn", _ratio("truth.shown", "turns")),
    Metric("earlier", Group.SHOWN, "shown memories from earlier episodes", _ratio("truth.earlier", "truth.shown"), "%"),
    Metric(
        "untrue",
        Group.SHOWN,
        "untrue memories, share of the checkable ones shown",
        _ratio("truth.untrue", "truth.decided"),
        "%",
    ),
    Metric(
        "untrue_showings", Group.SHOWN, "times an untrue memory is shown", _ratio("truth.untrue", "untrue_memories")
    ),
    Metric(
        "untrue_turns", Group.SHOWN, "turns until an untrue memory is gone", _ratio("untrue_turns", "untrue_memories")
    ),
    Metric(
        "undone", Group.SHOWN, "memories still shown after a restart undid them", _ratio("undone_shown", "undone"), "%"
    ),
    Metric("followed", Group.SHOWN, "shown memories that the player followed", _ratio("followed", "truth.shown"), "%"),
    Metric("worked", Group.SHOWN, "followed memories that worked", _ratio("worked", "followed"), "%"),
    Metric(
        "extraction_precision",
        Group.HALUMEM,
        "extraction precision: stored memories that are true",
        _ratio("truth.stored_true", "truth.stored"),
        "%",
    ),
    Metric(
        "extraction_recall",
        Group.HALUMEM,
        "extraction recall: visible facts that were stored",
        _ratio("truth.points_known", "truth.points"),
        "%",
    ),
    Metric(
        "updates_correct",
        Group.HALUMEM,
        "updates correct: outdated memories withdrawn or annotated",
        _ratio("truth.updates_correct", "truth.updates"),
        "%",
    ),
    Metric(
        "updates_hallucinated",
        Group.HALUMEM,
        "updates hallucinated: another untrue memory was stored",
        _ratio("truth.misled", "truth.updates"),
        "%",
    ),
    Metric(
        "updates_omitted",
        Group.HALUMEM,
        "updates omitted: outdated memories left unchanged",
        _ratio("truth.omitted", "truth.updates"),
        "%",
    ),
    Metric(
        "false_memory_resistance", Group.HALUMEM, "false memory resistance: undone memories not shown", _resistance, "%"
    ),
    Metric(
        "state_resolution",
        Group.STALE,
        "state resolution: stale memories not shown as true",
        _ratio("truth.resolved", "truth.stale"),
        "%",
    ),
    Metric(
        "premise_resistance",
        Group.STALE,
        "premise resistance: turns with a stale memory and no failed action based on it",
        _ratio("truth.resisted_turns", "truth.stale_turns"),
        "%",
    ),
    Metric(
        "policy_adaptation",
        Group.STALE,
        "policy adaptation: actions on an object of a stale memory that had an effect",
        _ratio("truth.adapted", "truth.acted_on_stale"),
        "%",
    ),
    Metric("calls", Group.COST, "model calls", _total("calls")),
    Metric("tokens", Group.COST, "tokens", _total("tokens")),
    Metric("cost", Group.COST, "cost", _cost),
    Metric("seconds", Group.COST, "seconds", lambda all_: sum(one.seconds for one in all_)),
    Metric("model_seconds", Group.COST, "seconds of model calls", _total("latency_s")),
)
"""All metrics of a run."""

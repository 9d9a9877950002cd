"""The results of an evaluation: statistics over seeds, written as Markdown tables, JSON and CSV."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from session.stopwatch import Part
from zorkgpt.encoding import as_json
from zorkgpt.errors import reason_of
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.campaign import RunOutcome
from zorkgpt.evals.metrics import METRICS, Metric, RoleUsage, RunFigures, TruthCounts, figures_of
from zorkgpt.evals.protocols import Headline
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.llm.roles import Role
from zorkgpt.text import number_of, printable

_DRAWS = 10_000
_LEVEL = 95
_SEED = 0
"""Random seed of the bootstrap, so that equal values have equal intervals."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % percentile bootstrap interval."""

    mean: float
    low: float
    high: float
    count: int
    """The number of values. If it is 1, `low` and `high` equal the mean."""


def interval(values: Sequence[float]) -> Interval | None:
    """Return the mean with its bootstrap interval (Efron and Tibshirani, 1993). None if there are no values."""
    import numpy as np

    if not values:
        return None
    array = np.array(values, dtype=float)
    draws = np.random.default_rng(_SEED).choice(array, (_DRAWS, len(array))).mean(axis=1)
    low, high = np.percentile(draws, ((100 - _LEVEL) / 2, (100 + _LEVEL) / 2))
    return Interval(float(array.mean()), float(low), float(high), len(array))


_MAX_ROWS = 12
"""Maximum rows of the learning curve's table. If there are more episodes, the rows are evenly spaced."""
_MARKUP = frozenset("\\`*_{}[]<>()#+-.!|&~")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters at the start of a cell that make a spreadsheet interpret it as a formula."""


SAMPLE_LABEL = "different games"

Means = dict[tuple[Ablation, str], Interval]
_HEADLINES: dict[Headline, str] = {"area": "area", "best": "best_share"}
"""The name of each headline metric."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The size of the sample behind the figures of an ablation."""

    runs: int
    games: int
    """Different games. Runs with the same actions, locations and scores count as one game."""

    def __str__(self) -> str:
        return f"{self.games} of {number_of(self.runs, 'run', 'runs')}"


@dataclass(frozen=True, slots=True)
class StorySummary:
    """Statistics of the finished runs of one story, or of all stories."""

    title: str
    sha256: str
    """"" for all stories together."""
    samples: dict[Ablation, "Sample"]
    means: Means
    """Means over the different games, by ablation and metric. Unknown metrics are left out."""
    differences: Means
    """Whole memory minus the ablation, over the different pairs of games with the same seed."""
    scores: dict[Ablation, list[Interval | None]] = field(default_factory=dict)
    """The final score of each episode. Empty for all stories together."""
    repeated: dict[Ablation, list[Interval | None]] = field(default_factory=dict)
    """Repeated failures as a share of the actions of each episode. Empty for all stories together."""

    @property
    def ablations(self) -> tuple[Ablation, ...]:
        return tuple(self.samples)

    @property
    def has_curve(self) -> bool:
        """Whether there are several episodes to compare."""
        return max(map(len, self.scores.values()), default=0) > 1


@dataclass(frozen=True, slots=True)
class EvaluationResults:
    """The results of an evaluation."""

    runs: tuple[RunFigures, ...]
    failures: tuple[RunOutcome, ...]
    """The unfinished runs."""
    stories: tuple[StorySummary, ...]
    """A summary per story. If there are several, the last one is for all stories together."""
    metrics: tuple[Metric, ...]
    """All metrics. The headline metric of the protocol comes first."""


def results_of(outcomes: Sequence[RunOutcome]) -> EvaluationResults:
    """Read the files of the runs and compute statistics. Failed runs are listed but not counted."""
    read = [_read(outcome) for outcome in outcomes]
    runs = tuple(figures for figures in read if isinstance(figures, RunFigures))
    by_story: dict[str, list[RunFigures]] = {}
    for figures in runs:
        by_story.setdefault(figures.run.story.sha256, []).append(figures)
    stories = [_summary(of_story) for of_story in by_story.values()]
    if len(stories) > 1:
        means, differences = _compared(runs, [metric for metric in METRICS if metric.unit == "%"])
        stories.append(StorySummary("All stories", "", _samples(runs), means, differences))
    failures = tuple(outcome for outcome in read if isinstance(outcome, RunOutcome))
    headline = _HEADLINES[outcomes[0].run.protocol.headline]
    metrics = tuple(sorted(METRICS, key=lambda metric: metric.name != headline))
    return EvaluationResults(runs, failures, tuple(stories), metrics)


def _read(outcome: RunOutcome) -> RunFigures | RunOutcome:
    """Return the figures of a run, or an outcome with the failure if it is unfinished or can't be read."""
    if outcome.failure:
        return outcome
    run = outcome.run
    try:
        return figures_of(run)
    except Exception as error:
        # Damaged files of a run must not prevent the report of the others.
        return RunOutcome(run, f"It can't be read: {reason_of(error)}. To play it again, delete {run.folder}.")


def name_of(figures: RunFigures) -> str:
    """Return the printable name of a run's story."""
    return printable(figures.run.story.title or figures.run.story.path.stem)


def _summary(runs: Sequence[RunFigures]) -> StorySummary:
    means, differences = _compared(runs, METRICS)
    games = _by_ablation(runs)
    return StorySummary(
        title=name_of(runs[0]),
        sha256=runs[0].run.story.sha256,
        samples=_samples(runs),
        means=means,
        differences=differences,
        scores={ablation: _curve(played, "score") for ablation, played in games.items()},
        repeated={ablation: _curve(played, "repeated_share") for ablation, played in games.items()},
    )


def _by_ablation(runs: Iterable[RunFigures]) -> dict[Ablation, list[RunFigures]]:
    """Return the different games of each ablation. Of identical games, only the first is included."""
    games: dict[Ablation, dict[tuple[str, tuple[str, ...]], RunFigures]] = {}
    for figures in runs:
        run = figures.run
        games.setdefault(run.ablation, {}).setdefault((run.story.sha256, figures.transcript), figures)
    return {ablation: list(different.values()) for ablation, different in games.items()}


def _samples(runs: Sequence[RunFigures]) -> dict[Ablation, Sample]:
    counts = Counter(figures.run.ablation for figures in runs)
    return {ablation: Sample(counts[ablation], len(games)) for ablation, games in _by_ablation(runs).items()}


def _compared(runs: Sequence[RunFigures], metrics: Iterable[Metric]) -> tuple[Means, Means]:
    """Return the mean of each metric, and the difference of whole memory and ablation, paired by story and seed."""
    whole = {(each.run.story.sha256, each.run.seed): each for each in runs if each.run.ablation is Ablation.ON}
    pairs: dict[Ablation, dict[tuple[object, ...], tuple[RunFigures, RunFigures]]] = {}
    for figures in runs:
        run = figures.run
        on = whole.get((run.story.sha256, run.seed))
        if run.ablation is not Ablation.ON and on is not None:
            key = run.story.sha256, on.transcript, figures.transcript
            pairs.setdefault(run.ablation, {})[key] = on, figures
    different = _by_ablation(runs)
    means: Means = {}
    differences: Means = {}
    for metric in metrics:
        for ablation, games in different.items():
            values = [float(value) for game in games if (value := metric.of(game.episodes)) is not None]
            gaps = []
            for on, off in pairs.get(ablation, {}).values():
                value_on, value_off = metric.of(on.episodes), metric.of(off.episodes)
                if value_on is not None and value_off is not None:
                    gaps.append(float(value_on) - float(value_off))
            if mean := interval(values):
                means[ablation, metric.name] = mean
            if difference := interval(gaps):
                differences[ablation, metric.name] = difference
    return means, differences


def _curve(games: Sequence[RunFigures], field: str) -> list[Interval | None]:
    longest = max(game.last for game in games)
    curve = []
    for number in range(1, longest + 1):
        values = [getattr(each, field) for game in games for each in game.episodes if each.episode == number]
        curve.append(interval([float(value) for value in values if value is not None]))
    return curve


# As tables


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of a report."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    """A row with a single cell is the heading of a group."""
    is_trusted: bool = True
    """False if the cells contain text from story files or errors."""


def story_tables(story: StorySummary, metrics: Sequence[Metric]) -> list[ResultTable]:
    """Return the tables of a story: the means, the means by episode, and the differences to the whole memory."""
    samples = [SAMPLE_LABEL, *map(str, story.samples.values())]
    tables = [ResultTable("", ["", *story.ablations], [samples, *_grouped(story.means, story.ablations, metrics)])]
    if story.has_curve:
        tables.append(_by_episode(story))
    if story.differences:
        others = [ablation for ablation in story.ablations if ablation is not Ablation.ON]
        header = ["", *(f"on − {ablation}" for ablation in others)]
        rows = _grouped(story.differences, others, metrics)
        tables.append(ResultTable("Difference to the whole memory, paired by seed:", header, rows))
    return tables


def general_tables(results: EvaluationResults) -> dict[str, ResultTable]:
    """Return heading → table of model usage, times and unfinished runs, as far as there are any."""
    usage = [
        [
            ablation.value,
            role,
            f"{usage.calls:,}",
            f"{usage.tokens:,}",
            "unknown" if usage.cost is None else f"{usage.cost:.4f}",
            f"{usage.seconds:.0f}",
        ]
        for (ablation, role), usage in usage_by_role(results.runs).items()
    ]
    times = ms_by_part(results.runs)
    names = dict.fromkeys(name for parts in times.values() for name in parts)
    parts = [[name, *(f"{parts.get(name, 0):,.2f}" for parts in times.values())] for name in names]
    parts += [["total", *(f"{sum(parts.values()):,.2f}" for parts in times.values())]] if times else []
    failures = [
        [
            failed.run.story.title or failed.run.game.stem,
            failed.run.ablation.value,
            str(failed.run.seed),
            failed.failure,
        ]
        for failed in results.failures
    ]
    tables = {
        "Model usage by role": ResultTable("", ["ablation", "role", *_USAGE], usage),
        "Time by part (ms per turn)": ResultTable("", ["part", *times], parts),
        "Unfinished runs": ResultTable("", ["story", "ablation", "seed", "reason"], failures, is_trusted=False),
    }
    return {heading: table for heading, table in tables.items() if table.rows}


def tables(results: EvaluationResults) -> str:
    """Return the results as Markdown."""
    parts = []
    for story in results.stories:
        parts.append(f"## {escaped(story.title)}")
        for table in story_tables(story, results.metrics):
            parts += [*filter(None, [table.caption]), markdown_table(table.header, table.rows)]
    for heading, table in general_tables(results).items():
        rows = table.rows if table.is_trusted else [list(map(escaped, row)) for row in table.rows]
        parts += [f"## {heading}", markdown_table(table.header, rows)]
    return "\n\n".join(parts) + "\n"


def interval_text(metric: Metric, value: Interval | None) -> str:
    """Return a mean with its interval, such as `4.5 [3, 6]`, or "" if unknown."""
    if value is None:
        return ""
    mean = metric.shown(value.mean)
    return mean if value.count < 2 else f"{mean} [{metric.shown(value.low)}, {metric.shown(value.high)}]"


def _grouped(means: Means, ablations: Sequence[Ablation], metrics: Sequence[Metric]) -> list[list[str]]:
    """Return a row for each metric with a value, and a heading before each group, in the order of the first metrics."""
    rows: list[list[str]] = []
    for group in dict.fromkeys(metric.group for metric in metrics):
        group_rows = [
            [metric.label, *(interval_text(metric, means.get((ablation, metric.name))) for ablation in ablations)]
            for metric in metrics
            if metric.group is group and any((ablation, metric.name) in means for ablation in ablations)
        ]
        rows += [[group.value], *group_rows] if group_rows else []
    return rows


def _by_episode(story: StorySummary) -> ResultTable:
    count = max(map(len, story.scores.values()))
    step = -(-count // _MAX_ROWS)
    header = ["episode"]
    header += [f"score, {ablation}" for ablation in story.ablations]
    header += [f"repeated failures, {ablation}" for ablation in story.ablations]
    rows = []
    for at in sorted({*range(0, count, step), count - 1}):
        scores = [_at(story.scores[ablation], at) for ablation in story.ablations]
        repeated = [_at(story.repeated[ablation], at) for ablation in story.ablations]
        cells = ["" if score is None else f"{score.mean:.1f}" for score in scores]
        cells += ["" if share is None else f"{100 * share.mean:.1f} %" for share in repeated]
        rows.append([str(at + 1), *cells])
    return ResultTable("Mean by episode:", header, rows)


def _at(curve: Sequence[Interval | None], at: int) -> Interval | None:
    return curve[at] if at < len(curve) else None


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Untrusted text must be escaped. A row with a single cell is the heading of a group."""
    whole = [row if len(row) > 1 else [f"**{row[0]}**", *[""] * (len(header) - 1)] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in (header, *whole)]
    lines.insert(1, "| " + " | ".join("---" for _ in header) + " |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text as one line, with Markdown markup escaped."""
    plain = " ".join(printable(text).split())
    return "".join(f"\\{letter}" if letter in _MARKUP else letter for letter in plain)


# As files


def as_values(results: EvaluationResults) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {
        "runs": [
            {
                **_described(figures.run),
                "metrics": {metric.name: metric.of(figures.episodes) for metric in METRICS},
                "ms_by_part": next(iter(ms_by_part([figures]).values()), {}),
                "episodes": [asdict(episode) for episode in figures.episodes],
            }
            for figures in results.runs
        ],
        "failures": [{**_described(failed.run), "reason": failed.failure} for failed in results.failures],
        "stories": [
            {
                "title": story.title,
                "sha256": story.sha256,
                "samples": {ablation.value: asdict(sample) for ablation, sample in story.samples.items()},
                "means": _nested(story.means),
                "differences": _nested(story.differences),
                "episodes": {
                    "score": _curve_values(story.scores),
                    "repeated": _curve_values(story.repeated),
                },
            }
            for story in results.stories
        ],
    }


def _described(run: EvaluationRun) -> dict[str, Any]:
    return {**run.recorded(), "folder": run.folder.relative_to(run.root).as_posix()}


def _curve_values(curves: dict[Ablation, list[Interval | None]]) -> dict[str, list[dict[str, Any] | None]]:
    return {
        ablation.value: [None if mean is None else asdict(mean) for mean in curve] for ablation, curve in curves.items()
    }


def _nested(means: Means) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (ablation, name), mean in means.items():
        nested.setdefault(ablation.value, {})[name] = asdict(mean)
    return nested


def as_json_text(results: EvaluationResults) -> bytes:
    """Return the results as indented JSON."""
    values = as_values(results)
    for run in values["runs"]:
        for episode in run["episodes"]:
            for name in ("scored", "score_turns"):
                episode[name] = {str(key): value for key, value in episode[name].items()}
    return as_json(values, indented=True) + b"\n"


_COLUMNS = (
    *("episode", "directory", "reason", "turns", "score", "best_score", "max_score", "deaths", "failed"),
    *("repeated_failed", "shown", "earlier", "decided", "untrue", "untrue_memories", "untrue_turns"),
    *("undone", "undone_shown", "followed", "worked", "seconds"),
)
"""The fields of an episode that are copied to the CSV file."""
_TRUTH = tuple(each.name for each in fields(TruthCounts))
_USAGE = ("calls", "tokens", "cost", "seconds")
_METRIC = {metric.name: metric for metric in METRICS}


def as_csv(results: EvaluationResults) -> bytes:
    """Return a line for each episode."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    roles = sorted({role for _, role in usage_by_role(results.runs)})
    by_role = [f"{role}_{name}" for role in roles for name in _USAGE]
    counted = ("places", "calls", "tokens", "cost", *by_role, *(f"{part}_s".replace(" ", "_") for part in Part))
    writer.writerow(["story", "sha256", "protocol", "ablation", "seed", "player", *_COLUMNS, *_TRUTH, *counted])
    for figures in results.runs:
        run = figures.run
        identity = [name_of(figures), run.story.sha256, run.protocol.name, run.ablation.value, run.seed]
        for episode in figures.episodes:
            values: list[Any] = [*identity, run.choice.kind]
            values += [getattr(episode, column) for column in _COLUMNS]
            values += [getattr(episode.truth, column) for column in _TRUTH]
            values += [_METRIC[name].of([episode]) or 0 for name in ("places", "calls", "tokens")]
            values.append(_METRIC["cost"].of([episode]))
            usage = [episode.usage.get(role, RoleUsage()) for role in roles]
            values += [getattr(of_role, name) for of_role in usage for name in _USAGE]
            values += [episode.parts_s.get(part) for part in Part]
            writer.writerow([_cell(value) for value in values])
    return out.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    """Return the value of a CSV cell. Text that looks like a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


OUTSIDE = "before the first turn, after the last, and pauses"
"""The label of an episode's time outside its turns."""
_WAITED_FOR = (Role.AGENT, Role.CRITIC)
"""The roles whose answers the player waits for. The others are asked in the background."""


def usage_by_role(runs: Iterable[RunFigures]) -> dict[tuple[Ablation, str], RoleUsage]:
    """Return the usage of each role, summed over all runs of an ablation."""
    total: dict[tuple[Ablation, str], RoleUsage] = {}
    for figures in runs:
        for episode in figures.episodes:
            for role, usage in episode.usage.items():
                key = figures.run.ablation, role
                total[key] = total.get(key, RoleUsage()).plus(usage)
    return total


def ms_by_part(runs: Iterable[RunFigures]) -> dict[Ablation, dict[str, float]]:
    """Return the milliseconds per turn of each part, and of the models that the player waits for.

    They add up to the total time of the episodes. Ablations whose logs have no times are left out.
    """
    seconds: dict[Ablation, Counter[str]] = {}
    turns: Counter[Ablation] = Counter()
    for figures in runs:
        ablation = figures.run.ablation
        for episode in figures.episodes:
            if episode.parts_s:
                waited = {role: usage.seconds for role, usage in episode.usage.items() if role in _WAITED_FOR}
                parts = _parts_with_models(episode.parts_s, waited, episode.seconds)
                seconds.setdefault(ablation, Counter()).update(parts)
                turns[ablation] += episode.turns
    return {
        ablation: {name: 1000 * part / turns[ablation] for name, part in parts.items()}
        for ablation, parts in seconds.items()
        if turns[ablation]
    }


def _parts_with_models(parts_s: Mapping[str, float], waited_s: Mapping[str, float], total_s: float) -> dict[str, float]:
    """Split model calls off the player's part, and add the time outside the turns."""
    parts = {part.value: parts_s.get(part, 0.0) for part in Part}
    parts[Part.PLAYER] = max(0.0, parts[Part.PLAYER] - sum(waited_s.values()))
    models = {f"model, {role}": seconds for role, seconds in waited_s.items()}
    measured = sum(parts.values()) + sum(models.values())
    return parts | models | {OUTSIDE: max(0.0, total_s - measured)}

"""The results of an evaluation: statistics over seeds, written as Markdown tables, JSON and CSV."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from session.stopwatch import Part
from zorkgpt.encoding import as_json
from zorkgpt.errors import reason_of
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import RunOutcome
from zorkgpt.evals.metrics import METRICS, EpisodeFigures, Metric, RunFigures, figures_of
from zorkgpt.evals.protocols import Headline
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.llm.roles import Role
from zorkgpt.llm.usage import Tally
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
_SUMS = ("places", "calls", "tokens", "cost")
"""The metrics in the CSV file that are not fields of an episode."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters at the start of a cell that make a spreadsheet interpret it as a formula."""


SAMPLE_LABEL = "different games"

Means = dict[Ablation, dict[str, Interval]]
"""Ablation → metric → mean. Unknown metrics are left out."""
Curves = dict[Ablation, list[Interval | None]]
"""Ablation → mean for each episode, None if unknown."""
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
    """Over the different games."""
    differences: Means
    """Whole memory minus the ablation, over the different pairs of games with the same seed."""
    episodes: dict[str, Curves] = field(default_factory=dict)
    """`score`, the final score of each episode, and `repeated`, repeated failures as a share of its actions. Empty for
    all stories together."""

    @property
    def ablations(self) -> tuple[Ablation, ...]:
        return tuple(self.samples)

    @property
    def has_curve(self) -> bool:
        """Whether there are several episodes to compare."""
        return any(len(curve) > 1 for curves in self.episodes.values() for curve in curves.values())


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
    return StorySummary(
        title=name_of(runs[0]),
        sha256=runs[0].run.story.sha256,
        samples=_samples(runs),
        means=means,
        differences=differences,
        episodes={"score": _curves(runs, "score"), "repeated": _curves(runs, "repeated_share")},
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


def _compared(runs: Sequence[RunFigures], metrics: Sequence[Metric]) -> tuple[Means, Means]:
    """Return the mean of each metric, and the difference of whole memory and ablation, paired by story and seed."""
    whole = {(each.run.story.sha256, each.run.seed): each for each in runs if each.run.ablation is Ablation.ON}
    pairs: dict[Ablation, dict[tuple[object, ...], tuple[RunFigures, RunFigures]]] = {}
    for figures in runs:
        run = figures.run
        on = whole.get((run.story.sha256, run.seed))
        if run.ablation is not Ablation.ON and on is not None:
            key = run.story.sha256, on.transcript, figures.transcript
            pairs.setdefault(run.ablation, {})[key] = on, figures
    means = {ablation: _means(metrics, [[game] for game in games]) for ablation, games in _by_ablation(runs).items()}
    differences = {ablation: _means(metrics, list(games.values())) for ablation, games in pairs.items()}
    return means, differences


def _means(metrics: Iterable[Metric], games: Sequence[Sequence[RunFigures]]) -> dict[str, Interval]:
    """Return the mean of each metric over games, or over the differences of pairs of games."""
    means = {}
    for metric in metrics:
        values = []
        for together in games:
            known = [value for game in together if (value := metric.of(game.episodes)) is not None]
            if len(known) == len(together):
                values.append(known[0] - sum(known[1:]))
        if mean := interval(values):
            means[metric.name] = mean
    return means


def _curves(runs: Sequence[RunFigures], field: str) -> Curves:
    """Return the mean of a field of each episode, for each ablation."""
    numbers = range(1, max(figures.last for figures in runs) + 1)
    return {
        ablation: [
            interval(
                [
                    value
                    for game in games
                    for each in game.episodes
                    if each.episode == number and (value := getattr(each, field)) is not None
                ]
            )
            for number in numbers
        ]
        for ablation, games in _by_ablation(runs).items()
    }


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
            "unknown" if usage.whole_cost is None else f"{usage.cost:.4f}",
            f"{usage.latency_s:.0f}",
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
        "Model usage by role": ResultTable("", ["ablation", "role", "calls", "tokens", "cost", "seconds"], usage),
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
            [metric.label, *(interval_text(metric, means.get(each, {}).get(metric.name)) for each in ablations)]
            for metric in metrics
            if metric.group is group and any(metric.name in means.get(each, {}) for each in ablations)
        ]
        rows += [[group.value], *group_rows] if group_rows else []
    return rows


def _by_episode(story: StorySummary) -> ResultTable:
    columns = [
        (f"{label}, {ablation}", factor, unit, curve)
        for name, label, factor, unit in (("score", "score", 1, ""), ("repeated", "repeated failures", 100, " %"))
        for ablation, curve in story.episodes[name].items()
    ]
    count = len(columns[0][-1])
    step = -(-count // _MAX_ROWS)
    rows = [
        [
            str(at + 1),
            *(
                "" if (mean := curve[at]) is None else f"{factor * mean.mean:.1f}{unit}"
                for _, factor, unit, curve in columns
            ),
        ]
        for at in sorted({*range(0, count, step), count - 1})
    ]
    return ResultTable("Mean by episode:", ["episode", *(label for label, *_ in columns)], rows)


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


def as_json_text(results: EvaluationResults) -> bytes:
    """Return the results as indented JSON."""
    values = {
        "runs": [
            {
                **_described(figures.run),
                "metrics": {metric.name: metric.of(figures.episodes) for metric in METRICS},
                "ms_by_part": ms_by_part([figures]).get(figures.run.ablation, {}),
                "episodes": figures.episodes,
            }
            for figures in results.runs
        ],
        "failures": [{**_described(failed.run), "reason": failed.failure} for failed in results.failures],
        "stories": results.stories,
    }
    return as_json(values, indented=True) + b"\n"


def _described(run: EvaluationRun) -> dict[str, Any]:
    return {**run.recorded(), "folder": run.folder.relative_to(run.root).as_posix()}


def as_csv(results: EvaluationResults) -> bytes:
    """Return a line for each episode."""
    rows = [_csv_row(figures, episode) for figures in results.runs for episode in figures.episodes]
    out = io.StringIO()
    writer = csv.DictWriter(out, dict.fromkeys(name for row in rows for name in row), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


def _csv_row(figures: RunFigures, episode: EpisodeFigures) -> dict[str, Any]:
    run, values = figures.run, asdict(episode)
    row: dict[str, Any] = {
        "story": name_of(figures),
        "sha256": run.story.sha256,
        "protocol": run.protocol.name,
        "ablation": run.ablation.value,
        "seed": run.seed,
        "player": run.choice.kind,
    }
    row |= {name: value for name, value in values.items() if name not in row and not isinstance(value, dict | tuple)}
    row |= values["truth"]
    row |= {metric.name: metric.of([episode]) for metric in METRICS if metric.name in _SUMS}
    row |= {f"{role}_{name}": value for role, usage in values["usage"].items() for name, value in usage.items()}
    row |= {f"{part}_s".replace(" ", "_"): seconds for part, seconds in episode.parts_s.items()}
    # A spreadsheet interprets some text as a formula, unless it is quoted.
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
        for name, value in row.items()
    }


OUTSIDE = "before the first turn, after the last, and pauses"
"""The label of an episode's time outside its turns."""
_WAITED_FOR = (Role.AGENT, Role.CRITIC)
"""The roles whose answers the player waits for. The others are asked in the background."""


def usage_by_role(runs: Iterable[RunFigures]) -> dict[tuple[Ablation, str], Tally]:
    """Return the usage of each role, summed over all runs of an ablation."""
    total: dict[tuple[Ablation, str], Tally] = {}
    for figures in runs:
        for episode in figures.episodes:
            for role, usage in episode.usage.items():
                key = figures.run.ablation, role
                total[key] = total.get(key, Tally()) + usage
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
                waited = {role: usage.latency_s for role, usage in episode.usage.items() if role in _WAITED_FOR}
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

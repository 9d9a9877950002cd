"""The results of an evaluation: summed up over seeds, and written as a table, as JSON and as CSV."""

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
from zorkgpt.evals.metrics import METRICS, EpisodeFigures, Group, Metric, RoleUsage, RunFigures, TruthCounts, figures_of
from zorkgpt.evals.protocols import Headline
from zorkgpt.llm.roles import Role
from zorkgpt.text import number_of, printable

_DRAWS = 10_000
_LEVEL = 95
_SEED = 0
"""Of the draws: the same values have the same interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % percentile bootstrap interval."""

    mean: float
    low: float
    high: float
    count: int
    """The number of values; of a single one there is no interval, and `low` and `high` are the mean."""


def interval(values: Sequence[float]) -> Interval | None:
    """Return the mean of the values with its interval (Efron and Tibshirani, 1993); None if there are none."""
    import numpy as np

    if not values:
        return None
    given = np.array(values, dtype=float)
    draws = np.random.default_rng(_SEED).choice(given, (_DRAWS, len(given))).mean(axis=1)
    low, high = np.percentile(draws, ((100 - _LEVEL) / 2, (100 + _LEVEL) / 2))
    return Interval(float(given.mean()), float(low), float(high), len(given))


_MOST_ROWS = 12
"""Episodes in the table of the learning curve; of more, as many are shown, evenly spread."""
_MARKUP = frozenset("\\`*_{}[]<>()#+-.!|&~")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With one of these a cell of a spreadsheet begins that is calculated."""


SAMPLE_LABEL = "different games"

Means = dict[tuple[Ablation, str], Interval]
_COUNTS: dict[Headline, str] = {"area": "area", "best": "best_share"}
"""The metric that counts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The size of the sample behind the figures of an ablation."""

    runs: int
    games: int
    """Different games: runs with the same actions, locations and scores are one."""

    def __str__(self) -> str:
        return f"{self.games} of {number_of(self.runs, 'run', 'runs')}"


@dataclass(frozen=True, slots=True)
class StorySummary:
    """What the finished runs of one story, or of all of them, come to."""

    title: str
    sha256: str
    """"" for all stories together."""
    samples: dict[Ablation, "Sample"]
    means: Means
    """Mean over the different games by ablation and name of the metric; without unknown metrics."""
    differences: Means
    """Whole memory minus the ablation, over the different pairs of games with the same seed."""
    scores: dict[Ablation, list[Interval | None]] = field(default_factory=dict)
    """The final score of each episode; empty for all stories together, as is `repeated`."""
    repeated: dict[Ablation, list[Interval | None]] = field(default_factory=dict)
    """The share of repeated failures in each episode's actions."""

    @property
    def ablations(self) -> tuple[Ablation, ...]:
        return tuple(self.samples)

    @property
    def has_curve(self) -> bool:
        """Whether there are several episodes to compare."""
        return max(map(len, self.scores.values()), default=0) > 1


@dataclass(frozen=True, slots=True)
class EvaluationResults:
    """All that came of an evaluation."""

    runs: tuple[RunFigures, ...]
    failures: tuple[RunOutcome, ...]
    """The runs that are not finished."""
    stories: tuple[StorySummary, ...]
    """If there are several, all of them together come last."""
    metrics: tuple[Metric, ...]
    """The one that counts in this protocol comes first."""


def results_of(outcomes: Sequence[RunOutcome]) -> EvaluationResults:
    """Read what the runs have left and sum it up; those that failed are named and count nowhere."""
    read = [_read(one) for one in outcomes]
    runs = tuple(one for one in read if isinstance(one, RunFigures))
    by_story: dict[str, list[RunFigures]] = {}
    for one in runs:
        by_story.setdefault(one.run.story.sha256, []).append(one)
    stories = [_summary(some) for some in by_story.values()]
    if len(stories) > 1:
        means, differences = _compared(runs, [metric for metric in METRICS if metric.unit == "%"])
        stories.append(StorySummary("All stories", "", _samples(runs), means, differences))
    failures = tuple(one for one in read if isinstance(one, RunOutcome))
    counts = _COUNTS[outcomes[0].run.protocol.headline]
    metrics = tuple(sorted(METRICS, key=lambda metric: metric.name != counts))
    return EvaluationResults(runs, failures, tuple(stories), metrics)


def _read(outcome: RunOutcome) -> RunFigures | RunOutcome:
    """Return the figures of a run; how it ended, if it is not finished or can't be read."""
    if outcome.failure:
        return outcome
    run = outcome.run
    try:
        return figures_of(run)
    except Exception as error:
        # Whatever has become of its files, the other runs are reported.
        return RunOutcome(run, f"It can't be read: {reason_of(error)}. Delete {run.folder}: then it starts over.")


def name_of(run: RunFigures) -> str:
    """Return the story's name for people."""
    return printable(run.run.story.title or run.run.story.path.stem)


def _summary(runs: Sequence[RunFigures]) -> StorySummary:
    means, differences = _compared(runs, METRICS)
    games = _by_ablation(runs)
    return StorySummary(
        title=name_of(runs[0]),
        sha256=runs[0].run.story.sha256,
        samples=_samples(runs),
        means=means,
        differences=differences,
        scores={ablation: _curve(some, "score") for ablation, some in games.items()},
        repeated={ablation: _curve(some, "repeated_share") for ablation, some in games.items()},
    )


def _by_ablation(runs: Iterable[RunFigures]) -> dict[Ablation, list[RunFigures]]:
    """Return the different games of each ablation; of identical ones, only the first."""
    games: dict[Ablation, dict[tuple[str, tuple[str, ...]], RunFigures]] = {}
    for one in runs:
        games.setdefault(one.run.ablation, {}).setdefault((one.run.story.sha256, one.transcript), one)
    return {ablation: list(some.values()) for ablation, some in games.items()}


def _samples(runs: Sequence[RunFigures]) -> dict[Ablation, Sample]:
    counts = Counter(one.run.ablation for one in runs)
    return {ablation: Sample(counts[ablation], len(games)) for ablation, games in _by_ablation(runs).items()}


def _compared(runs: Sequence[RunFigures], metrics: Iterable[Metric]) -> tuple[Means, Means]:
    """Return the mean of each metric, and the whole memory minus each ablation, paired by story and seed."""
    whole = {(one.run.story.sha256, one.run.seed): one for one in runs if one.run.ablation is Ablation.ON}
    pairs = {
        (one.run.ablation, one.run.story.sha256, on.transcript, one.transcript): (on, one)
        for one in runs
        if one.run.ablation is not Ablation.ON and (on := whole.get((one.run.story.sha256, one.run.seed)))
    }
    different = _by_ablation(runs)
    means: Means = {}
    differences: Means = {}
    for metric in metrics:
        for ablation, games in different.items():
            values = [float(value) for one in games if (value := metric.of(one.episodes)) is not None]
            gaps = [
                float(first) - float(second)
                for (other, *_), (on, one) in pairs.items()
                if other is ablation
                and (first := metric.of(on.episodes)) is not None
                and (second := metric.of(one.episodes)) is not None
            ]
            if found := interval(values):
                means[ablation, metric.name] = found
            if found := interval(gaps):
                differences[ablation, metric.name] = found
    return means, differences


def _curve(games: Sequence[RunFigures], field: str) -> list[Interval | None]:
    longest = max(one.last for one in games)
    curve = []
    for number in range(1, longest + 1):
        values = [getattr(each, field) for one in games for each in one.episodes if each.episode == number]
        curve.append(interval([float(value) for value in values if value is not None]))
    return curve


# As a table


def tables(results: EvaluationResults) -> str:
    """Return the results as Markdown."""
    parts = []
    for story in results.stories:
        parts += [f"## {escaped(story.title)}", _means(story, results.metrics)]
        if story.has_curve:
            parts += ["Mean by episode:", _by_episode(story)]
        if story.differences:
            parts += ["Difference to the whole memory, paired by seed:", _differences(story, results.metrics)]
    if rows := usage_rows(results):
        parts += ["## Model usage by role", markdown_table(USAGE_HEADER, rows)]
    if times := time_rows(results):
        parts += ["## Time by part (ms per turn)", markdown_table(*times)]
    if results.failures:
        rows = [
            [escaped(one.run.game.stem), one.run.ablation.value, str(one.run.seed), escaped(one.failure)]
            for one in results.failures
        ]
        parts += ["## Unfinished runs", markdown_table(["story", "ablation", "seed", "reason"], rows)]
    return "\n\n".join(parts) + "\n"


def told(metric: Metric, found: Interval | None) -> str:
    """Return a mean with its interval for people; "" if there is none."""
    if found is None:
        return ""
    mean = metric.shown(found.mean)
    return mean if found.count < 2 else f"{mean} [{metric.shown(found.low)}, {metric.shown(found.high)}]"


USAGE_HEADER = ("ablation", "role", "calls", "tokens", "cost", "seconds")


def usage_rows(results: EvaluationResults) -> list[list[str]]:
    """Return for each ablation and role what its models took; empty if no model was asked."""
    return [
        [ablation.value, role, f"{one.calls:,}", f"{one.tokens:,}", _cost(one), f"{one.seconds:.0f}"]
        for (ablation, role), one in usage_by_role(results.runs).items()
    ]


def _cost(one: RoleUsage) -> str:
    return "unknown" if one.cost is None else f"{one.cost:.4f}"


def time_rows(results: EvaluationResults) -> tuple[list[str], list[list[str]]] | None:
    """Return the header and the rows of the time by part, the sum last; None if the logs have none."""
    times = ms_by_part(results.runs)
    if not times:
        return None
    names = dict.fromkeys(name for parts in times.values() for name in parts)
    rows = [[name, *(f"{parts.get(name, 0):,.2f}" for parts in times.values())] for name in names]
    rows.append(["total", *(f"{sum(parts.values()):,.2f}" for parts in times.values())])
    return ["part", *times], rows


def _means(story: StorySummary, metrics: Sequence[Metric]) -> str:
    samples = [SAMPLE_LABEL, *map(str, story.samples.values())]
    return markdown_table(["", *story.ablations], [samples, *_grouped(story.means, story.ablations, metrics)])


def _differences(story: StorySummary, metrics: Sequence[Metric]) -> str:
    others = [ablation for ablation in story.ablations if ablation is not Ablation.ON]
    header = ["", *(f"on − {ablation}" for ablation in others)]
    return markdown_table(header, _grouped(story.differences, others, metrics))


def _grouped(means: Means, ablations: Sequence[Ablation], metrics: Sequence[Metric]) -> list[list[str]]:
    """Return a row for each metric that any of these ablations has, with the heading of its group before the first."""
    rows: list[list[str]] = []
    for group, some in grouped(metrics):
        told_of = [
            (metric.label, [told(metric, means.get((one, metric.name))) for one in ablations]) for metric in some
        ]
        found = [[label, *row] for label, row in told_of if any(row)]
        rows += [[f"**{group}**", *("" for _ in ablations)], *found] if found else []
    return rows


def grouped(metrics: Sequence[Metric]) -> list[tuple[Group, list[Metric]]]:
    """Return the metrics by their groups, in the order of their first ones."""
    groups = dict.fromkeys(metric.group for metric in metrics)
    return [(group, [metric for metric in metrics if metric.group is group]) for group in groups]


def _by_episode(story: StorySummary) -> str:
    count = max(map(len, story.scores.values()))
    step = -(-count // _MOST_ROWS)
    chosen = sorted({*range(0, count, step), count - 1})
    header = ["episode"]
    header += [f"score, {ablation}" for ablation in story.ablations]
    header += [f"repeated failures, {ablation}" for ablation in story.ablations]
    rows = []
    for at in chosen:
        scores = [_at(story.scores[ablation], at) for ablation in story.ablations]
        repeated = [_at(story.repeated[ablation], at) for ablation in story.ablations]
        rows.append(
            [
                str(at + 1),
                *("" if one is None else f"{one.mean:.1f}" for one in scores),
                *("" if one is None else f"{100 * one.mean:.1f} %" for one in repeated),
            ]
        )
    return markdown_table(header, rows)


def _at(curve: Sequence[Interval | None], at: int) -> Interval | None:
    return curve[at] if at < len(curve) else None


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; other people's text in it has to be escaped."""
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    lines.insert(1, "| " + " | ".join("---" for _ in header) + " |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a text in one line of Markdown that is nothing but text."""
    plain = " ".join(printable(text).split())
    return "".join(f"\\{letter}" if letter in _MARKUP else letter for letter in plain)


# As files


def as_values(results: EvaluationResults) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {
        "runs": [
            {
                **one.run.recorded(),
                "folder": one.run.folder.relative_to(one.run.root).as_posix(),
                "metrics": {metric.name: metric.of(one.episodes) for metric in METRICS},
                "ms_by_part": next(iter(ms_by_part([one]).values()), {}),
                "episodes": [asdict(episode) for episode in one.episodes],
            }
            for one in results.runs
        ],
        "failures": [
            {**one.run.recorded(), "folder": one.run.folder.relative_to(one.run.root).as_posix(), "reason": one.failure}
            for one in results.failures
        ],
        "stories": [
            {
                "title": story.title,
                "sha256": story.sha256,
                "samples": {ablation.value: asdict(sample) for ablation, sample in story.samples.items()},
                "means": _nested(story.means),
                "differences": _nested(story.differences),
                "episodes": {
                    name: {ablation.value: [one and asdict(one) for one in curve] for ablation, curve in curves.items()}
                    for name, curves in (("score", story.scores), ("repeated", story.repeated))
                },
            }
            for story in results.stories
        ],
    }


def _nested(found: dict[tuple[Ablation, str], Interval]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (ablation, name), value in found.items():
        nested.setdefault(ablation.value, {})[name] = asdict(value)
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
    *(
        "repeated_failed",
        "shown",
        "earlier",
        "decided",
        "untrue",
        "untrue_memories",
        "untrue_turns",
        "undone",
        "undone_shown",
    ),
    *("followed", "worked", "seconds"),
)
"""The fields of an episode that stand in the CSV as they are."""
_TRUTH = tuple(each.name for each in fields(TruthCounts))
_USAGE = ("calls", "tokens", "cost", "seconds")


def as_csv(results: EvaluationResults) -> bytes:
    """Return a line for each episode."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    roles = sorted({role for _, role in usage_by_role(results.runs)})
    by_role = [f"{role}_{name}" for role in roles for name in _USAGE]
    counted = ("places", "calls", "tokens", "cost", *by_role, *(f"{part}_s".replace(" ", "_") for part in Part))
    writer.writerow(["story", "sha256", "protocol", "ablation", "seed", "player", *_COLUMNS, *_TRUTH, *counted])
    for one in results.runs:
        run = one.run
        named = [
            *(name_of(one), run.story.sha256, run.protocol.name, run.ablation.value),
            *(run.seed, run.choice.kind),
        ]
        for episode in one.episodes:
            values = [getattr(episode, column) for column in _COLUMNS]
            values += [getattr(episode.truth, column) for column in _TRUTH]
            usage = [episode.usage.get(role, RoleUsage()) for role in roles]
            values += [*_used(episode), *(getattr(role, name) for role in usage for name in _USAGE)]
            values += [episode.parts_s.get(part) for part in Part]
            writer.writerow([_value(value) for value in (*named, *values)])
    return out.getvalue().encode("utf-8", "replace")


def _used(episode: EpisodeFigures) -> list[Any]:
    costs = [usage.cost for usage in episode.usage.values()]
    cost = None if None in costs or not costs else sum(each for each in costs if each is not None)
    calls = sum(usage.calls for usage in episode.usage.values())
    return [len(episode.places), calls, sum(usage.tokens for usage in episode.usage.values()), cost]


def _value(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


OUTSIDE = "before the first turn, after the last, and pauses"
"""The time of an episode that lies outside its turns."""
_WAITED_FOR = (Role.AGENT, Role.CRITIC)
"""The roles that the player waits for; the others are asked in the background."""


def usage_by_role(runs: Iterable[RunFigures]) -> dict[tuple[Ablation, str], RoleUsage]:
    """Return what each role has used, in all runs of an ablation together."""
    total: dict[tuple[Ablation, str], RoleUsage] = {}
    for run in runs:
        for one in run.episodes:
            for role, usage in one.usage.items():
                key = run.run.ablation, role
                total[key] = total.get(key, RoleUsage()).plus(usage)
    return total


def ms_by_part(runs: Iterable[RunFigures]) -> dict[Ablation, dict[str, float]]:
    """Return the milliseconds a turn of each part, and of the models that the player waits for.

    They add up to the whole time of the episodes. Ablations whose logs do not tell are left out.
    """
    seconds: dict[Ablation, Counter[str]] = {}
    turns: Counter[Ablation] = Counter()
    for run in runs:
        for one in run.episodes:
            if one.parts_s:
                waited = {role: usage.seconds for role, usage in one.usage.items() if role in _WAITED_FOR}
                seconds.setdefault(run.run.ablation, Counter()).update(_apart(one.parts_s, waited, one.seconds))
                turns[run.run.ablation] += one.turns
    return {
        ablation: {name: 1000 * found / turns[ablation] for name, found in parts.items()}
        for ablation, parts in seconds.items()
        if turns[ablation]
    }


def _apart(parts_s: Mapping[str, float], waited_s: Mapping[str, float], whole_s: float) -> dict[str, float]:
    """Take the waiting for models out of the player's part, and add what lies outside the turns."""
    apart = {part.value: parts_s.get(part, 0.0) for part in Part}
    apart[Part.PLAYER] = max(0.0, apart[Part.PLAYER] - sum(waited_s.values()))
    models = {f"model, {role}": seconds for role, seconds in waited_s.items()}
    known = sum(apart.values()) + sum(models.values())
    return apart | models | {OUTSIDE: max(0.0, whole_s - known)}

"""The report of an evaluation: one HTML file with plots, which links to the page of each run."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import METRICS, EpisodeFigures, Metric, RunFigures
from zorkgpt.evals.results import (
    SAMPLE_LABEL,
    USAGE_HEADER,
    EvaluationResults,
    Interval,
    StorySummary,
    grouped,
    name_of,
    time_rows,
    told,
    usage_rows,
)
from zorkgpt.extras import MissingExtra, importing

Pages = Mapping[Path, Path]
"""The page of each working directory that has one."""


@dataclass(frozen=True, slots=True)
class _Link:
    """An episode in the list of runs."""

    text: str
    href: str
    """"" if it has no page."""


def report(results: EvaluationResults, pages: Pages) -> str:
    """Return the report as HTML; without matplotlib it says how to get the plots."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Everything that is put in is escaped: titles and errors are other people's text.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pictures, missing = _pictures(results)
    first = next((one.run for one in results.runs), None) or results.failures[0].run
    described = first.recorded()
    return environment.get_template("report.html.j2").render(
        protocol=first.protocol,
        counts=results.metrics[0].label,
        described=described,
        handicaps={name.replace("_", " "): "yes" if given else "no" for name, given in described["handicaps"].items()},
        settings=described.get("settings", {}),
        stories=[_story(story, results.metrics) for story in results.stories],
        pictures=pictures,
        missing=missing,
        usage=[USAGE_HEADER, *rows] if (rows := usage_rows(results)) else [],
        times=[times[0], *times[1]] if (times := time_rows(results)) else [],
        runs=[_run(one, pages) for one in results.runs],
        failures=[
            (one.run.story.title or one.run.game.stem, one.run.ablation.value, one.run.seed, one.failure)
            for one in results.failures
        ],
    )


def _pictures(results: EvaluationResults) -> tuple[list[tuple[str, str]], str]:
    """Return captions with pictures as addresses, and what is missing for them."""
    try:
        found = plots(results)
    except MissingExtra as error:
        return [], str(error)
    return [(caption, f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}") for caption, svg in found], ""


def _story(story: StorySummary, metrics: Sequence[Metric]) -> dict[str, Any]:
    others = [ablation for ablation in story.ablations if ablation is not Ablation.ON]
    groups = []
    for group, some in grouped(metrics):
        rows = []
        for metric in some:
            means = [told(metric, story.means.get((ablation, metric.name))) for ablation in story.ablations]
            gaps = [told(metric, story.differences.get((ablation, metric.name))) for ablation in others]
            if any(means):
                rows.append((metric.label, means, gaps))
        groups += [(group.value, rows)] if rows else []
    return {
        "title": story.title,
        "sha256": story.sha256,
        "ablations": [ablation.value for ablation in story.ablations],
        "others": [ablation.value for ablation in others] if story.differences else [],
        "samples": [str(sample) for sample in story.samples.values()],
        "sample_label": SAMPLE_LABEL,
        "groups": groups,
    }


def _run(one: RunFigures, pages: Pages) -> dict[str, Any]:
    run = one.run
    return {
        "story": name_of(one),
        "ablation": run.ablation.value,
        "seed": run.seed,
        "folder": run.folder.relative_to(run.root).as_posix(),
        "episodes": [_link(one, episode, pages) for episode in one.episodes],
    }


def _link(one: RunFigures, episode: EpisodeFigures, pages: Pages) -> _Link:
    """Return a link to the turn in which the episode reached its highest score."""
    score = "?" if episode.score is None else str(episode.score)
    page = pages.get(one.run.workdir(episode.episode))
    if page is None:
        return _Link(score, "")
    turn = max(episode.scored.values(), default=0)
    number = Path(episode.directory).name
    return _Link(score, f"{quote(Path(relpath(page, one.run.root)).as_posix())}#{number}:{turn}")


_SIZE_IN = (7.0, 3.6)
_COLORS = dict(
    zip(Ablation, ("#1f5fa8", "#b0413e", "#c98a1b", "#5a8a3a", "#7a4fa0", "#4a4a4a", "#0f8b8d"), strict=True)
)
_METRIC = {metric.name: metric for metric in METRICS}


def plots(results: EvaluationResults) -> list[tuple[str, bytes]]:
    """Return pictures with their captions.

    Raises:
        MissingExtra: If matplotlib is not installed.
    """
    with importing("evals"):
        from matplotlib.figure import Figure
    found = []
    for story in results.stories:
        if story.has_curve:
            found.append((f"{story.title}: final score by episode", _curves(Figure, story, story.scores, "score")))
            caption = f"{story.title}: repeated failures by episode"
            found.append((caption, _curves(Figure, story, story.repeated, "share of all actions")))
        own = [one for one in results.runs if one.run.story.sha256 == story.sha256]
        if own:
            found.append((f"{story.title}: score in the course of the last episode", _climb(Figure, own)))
        if origins := _origins(own):
            found.append((f"{story.title}: where the memories shown came from", _by_origin(Figure, origins)))
        if costs := _costs(own):
            found.append((f"{story.title}: cost against score", _cost_against_score(Figure, costs)))
    return found


def _curves(make: Any, story: StorySummary, curves: dict[Ablation, list[Interval | None]], label: str) -> bytes:
    """Draw a mean and its interval for each episode."""
    figure, axes = _axes(make, "episode", label)
    for ablation in story.ablations:
        points = [(at, one) for at, one in enumerate(curves[ablation], 1) if one is not None]
        xs, means = [at for at, _ in points], [one.mean for _, one in points]
        axes.plot(xs, means, color=_COLORS[ablation], label=ablation.value, marker="o", markersize=3)
        low, high = [one.low for _, one in points], [one.high for _, one in points]
        axes.fill_between(xs, low, high, color=_COLORS[ablation], alpha=0.15, linewidth=0)
    axes.legend(frameon=False)
    return _svg(figure)


def _climb(make: Any, runs: Sequence[RunFigures]) -> bytes:
    """Draw the mean score of each turn of the last episode."""
    figure, axes = _axes(make, "turn of the last episode", "score, mean over the seeds")
    for ablation in dict.fromkeys(one.run.ablation for one in runs):
        last = [one.episodes[-1] for one in runs if one.run.ablation is ablation and one.episodes]
        if not last:
            continue
        turns = range(max(one.turns for one in last) + 1)
        means = [sum(_score_at(one.score_turns, turn) for one in last) / len(last) for turn in turns]
        axes.step(list(turns), means, where="post", color=_COLORS[ablation], label=ablation.value)
    axes.legend(frameon=False)
    return _svg(figure)


def _score_at(score_turns: dict[int, int], turn: int) -> int:
    return next((score_turns[at] for at in sorted(score_turns, reverse=True) if at <= turn), 0)


def _origins(runs: Sequence[RunFigures]) -> list[tuple[float, float]]:
    """Return for each episode with the whole memory how many memories a turn showed: of this episode, of earlier ones.

    Means over the runs; empty if nothing was shown.
    """
    whole = [one for one in runs if one.run.ablation is Ablation.ON]
    found = []
    for number in range(1, max((one.last for one in whole), default=0) + 1):
        some = [each for one in whole for each in one.episodes if each.episode == number]
        turns = max(1, sum(one.turns for one in some))
        earlier = sum(one.earlier for one in some)
        found.append(((sum(one.shown for one in some) - earlier) / turns, earlier / turns))
    return found if any(map(any, found)) else []


def _by_origin(make: Any, origins: Sequence[tuple[float, float]]) -> bytes:
    figure, axes = _axes(make, "episode", "memories shown per turn")
    episodes = range(1, len(origins) + 1)
    earlier = [two for _, two in origins]
    axes.bar(episodes, earlier, color=_COLORS[Ablation.ON], label="earlier episodes")
    axes.bar(episodes, [one for one, _ in origins], bottom=earlier, color="#9bbbe0", label="this episode")
    axes.legend(frameon=False)
    return _svg(figure)


def _costs(runs: Sequence[RunFigures]) -> list[tuple[Ablation, float, float]]:
    """Return cost and highest score of each run whose cost is known."""
    found = []
    for one in runs:
        cost, score = (_METRIC[name].of(one.episodes) for name in ("cost", "best_score"))
        if cost is not None and score is not None:
            found.append((one.run.ablation, cost, score))
    return found


def _cost_against_score(make: Any, costs: Sequence[tuple[Ablation, float, float]]) -> bytes:
    figure, axes = _axes(make, "cost of the run", "highest score")
    for ablation in dict.fromkeys(ablation for ablation, _, _ in costs):
        xs = [cost for one, cost, _ in costs if one is ablation]
        ys = [score for one, _, score in costs if one is ablation]
        axes.scatter(xs, ys, color=_COLORS[ablation], label=ablation.value)
    axes.legend(frameon=False)
    return _svg(figure)


def _axes(make: Any, x: str, y: str) -> tuple[Any, Any]:
    figure = make(figsize=_SIZE_IN, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return figure, axes


def _svg(figure: Any) -> bytes:
    out = io.BytesIO()
    # Without the date, the same results make the same picture.
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()

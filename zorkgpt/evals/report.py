"""The report of an evaluation: one HTML file with plots, which links to the page of each run."""

import base64
import io
from collections.abc import Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import EpisodeFigures, RunFigures
from zorkgpt.evals.results import Curves, EvaluationResults, general_tables, name_of, story_tables
from zorkgpt.evals.runs import EvaluationRun
from zorkgpt.extras import MissingExtra, importing

Pages = Mapping[Path, Path]
"""The page of each working directory that has one."""


def report(results: EvaluationResults, pages: Pages) -> str:
    """Return the report as HTML. Without matplotlib, it says how to get the plots."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Titles and errors are untrusted text, so everything is escaped.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pictures, missing = _pictures(results)
    first = results.runs[0].run if results.runs else results.failures[0].run
    described = first.recorded()
    return environment.get_template("report.html.j2").render(
        protocol=first.protocol,
        counts=results.metrics[0].label,
        described=described,
        handicaps={name.replace("_", " "): "yes" if given else "no" for name, given in described["handicaps"].items()},
        settings=described.get("settings", {}),
        stories=[(story.title, story.sha256, story_tables(story, results.metrics)) for story in results.stories],
        pictures=pictures,
        missing=missing,
        tables=general_tables(results),
        runs=[_run(figures, pages) for figures in results.runs],
    )


def _pictures(results: EvaluationResults) -> tuple[list[tuple[str, str]], str]:
    """Return captions and data URLs of the pictures, or a message that says how to install matplotlib."""
    try:
        pictures = plots(results)
    except MissingExtra as error:
        return [], str(error)
    return [(caption, f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}") for caption, svg in pictures], ""


def _run(figures: RunFigures, pages: Pages) -> dict[str, Any]:
    run = figures.run
    return {
        "story": name_of(figures),
        "ablation": run.ablation.value,
        "seed": run.seed,
        "folder": run.folder.relative_to(run.root).as_posix(),
        "episodes": [_link(run, episode, pages) for episode in figures.episodes],
    }


def _link(run: EvaluationRun, episode: EpisodeFigures, pages: Pages) -> tuple[str, str]:
    """Return the score of an episode, and the address of the turn that reached its highest score, "" without a page."""
    score = "?" if episode.score is None else str(episode.score)
    page = pages.get(run.workdir(episode.episode))
    if page is None:
        return score, ""
    turn = max(episode.scored.values(), default=0)
    number = Path(episode.directory).name
    return score, f"{quote(Path(relpath(page, run.root)).as_posix())}#{number}:{turn}"


_SIZE_IN = (7.0, 3.6)
_COLORS = dict(
    zip(Ablation, ("#1f5fa8", "#b0413e", "#c98a1b", "#5a8a3a", "#7a4fa0", "#4a4a4a", "#0f8b8d"), strict=True)
)


def plots(results: EvaluationResults) -> list[tuple[str, bytes]]:
    """Return pictures with their captions.

    Raises:
        MissingExtra: If matplotlib is not installed.
    """
    with importing("evals"):
        from matplotlib.figure import Figure
    pictures: list[tuple[str, bytes]] = []

    def add(caption: str, picture: bytes) -> None:
        pictures.append((f"{story.title}: {caption}", picture))

    for story in results.stories:
        if story.has_curve:
            add("final score by episode", _curves(Figure, story.episodes["score"], "score"))
            add("repeated failures by episode", _curves(Figure, story.episodes["repeated"], "share of all actions"))
        runs = [figures for figures in results.runs if figures.run.story.sha256 == story.sha256]
        if runs:
            add("score during the last episode", _climb(Figure, runs))
    return pictures


def _curves(make: Any, curves: Curves, label: str) -> bytes:
    """Draw the mean and its interval for each episode."""
    figure, axes = _axes(make, "episode", label)
    for ablation, curve in curves.items():
        points = {episode: mean for episode, mean in enumerate(curve, 1) if mean is not None}
        episodes, means = list(points), [point.mean for point in points.values()]
        axes.plot(episodes, means, color=_COLORS[ablation], label=ablation.value, marker="o", markersize=3)
        low, high = [point.low for point in points.values()], [point.high for point in points.values()]
        axes.fill_between(episodes, low, high, color=_COLORS[ablation], alpha=0.15, linewidth=0)
    axes.legend(frameon=False)
    return _svg(figure)


def _climb(make: Any, runs: Sequence[RunFigures]) -> bytes:
    """Draw the mean score of each turn of the last episode."""
    figure, axes = _axes(make, "turn of the last episode", "score, mean over the seeds")
    for ablation in dict.fromkeys(figures.run.ablation for figures in runs):
        last = [figures.episodes[-1] for figures in runs if figures.run.ablation is ablation and figures.episodes]
        if not last:
            continue
        turns = range(max(episode.turns for episode in last) + 1)
        means = [sum(_score_at(episode.score_turns, turn) for episode in last) / len(last) for turn in turns]
        axes.step(list(turns), means, where="post", color=_COLORS[ablation], label=ablation.value)
    axes.legend(frameon=False)
    return _svg(figure)


def _score_at(score_turns: dict[int, int], turn: int) -> int:
    return next((score_turns[at] for at in sorted(score_turns, reverse=True) if at <= turn), 0)


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
    # Without the date, so that the same results make the same picture.
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()

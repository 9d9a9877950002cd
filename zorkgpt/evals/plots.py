"""Pictures of an evaluation, as SVG, by matplotlib (the extra `evals`)."""

import io
from collections.abc import Sequence
from typing import Any

from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import METRICS, RunFigures
from zorkgpt.evals.results import EvaluationResults, StorySummary
from zorkgpt.evals.statistics import Interval
from zorkgpt.extras import importing

_SIZE_IN = (7.0, 3.6)
_COLORS = dict(zip(Ablation, ("#1f5fa8", "#b0413e", "#c98a1b", "#5a8a3a", "#7a4fa0", "#4a4a4a"), strict=True))
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

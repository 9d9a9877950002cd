"""The report of an evaluation: one HTML file, which links to the page of each run."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import EpisodeFigures, Metric, RunFigures
from zorkgpt.evals.results import (
    SAMPLE_LABEL,
    USAGE_HEADER,
    EvaluationResults,
    StorySummary,
    grouped,
    name_of,
    time_rows,
    told,
    usage_rows,
)
from zorkgpt.extras import MissingExtra

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
    from zorkgpt.evals.plots import plots

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

"""Measure the effect of memory on the rules player, with an evaluation, and publish its tables.

    uv run python -m benchmarks.learning [--seeds 1-3] [--out FOLDER] [--publish]

An interrupted evaluation is continued, and a finished one is only published.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.publish import ROOT, Table, markdown, publish

ARMS = ("on", "off", "shuffled")
METRICS = {
    "last_score": ("score of the last episode, of 100", 1, ""),
    "repeated": ("repeated failures, share of all actions", 100, " %"),
    "failed": ("failed actions, share of all actions", 100, " %"),
    "untrue": ("untrue memories, share of the checkable ones shown", 100, " %"),
}


def tables_of(story: dict[str, Any]) -> dict[str, Table]:
    """Return the published tables of one story's results."""
    return {"summary": _summary(story), "episodes": _episodes(story), "figures": _figures(story)}


def _summary(story: dict[str, Any]) -> Table:
    names = ("last_score", "repeated")
    rows = [
        [arm, *(_cell(story["means"][arm][name], *METRICS[name][1:]) for name in names), _sample(story, arm)]
        for arm in ARMS
    ]
    labels = (METRICS[name][0] for name in names)
    return Table(columns=["mean [95 % interval]", *labels, "different games"], rows=rows)


def _episodes(story: dict[str, Any]) -> Table:
    scores, repeated = story["episodes"]["score"], story["episodes"]["repeated"]
    columns = ["episode", *(f"score, {arm}" for arm in ARMS), *(f"repeated failures, {arm}" for arm in ARMS)]
    rows = [
        [
            str(number + 1),
            *(f"{scores[arm][number]['mean']:.1f}" for arm in ARMS),
            *(f"{100 * repeated[arm][number]['mean']:.1f} %" for arm in ARMS),
        ]
        for number in range(len(scores["on"]))
    ]
    return Table(columns=columns, rows=rows)


def _figures(story: dict[str, Any]) -> Table:
    rows = [["different games", *(_sample(story, arm) for arm in ARMS), "", ""]]
    for name, (label, factor, unit) in METRICS.items():
        means = [_cell(story["means"][arm].get(name), factor, unit) for arm in ARMS]
        differences = [_cell(story["differences"][arm].get(name), factor, unit, sign="+") for arm in ARMS[1:]]
        rows.append([label, *means, *differences])
    return Table(columns=["", *ARMS, *(f"on − {arm}" for arm in ARMS[1:])], rows=rows)


def _sample(story: dict[str, Any], arm: str) -> str:
    return f"{story['samples'][arm]['games']} of {story['samples'][arm]['runs']} runs"


def _cell(interval: dict[str, Any] | None, factor: float, unit: str, *, sign: str = "") -> str:
    if interval is None:
        return ""
    mean, low, high = (factor * interval[name] for name in ("mean", "low", "high"))
    return f"{mean:{sign}.1f}{unit}" + (f" [{low:.1f}, {high:.1f}]" if interval["count"] > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "learning")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    evaluation = [
        "eval",
        "learning-10x250",
        "--games",
        "slackwater",
        "--seeds",
        given.seeds,
        "--ablate",
        "off,shuffled",
    ]
    subprocess.run(
        [sys.executable, "main.py", *evaluation, "--no-pages", "--out", str(given.out)], cwd=ROOT, check=True
    )
    [story] = json.loads((given.out / "results.json").read_bytes())["stories"]
    tables = tables_of(story)
    print("\n\n".join(map(markdown, tables.values())))
    if given.publish:
        publish("learning", f"uv run python main.py {' '.join(evaluation)}", tables)


if __name__ == "__main__":
    main()

"""Write a Markdown report on speed, compared with limits, peers and an earlier run, and on the effect of memory.

    uv run python -m benchmarks.comparison_report --out report.md [--quick] [--part memory ...] [--before report.json]

The figures are also written as JSON next to the report, for comparison with a later run (`--before`). The effect of the
memory is measured by the rules player on the bundled story, with and without memory. See docs/evaluation.md.
"""

import argparse
import json
import os
import platform
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.performance_metrics import PARTS, Figure, add_arguments, measured, table
from game_interface.story import find_story
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import RunOutcome
from zorkgpt.evals.protocols import protocol_named
from zorkgpt.evals.results import escaped, markdown_table, results_of, tables
from zorkgpt.evals.runs import plan

PACKAGES = ("zorkgpt", "jericho", "numpy", "pydantic", "onnxruntime")


def machine() -> str:
    """Return a table with the machine, its load and the package versions."""
    facts = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "load of the last minute, at the end": f"{os.getloadavg()[0]:.1f}"
        if hasattr(os, "getloadavg")
        else "not known",
        **{name: version(name) for name in PACKAGES},
    }
    return markdown_table(["", ""], [[escaped(name), escaped(value)] for name, value in facts.items()])


def _how_busy() -> list[str]:
    """Return a warning if the load was higher than the number of cores, which makes wall times useless."""
    cores = os.cpu_count() or 1
    if not hasattr(os, "getloadavg") or os.getloadavg()[0] < 2 * cores:
        return []
    load = f"load {os.getloadavg()[0]:.0f} on {cores} cores"
    return [f"**The machine was busy** ({load}): of times, read the last column only."]


def beside_before(figures: list[Figure], before: list[dict[str, Any]]) -> str:
    """Compare each figure with an earlier run, also relative to its peers, which a busy machine slows down too."""
    then = {(row["part"], row["what"]): row for row in before}
    rows = []
    for one in figures:
        row = then.get((one.part, one.what))
        if row is None:
            continue
        ratio = f"{one.value / row['value']:.2f}" if row["value"] else ""
        both = bool(one.peer_value and row["peer_value"])
        to_peer = (
            f"{one.value / one.peer_value / (row['value'] / row['peer_value']):.2f}" if both and row["value"] else ""
        )
        rows.append([one.part, one.what, f"{row['value']:,.4g}", f"{one.value:,.4g} {one.unit}", ratio, to_peer])
    return markdown_table(["part", "what", "before", "now", "now / before", "the same, each over its peer"], rows)


def worth_of_memory(quick: bool) -> str:
    """Play the bundled story with and without memory. Return the tables of the evaluation."""
    protocol = protocol_named("learning-2x60" if quick else "learning-4x200")
    seeds = [1] if quick else [1, 2, 3]
    ablations = [Ablation.ON, Ablation.OFF] if quick else [Ablation.ON, Ablation.OFF, Ablation.SHUFFLED]
    choice = PlayerChoice("rules", "measurement", None)
    with tempfile.TemporaryDirectory() as folder:
        runs = plan(protocol, [find_story("slackwater")], seeds, ablations, choice, GameConfiguration(), Path(folder))
        for run in runs:
            run.play()
        return f"Protocol `{protocol.name}`, seeds {seeds}, player: rules, no language model.\n\n" + tables(
            results_of([RunOutcome(run) for run in runs])
        ).replace("## ", "### ")


def report(figures: list[Figure], *, quick: bool, before: list[dict[str, Any]] | None, worth: str) -> str:
    """Return the report."""
    missed = [one for one in figures if one.is_met is False]
    kept = sum(one.is_met is True for one in figures)
    parts = ["# How fast ZorkGPT is, and what its memory is worth", machine()]
    if quick:
        parts.append("Quick: few rounds, so that chance weighs more.")
    said = f"{kept} of {kept + len(missed)} figures keep to their limits, which are those of an idle machine."
    parts += ["## By part", said, *_how_busy(), table(figures)]
    if before is not None:
        parts += ["## Beside the earlier run", beside_before(figures, before)]
    if worth:
        parts += ["## What the memory is worth", worth]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="where the report goes; the figures beside it as JSON")
    parser.add_argument("--before", type=Path, help="the JSON of an earlier run")
    given = parser.parse_args()
    before = json.loads(given.before.read_text(encoding="utf-8")) if given.before else None
    figures = measured(given.part or PARTS, quick=given.quick)
    worth = "" if given.part else worth_of_memory(given.quick)
    given.out.write_text(report(figures, quick=given.quick, before=before, worth=worth), encoding="utf-8")
    rows = json.dumps([asdict(one) for one in figures], indent=2)
    given.out.with_suffix(".json").write_text(rows + "\n", encoding="utf-8")
    print(f"Report: {given.out}")


if __name__ == "__main__":
    main()

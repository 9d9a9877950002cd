"""Tests of the benchmark of all metrics and its report."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.comparison_report import beside_before, report
from benchmarks.performance_metrics import PARTS, Figure, of_dedup, table

ROOT = Path(__file__).parents[1]
FAST = Figure("memory", "load", 4.0, "ms", 10.0, peer="SQLite", peer_value=2.0)
SLOW = Figure("loop", "turns", 100.0, "turns/s", 150.0, least=True)
UNBOUND = Figure("dedup", "found", 76.5, "%")


def test_figure_has_a_limit_and_a_peer():
    assert table([FAST, SLOW, UNBOUND]).splitlines()[2:] == [
        "| memory | load | 4 ms | ≤ 10 | yes | SQLite: 2 | 2.00 |",
        "| loop | turns | 100 turns/s | ≥ 150 | **no** |  |  |",
        "| dedup | found | 76.5 % |  |  |  |  |",
    ]


def test_earlier_run_is_compared_by_its_peers():
    busy = replace(FAST, value=8.0, peer_value=4.0)
    before = [asdict(FAST), asdict(replace(SLOW, what="something else"))]
    assert beside_before([busy, SLOW], before).splitlines()[2:] == ["| memory | load | 4 | 8 ms | 2.00 | 1.00 |"]


def test_report_counts_figures_within_limits():
    text = report([FAST, SLOW, UNBOUND], quick=True, before=None, worth="")
    assert "1 of 2 figures keep to their limits" in text
    assert "Quick" in text
    assert "## Beside the earlier run" not in text


def test_every_part_has_a_benchmark():
    assert list(PARTS) == ["interpreter", "interface", "loop", "memory", "dedup", "prompts", "start"]


@pytest.mark.slow
def test_deduplication_is_compared_with_cosine_similarity():
    wrong, found = of_dedup(quick=True)[:2]
    assert wrong.value < wrong.peer_value
    assert found.peer == "cosine from 0.85 on"


@pytest.mark.slow
def test_report_and_figures_are_written(tmp_path):
    out = tmp_path / "report.md"
    command = [sys.executable, "-m", "benchmarks.comparison_report", "--quick", "--part", "memory", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert "| memory | load 2,000 memories |" in out.read_text(encoding="utf-8")
    figures = [Figure(**row) for row in json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))]
    assert {figure.part for figure in figures} == {"memory"}

"""Deduplication with a judge, on labeled pairs.

    uv run python -m benchmarks.dedup_judge [--publish]

The judge is simulated. It knows the labels, and decides 95 % of the equal pairs and 98 % of the different pairs
correctly.
"""

import sys

import numpy as np

from benchmarks.dedup import CANDIDATE, DATA, MERGES, SETS, Pair, pairs_in
from benchmarks.publish import Table, markdown, publish
from zorkgpt.memory.entailment.comparison import is_worth_asking

SAME, DIFFERENT = 0.95, 0.98
SEEDS = 200


def is_asked(pair: Pair) -> bool:
    return pair.relation == "unsure" and pair.cosine >= CANDIDATE and is_worth_asking(pair.a, pair.b)


def judged(pairs: list[Pair], prefix: str = "") -> list[list[str]]:
    """Return rows with the rates without a judge, and the mean and range of the rates with a judge over its seeds."""
    sure = np.array([pair.cosine >= CANDIDATE and pair.relation in ("same", "adds") for pair in pairs])
    asked = np.array([is_asked(pair) for pair in pairs])
    merge = np.array([pair.label in MERGES for pair in pairs])
    found, wrong = [], []
    for seed in range(SEEDS):
        draws = np.random.default_rng(seed).random(len(pairs))
        merged = sure | (asked & (draws < np.where(merge, SAME, 1 - DIFFERENT)))
        found.append((merged & merge).sum() / merge.sum())
        wrong.append((merged & ~merge).sum() / (~merge).sum())
    errors, finds = (sure & ~merge).sum() / (~merge).sum(), (sure & merge).sum() / merge.sum()
    return [
        [f"{prefix}contradicting or distinct pairs merged (errors)", f"{errors:.1%}", spread(wrong)],
        [f"{prefix}duplicates and refinements merged", f"{finds:.1%}", spread(found)],
        [f"{prefix}pairs that the judge is asked about", "", f"{asked.mean():.1%}"],
    ]


def spread(shares: list[float]) -> str:
    low, high = np.percentile(shares, (5, 95))
    return f"{np.mean(shares):.1%} [{low:.1%}, {high:.1%}]"


def main() -> None:
    first, other = (pairs_in(DATA / file) for file in SETS.values())
    rows = [*judged(first), *judged(other, "other domains: ")]
    table = Table(columns=["", "without a judge", "with the judge: mean [5 %, 95 % of seeds]"], rows=rows)
    print(markdown(table))
    if "--publish" in sys.argv:
        publish("dedup_judge", "uv run python -m benchmarks.dedup_judge", {"pairs": table})


if __name__ == "__main__":
    main()

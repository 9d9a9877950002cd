"""Error rates of deduplication on labeled pairs of memories, without a language model.

    uv run python -m benchmarks.dedup [--publish]

Each pair is decided in three ways: cosine similarity of at least 0.85, of at least 0.95, and the contrast check on
candidates with a cosine of at least 0.55.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.publish import Table, markdown, publish
from zorkgpt.embeddings.choose import choose_provider
from zorkgpt.memory.entailment.compare import TextRelation, compare

DATA = Path(__file__).parent / "data"
SETS = {"pairs": "dedup_dev.jsonl", "other domains": "dedup_new_domain.jsonl"}
MERGES = ("duplicate", "refinement")
CANDIDATE = 0.55
OURS = "contrast check"


class Pair(NamedTuple):
    a: str
    b: str
    label: str
    kind: str
    group: str
    cosine: float
    relation: TextRelation


WAYS: dict[str, Callable[[Pair], bool]] = {
    "cosine ≥ 0.85": lambda pair: pair.cosine >= 0.85,
    "cosine ≥ 0.95": lambda pair: pair.cosine >= 0.95,
    OURS: lambda pair: pair.cosine >= CANDIDATE and pair.relation in ("same", "adds"),
}


def pairs_in(path: Path) -> list[Pair]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    provider = choose_provider()
    first, second = (provider.embed_batch([row[side] for row in rows]) for side in ("a", "b"))
    cosines = np.sum(first * second, axis=1)
    return [
        Pair(
            row["a"],
            row["b"],
            row["label"],
            row["kind"],
            row["group"],
            float(cosine),
            compare(row["a"], row["b"]).relation,
        )
        for row, cosine in zip(rows, cosines, strict=True)
    ]


def interval(found: int, of: int) -> str:
    """Return a share in percent with its 95 % Wilson interval (Wilson, "Probable Inference", 1927)."""
    if of == 0:
        return "-"
    share, z = found / of, 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    reach = z / (1 + z * z / of) * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5
    return f"{100 * share:.1f} [{100 * max(middle - reach, 0):.1f}, {100 * min(middle + reach, 1):.1f}]"


def row(name: str, pairs: list[Pair]) -> list[str]:
    cells = [interval(sum(way(pair) for pair in pairs), len(pairs)) for way in WAYS.values()]
    return [name, str(len(pairs)), *cells]


def parts(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that should be merged and those that must not."""
    return [pair for pair in pairs if pair.label in MERGES], [pair for pair in pairs if pair.label not in MERGES]


def summary(pairs: list[Pair], prefix: str = "") -> list[list[str]]:
    right, wrong = parts(pairs)
    return [
        row(f"{prefix}contradicting or distinct pairs merged (errors), %", wrong),
        row(f"{prefix}duplicates and refinements merged, %", right),
    ]


def by_kind(pairs: list[Pair]) -> list[list[str]]:
    """Return a row for each kind of pair."""
    rows = []
    for some in parts(pairs):
        kinds = defaultdict(list)
        for pair in some:
            kinds[f"{pair.label}: {pair.kind}"].append(pair)
        rows += [row(name, kinds[name]) for name in sorted(kinds)]
    return rows


def tables_of(sets: dict[str, list[Pair]]) -> dict[str, Table]:
    """Return the published tables of the two sets of pairs."""
    first, other = sets.values()
    rows = [*summary(first), *summary(other, "other domains: ")]
    return {"domains": Table(columns=["", "pairs", *WAYS], rows=rows)}


def mistakes(pairs: list[Pair]) -> str:
    wrong = [pair for pair in pairs if WAYS[OURS](pair) and pair.label not in MERGES]
    agreeing = [pair for pair in pairs if pair.relation == "conflict" and pair.label in MERGES]
    lines = [f"merged wrongly: {pair.a!r} and {pair.b!r} ({pair.kind})" for pair in wrong]
    lines += [f"called a conflict: {pair.a!r} and {pair.b!r} ({pair.kind})" for pair in agreeing]
    return "\n".join(lines) or "nothing merged wrongly, no conflict between two that agree"


def main() -> None:
    sets = {name: pairs_in(DATA / file) for name, file in SETS.items()}
    tables = tables_of(sets)
    kinds = Table(columns=["merged, %", "pairs", *WAYS], rows=by_kind(next(iter(sets.values()))))
    print("\n\n".join([*map(markdown, [*tables.values(), kinds]), *map(mistakes, sets.values())]))
    if "--publish" in sys.argv:
        publish("dedup", "uv run python -m benchmarks.dedup", tables)


if __name__ == "__main__":
    main()

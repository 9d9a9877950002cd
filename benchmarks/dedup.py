"""How often merging goes wrong, and how much of what is said twice is found, without a language model.

    python benchmarks/dedup.py [pairs.jsonl ...]

Every pair is decided in three ways side by side: cosine similarity alone from 0.85 and from 0.95 on, and candidates
from cosine 0.55 on that pass the contrast check. Nothing is fitted to the pairs here; the spread over groups (all
pairs about one fact) says how much the figures hang on the facts chosen.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from zorkgpt.embeddings.choose import choose_provider
from zorkgpt.memory.entailment.compare import Relation, compare

DATA = Path(__file__).parent / "data"
MERGES = ("duplicate", "refinement")
CANDIDATE = 0.55


class Pair(NamedTuple):
    a: str
    b: str
    label: str
    kind: str
    group: str
    cosine: float
    relation: Relation


WAYS: dict[str, Callable[[Pair], bool]] = {
    "cosine >= 0.85": lambda pair: pair.cosine >= 0.85,
    "cosine >= 0.95": lambda pair: pair.cosine >= 0.95,
    "contrast check": lambda pair: pair.cosine >= CANDIDATE and pair.relation in ("same", "adds"),
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
    """A share with its 95 % interval, in percent; Wilson, "Probable Inference", 1927."""
    if of == 0:
        return "-"
    share, z = found / of, 1.96
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    reach = z / (1 + z * z / of) * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5
    return f"{100 * share:5.1f} [{100 * max(middle - reach, 0):.1f}, {100 * min(middle + reach, 1):.1f}]"


def row(name: str, pairs: list[Pair]) -> str:
    cells = [interval(sum(way(pair) for pair in pairs), len(pairs)) for way in WAYS.values()]
    return f"| {name} | {len(pairs)} | {' | '.join(cells)} |"


def table(pairs: list[Pair]) -> str:
    """What share of each kind is merged."""
    lines = [f"| merged, % | pairs | {' | '.join(WAYS)} |", f"| --- | --- |{' --- |' * len(WAYS)}"]
    right = [pair for pair in pairs if pair.label in MERGES]
    wrong = [pair for pair in pairs if pair.label not in MERGES]
    for title, some in (("right to merge", right), ("wrong to merge", wrong)):
        lines.append(row(f"**{title}, all**", some))
        kinds = defaultdict(list)
        for pair in some:
            kinds[f"{pair.label}: {pair.kind}"].append(pair)
        lines += [row(name, kinds[name]) for name in sorted(kinds)]
    return "\n".join(lines)


def spread(pairs: list[Pair], folds: int = 5) -> str:
    """The contrast check on five parts that share no group."""
    groups = sorted({pair.group for pair in pairs})
    lines = []
    for fold in range(folds):
        held = set(groups[fold::folds])
        some = [pair for pair in pairs if pair.group in held]
        right = [pair for pair in some if pair.label in MERGES]
        wrong = [pair for pair in some if pair.label not in MERGES]
        merged = WAYS["contrast check"]
        lines.append(
            f"| {fold + 1} | {len(held)} | {interval(sum(map(merged, right)), len(right))} "
            f"| {interval(sum(map(merged, wrong)), len(wrong))} |"
        )
    return "\n".join(["| part | groups | found, % | merged wrongly, % |", "| --- | --- | --- | --- |", *lines])


def mistakes(pairs: list[Pair]) -> str:
    wrong = [pair for pair in pairs if WAYS["contrast check"](pair) and pair.label not in MERGES]
    agreeing = [pair for pair in pairs if pair.relation == "conflict" and pair.label in MERGES]
    lines = [f"merged wrongly: {pair.a!r} and {pair.b!r} ({pair.kind})" for pair in wrong]
    lines += [f"called a conflict: {pair.a!r} and {pair.b!r} ({pair.kind})" for pair in agreeing]
    return "\n".join(lines) or "nothing merged wrongly, no conflict between two that agree"


def microseconds(pairs: list[Pair]) -> tuple[float, float]:
    """One check, with texts read for the first time and with texts read before."""
    texts = [(f"{pair.a} ", f"{pair.b} ") for pair in pairs]
    took = []
    for _ in range(2):
        start = time.perf_counter()
        for older, newer in texts:
            compare(older, newer)
        took.append((time.perf_counter() - start) / len(texts) * 1e6)
    return took[0], took[1]


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or [DATA / "dedup_dev.jsonl", DATA / "dedup_new_domain.jsonl"]
    for path in paths:
        pairs = pairs_in(path)
        first, again = microseconds(pairs)
        print(f"## {path.name}: {len(pairs)} pairs\n\n{table(pairs)}\n\n{spread(pairs)}\n\n{mistakes(pairs)}\n")
        print(f"one check: {first:.0f} µs for new texts, {again:.0f} µs for known ones\n")


if __name__ == "__main__":
    main()

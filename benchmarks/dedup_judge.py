"""Deduplication with a judge, on labelled pairs and in whole stores.

    uv run python -m benchmarks.dedup_judge [--publish]

The judge is simulated, no model is asked: it knows the labels, and is right on 95 % of the pairs that say the same and
on 98 % of those that differ. Store level: 200 places with ten memories each, five facts and what contradicts each of
them; then every fact is learned once more in other words.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.dedup import CANDIDATE, DATA, MERGES, SETS, Pair, pairs_in
from benchmarks.publish import Table, markdown, publish
from zorkgpt.embeddings.cache import VectorCache
from zorkgpt.embeddings.choose import choose_provider
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.memory.dedup.judge import Verdict
from zorkgpt.memory.entailment.comparison import is_worth_asking
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.exchange import with_memories

SAME, DIFFERENT = 0.95, 0.98
SEEDS, PLACES, FACTS = 200, 200, 5


class Once:
    """A provider that embeds each text once, for all stores together; the vectors are those of the one behind it."""

    def __init__(self, provider: EmbeddingProvider) -> None:
        self.model = provider.model
        self.get_dimension = provider.get_dimension
        self._known = VectorCache(None, provider)

    def embed(self, text: str) -> np.ndarray:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str]) -> np.ndarray:
        return self._known.vectors(texts)


class LabelJudge:
    """Says what the labels say, or as often as it is told something else."""

    def __init__(self, groups: dict[str, str], same: float = 1.0, different: float = 1.0, seed: int = 0) -> None:
        self._groups, self._same, self._different = groups, same, different
        self._random = random.Random(seed)

    def judge(self, place: str, new: Memory, known: list[Memory]) -> dict[int, Verdict]:
        verdicts = {}
        for number, memory in enumerate(known):
            agree = self._groups[memory.text] == self._groups[new.text]
            right = self._random.random() < (self._same if agree else self._different)
            relation = "same" if agree == right else "distinct"
            verdicts[number] = Verdict(number=number, relation=relation)
        return verdicts


def is_asked(pair: Pair) -> bool:
    return pair.relation == "unsure" and pair.cosine >= CANDIDATE and is_worth_asking(pair.a, pair.b)


def judged(pairs: list[Pair], prefix: str = "") -> list[list[str]]:
    """Return rows with the rates without a judge, and the mean and range over the seeds of the judge."""
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


def memory(text: str, number: int) -> Memory:
    return Memory("NOTE", "…", 1, str(number), 0, text, "permanent")


def stores(provider) -> Table:
    rows = [json.loads(line) for line in (DATA / "dedup_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    facts = [(row["group"], row["a"], row["b"]) for row in rows if row["label"] == "contradiction"]
    again = [(row["group"], row["a"], row["b"]) for row in rows if row["label"] == "duplicate" and row["a"] != row["b"]]
    cases = {}
    for group, fact, contrary in facts:
        words = [b for other, a, b in again if other == group and a == fact]
        if words:
            cases.setdefault(group, []).append((fact, contrary, words))
    lines = []
    for name, judge in (("none", None), ("always right", (1.0, 1.0)), ("95 % and 98 %", (SAME, DIFFERENT))):
        counts = store_outcomes(cases, provider, judge)
        total = sum(counts.values())
        lines.append([name, *(f"{counts[key] / total:.1%}" for key in counts)])
    return Table(columns=["judge", "merged correctly", "kept as separate memories", "merged wrongly"], rows=lines)


def store_outcomes(cases, provider, accuracy) -> dict[str, int]:
    counts = {"right": 0, "kept": 0, "wrong": 0}
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for place in range(PLACES):
            chosen = [(group, chance.choice(cases[group])) for group in chance.sample(sorted(cases), FACTS)]
            truth = {fact: fact for _, (fact, _, _) in chosen} | {contrary: contrary for _, (_, contrary, _) in chosen}
            truth |= {words: fact for _, (fact, _, rewordings) in chosen for words in rewordings}
            judge = LabelJudge(truth, *accuracy, seed=place) if accuracy else None
            path = Path(folder) / f"{place}.md"
            with SimpleMemoryManager.open(path, embeddings=provider, judge=judge) as manager:
                kept = [text for _, (fact, contrary, _) in chosen for text in (fact, contrary)]
                chance.shuffle(kept)
                located = [LocatedMemory(1, "Place", memory(text, at)) for at, text in enumerate(kept)]
                manager.store.apply(lambda document, located=located: with_memories(document, located))
                for number, (_, (fact, _, rewordings)) in enumerate(chosen, start=50):
                    before = {one.text: one.observation_count for one in manager.memory_cache[1]}
                    manager.add_memory(1, "Place", memory(chance.choice(rewordings), number))
                    after = {one.text: one.observation_count for one in manager.memory_cache[1]}
                    grown = [text for text in before if after[text] > before[text]]
                    outcome = "kept" if not grown else "right" if grown == [fact] else "wrong"
                    counts[outcome] += 1
    return counts


def main() -> None:
    first, other = (pairs_in(DATA / file) for file in SETS.values())
    rows = [*judged(first), *judged(other, "other domains: ")]
    tables = {
        "pairs": Table(columns=["", "without a judge", "with the judge: mean [5 %, 95 % of seeds]"], rows=rows),
        "stores": stores(Once(choose_provider())),
    }
    print("\n\n".join(map(markdown, tables.values())))
    if "--publish" in sys.argv:
        publish("dedup_judge", "uv run python -m benchmarks.dedup_judge", tables)


if __name__ == "__main__":
    main()

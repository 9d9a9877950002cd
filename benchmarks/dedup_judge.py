"""Deduplication with a judge, on labelled pairs and in whole stores.

    uv run python benchmarks/dedup_judge.py

The judge is simulated, no model is asked: it knows the labels, and is right on 95 % of the pairs that say the same and
on 98 % of those that differ. Store level: 200 places with ten memories each, five facts and what contradicts each of
them; then every fact is learned once more in other words.
"""

import json
import random
import tempfile
from pathlib import Path

import numpy as np
from dedup import CANDIDATE, DATA, MERGES, Pair, pairs_in

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
TRAP_DOOR = """
The trap door bars shut behind you after you go down.
The trap door bars shut behind you after going down.
After you go down, the trap door bars shut behind you.
When you descend, the trap door closes and is barred.
Going down makes the trap door slam and lock above you.
The trap door is barred from above once you have descended.
Once below, you can't leave by the trap door: it has been barred.
The trap door bars shut behind you after you go down, so take another way up.
Descending through the trap door gets it barred behind you.
"""
WINDOW = """
The window is slightly ajar.
The window is slightly ajar!
A small window is slightly open.
The window is slightly ajar, so it can be opened further.
The window stands a little open.
There is a window here that is open a crack.
The window has been left slightly ajar.
One window is not fully closed.
The small window is ajar.
"""


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


def pairs_with_judge(pairs: list[Pair]) -> str:
    sure = np.array([pair.cosine >= CANDIDATE and pair.relation in ("same", "adds") for pair in pairs])
    asked = np.array([is_asked(pair) for pair in pairs])
    merge = np.array([pair.label in MERGES for pair in pairs])
    found, wrong = [], []
    for seed in range(SEEDS):
        draws = np.random.default_rng(seed).random(len(pairs))
        merged = sure | (asked & (draws < np.where(merge, SAME, 1 - DIFFERENT)))
        found.append((merged & merge).sum() / merge.sum())
        wrong.append((merged & ~merge).sum() / (~merge).sum())
    return "\n".join(
        [
            "| | without a judge | with the judge: mean | 5 % to 95 % of seeds |",
            "| --- | --- | --- | --- |",
            f"| duplicates and refinements found | {(sure & merge).sum() / merge.sum():.1%} | {spread(found)} |",
            f"| merged wrongly | {(sure & ~merge).sum() / (~merge).sum():.1%} | {spread(wrong)} |",
            f"| pairs that need the judge | - | {asked.mean():.1%} | - |",
        ]
    )


def spread(shares: list[float]) -> str:
    low, high = np.percentile(shares, (5, 95))
    return f"{np.mean(shares):.2%} | {low:.1%} to {high:.1%}"


def memory(text: str, number: int) -> Memory:
    return Memory("NOTE", "…", 1, str(number), 0, text, "permanent")


def stores(provider) -> str:
    rows = [json.loads(line) for line in (DATA / "dedup_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    facts = [(row["group"], row["a"], row["b"]) for row in rows if row["label"] == "contradiction"]
    again = [(row["group"], row["a"], row["b"]) for row in rows if row["label"] == "duplicate" and row["a"] != row["b"]]
    cases = {}
    for group, fact, contrary in facts:
        words = [b for other, a, b in again if other == group and a == fact]
        if words:
            cases.setdefault(group, []).append((fact, contrary, words))
    lines = ["| judge | merged into the right one | kept beside | merged into its contradiction or another |"]
    lines.append("| --- | --- | --- | --- |")
    for name, judge in (("none", None), ("always right", (1.0, 1.0)), ("95 % and 98 %", (SAME, DIFFERENT))):
        counts = store_outcomes(cases, provider, judge)
        total = sum(counts.values())
        lines.append(f"| {name} | " + " | ".join(f"{counts[key] / total:.1%} ({counts[key]})" for key in counts) + " |")
    return "\n".join(lines)


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


def sentences(provider) -> str:
    lines = ["| nine ways to say | stay without a judge | stay with one that is right | observations kept |"]
    lines.append("| --- | --- | --- | --- |")
    for name, block in (("the trap door is barred", TRAP_DOOR), ("the window is ajar", WINDOW)):
        texts = block.strip().splitlines()
        stay = []
        for judge in (None, LabelJudge(dict.fromkeys(texts, name))):
            with (
                tempfile.TemporaryDirectory() as folder,
                SimpleMemoryManager.open(Path(folder) / "m.md", embeddings=provider, judge=judge) as manager,
            ):
                for number, text in enumerate(texts):
                    manager.add_memory(1, "Place", memory(text, number))
                current = [one for one in manager.memory_cache[1] if one.status != "SUPERSEDED"]
                stay.append([len(current), sum(one.observation_count for one in manager.memory_cache[1])])
        lines.append(f"| {name} | {stay[0][0]} | {stay[1][0]} | {stay[0][1]} and {stay[1][1]} of {len(texts)} |")
    return "\n".join(lines)


def main() -> None:
    provider = Once(choose_provider())
    for name in ("dedup_dev.jsonl", "dedup_new_domain.jsonl"):
        print(f"## {name}, {SEEDS} seeds of the judge\n\n{pairs_with_judge(pairs_in(DATA / name))}\n")
    print(f"## {PLACES} places with {2 * FACTS} memories\n\n{stores(provider)}\n")
    print(f"## Nine variants\n\n{sentences(provider)}")


if __name__ == "__main__":
    main()

"""Measure the cost of deduplication: a comparison, opening a full cache, and whole episodes with and without it.

uv run python -m benchmarks.dedup_costs [--story FILE ...] [--episodes 10] [--turns 200]
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.dedup import DATA, pairs_in
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.embeddings.choose import choose_provider
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.entailment.compare import compare
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors


def median_ms(work: Callable[[], object], times: int = 200) -> float:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1000)
    return float(np.median(took))


COSINES, CHECK, MODEL, WHOLE, OPENING = (
    "cosines against 50 memories, vector at hand",
    "one contrast check, texts read for the first time",
    "embedding one text, the model alone",
    "embedding it and comparing with 50 memories",
    "opening a cache of 2,000 vectors",
)


def costs_ms(rounds: int = 40) -> dict[str, float]:
    """Return the median of each cost in milliseconds."""
    provider = choose_provider()
    pairs = pairs_in(DATA / "dedup_dev.jsonl")
    kept, new = [pair.a for pair in pairs], "The rusty key does not open the grating."
    kept = list(dict.fromkeys([*kept, *(pair.b for pair in pairs)]))[:50]
    meaning = EmbeddingIndex(provider, get_logger("benchmark"))
    meaning.cosines(new, kept)
    fresh = iter(f"The lever number {number} opens the gate." for number in range(10_000))
    # Alternating, so that other load on the machine affects both.
    both = [
        (median_ms(lambda: provider.embed(next(fresh)), 5), median_ms(lambda: meaning.cosines(next(fresh), kept), 5))
        for _ in range(rounds)
    ]
    alone, whole = np.median(both, axis=0)
    texts = [(f"{pair.a} ", f"{pair.b} ") for pair in pairs]
    start = time.perf_counter()
    for older, newer in texts:
        compare(older, newer)
    contrast = (time.perf_counter() - start) * 1000 / len(texts)
    cosines = median_ms(lambda: meaning.cosines(new, kept))
    return {COSINES: cosines, CHECK: contrast, MODEL: float(alone), WHOLE: float(whole), OPENING: opening_ms()}


def speed() -> str:
    costs = costs_ms()
    rows = [f"| {what} | {ms:.3f} |" for what, ms in costs.items()]
    over = f"embedding and comparing over the model alone: {costs[WHOLE] / costs[MODEL] - 1:+.0%}"
    return "\n".join(["| what | ms |", "| --- | --- |", *rows, "", over])


def opening_ms() -> float:
    class Drawn:
        model = "drawn"

        def embed_batch(self, texts: list[str]) -> np.ndarray:
            return np.random.default_rng(0).standard_normal((len(texts), 384), dtype=np.float32)

    with tempfile.TemporaryDirectory() as folder:
        path, texts = Path(folder) / "Memories.md", [f"text {number}" for number in range(2000)]
        opened = partial(EmbeddingIndex, Drawn(), get_logger("benchmark"))
        opened(table=SqliteVectors(sidecar(path))).vectors(texts)
        return median_ms(lambda: opened(table=SqliteVectors(sidecar(path))).vectors(texts), times=20)


def episodes(story: str | None, count: int, turns: int) -> list[str]:
    lines = []
    for deduplicate in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            config = GameConfiguration(
                zork_game_workdir=folder,
                max_turns_per_episode=turns,
                enable_semantic_deduplication=deduplicate,
                consolidate_every_episodes=5,
            )
            calls, score = 0, 0
            found = find_story(story)
            with assemble(config, RunOptions(PlayerChoice("rules", "measurement", None), story=found)) as orchestrator:
                for _ in range(count):
                    end = orchestrator.play_episode()
                    calls, score = calls + end.metrics["synthesis_calls"], end.score
            path = Path(folder) / "Memories.md"
            with SimpleMemoryManager.open(path) as manager:
                places = sorted(manager.memory_cache)
                tokens = sum(estimated_tokens(manager.get_location_memory(place)) for place in places)
                memories = sum(map(len, manager.memory_cache.values()))
            state = "on" if deduplicate else "off"
            lines.append(
                f"| {found.title or found.path.stem} | {state} | {path.stat().st_size:,} | {memories} "
                f"| {tokens / len(places):.0f} | {calls} | {score} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", nargs="*", default=[])
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--turns", type=int, default=200)
    given = parser.parse_args()
    print(f"{speed()}\n")
    print(f"{given.episodes} episodes of the rules player (no language model), {given.turns} turns each\n")
    print("| story | dedup | file, bytes | memories | tokens shown at a place | synthesis calls | last score |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for story in (None, *given.story):
        print("\n".join(episodes(story, given.episodes, given.turns)))


if __name__ == "__main__":
    main()

"""How fast texts become vectors: the default provider beside sentence-transformers, and the cache.

    python benchmarks/embeddings.py [--texts 2000]

What is not installed is left out. Both providers get the same texts in the same run.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from zorkgpt.embeddings.cache import VectorCache
from zorkgpt.embeddings.hashing import HashingEmbeddings
from zorkgpt.embeddings.onnx_provider import OnnxProvider
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.embeddings.sentence_transformers_provider import SentenceTransformerProvider
from zorkgpt.errors import EmbeddingError
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors

THINGS = ["lantern", "rope", "door", "statue", "map", "gate", "parrot", "ladder", "well", "coin", "mirror", "bell"]
PLACES = ["the cellar", "the north bank", "a long corridor", "the observatory", "the greenhouse", "the market square"]
FIRST = ["The {} is in {}.", "Taking the {} in {} makes a noise.", "In {1} the {0} can't be moved.", "{1} holds a {0}."]
SECOND = ["", "It can be seen from outside.", "A guard comes after three turns.", "Nothing else happens there."]


def texts(count: int) -> list[str]:
    """One or two sentences each, as memories are."""
    chance = random.Random(3)
    first = [chance.choice(FIRST).format(chance.choice(THINGS), chance.choice(PLACES)) for _ in range(count)]
    return [f"{sentence} {chance.choice(SECOND)} ({number})" for number, sentence in enumerate(first)]


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best of some runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure(provider: EmbeddingProvider, many: list[str]) -> tuple[float, float, np.ndarray]:
    """Seconds for all of them together, seconds for one, and the vectors."""
    provider.embed("warm up")
    alone = seconds(lambda: [provider.embed(text) for text in many[:100]]) / len(many[:100])
    vectors = provider.embed_batch(many)
    return seconds(lambda: provider.embed_batch(many), times=2), alone, vectors


def import_seconds(module: str) -> float:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    run = [sys.executable, "-c", code]
    return min(float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def cache_seconds(count: int) -> float:
    """Read that many vectors of the default model's size."""
    with tempfile.TemporaryDirectory() as folder:
        path, provider, many = Path(folder) / "Memories.md", HashingEmbeddings(384), texts(count)
        VectorCache(provider, SqliteVectors(sidecar(path))).vectors(many, lasting=True)
        return seconds(lambda: VectorCache(provider, SqliteVectors(sidecar(path))).vectors(many), times=5)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=2000)
    many = texts(arguments.parse_args().texts)
    print(f"opening {len(many)} cached vectors: {cache_seconds(len(many)) * 1000:.1f} ms")
    results = []
    for provider, module in (
        (OnnxProvider(), "onnxruntime, tokenizers"),
        (SentenceTransformerProvider(), "sentence_transformers"),
    ):
        try:
            together, alone, vectors = measure(provider, many)
        except EmbeddingError as problem:
            print(f"{type(provider).__name__}: left out, {problem}")
            continue
        results.append((together, alone, vectors))
        print(
            f"{type(provider).__name__}: {len(many)} texts {together:.2f} s, one text {alone * 1000:.2f} ms, "
            f"import {import_seconds(module):.2f} s"
        )
    if len(results) == 2:
        ours, theirs = results
        print(f"sentence-transformers / ours: together {theirs[0] / ours[0]:.2f}, alone {theirs[1] / ours[1]:.2f}")
        print(f"largest difference of a number: {np.abs(ours[2] - theirs[2]).max():.1e}")


if __name__ == "__main__":
    main()

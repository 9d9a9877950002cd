"""Embeddings by feature hashing, without a model. They are the same on every machine."""

import re
import zlib
from collections import Counter

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import Vectors
from zorkgpt.embeddings.vectors import unit


class HashingEmbeddings:
    """A provider whose similarity depends on shared words and parts of words, not on meaning.

    Signed feature hashing: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
    """

    def __init__(self, dimension: int = 256) -> None:
        self.model = f"hashing-{dimension}"
        self._dimension = dimension

    def embed(self, text: str) -> Vectors:
        vector = np.zeros(self._dimension, dtype=np.float32)
        for feature, count in Counter(_features(text)).items():
            code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            vector[(code >> 1) % self._dimension] += count if code & 1 else -count
        return unit(vector)

    def embed_batch(self, texts: list[str]) -> Vectors:
        return np.array([self.embed(text) for text in texts], dtype=np.float32).reshape(len(texts), self._dimension)

    def get_dimension(self) -> int:
        return self._dimension


def _features(text: str) -> list[str]:
    features = []
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        padded = f"<{word}>"
        features += [padded, *(padded[start : start + 3] for start in range(len(padded) - 2))]
    return features

"""Whole texts to unit vectors from a model that takes pieces: the blank left out, the long cut and joined."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from zorkgpt.errors import EmbeddingError


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows as float32 of length 1; a row of zeros stays one."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths == 0, np.float32(1), lengths)


def embed_whole(
    texts: list[str],
    dimension: int,
    pieces_of: Callable[[str], list[str]],
    embed_pieces: Callable[[list[str]], np.ndarray],
) -> np.ndarray:
    """Vectors of whole texts from a model that takes pieces; the pieces of a text count alike.

    Args:
        pieces_of: cuts a text into parts that fit the model's window.
        embed_pieces: vectors of unit length for parts that fit.
    """
    pieces: list[str] = []
    owners: list[int] = []
    for position, text in enumerate(texts):
        if not text.strip():
            continue
        # Half a surrogate pair is no character; neither tokenizers nor JSON over the wire take it.
        parts = pieces_of(text.encode("utf-8", "replace").decode("utf-8"))
        pieces += parts
        owners += [position] * len(parts)
    sums = np.zeros((len(texts), dimension), dtype=np.float32)
    if not pieces:
        return sums
    vectors = embed_pieces(pieces)
    if not np.isfinite(vectors).all():
        raise EmbeddingError("The embedding model answered with numbers that are not finite. Choose another model.")
    if owners == list(range(len(texts))):
        return vectors  # one piece each, nothing blank: what the model says is left as it is
    np.add.at(sums, owners, vectors)
    return unit(sums)


def cut_by_tokens(text: str, spans: list[tuple[int, int]], limit: int) -> list[str]:
    """A text in equal parts of at most `limit` tokens.

    Args:
        spans: start and end of each token in the text.
    """
    count = -(-len(spans) // limit)
    if count <= 1:
        return [text]
    starts = [0, *(spans[len(spans) * part // count][0] for part in range(1, count)), len(text)]
    parts = [text[start:end] for start, end in pairwise(starts)]
    return [part for part in parts if part.strip()]

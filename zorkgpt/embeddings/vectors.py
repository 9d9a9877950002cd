"""Embed texts of any length with a model of limited window. Long texts are embedded in pieces."""

from collections.abc import Callable
from itertools import pairwise

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import Vectors
from zorkgpt.errors import EmbeddingError


def unit(vectors: Vectors) -> Vectors:
    """Normalize rows to unit length, as float32. Rows of zeros are unchanged."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, np.float32(1), lengths), dtype=np.float32)


def embed_whole(
    texts: list[str],
    dimension: int,
    pieces_of: Callable[[str], list[str]],
    embed_pieces: Callable[[list[str]], Vectors],
) -> Vectors:
    """Return the vectors of texts. All pieces of a text have the same weight, and blank texts get zeros.

    Args:
        pieces_of: Cuts a text into pieces that fit the model's window.
        embed_pieces: Returns unit vectors of pieces.
    """
    pieces: list[str] = []
    owners: list[int] = []
    for position, text in enumerate(texts):
        if not text.strip():
            continue
        # Neither tokenizers nor servers accept lone surrogates.
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
        return vectors  # one piece per text, so nothing to add up
    np.add.at(sums, owners, vectors)
    return unit(sums)


def cut_by_tokens(text: str, spans: list[tuple[int, int]], limit: int) -> list[str]:
    """Cut a text into equal parts of at most `limit` tokens.

    Args:
        spans: Start and end of each token in the text.
    """
    count = -(-len(spans) // limit)
    if count <= 1:
        return [text]
    starts = [0, *(spans[len(spans) * part // count][0] for part in range(1, count)), len(text)]
    parts = [text[start:end] for start, end in pairwise(starts)]
    return [part for part in parts if part.strip()]

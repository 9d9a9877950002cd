"""Embeddings from an OpenAI-compatible server."""

from itertools import pairwise
from typing import Any

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import Vectors
from zorkgpt.embeddings.vectors import embed_whole, unit
from zorkgpt.errors import EmbeddingError

# Models usually accept 8,191 tokens, and no script needs more than about 1.5 tokens per character.
_PIECE_CHARACTERS = 5_000


class LLMEmbeddingProvider:
    """Embeds texts with a model behind `/embeddings`."""

    def __init__(
        self, llm_client: Any, model: str = "text-embedding-3-small", *, batch_size: int = 32, timeout_s: float = 30.0
    ) -> None:
        """
        Args:
            llm_client: A client with the interface of the OpenAI SDK (`client.embeddings.create(...)`).
        """
        self.model = model
        self._client = llm_client
        self._batch_size = batch_size
        self._timeout_s = timeout_s
        self._dimension: int | None = None

    def embed(self, text: str) -> Vectors:
        vector: Vectors = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: list[str]) -> Vectors:
        return embed_whole(texts, self.get_dimension(), _pieces, self._embed_pieces)

    def get_dimension(self) -> int:
        if self._dimension is None:
            self._dimension = int(self._ask(["dimension"]).shape[1])
        return self._dimension

    def _embed_pieces(self, pieces: list[str]) -> Vectors:
        starts = range(0, len(pieces), self._batch_size)
        return np.concatenate([self._ask(pieces[start : start + self._batch_size]) for start in starts])

    def _ask(self, pieces: list[str]) -> Vectors:
        try:
            answer = self._client.embeddings.create(
                model=self.model, input=pieces, encoding_format="float", timeout=self._timeout_s
            )
            rows = [entry.embedding for entry in sorted(answer.data, key=lambda entry: entry.index)]
        except Exception as problem:  # each client has its own exceptions
            raise EmbeddingError(f"The server returned no embeddings of {self.model!r}: {problem}") from problem
        return self._checked(rows, len(pieces))

    def _checked(self, rows: list[Any], count: int) -> Vectors:
        lengths = {len(row) for row in rows if row is not None}
        if len(rows) != count or len(lengths) != 1 or None in rows:
            raise EmbeddingError(
                f"{self.model!r} answered {count} texts with {len(rows)} vectors of the lengths {sorted(lengths)}."
            )
        if self._dimension not in (None, *lengths):
            raise EmbeddingError(
                f"{self.model!r} answered with vectors of {lengths.pop()} numbers, before with {self._dimension}."
            )
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as problem:
            raise EmbeddingError(f"{self.model!r} answered with a value that is not a number: {problem}") from problem
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise EmbeddingError(f"{self.model!r} answered with a vector that is not finite or is all zeros.")
        return unit(vectors)


def _pieces(text: str) -> list[str]:
    count = -(-len(text) // _PIECE_CHARACTERS)
    bounds = [len(text) * part // count for part in range(count + 1)]
    parts = [text[start:end] for start, end in pairwise(bounds)]
    return [part for part in parts if part.strip()]

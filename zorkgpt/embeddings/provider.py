"""The protocols of an embedding provider and of a table of vectors."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

DEFAULT_MODEL = "all-MiniLM-L6-v2"

Vectors: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
"""One vector, or an array with a vector per row. A string, so that numpy is not imported."""


ProviderChoice = Literal[
    "auto",
    "none",
    "onnx",
    "sentence-transformers",
    "llm",
]
"""A provider of `choose_provider`, `auto` for the first that works, or none."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """A provider of vectors whose dot product is the cosine similarity.

    Vectors are float32 and have unit length. The vector of a blank text is all zeros, so it is similar to no other.
    A text longer than the model's window is embedded in pieces, not truncated.
    """

    @property
    def model(self) -> str:
        """The model's name. Only vectors of the same model can be compared, even from different providers."""
        ...

    def embed(self, text: str) -> Vectors:
        """Return the vector of a text, of shape (d,).

        Raises:
            EmbeddingError: If the text could not be embedded.
        """
        ...

    def embed_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of texts, in order, of shape (n, d).

        Raises:
            EmbeddingError: If a text could not be embedded.
        """
        ...

    def get_dimension(self) -> int:
        """Return the dimension d of the vectors. May load the model.

        Raises:
            EmbeddingError: If the model is not available.
        """
        ...


class VectorTable(Protocol):
    """Vectors by model and `key_of` their text. Every method may raise `MemoryStoreError`."""

    @property
    def kept(self) -> str:
        """Where vectors are stored, for display. "" if only in this process."""
        ...

    def find(self, model: str, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors of these keys."""
        ...

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return the keys that have a vector, among the given ones or all."""
        ...

    def put(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Add or replace vectors."""
        ...

    def nearest(
        self, model: str, vector: Vectors, limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the nearest keys with their cosines, nearest first. `among` limits the search to these keys."""
        ...

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete the model's vectors of all other texts."""
        ...

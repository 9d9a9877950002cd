"""The protocol of an embedding provider."""

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

DEFAULT_MODEL = "all-MiniLM-L6-v2"

Vectors: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"
"""One vector or rows of them; named in a string, so that numpy is not loaded for it."""


ProviderChoice = Literal[
    "auto",
    "none",
    "onnx",
    "sentence-transformers",
    "llm",
]
"""A provider that `choose_provider` knows, all of them in turn, or none."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors whose dot product is the cosine similarity.

    Vectors are float32 and of unit length. The vector of a blank text is all zeros, so that it is similar to
    no other. A text longer than the model's window is embedded in pieces, never truncated.
    """

    @property
    def model(self) -> str:
        """The model's name. Only vectors of the same model can be compared, whichever provider computed them."""
        ...

    def embed(self, text: str) -> Vectors:
        """Return the vector of a text, of shape (d,).

        Raises:
            EmbeddingError: If the text could not be embedded.
        """
        ...

    def embed_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several texts in their order, of shape (n, d); (0, d) for none.

        Raises:
            EmbeddingError: If at least one of them could not be embedded.
        """
        ...

    def get_dimension(self) -> int:
        """Return the length d of the vectors; may load the model.

        Raises:
            EmbeddingError: If the model is not available.
        """
        ...

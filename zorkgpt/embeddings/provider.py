"""What turns texts into vectors has to offer."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Texts to vectors whose dot product is the cosine similarity.

    Vectors are float32 and of unit length. A blank text says nothing: its vector is all zeros, so that it is similar
    to no other. A text longer than the model's window is embedded in pieces, never cut.
    """

    @property
    def model(self) -> str:
        """The model's name: vectors of one model can be compared, whoever computed them, those of two can't."""
        ...

    def embed(self, text: str) -> "np.ndarray":
        """The vector of a text, of shape (d,).

        Raises:
            EmbeddingError: the text could not be embedded.
        """
        ...

    def embed_batch(self, texts: list[str]) -> "np.ndarray":
        """The vectors of several texts in their order, of shape (n, d); (0, d) for none.

        Raises:
            EmbeddingError: at least one of them could not be embedded.
        """
        ...

    def get_dimension(self) -> int:
        """The length d of the vectors; may load the model.

        Raises:
            EmbeddingError: the model is not to be had.
        """
        ...

"""The protocol of a table of vectors."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from zorkgpt.embeddings.provider import Vectors


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

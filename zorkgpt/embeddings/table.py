"""Where vectors are kept."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from zorkgpt.embeddings.provider import Vectors


class VectorTable(Protocol):
    """Vectors by model and `key_of` their text. Every method may raise `MemoryStoreError`."""

    @property
    def kept(self) -> str:
        """Where they are kept, and why, for people."""
        ...

    def find(self, model: str, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return those of these vectors that are there."""
        ...

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return those of these keys that have a vector; without any given, all that have one."""
        ...

    def put(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep vectors, in the place of what is there."""
        ...

    def nearest(
        self, model: str, vector: Vectors, limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the keys of the texts that are nearest, of all or among these, with their cosines, nearest first."""
        ...

    def clear(self, model: str) -> None:
        """Delete the vectors of a model."""
        ...

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete the model's vectors of all other texts."""
        ...

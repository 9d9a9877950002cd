"""A cache of vectors, so that no text is embedded twice."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.matrix import VectorMatrix
from zorkgpt.embeddings.provider import EmbeddingProvider, Vectors
from zorkgpt.embeddings.table import VectorTable
from zorkgpt.errors import ZorkGPTError
from zorkgpt.fork_locks import new_lock
from zorkgpt.text import key_of

log = logging.getLogger(__name__)


class VectorCache:
    """The vectors of one model by the hash of their text. Vectors of memories are also stored in a table.

    Args:
        table: Stores vectors. Defaults to a table in this process.
    """

    def __init__(self, provider: EmbeddingProvider, table: VectorTable | None = None) -> None:
        self.table = VectorMatrix() if table is None else table
        self._shared: set[bytes] = set()
        """The keys of the vectors in the table."""
        self._provider = provider
        self._lock = new_lock()
        """Not held while the table is used, because a thread with the table's lock may wait for this one."""
        self._model = provider.model
        self._vectors: dict[bytes, Vectors] = {}
        self._widths: set[int] = set()
        self._warned = False
        self.rebuilds = 0
        """Number of times that all vectors were dropped, by a change of the model or by `rebuild`."""

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, text: str) -> bool:
        return not self.count_missing([text])

    def count_missing(self, texts: Iterable[str]) -> int:
        """Return the number of texts without a vector."""
        keys = [key_of(text) for text in texts]
        self._fetch(keys)
        return sum(key not in self._vectors for key in keys)

    def vectors(self, texts: Sequence[str], *, lasting: bool = False) -> Vectors:
        """Return the vectors of texts, of shape (n, d). Missing ones are embedded in one batch.

        Args:
            lasting: Whether to store the vectors in the table, because they belong to lasting memories.

        Raises:
            EmbeddingError: If a text could not be embedded.
        """
        keys = [key_of(text) for text in texts]
        self._fetch(keys)
        with self._lock:
            by_key = dict(zip(keys, texts, strict=True))
            self._embed({key: text for key, text in by_key.items() if key not in self._vectors})
            if self._is_mixed():
                self._drop()
                self._embed(by_key)
            model, vectors = self._model, {key: self._vectors[key] for key in keys}
        if lasting:
            self._share(model, vectors)
        if not keys:
            return np.zeros((0, self._provider.get_dimension()), dtype=np.float32)
        return np.stack([vectors[key] for key in keys])

    def prune(self, texts: Iterable[str]) -> None:
        """Drop the vectors of all other texts, here and in the table."""
        keep = {key_of(text) for text in texts}
        with self._lock:
            self._vectors = {key: vector for key, vector in self._vectors.items() if key in keep}
            model, vectors = self._model, dict(self._vectors)
        self._share(model, vectors)
        try:
            self.table.keep_only(model, keep)
        except ZorkGPTError as problem:
            self._warn("vectors can't be deleted", problem)

    def rebuild(self, texts: Sequence[str]) -> None:
        """Drop all vectors and embed these texts again.

        Raises:
            EmbeddingError: If they could not be embedded. The cache is then empty.
        """
        with self._lock:
            self._drop()
            model = self._model
        self.table.keep_only(model, ())
        self.vectors(texts, lasting=True)

    def _fetch(self, keys: Iterable[bytes]) -> None:
        """Load missing vectors from the table."""
        model = self._model
        if not (missing := [key for key in keys if key not in self._vectors]):
            return
        try:
            found = self.table.find(model, missing)
        except ZorkGPTError as problem:
            self._warn("vectors can't be read", problem)
            return
        with self._lock:
            if self._model == model:
                self._vectors.update(found)
                self._widths.update(map(len, found.values()))
                self._shared.update(found)

    def _share(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Store vectors that are not in the table yet."""
        new = {key: vector for key, vector in vectors.items() if key not in self._shared}
        if not (new := {key: vector for key, vector in new.items() if np.isfinite(vector).all()}):
            return
        try:
            self.table.put(model, new)
        except ZorkGPTError as problem:
            self._warn("vectors can't be written", problem)
            return
        with self._lock:
            if self._model == model:
                self._shared.update(new)

    def _embed(self, missing: dict[bytes, str]) -> None:
        if missing:
            rows = self._provider.embed_batch(list(missing.values()))
            self._vectors.update(zip(missing, rows, strict=True))
            self._widths.update(map(len, rows))

    def _is_mixed(self) -> bool:
        """Return whether there are vectors of several models, after a fallback or a change on the server."""
        return self._provider.model != self._model or len(self._widths) > 1

    def _drop(self) -> None:
        self._model = self._provider.model
        self._vectors = {}
        self._shared.clear()
        self._widths = set()
        self.rebuilds += 1

    def _warn(self, what: str, problem: Exception) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        log.log(level, what, extra={"error": str(problem)})

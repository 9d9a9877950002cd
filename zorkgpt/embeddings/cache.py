"""A cache of vectors, so that no text is embedded twice.

On disk it is one NumPy archive beside the memories, and disposable: a damaged one is built again. Where memories are
in a database it is a table there, from which this process takes what it needs.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

from filelock import FileLock, Timeout

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import EmbeddingProvider, Vectors
from zorkgpt.embeddings.table import VectorTable, key_of
from zorkgpt.errors import FileError, ZorkGPTError
from zorkgpt.files import write_file

log = logging.getLogger(__name__)

_LOCK_WAIT_S = 5.0


class VectorCache:
    """Vectors of one model by the hash of their text.

    Several processes may share a file: each write adds to what the others wrote.
    """

    def __init__(self, path: Path | None, provider: EmbeddingProvider, table: VectorTable | None = None) -> None:
        """
        Args:
            path: the archive; None keeps everything in this process.
            table: in the place of an archive.
        """
        self._path = path if table is None else None
        self._table = table
        self._shared: set[bytes] = set()
        """The keys of what is in the table."""
        self._provider = provider
        self._lock = threading.RLock()
        self._model = provider.model
        known = self._read()
        self._vectors: dict[bytes, Vectors] = known or {}
        self._widths = set(map(len, self._vectors.values()))
        self._unsaved = False
        self._warned = False
        self.rebuilds = int(known is None)
        """How often the cache was emptied: the file was unusable, the model changed, or `rebuild` was called."""

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, text: str) -> bool:
        return not self.count_missing([text])

    def count_missing(self, texts: Iterable[str]) -> int:
        """Return how many of these texts would have to be embedded."""
        with self._lock:
            keys = [key_of(text) for text in texts]
            self._fetch(keys)
            return sum(key not in self._vectors for key in keys)

    def vectors(self, texts: Sequence[str], *, lasting: bool = False) -> Vectors:
        """Return the vectors of texts, of shape (n, d); those that are missing are embedded in one batch.

        Args:
            lasting: they are of memories that are kept: others will need their vectors too.

        Raises:
            EmbeddingError: a missing one could not be embedded.
        """
        with self._lock:
            keys = [key_of(text) for text in texts]
            self._complete(keys, texts)
            if self._is_mixed():
                self._drop()
                self._embed(dict(zip(keys, texts, strict=True)))
            if lasting:
                self._share(keys)
            if not keys:
                return np.zeros((0, self._provider.get_dimension()), dtype=np.float32)
            return np.stack([self._vectors[key] for key in keys])

    def save(self) -> bool:
        """Write new vectors to disk, merged with those of other processes. Returns whether that was possible."""
        with self._lock:
            return not self._unsaved or self._write(keep=None)

    def prune(self, texts: Iterable[str]) -> int:
        """Drop the vectors of all other texts, here and on disk. Returns how many there were."""
        with self._lock:
            keep = {key_of(text) for text in texts}
            before = len(self._vectors)
            self._vectors = {key: vector for key, vector in self._vectors.items() if key in keep}
            self._share(self._vectors)
            self._write(keep)
            return before - len(self._vectors)

    def rebuild(self, texts: Sequence[str]) -> None:
        """Embed these texts again, and keep nothing else.

        Raises:
            EmbeddingError: they could not be embedded; the cache is then empty.
        """
        with self._lock:
            self._drop()
            if self._table is not None:
                self._table.clear(self._model)
            self.vectors(texts, lasting=True)
            self._write(keep={key_of(text) for text in texts})

    def _complete(self, keys: Sequence[bytes], texts: Sequence[str]) -> None:
        self._fetch(keys)
        self._embed({key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors})

    def _fetch(self, keys: Iterable[bytes]) -> None:
        """Take from the table what is not here yet."""
        if self._table is None or not (missing := [key for key in keys if key not in self._vectors]):
            return
        try:
            found = self._table.find(self._model, missing)
        except ZorkGPTError as problem:
            self._warn("vectors can't be read", problem)
            return
        self._vectors.update(found)
        self._widths.update(map(len, found.values()))
        self._shared.update(found)

    def _share(self, keys: Iterable[bytes]) -> None:
        """Put into the table what is not in it yet."""
        if self._table is None:
            return
        new = {key: self._vectors[key] for key in keys if key not in self._shared}
        if not (new := {key: vector for key, vector in new.items() if np.isfinite(vector).all()}):
            return
        try:
            self._table.put(self._model, new)
        except ZorkGPTError as problem:
            self._warn("vectors can't be written", problem)
            return
        self._shared.update(new)

    def _embed(self, missing: dict[bytes, str]) -> None:
        if missing:
            rows = self._provider.embed_batch(list(missing.values()))
            self._vectors.update(zip(missing, rows, strict=True))
            self._widths.update(map(len, rows))
            self._unsaved = True

    def _is_mixed(self) -> bool:
        """Whether there are vectors of several models: the provider fell back, or its server changed the model."""
        return self._provider.model != self._model or len(self._widths) > 1

    def _drop(self) -> None:
        self._model = self._provider.model
        self._vectors = {}
        self._shared.clear()
        self._widths = set()
        self.rebuilds += 1

    def _read(self) -> dict[bytes, Vectors] | None:
        """Return the vectors in the file, none if there is no file; None if it is damaged or of another model."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            with np.load(self._path, allow_pickle=False) as archive:
                if str(archive["model"]) != self._model:
                    return None
                keys, vectors = archive["keys"], archive["vectors"]
            if vectors.dtype != np.float32 or vectors.ndim != 2 or not np.isfinite(vectors).all():
                raise ValueError(f"vectors of kind {vectors.dtype} and shape {vectors.shape}")
            return dict(zip(map(bytes, keys), vectors, strict=True))
        except Exception as problem:  # a damaged archive may raise anything
            log.warning("vector cache is damaged, built again", extra={"path": self._path, "error": str(problem)})
            return None

    def _write(self, keep: set[bytes] | None) -> bool:
        """Merge with the file and replace it; `keep` has the keys that may stay, None means all."""
        if self._path is None:
            self._unsaved = False
            return True
        try:
            with FileLock(f"{self._path}.lock", timeout=_LOCK_WAIT_S):
                width = len(next(iter(self._vectors.values()), ()))
                others = {key: row for key, row in (self._read() or {}).items() if len(row) == width}
                merged = others | self._vectors
                if keep is not None:
                    merged = {key: vector for key, vector in merged.items() if key in keep}
                write_file(self._path, self._archive(merged), durable=False)
        except (OSError, FileError, Timeout) as problem:
            self._warn("vector cache can't be written", problem)
            return False
        self._vectors, self._unsaved = merged, False
        return True

    def _warn(self, what: str, problem: Exception) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        log.log(level, what, extra={"path": self._path, "error": str(problem)})

    def _archive(self, vectors: dict[bytes, np.ndarray]) -> bytes:
        keys = np.array([np.frombuffer(key, dtype=np.uint8) for key in vectors], dtype=np.uint8).reshape(-1, 16)
        rows = np.stack(list(vectors.values())) if vectors else np.zeros((0, 0), dtype=np.float32)
        archive = BytesIO()
        np.savez(archive, model=np.array(self._model), keys=keys, vectors=rows)
        return archive.getvalue()

"""Vectors in this process, as the rows of one array per model."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import Vectors
from zorkgpt.fork_locks import new_lock


class VectorMatrix:
    """A `VectorTable` in the memory of this process."""

    kept = ""

    def __init__(self) -> None:
        self._models: dict[str, _ModelVectors] = {}
        self._lock = new_lock()

    def find(self, model: str, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors of these keys."""
        with self._lock:
            rows = self._rows(model)
            return {key: rows.matrix[rows.at[key]] for key in keys if key in rows.at}

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return the keys that have a vector, among the given ones or all."""
        with self._lock:
            return set(self._rows(model).at) if keys is None else self._rows(model).at.keys() & keys

    def put(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Add or replace vectors. Vectors of another dimension belong to an earlier model and are dropped."""
        with self._lock:
            self._rows(model).put(vectors)

    def nearest(
        self, model: str, vector: Vectors, limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the nearest keys and their cosines, nearest first."""
        with self._lock:
            return self._rows(model).nearest(vector, limit, among)

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete all other vectors."""
        with self._lock:
            vectors = self.find(model, list(keys))
            self._models = {}
            self.put(model, vectors)

    def _rows(self, model: str) -> "_ModelVectors":
        return self._models.setdefault(model, _ModelVectors())


class _ModelVectors:
    def __init__(self) -> None:
        self.at: dict[bytes, int] = {}
        """Key → row."""
        self.keys: list[bytes] = []
        self.matrix: Vectors = np.zeros((0, 0), dtype=np.float32)
        """An array of shape (capacity, d). It grows by an eighth, so that adding a vector rarely copies all."""

    def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        if not vectors:
            return
        width = len(next(iter(vectors.values())))
        if width != self.matrix.shape[1]:
            self.at, self.keys, self.matrix = {}, [], np.zeros((0, width), dtype=np.float32)
        new = [key for key in vectors if key not in self.at]
        needed = len(self.keys) + len(new)
        if needed > len(self.matrix):
            larger = np.zeros((needed + needed // 8, width), dtype=np.float32)
            larger[: len(self.keys)] = self.matrix[: len(self.keys)]
            self.matrix = larger
        self.at.update(zip(new, range(len(self.keys), needed), strict=True))
        self.keys += new
        self.matrix[[self.at[key] for key in vectors]] = np.stack(list(vectors.values()))

    def nearest(self, vector: Vectors, limit: int, among: Iterable[bytes] | None) -> list[tuple[bytes, float]]:
        if not self.keys or len(vector) != self.matrix.shape[1]:
            return []
        if among is None:
            chosen, rows = np.arange(len(self.keys)), self.matrix[: len(self.keys)]
        else:
            chosen = np.array([self.at[key] for key in among if key in self.at], dtype=np.intp)
            rows = self.matrix[chosen]
        cosines = rows @ vector
        if limit < len(cosines):
            best = np.argpartition(cosines, len(cosines) - limit)[len(cosines) - limit :]
            chosen, cosines = chosen[best], cosines[best]
        order = (-cosines).argsort(kind="stable")
        return [(self.keys[int(chosen[at])], float(cosines[at])) for at in order]

"""The vectors of memories in a SQLite file, searched in this process."""

from collections.abc import Collection, Mapping, Sequence

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.matrix import VectorMatrix
from zorkgpt.embeddings.provider import Vectors
from zorkgpt.memory.storage.sqlite import SqliteDatabase


class SqliteVectors:
    """A `VectorTable`, read into an array on first use."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.kept = f"in {database.path.name}"
        self._database = database
        self._matrix = VectorMatrix()
        self._seen = (0, 0)
        """The number of rows and the last id when the table was last read."""

    def find(self, model: str, keys: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors of these keys."""
        return self._updated().find(model, keys)

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return the keys that have a vector, among the given ones or all."""
        return self._updated().known(model, keys)

    def nearest(
        self, model: str, vector: Vectors, limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the nearest keys and their cosines, nearest first."""
        return self._updated().nearest(model, vector, limit, among)

    def put(self, model: str, vectors: Mapping[bytes, Vectors]) -> None:
        """Add or replace vectors. Vectors of another dimension belong to an earlier model and are deleted."""
        if not vectors:
            return
        # Added to the array first, so that this process can search vectors that can't be written.
        self._updated().put(model, vectors)
        rows = [(model, key, np.asarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()]
        with self._database.change():
            self._database.put(
                "DELETE FROM zorkgpt_vectors WHERE model = %s AND length(vector) != %s", [(model, len(rows[0][2]))]
            )
            self._database.put("INSERT OR REPLACE INTO zorkgpt_vectors (model, key, vector) VALUES (%s, %s, %s)", rows)

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete the vectors of all other texts and models."""
        others = self._updated().known(model) - set(keys)
        with self._database.change():
            self._database.put("DELETE FROM zorkgpt_vectors WHERE key = %s", [(key,) for key in others])
            self._database.put("DELETE FROM zorkgpt_vectors WHERE model != %s", [(model,)])

    def _updated(self) -> VectorMatrix:
        """Return the vectors, including those that other processes have added."""
        with self._database.guard:
            seen = self._database.rows("SELECT count(*), coalesce(max(id), 0) FROM zorkgpt_vectors")[0]
            if seen != self._seen:
                if seen[0] < self._seen[0]:
                    self._matrix, self._seen = VectorMatrix(), (0, 0)
                rows = self._database.rows(
                    "SELECT model, key, vector FROM zorkgpt_vectors WHERE id > %s ORDER BY id", [self._seen[1]]
                )
                new: dict[str, dict[bytes, Vectors]] = {}
                for model, key, blob in rows:
                    vector = np.frombuffer(blob[: len(blob) // 4 * 4], dtype=np.float32)
                    if len(vector) and np.isfinite(vector).all():
                        new.setdefault(model, {})[key] = vector
                for model, vectors in new.items():
                    width = len(next(reversed(vectors.values())))
                    self._matrix.put(model, {key: vector for key, vector in vectors.items() if len(vector) == width})
                self._seen = seen
            return self._matrix

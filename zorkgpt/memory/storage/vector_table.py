"""The vectors of memories on PostgreSQL, using pgvector. Machines share the vectors."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from zorkgpt.errors import MemoryStoreError
from zorkgpt.extras import require
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.postgres import PostgresDatabase

if TYPE_CHECKING:
    from psycopg.sql import Composed

    from zorkgpt.embeddings.provider import Vectors

log = get_logger(__name__)

_SETUP_LOCK = 0x5A6F7276
"""The number of the advisory lock for creating the extension and the table."""
_INDEXED_FROM = 5_000
"""Minimum number of vectors for an index. Fewer vectors are compared one by one, which is exact."""
_COUNTED_EVERY = 500
"""Number of vectors that a process adds before it counts all vectors again."""
_MOST_DIMENSIONS = 2_000
"""Maximum number of dimensions that an index of pgvector supports."""
_MOST_CANDIDATES = 1_000
"""Maximum of pgvector's `ef_search`, the number of results from an index."""

_SETUP = """
SELECT pg_advisory_xact_lock({lock});
CREATE TABLE IF NOT EXISTS zorkgpt_vectors (
    model text NOT NULL,
    key bytea NOT NULL,
    vector {schema}.vector NOT NULL,
    PRIMARY KEY (model, key)
);
"""
_SCHEMA_OF_EXTENSION = """
SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""


class PostgresVectors:
    """A `VectorTable` in a PostgreSQL database.

    The vector of a text never changes, so a process can cache it. A missing vector is computed again.

    Raises:
        MemoryStoreError: If the database has no extension `vector`, and it can't be created.
        MissingExtra: If a package is missing.
    """

    kept = "in the database"

    def __init__(self, database: PostgresDatabase) -> None:
        require("postgres")
        self._database = database
        self._schema = _schema_of_extension(database)
        self._added = _COUNTED_EVERY
        """Number of vectors added since they were last counted."""
        if not _exists(database, "zorkgpt_vectors"):
            database.rows(self._composed(_SETUP))

    def find(self, model: str, keys: Sequence[bytes]) -> "dict[bytes, Vectors]":
        """Return the known vectors of these keys."""
        from pgvector import Vector

        query = "SELECT key, vector::text FROM zorkgpt_vectors WHERE model = %s AND key = ANY(%s)"
        rows = self._database.rows(query, (model, list(keys)))
        return {bytes(key): Vector.from_text(text).to_numpy() for key, text in rows}

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return the keys that have a vector, among the given ones or all."""
        query = "SELECT key FROM zorkgpt_vectors WHERE model = %s"
        if keys is None:
            rows = self._database.rows(query, (model,))
        else:
            rows = self._database.rows(f"{query} AND key = ANY(%s)", (model, list(keys)))
        return {bytes(key) for (key,) in rows}

    def put(self, model: str, vectors: "Mapping[bytes, Vectors]") -> None:
        """Add or replace vectors."""
        query = (
            "INSERT INTO zorkgpt_vectors (model, key, vector) VALUES (%s, %s, %s::{schema}.vector) "
            "ON CONFLICT (model, key) DO UPDATE SET vector = excluded.vector"
        )
        self._database.put(self._composed(query), [(model, key, _as_text(vector)) for key, vector in vectors.items()])
        self._added += len(vectors)
        if self._added >= _COUNTED_EVERY and vectors and not self._database.is_changing:
            self._added = 0
            self._index(model, len(next(iter(vectors.values()))))

    def nearest(
        self, model: str, vector: "Vectors", limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the nearest keys with their cosines, nearest first.

        Args:
            among: Limits the search to these keys, and makes it exact. Otherwise, an index may miss 1% of the results.
        """
        query = (
            "SELECT key, -(vector OPERATOR({schema}.<#>) %(vector)s::{schema}.vector) FROM zorkgpt_vectors "
            "WHERE model = %(model)s AND {schema}.vector_dims(vector) = {size} {among} "
            "ORDER BY (vector::{schema}.vector({size})) OPERATOR({schema}.<#>) %(vector)s::{schema}.vector({size}) "
            "LIMIT %(limit)s"
        )
        parameters = {"model": model, "vector": _as_text(vector), "limit": limit, "among": among and list(among)}
        condition = "" if among is None else "AND key = ANY(%(among)s)"
        with self._database.transaction():
            candidates = str(min(limit, _MOST_CANDIDATES))
            self._database.rows("SELECT set_config('hnsw.ef_search', %s, true)", (candidates,))
            rows = self._database.rows(self._composed(query, size=len(vector), among=condition), parameters)
        nearest = [(bytes(key), float(cosine)) for key, cosine in rows]
        return sorted(nearest, key=lambda key_and_cosine: -key_and_cosine[1])

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete the model's vectors of all other texts."""
        query = "DELETE FROM zorkgpt_vectors WHERE model = %s AND NOT key = ANY(%s)"
        self._database.rows(query, (model, list(keys)))

    def _index(self, model: str, size: int) -> None:
        """Create an index for the vectors of a model if there are many."""
        from psycopg import sql

        many = "SELECT count(*) FROM (SELECT FROM zorkgpt_vectors WHERE model = %s LIMIT %s) AS counted"
        if size > _MOST_DIMENSIONS or self._database.rows(many, (model, _INDEXED_FROM)) < [(_INDEXED_FROM,)]:
            return
        name = f"zorkgpt_vectors_{blake2b(f'{model} {size}'.encode(), digest_size=8).hexdigest()}"
        if _exists(self._database, name):
            return
        query = (
            "CREATE INDEX IF NOT EXISTS {name} ON zorkgpt_vectors "
            "USING hnsw ((vector::{schema}.vector({size})) {schema}.vector_ip_ops) "
            "WHERE model = {model} AND {schema}.vector_dims(vector) = {size}"
        )
        try:
            self._database.rows(
                sql.SQL(query).format(
                    name=sql.Identifier(name),
                    schema=sql.Identifier(self._schema),
                    size=sql.Literal(size),
                    model=sql.Literal(model),
                )
            )
        except MemoryStoreError as error:
            # Without an index, the search is slower, but has the same results.
            log.warning("index of vectors not created", extra={"error": str(error)})

    def _composed(self, query: str, *, size: int = 0, among: str = "") -> "Composed":
        from psycopg import sql

        return sql.SQL(query).format(
            schema=sql.Identifier(self._schema),
            size=sql.Literal(size),
            among=sql.SQL(among),
            lock=sql.Literal(_SETUP_LOCK),
        )


def delete_all_but(database: PostgresDatabase, keys: Collection[bytes]) -> None:
    """Delete the vectors of all other keys."""
    if _exists(database, "zorkgpt_vectors"):
        database.rows("DELETE FROM zorkgpt_vectors WHERE NOT key = ANY(%s)", (list(keys),))


def _exists(database: PostgresDatabase, name: str) -> bool:
    return database.rows("SELECT to_regclass(%s)", (name,)) != [(None,)]


def _schema_of_extension(database: PostgresDatabase) -> str:
    """Return the schema of the extension, which may not be on the search path. Creates a missing extension."""
    rows = database.rows(_SCHEMA_OF_EXTENSION)
    if not rows:
        # All memories in the database use the same extension, and can see this schema.
        lock = f"SELECT pg_advisory_xact_lock({_SETUP_LOCK})"
        database.rows(f"{lock}; CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        rows = database.rows(_SCHEMA_OF_EXTENSION)
    return str(rows[0][0])


def _as_text(vector: "Vectors") -> str:
    from pgvector import Vector

    return Vector(vector).to_text()

"""The vectors of the memories' texts on PostgreSQL, by pgvector: computed by one machine, searched by all."""

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
"""The number of the advisory lock under which the extension and the table are made."""
_INDEXED_FROM = 5_000
"""From this number of vectors on there is an index of them; fewer are compared one by one, which is exact."""
_LOOKED_AT_EVERY = 500
"""Vectors that a process adds before it looks again how many there are."""
_MOST_DIMENSIONS = 2_000
"""Of a vector that an index of pgvector takes."""
_MOST_CANDIDATES = 1_000
"""What an index of pgvector returns at most, its `ef_search`."""

_SETUP = """
SELECT pg_advisory_xact_lock({lock});
CREATE TABLE IF NOT EXISTS zorkgpt_vectors (
    model text NOT NULL,
    key bytea NOT NULL,
    vector {schema}.vector NOT NULL,
    PRIMARY KEY (model, key)
);
"""
_WHERE_THE_EXTENSION_IS = """
SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""


class PostgresVectors:
    """The table of vectors, by the model that made them and the hash of the text.

    What it says of a text is so for good: a process can hold on to it, and a row that is missing is made again.

    Raises:
        MemoryStoreError: the database has no extension `vector` and none can be created, or a package is missing.
    """

    kept = "in the database"

    def __init__(self, database: PostgresDatabase) -> None:
        require("postgres")
        self._database = database
        self._schema = _schema_of_extension(database)
        self._added = _LOOKED_AT_EVERY
        """Vectors that were added since it was looked at last how many there are."""
        if not _exists(database, "zorkgpt_vectors"):
            database.rows(self._composed(_SETUP))

    def find(self, model: str, keys: Sequence[bytes]) -> "dict[bytes, Vectors]":
        """Return those of these vectors that are there."""
        from pgvector import Vector

        query = "SELECT key, vector::text FROM zorkgpt_vectors WHERE model = %s AND key = ANY(%s)"
        found = self._database.rows(query, (model, list(keys)))
        return {bytes(key): Vector.from_text(said).to_numpy() for key, said in found}

    def known(self, model: str, keys: Sequence[bytes] | None = None) -> set[bytes]:
        """Return those of these keys that have a vector; without any given, all that have one."""
        query = "SELECT key FROM zorkgpt_vectors WHERE model = %s"
        if keys is None:
            found = self._database.rows(query, (model,))
        else:
            found = self._database.rows(f"{query} AND key = ANY(%s)", (model, list(keys)))
        return {bytes(key) for (key,) in found}

    def put(self, model: str, vectors: "Mapping[bytes, Vectors]") -> None:
        """Keep vectors, in the place of what is there."""
        query = (
            "INSERT INTO zorkgpt_vectors (model, key, vector) VALUES (%s, %s, %s::{schema}.vector) "
            "ON CONFLICT (model, key) DO UPDATE SET vector = excluded.vector"
        )
        self._database.put(self._composed(query), [(model, key, _in_words(vector)) for key, vector in vectors.items()])
        self._added += len(vectors)
        if self._added >= _LOOKED_AT_EVERY and vectors and not self._database.is_changing:
            self._added = 0
            self._index(model, len(next(iter(vectors.values()))))

    def nearest(
        self, model: str, vector: "Vectors", limit: int, among: Sequence[bytes] | None = None
    ) -> list[tuple[bytes, float]]:
        """Return the keys of the texts that are nearest, with their cosines, nearest first.

        Args:
            among: of these texts only, and then exactly; else an index may pass over one in a hundred.
        """
        query = (
            "SELECT key, -(vector OPERATOR({schema}.<#>) %(vector)s::{schema}.vector) FROM zorkgpt_vectors "
            "WHERE model = %(model)s AND {schema}.vector_dims(vector) = {size} {among} "
            "ORDER BY (vector::{schema}.vector({size})) OPERATOR({schema}.<#>) %(vector)s::{schema}.vector({size}) "
            "LIMIT %(limit)s"
        )
        asked = {"model": model, "vector": _in_words(vector), "limit": limit, "among": among and list(among)}
        chosen = "" if among is None else "AND key = ANY(%(among)s)"
        with self._database.transaction():
            candidates = str(min(limit, _MOST_CANDIDATES))
            self._database.rows("SELECT set_config('hnsw.ef_search', %s, true)", (candidates,))
            found = self._database.rows(self._composed(query, size=len(vector), among=chosen), asked)
        return sorted(((bytes(key), float(cosine)) for key, cosine in found), key=lambda one: -one[1])

    def clear(self, model: str) -> None:
        """Delete the vectors of a model."""
        self._database.rows("DELETE FROM zorkgpt_vectors WHERE model = %s", (model,))

    def keep_only(self, model: str, keys: Collection[bytes]) -> None:
        """Delete the model's vectors of all other texts."""
        query = "DELETE FROM zorkgpt_vectors WHERE model = %s AND NOT key = ANY(%s)"
        self._database.rows(query, (model, list(keys)))

    def _index(self, model: str, size: int) -> None:
        """Make an index of the vectors of a model where there are many of them."""
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
            # Without one the search takes longer, and finds the same.
            log.warning("no index of the vectors could be made", extra={"error": str(error)})

    def _composed(self, query: str, *, size: int = 0, among: str = "") -> "Composed":
        from psycopg import sql

        return sql.SQL(query).format(
            schema=sql.Identifier(self._schema),
            size=sql.Literal(size),
            among=sql.SQL(among),
            lock=sql.Literal(_SETUP_LOCK),
        )


def delete_all_but(database: PostgresDatabase, keys: Collection[bytes]) -> None:
    """Delete all vectors but these, where there are any."""
    if _exists(database, "zorkgpt_vectors"):
        database.rows("DELETE FROM zorkgpt_vectors WHERE NOT key = ANY(%s)", (list(keys),))


def _exists(database: PostgresDatabase, name: str) -> bool:
    return database.rows("SELECT to_regclass(%s)", (name,)) != [(None,)]


def _schema_of_extension(database: PostgresDatabase) -> str:
    """Return the schema in which the extension is, which need not be on the search path; created if there is none."""
    if not (found := database.rows(_WHERE_THE_EXTENSION_IS)):
        # In the schema that all memories of a database can see: there is one extension for all of them.
        lock = f"SELECT pg_advisory_xact_lock({_SETUP_LOCK})"
        database.rows(f"{lock}; CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        found = database.rows(_WHERE_THE_EXTENSION_IS)
    return str(found[0][0])


def _in_words(vector: "Vectors") -> str:
    from pgvector import Vector

    return Vector(vector).to_text()

"""The vectors of memory texts, and their similarity."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from zorkgpt.errors import ZorkGPTError
from zorkgpt.fork_locks import new_lock
from zorkgpt.text import key_of

if TYPE_CHECKING:
    from zorkgpt.embeddings.provider import EmbeddingProvider, Vectors, VectorTable

_Result = TypeVar("_Result")

# More texts are embedded in the background. Embedding this many takes about a second.
_MOST_AT_ONCE = 300
# Loading a model takes processor time from the game, so it starts after the first turns.
_FIRST_TURNS_S = 1.0
_PARTING_S = 3.0


class EmbeddingIndex:
    """Vectors by the hash of their text, so that no text is embedded twice. Those of memories are stored in a table.

    Errors are counted, logged once, and give None.

    Args:
        table: Where vectors are stored. None keeps them in this process.
        wait: Whether the first use waits for the model. If not, it is loaded in the background, and until then there
            are no vectors.
    """

    def __init__(
        self,
        provider: "EmbeddingProvider | None",
        log: logging.Logger,
        *,
        wait: bool = True,
        table: "VectorTable | None" = None,
    ) -> None:
        self.provider = provider
        self.failures = 0
        self.rebuilds = 0
        """Number of times that all vectors were dropped, by a change of the model or by `rebuild`."""
        self._table = table
        self._log = log
        self._wait = wait
        self._loader: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = new_lock()
        """Not held while the table is used, because a thread with the table's lock may wait for this one."""
        self._model = ""
        """The model of the vectors."""
        self._vectors: dict[bytes, Vectors] = {}
        self._stored: set[bytes] = set()
        """The keys of the vectors in the table."""
        self._is_dirty = False
        self._warned = False

    @property
    def table(self) -> "VectorTable":
        """The table of vectors."""
        if self._table is None:
            # Imported here, so that a memory without embeddings loads no NumPy.
            from zorkgpt.embeddings.matrix import VectorMatrix

            self._table = VectorMatrix()
        return self._table

    @property
    def kept(self) -> str:
        """Where vectors are stored, for display; "" if only in this process."""
        return "" if self._table is None else self._table.kept

    @property
    def size(self) -> int:
        return len(self._vectors)

    @property
    def is_lost(self) -> bool:
        """Whether there is no available provider, so that there will be no vectors."""
        # Only some providers can become unavailable.
        return self.provider is None or not getattr(self.provider, "available", True)

    @property
    def is_loading(self) -> bool:
        """Whether texts are being embedded in the background."""
        return self._loader is not None and self._loader.is_alive()

    def cosines(self, text: str, others: Sequence[str], *, lasting: bool = True) -> "list[float] | None":
        """Return the similarity of a text to each of the others, in [-1, 1]. None if there are no vectors now.

        Args:
            lasting: Whether the others are texts of lasting memories.
        """
        if not others or not self._is_ready(others):
            return None
        rows = self._attempt(lambda: self._finite([text, *others], others if lasting else ()))
        if rows is None:
            return None
        cosines: list[float] = (rows[1:] @ rows[0]).clip(-1, 1).tolist()
        return cosines

    def ready_vectors(self, texts: Sequence[str]) -> "Vectors | None":
        """Return the vectors of memory texts, or None. If making them takes long, it starts in the background."""
        return self.vectors(texts) if texts and self._is_ready(texts) else None

    def vector(self, text: str) -> "Vectors | None":
        return self._attempt(lambda: self._finite([text])[0])

    def vectors(self, texts: Sequence[str]) -> "Vectors | None":
        """Return the vectors of the texts of lasting memories, at least one, of shape (n, d). None if this failed."""
        return self._attempt(lambda: self._finite(texts, texts))

    def prepare(self) -> None:
        """Start loading the model if its first use would not wait for it."""
        if self._loader is None and not self._wait and not self.is_lost:
            self._load()

    def _load(self, texts: Sequence[str] = ()) -> None:
        """Load the model and embed these texts in the background."""
        if self._loader is None or not self._loader.is_alive():
            # A forked child must not share an event with a thread of its parent.
            self._stop = threading.Event()
            self._loader = threading.Thread(
                target=self._embed, args=(list(texts), self._stop), name="zorkgpt-embeddings", daemon=True
            )
            self._loader.start()

    def close(self) -> None:
        """Stop loading, and wait a moment for the part that is being loaded, so that it can be saved."""
        if self._loader is not None and self._loader.is_alive():
            self._stop.set()
            self._loader.join(_PARTING_S)

    def save(self, texts: Callable[[], Iterable[str]]) -> None:
        """Save new vectors in the table, and delete those of other texts."""
        if self._is_dirty and not self.is_loading:
            self._is_dirty = False
            self._attempt(lambda: self._prune({key_of(text) for text in texts()}))

    def _prune(self, keep: Collection[bytes]) -> None:
        with self._lock:
            self._vectors = {key: vector for key, vector in self._vectors.items() if key in keep}
            model, vectors = self._model, dict(self._vectors)
        self._store(model, vectors)
        try:
            self.table.keep_only(model, keep)
        except ZorkGPTError as problem:
            self._warn("vectors can't be deleted", problem)

    def drop(self) -> None:
        """Clear the vectors in memory. Those in the table are read again."""
        self._vectors, self._stored = {}, set()

    def rebuild(self, texts: Sequence[str]) -> bool:
        """Embed these texts again, and drop all other vectors. False if this failed."""
        return self._attempt(lambda: self._rebuilt(texts)) is not None

    def _rebuilt(self, texts: Sequence[str]) -> bool:
        self._clear()
        self.table.keep_only(self._model, ())
        if texts:
            self._finite(texts, texts)
        return True

    def _is_ready(self, others: Sequence[str]) -> bool:
        if self.is_lost or self.is_loading:
            return False
        is_unloaded = self._loader is None and not self._wait
        if is_unloaded or len(self._missing(map(key_of, others))) > _MOST_AT_ONCE:
            self._load(others)
            return False
        return True

    def _embed(self, texts: list[str], stop: threading.Event) -> None:
        if stop.wait(0 if self._wait else _FIRST_TURNS_S) or self.vector("warm up") is None:
            return
        for start in range(0, len(texts), _MOST_AT_ONCE):
            part = texts[start : start + _MOST_AT_ONCE]
            if stop.is_set() or self.vectors(part) is None:
                return

    def _finite(self, texts: Sequence[str], lasting: Iterable[str] = ()) -> "Vectors":
        """Return the vectors of texts, and store those of lasting memories. Missing ones are embedded in one batch.

        Raises:
            EmbeddingError: If a text could not be embedded.
        """
        import numpy as np

        by_key = {key_of(text): text for text in texts}
        self._missing(by_key)
        with self._lock:
            vectors = {key: self._vectors[key] for key in by_key if key in self._vectors}
            vectors |= self._embedded({key: text for key, text in by_key.items() if key not in vectors})
            if self._model != self._current_model or len(set(map(len, vectors.values()))) > 1:
                # There are vectors of several models, after a fallback or a change on the server.
                self._clear()
                vectors = self._embedded(by_key)
            self._vectors |= vectors
            model = self._model
        self._store(model, {key: vectors[key] for key in map(key_of, lasting)})
        rows: Vectors = np.nan_to_num(np.stack([vectors[key_of(text)] for text in texts]), posinf=0.0, neginf=0.0)
        return rows

    def _missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Load the vectors with these keys from the table, and return the keys that have none."""
        if not self._model:
            self._model = self._current_model
        elif self._model != self._current_model:
            self._clear()
        model, missing = self._model, [key for key in keys if key not in self._vectors]
        if not missing:
            return []
        try:
            found = self.table.find(model, missing)
        except ZorkGPTError as problem:
            self._warn("vectors can't be read", problem)
            return missing
        with self._lock:
            if self._model == model:
                self._vectors |= found
                self._stored.update(found)
        return [key for key in missing if key not in found]

    @property
    def _current_model(self) -> str:
        assert self.provider is not None
        return self.provider.model

    def _clear(self) -> None:
        with self._lock:
            self._model = self._current_model
            self.drop()
            self.rebuilds += 1

    def _embedded(self, texts: Mapping[bytes, str]) -> "dict[bytes, Vectors]":
        if not texts:
            return {}
        assert self.provider is not None
        self._is_dirty = True
        return dict(zip(texts, self.provider.embed_batch(list(texts.values())), strict=True))

    def _store(self, model: str, vectors: "Mapping[bytes, Vectors]") -> None:
        """Store vectors that are not in the table yet."""
        import numpy as np

        new = {key: vector for key, vector in vectors.items() if key not in self._stored and np.isfinite(vector).all()}
        if not new:
            return
        try:
            self.table.put(model, new)
        except ZorkGPTError as problem:
            self._warn("vectors can't be written", problem)
            return
        with self._lock:
            if self._model == model:
                self._stored.update(new)

    def _warn(self, what: str, problem: Exception) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        self._log.log(level, what, extra={"error": str(problem)})

    def _attempt(self, work: Callable[[], _Result]) -> _Result | None:
        if self.is_lost:
            return None
        try:
            return work()
        except Exception as error:
            # The provider may be the caller's own code. Without vectors, words are compared.
            self.failures += 1
            level = logging.WARNING if self.failures == 1 and not self.is_lost else logging.DEBUG
            self._log.log(level, "memories compared by their words alone", extra={"error": repr(error)})
            return None

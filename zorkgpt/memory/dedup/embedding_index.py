"""The vectors of memory texts, and their similarity."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from zorkgpt.fork_locks import new_lock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zorkgpt.embeddings.cache import VectorCache
    from zorkgpt.embeddings.provider import EmbeddingProvider
    from zorkgpt.embeddings.table import VectorTable

    Vectors = NDArray[np.float32]

_Result = TypeVar("_Result")

# More texts are embedded in the background. Embedding this many takes about a second.
_MOST_AT_ONCE = 300
# Loading a model takes processor time from the game, so it starts after the first turns.
_FIRST_TURNS_S = 1.0
_PARTING_S = 3.0


@runtime_checkable
class PerishableProvider(Protocol):
    """A provider that can become unavailable."""

    @property
    def available(self) -> bool:
        """Whether it can still make vectors."""
        ...


class EmbeddingIndex:
    """Vectors by text, loaded on first use. Errors are counted, logged once, and give None.

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
        self._perishable = provider if isinstance(provider, PerishableProvider) else None
        self.failures = 0
        self._table = table
        self._log = log
        self._wait = wait
        self._loader: threading.Thread | None = None
        self._stop = threading.Event()
        self._cache: VectorCache | None = None
        self._creating = new_lock()
        self._dirty = False

    @property
    def cache(self) -> "VectorCache":
        """The vectors by text, loaded on first use.

        Raises:
            ValueError: If there is no provider.
        """
        if self.provider is None:
            raise ValueError("There is no embedding provider, so no vectors are kept.")
        with self._creating:
            if self._cache is None:
                from zorkgpt.embeddings.cache import VectorCache

                self._cache = VectorCache(self.provider, self._table)
            return self._cache

    @property
    def kept(self) -> str:
        """Where vectors are stored, for display; "" if only in this process."""
        return "" if self._table is None else self._table.kept

    @property
    def size(self) -> int:
        return 0 if self._cache is None else len(self._cache)

    @property
    def rebuilds(self) -> int:
        return 0 if self._cache is None else self._cache.rebuilds

    @property
    def is_lost(self) -> bool:
        """Whether there is no available provider, so that there will be no vectors."""
        return self.provider is None or (self._perishable is not None and not self._perishable.available)

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
        matrix = self._attempt(lambda: self._finite(list(others), lasting=lasting))
        rebuilds = self.rebuilds
        vector = None if matrix is None else self.vector(text)
        # The provider may have fallen back to another model between the two calls.
        if matrix is None or vector is None or vector.shape != matrix.shape[1:] or rebuilds != self.rebuilds:
            return None
        cosines: list[float] = (matrix @ vector).clip(-1, 1).tolist()
        return cosines

    def ready_vectors(self, texts: Sequence[str]) -> "Vectors | None":
        """Return the vectors of memory texts, or None. If making them takes long, it starts in the background."""
        return self.vectors(texts) if texts and self._is_ready(texts) else None

    def vector(self, text: str) -> "Vectors | None":
        return self._attempt(lambda: self._finite([text])[0])

    def vectors(self, texts: Sequence[str]) -> "Vectors | None":
        return self._attempt(lambda: self._finite(list(texts), lasting=True))

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
        if self._dirty and self._table is not None and not self.is_loading:
            self._dirty = False
            self._attempt(lambda: self.cache.prune(texts()))

    def drop(self) -> None:
        """Clear the vectors in memory. Those in the table are read again."""
        with self._creating:
            self._cache = None

    def rebuild(self, texts: Sequence[str]) -> bool:
        """Embed these texts again, and drop all other vectors. False if this failed."""
        return self._attempt(lambda: self._rebuilt(texts)) is not None

    def _rebuilt(self, texts: Sequence[str]) -> bool:
        self.cache.rebuild(texts)
        return True

    def _is_ready(self, others: Sequence[str]) -> bool:
        if self.is_lost or self.is_loading:
            return False
        is_unloaded = self._loader is None and not self._wait
        if is_unloaded or self.cache.count_missing(others) > _MOST_AT_ONCE:
            self._load(others)
            return False
        return True

    def _embed(self, texts: list[str], stop: threading.Event) -> None:
        if stop.wait(0 if self._wait else _FIRST_TURNS_S):
            return
        if self._attempt(lambda: self._finite(["warm up"])) is None:
            return
        for start in range(0, len(texts), _MOST_AT_ONCE):
            part = texts[start : start + _MOST_AT_ONCE]
            if stop.is_set() or self.vectors(part) is None:
                return

    def _finite(self, texts: list[str], *, lasting: bool = False) -> "Vectors":
        import numpy as np

        before = self.size
        vectors: Vectors = self.cache.vectors(texts, lasting=lasting)
        self._dirty = self._dirty or self.size != before
        finite: Vectors = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
        return finite

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

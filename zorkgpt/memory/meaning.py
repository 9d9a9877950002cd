"""The memories of all places that are nearest to a query in meaning: compared in this process, or by the database."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.word_index import changed_places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zorkgpt.embeddings.table import VectorTable

    Vectors = NDArray[np.float32]

log = get_logger(__name__)

RELATED = 0.25
"""Cosine of a query and a sentence that answers it; unrelated ones are below."""
_MOST_PLACES_AT_ONCE = 1000
"""More than these are taken in in the background."""
_FACTOR = 8
"""Times as many as are wanted are looked at first, since some of them are not among the wanted ones."""

Near = tuple[PlaceKey, int, float]
"""A place, the number of a memory in it, and its cosine."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which memories are looked for."""

    place: PlaceKey | None
    """None: at all places."""
    allows: Callable[[Memory], bool]
    count: int


class Meaning(Protocol):
    """Knows the vectors of all lasting memories, in step with the document."""

    def nearest(self, query: str, index: EmbeddingIndex, document: Document, wanted: Wanted) -> list[Near] | None:
        """Return the memories that are nearest to the query, nearest first; None: vectors can't tell now."""
        ...


_Owner = tuple[PlaceKey, int, Memory]
"""A place, the number of a memory in it, and the memory."""


def _owners(document: Document, places: Iterable[PlaceKey]) -> list[_Owner]:
    return [
        (place, number, memory)
        for place in places
        for number, memory in enumerate(document.memories(place))
        if memory.text.strip()
    ]


@dataclass
class OwnMeaning:
    """The vectors in this process, row by row."""

    document: Document | None = None
    rebuilds: int = -1
    rows: "Vectors | None" = None
    """Of shape (n, d); more than are used, so that new ones fit in."""
    used: int = 0
    owners: list[_Owner | None] = field(default_factory=list)
    """The place, the number in it and the memory of each row; None: it is there no more."""
    of_place: dict[PlaceKey, list[int]] = field(default_factory=dict)
    _builder: Thread | None = None
    """Takes in very many at once, while words alone are searched."""
    _built: "tuple[Document, int, list[_Owner], Vectors] | None" = None

    def nearest(self, query: str, index: EmbeddingIndex, document: Document, wanted: Wanted) -> list[Near] | None:
        """Return the memories that are nearest to the query, nearest first; None: vectors can't tell now."""
        import numpy as np

        if document.is_empty:
            return []
        if not self._follow(index, document):
            return None
        vector, rows = index.vector(query), self.rows
        if rows is None or not self.used:
            return []
        if vector is None or vector.shape != rows.shape[1:]:
            return None
        if wanted.place is not None:
            chosen = np.array(self.of_place.get(wanted.place, ()), dtype=np.intp)
            return self._allowed(chosen, rows[chosen] @ vector, wanted)
        cosines = rows[: self.used] @ vector
        for size in (_FACTOR * wanted.count, self.used):
            if size < self.used:
                chosen = np.argpartition(cosines, self.used - size)[self.used - size :]
            else:
                chosen = np.arange(self.used)
            found = self._allowed(chosen, cosines[chosen], wanted)
            if len(found) >= wanted.count or size >= self.used:
                return found
            if float(cosines[chosen].min()) < RELATED:
                return found
        return found

    def _allowed(self, chosen: "NDArray[np.intp]", cosines: "Vectors", wanted: Wanted) -> list[Near]:
        found: list[Near] = []
        for at in (-cosines).argsort(kind="stable"):
            owner = self.owners[int(chosen[at])]
            if owner is not None and wanted.allows(owner[2]):
                found.append((owner[0], owner[1], float(cosines[at])))
                if len(found) == wanted.count:
                    break
        return found

    def _follow(self, index: EmbeddingIndex, document: Document) -> bool:
        """Take in what has changed since. False: vectors can't tell now."""
        if self._builder is not None and self._builder.is_alive():
            return False
        if self.document is document and self.rebuilds == index.rebuilds:
            return True
        if self.rebuilds != index.rebuilds or self.used > 2 * sum(map(len, self.of_place.values())) + 1000:
            self._clear()
        if self._built is not None:
            (self.document, self.rebuilds, new, vectors), self._built = self._built, None
            self._append(new, vectors)
        places = changed_places(self.document or Document(), document)
        if len(places) > _MOST_PLACES_AT_ONCE:
            self._clear()
            self._builder = Thread(target=self._build, args=(index, document), name="zorkgpt-search", daemon=True)
            self._builder.start()
            return False
        new = _owners(document, places)
        found = index.ready_vectors([memory.text for _, _, memory in new]) if new else None
        if new and found is None:
            return False
        self.rebuilds, self.document = index.rebuilds, document
        for place in places:
            for row in self.of_place.pop(place, ()):
                self.owners[row] = None
        if found is not None:
            self._append(new, found)
        return True

    def _build(self, index: EmbeddingIndex, document: Document) -> None:
        new = _owners(document, document.section_indexes)
        texts = [memory.text for _, _, memory in new]
        index.load(texts).join()
        vectors, rebuilds = index.ready_vectors(texts), index.rebuilds
        if vectors is not None:
            self._built = document, rebuilds, new, vectors

    def _clear(self) -> None:
        self.document, self.rows, self.used = None, None, 0
        self.owners.clear()
        self.of_place.clear()

    def _append(self, new: Sequence[_Owner], vectors: "Vectors") -> None:
        import numpy as np

        needed = self.used + len(new)
        if self.rows is None or needed > len(self.rows) or self.rows.shape[1] != vectors.shape[1]:
            larger = np.zeros((needed + needed // 8 + 64, vectors.shape[1]), dtype=np.float32)
            if self.rows is not None and self.rows.shape[1] == vectors.shape[1]:
                larger[: self.used] = self.rows[: self.used]
            self.rows = larger
        self.rows[self.used : needed] = vectors
        for row, owner in enumerate(new, self.used):
            self.owners.append(owner)
            self.of_place.setdefault(owner[0], []).append(row)
        self.used = needed


@dataclass
class SharedMeaning:
    """The vectors in the database, which compares them; this process knows whose they are."""

    table: "VectorTable"
    document: Document | None = None
    rebuilds: int = -1
    places: dict[bytes, set[PlaceKey]] = field(default_factory=dict)
    """Where a text stands, by its key."""
    keys: dict[PlaceKey, list[bytes]] = field(default_factory=dict)
    """The keys of the texts of a place, in the order of its memories."""

    def nearest(self, query: str, index: EmbeddingIndex, document: Document, wanted: Wanted) -> list[Near] | None:
        """Return the memories that are nearest to the query, nearest first; None: vectors can't tell now."""
        if document.is_empty:
            return []
        try:
            return self._nearest(query, index, document, wanted) if self._follow(index, document) else None
        except MemoryStoreError as error:
            log.warning("searched by words alone", extra={"error": str(error)})
            return None

    def _nearest(self, query: str, index: EmbeddingIndex, document: Document, wanted: Wanted) -> list[Near] | None:
        vector, provider = index.vector(query), index.provider
        if vector is None or provider is None or self.rebuilds != index.rebuilds:
            return None
        count = _FACTOR * wanted.count
        if wanted.place is None:
            rows = self.table.nearest(provider.model, vector, count)
            found = self._allowed(rows, document, wanted)
            if len(found) >= wanted.count or len(rows) < count or rows[-1][1] < RELATED:
                return found
        # Among the wanted ones alone, where there are few of them.
        places = self.keys if wanted.place is None else [wanted.place]
        among = [
            key
            for place in places
            for key, memory in zip(self.keys.get(place, ()), document.memories(place), strict=True)
            if wanted.allows(memory)
        ]
        return self._allowed(self.table.nearest(provider.model, vector, wanted.count, among), document, wanted)

    def _allowed(self, rows: Sequence[tuple[bytes, float]], document: Document, wanted: Wanted) -> list[Near]:
        found = [
            (place, number, cosine)
            for key, cosine in rows
            for place in self.places.get(key, ())
            if wanted.place in (None, place)
            for number, memory in enumerate(document.memories(place))
            if self.keys[place][number] == key and memory.text.strip() and wanted.allows(memory)
        ]
        return found[: wanted.count]

    def _follow(self, index: EmbeddingIndex, document: Document) -> bool:
        """See to it that all texts have a vector. False: vectors can't tell now."""
        from zorkgpt.embeddings.table import key_of

        if index.is_loading or index.provider is None:
            return False
        if self.document is document and self.rebuilds == index.rebuilds:
            return True
        is_new = self.rebuilds != index.rebuilds
        changed = changed_places(Document() if is_new or self.document is None else self.document, document)
        texts = {key_of(memory.text): memory.text for _, _, memory in _owners(document, changed)}
        known = self.table.known(index.provider.model, None if len(texts) > _MOST_PLACES_AT_ONCE else list(texts))
        missing = [text for key, text in texts.items() if key not in known]
        if missing and index.ready_vectors(missing) is None:
            return False
        if is_new:
            self.places.clear()
            self.keys.clear()
        for place in changed:
            for key in self.keys.pop(place, ()):
                self.places.get(key, set()).discard(place)
            if memories := document.memories(place):
                self.keys[place] = [key_of(memory.text) for memory in memories]
                for key in self.keys[place]:
                    self.places.setdefault(key, set()).add(place)
        self.document, self.rebuilds = document, index.rebuilds
        return True

"""The memories of all places that are nearest to a query in meaning."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.word_index import changed_places

log = get_logger(__name__)

RELATED = 0.25
"""Cosine of a query and a sentence that answers it; unrelated ones are below."""
_MANY = 1000
"""Above this number of texts, all keys of the table are fetched."""
_FACTOR = 8
"""Times as many as are wanted are looked at first, since some of them are not among the wanted ones."""

Near = tuple[SubjectKey, int, float]
"""A place, the number of a memory in it, and its cosine."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which memories are looked for."""

    place: SubjectKey | None
    """None: at all places."""
    allows: Callable[[Memory], bool]
    count: int


@dataclass
class Meaning:
    """Finds memories by the vectors of their texts, and follows the document."""

    document: Document | None = None
    rebuilds: int = -1
    places: dict[bytes, set[SubjectKey]] = field(default_factory=dict)
    """Where a text stands, by its key."""
    keys: dict[SubjectKey, list[bytes]] = field(default_factory=dict)
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
        table = index.cache.table
        count = _FACTOR * wanted.count
        if wanted.place is None:
            rows = table.nearest(provider.model, vector, count)
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
        return self._allowed(table.nearest(provider.model, vector, wanted.count, among), document, wanted)

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
        texts = {
            key_of(memory.text): memory.text
            for place in changed
            for memory in document.memories(place)
            if memory.text.strip()
        }
        asked = None if len(texts) > _MANY else list(texts)
        known = index.cache.table.known(index.provider.model, asked)
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

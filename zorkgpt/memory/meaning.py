"""The memories of all places that are nearest to a query in meaning."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.storage.filters import Filters
from zorkgpt.memory.storage.lasting import EVERY, LastingMemories
from zorkgpt.text import key_of

log = get_logger(__name__)

RELATED = 0.25
"""Cosine of a query and a sentence that answers it; unrelated ones are below."""
_MANY = 1000
"""Above this number of texts, all keys of the table are fetched."""
_FACTOR = 8
"""Times as many as are wanted are looked at first, since some of them are not among the wanted ones."""

Near = tuple[SubjectKey, Memory, float]
"""A place, a memory of it, and its cosine."""


@dataclass
class Meaning:
    """Finds memories by the vectors of their texts."""

    seen: object = None
    """Up to where all texts have a vector: see `LastingMemories.text_keys`."""
    rebuilds: int = -1

    def nearest(
        self, query: str, index: EmbeddingIndex, lasting: LastingMemories, wanted: Filters, count: int
    ) -> list[Near] | None:
        """Return the memories that are nearest to the query, nearest first; None: vectors can't tell now."""
        try:
            if not self._follow(index, lasting):
                return None
            return self._nearest(query, index, lasting, wanted, count)
        except MemoryStoreError as error:
            log.warning("searched by words alone", extra={"error": str(error)})
            return None

    def _nearest(
        self, query: str, index: EmbeddingIndex, lasting: LastingMemories, wanted: Filters, count: int
    ) -> list[Near] | None:
        vector, provider = index.vector(query), index.provider
        if vector is None or provider is None or self.rebuilds != index.rebuilds:
            return None
        table, many = index.cache.table, _FACTOR * count
        if wanted.location_id is None:
            rows = table.nearest(provider.model, vector, many)
            found = _allowed(rows, lasting, wanted)
            if len(found) >= count or len(rows) < many or rows[-1][1] < RELATED:
                return found[:count]
        # Among the wanted ones alone, where there are few of them.
        among = {key_of(memory.text) for _, memory in lasting.find(wanted)}
        return _allowed(table.nearest(provider.model, vector, count, list(among)), lasting, wanted)[:count]

    def _follow(self, index: EmbeddingIndex, lasting: LastingMemories) -> bool:
        """See to it that all texts have a vector. False: vectors can't tell now."""
        if index.is_loading or index.provider is None:
            return False
        is_new = self.rebuilds != index.rebuilds
        keys, seen = lasting.text_keys(None if is_new else self.seen)
        if keys:
            known = index.cache.table.known(index.provider.model, None if len(keys) > _MANY else list(keys))
            missing = keys - known
            new = lasting.find(replace(EVERY, texts=missing))
            texts = {memory.text for _, memory in new if memory.text.strip()}
            if texts and index.ready_vectors(list(texts)) is None:
                return False
        self.seen, self.rebuilds = seen, index.rebuilds
        return True


def _allowed(rows: Sequence[tuple[bytes, float]], lasting: LastingMemories, wanted: Filters) -> list[Near]:
    cosines = dict(rows)
    found = [
        (place, memory, cosines[key_of(memory.text)])
        for place, memory in lasting.find(replace(wanted, texts=cosines.keys()))
        if memory.text.strip()
    ]
    return sorted(found, key=lambda near: -near[2])

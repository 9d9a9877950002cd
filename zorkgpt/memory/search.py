"""Search over all places: by words, by the meaning of texts, and the two together."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.known import KnownMemories
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.retrieval import LocatedMemory, Method, SearchResult
from zorkgpt.memory.storage.lasting import EVERY, Filters, LastingMemories
from zorkgpt.memory.storage.words import WordCounts, words, words_of
from zorkgpt.text import key_of

log = get_logger(__name__)

_POOL = 30
"""Of how many candidates at least the best are chosen."""
_RANK_OFFSET = 60
"""Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009."""
_K1, _B = 1.2, 0.75
"""The usual constants of Okapi BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009."""
_RELATED = 0.25
"""Cosine of a query and a sentence that answers it; unrelated ones are below."""
_MANY = 1000
"""Above this number of texts, all keys of the table are fetched."""
_FACTOR = 8
"""Times as many as are wanted are looked at first, since some of them are not among the wanted ones."""

Near = tuple[SubjectKey, Memory, float]
"""A place, a memory of it, and its cosine."""


class Searcher:
    """Finds memories by a query. Used under the store's guard.

    Args:
        vectors: The index for search by meaning. If None, search is by words alone.
    """

    def __init__(self, known: KnownMemories, vectors: EmbeddingIndex | None) -> None:
        self._known = known
        self._store = known.store
        self._vectors = vectors
        self._meaning = _Meaning()

    def search(self, query: str, k: int, filters: Filters) -> list[SearchResult]:
        """Return the k memories that answer the query best, best first."""
        if not query.strip() or k < 1:
            return []
        pool = max(_POOL, 3 * k)
        ephemeral = self._ephemeral(filters)
        by_words = self._by_words(query, pool, filters, ephemeral)
        by_meaning = self._by_meaning(query, pool, filters, ephemeral)
        return (_fused(by_words, by_meaning) if by_meaning is not None else by_words)[:k]

    def _by_words(self, query: str, pool: int, filters: Filters, ephemeral: list[LocatedMemory]) -> list[SearchResult]:
        asked = set(words(query))
        is_narrow = filters.location_id is not None or filters.among is not None
        # Of a place all are looked at: the index tells only how often words stand elsewhere.
        found, counts = self._store.matching(asked, filters.marks(), 0 if is_narrow else pool)
        candidates = self._known.located(self._store.lasting.find(filters) if is_narrow else found)
        said = [set(words_of(one.location_name, one.memory)) for one in ephemeral]
        total = WordCounts(
            counts.memories + len(ephemeral),
            counts.average_length,
            {word: counts.holding[word] + sum(word in one for one in said) for word in asked},
        )
        return best_matches(query, [*candidates, *ephemeral], pool, total)

    def _by_meaning(
        self, query: str, pool: int, filters: Filters, ephemeral: list[LocatedMemory]
    ) -> list[SearchResult] | None:
        """Return what is nearest in meaning, best first; None where vectors can't tell now."""
        if self._vectors is None or self._vectors.is_lost:
            return None
        lasting = self._meaning.nearest(query, self._vectors, self._store.lasting, filters, pool)
        if lasting is None:
            return None
        located = self._known.located((place, memory) for place, memory, _ in lasting)
        found = [(one, cosine) for one, (_, _, cosine) in zip(located, lasting, strict=True)]
        if ephemeral:
            texts = [one.memory.text for one in ephemeral]
            cosines = self._vectors.cosines(query, texts, lasting=False)
            if cosines is None:
                return None
            found += zip(ephemeral, cosines, strict=True)
        found.sort(key=lambda each: -each[1])
        near = [(one, min(float(cosine), 1.0)) for one, cosine in found if cosine >= _RELATED]
        return [SearchResult(one, cosine, Method.MEANING) for one, cosine in near[:pool]]

    def _ephemeral(self, filters: Filters) -> list[LocatedMemory]:
        return self._known.located(
            (place, memory)
            for place, memories in self._known.ephemeral.items()
            if filters.location_id in (None, place)
            for memory in memories
            if filters.passes(place, memory)
        )


def _fused(by_words: Sequence[SearchResult], by_meaning: Sequence[SearchResult]) -> list[SearchResult]:
    """Return what either has found, best first by its ranks in both; the score is the larger one.

    A result that ranks above one with a larger score takes that score, so that scores never rise down the list.
    """
    fused: dict[tuple[SubjectKey, str], float] = {}
    kept: dict[tuple[SubjectKey, str], SearchResult] = {}
    for ranked in (by_words, by_meaning):
        for rank, one in enumerate(ranked, 1):
            key = one.located.location_id, one.located.id
            fused[key] = fused.get(key, 0.0) + 1 / (_RANK_OFFSET + rank)
            other = kept.get(key)
            kept[key] = one if other is None else replace(one, score=max(one.score, other.score), method=Method.BOTH)
    results = [kept[key] for key in sorted(kept, key=lambda key: -fused[key])]
    scores = list(accumulate((one.score for one in reversed(results)), max))
    return [replace(one, score=score) for one, score in zip(results, reversed(scores), strict=True)]


@dataclass
class _Meaning:
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
            if len(found) >= count or len(rows) < many or rows[-1][1] < _RELATED:
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


def best_matches(query: str, memories: Sequence[LocatedMemory], k: int, counts: WordCounts) -> list[SearchResult]:
    """Return the k memories whose words say most of what the query asks for, best first; none without a common word.

    The score is Okapi BM25, divided by its limit for endless repetitions of all words of the query: from 0 to 1.

    Args:
        counts: how often words stand in all memories, of which these are a part.
    """
    wanted = set(words(query))
    bags = [Counter(words_of(one.location_name, one.memory)) for one in memories]
    rarities = {word: _rarity(counts.holding.get(word, 0), counts.memories) for word in wanted}
    most = sum(rarities.values()) * (_K1 + 1)
    found = []
    for located, bag in zip(memories, bags, strict=True):
        length = bag.total() / counts.average_length
        score = sum(rarities[word] * _saturated(bag[word], length) for word in wanted & bag.keys())
        if score > 0:
            found.append(SearchResult(located, score / most))
    return sorted(found, key=lambda result: -result.score)[:k]


def _rarity(holding: int, of: int) -> float:
    return math.log(1 + max(0.0, of - holding + 0.5) / (holding + 0.5))


def _saturated(count: int, length: float) -> float:
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))

"""Search over all places, by words, by meaning, or both."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.known import KnownMemories
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.retrieval import LocatedMemory, Method, SearchResult
from zorkgpt.memory.storage.lasting import EVERY, Filters
from zorkgpt.memory.storage.rows import MemoryRows
from zorkgpt.memory.storage.words import WordCounts, indexed_words, words
from zorkgpt.text import key_of

log = get_logger(__name__)

_POOL = 30
"""Minimum number of candidates before ranking."""
_RANK_OFFSET = 60
"""Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009."""
_K1, _B = 1.2, 0.75
"""The usual constants of Okapi BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009."""
_RELATED = 0.25
"""Minimum cosine of a query and a related sentence."""
_MANY = 1000
"""Above this number of texts, all keys of the vector table are fetched."""
_FACTOR = 8
"""How many times the requested number of vectors is fetched first, since filters exclude some."""
_MOST = 10_000
"""Maximum number of candidates, and so of results."""

Near = tuple[SubjectKey, Memory, float]
"""A place, one of its memories, and its cosine."""


class Searcher:
    """Finds memories by a query. The caller must hold the store's guard.

    Args:
        vectors: The index for search by meaning. If None, search is by words alone.
    """

    def __init__(self, known: KnownMemories, vectors: EmbeddingIndex | None) -> None:
        self._known = known
        self._store = known.store
        self._vectors = vectors
        self._seen: object = None
        """The position up to which all texts have a vector. See `MemoryRows.text_keys`."""
        self._rebuilds = -1

    def search(self, query: str, k: int, filters: Filters) -> list[SearchResult]:
        """Return the k best results for a query, best first."""
        if not query.strip() or k < 1:
            return []
        pool = min(max(_POOL, 3 * k), _MOST)
        ephemeral = self._ephemeral(filters)
        by_words = self._by_words(query, pool, filters, ephemeral)
        by_meaning = self._by_meaning(query, pool, filters, ephemeral)
        return (_fused(by_words, by_meaning) if by_meaning is not None else by_words)[:k]

    def _by_words(self, query: str, pool: int, filters: Filters, ephemeral: list[LocatedMemory]) -> list[SearchResult]:
        query_words = set(words(query))
        is_narrow = filters.location_id is not None or filters.among is not None
        # A narrow search ranks all memories that pass. It uses the index only for the word counts.
        matches, counts = self._store.matching(query_words, filters, 0 if is_narrow else pool)
        candidates = self._known.located(self._store.lasting.find(filters) if is_narrow else matches)
        ephemeral_words = [set(indexed_words(each.location_name, each.memory)) for each in ephemeral]
        total = WordCounts(
            counts.memories + len(ephemeral),
            counts.average_length,
            {word: counts.holding[word] + sum(word in each for each in ephemeral_words) for word in query_words},
        )
        return best_matches(query, [*candidates, *ephemeral], pool, total)

    def _by_meaning(
        self, query: str, pool: int, filters: Filters, ephemeral: list[LocatedMemory]
    ) -> list[SearchResult] | None:
        """Return the results nearest in meaning, best first. None if there are no vectors now."""
        if self._vectors is None or self._vectors.is_lost:
            return None
        try:
            lasting = self._nearest(query, self._vectors, filters, pool) if self._follow(self._vectors) else None
        except MemoryStoreError as error:
            log.warning("searched by words alone", extra={"error": str(error)})
            return None
        if lasting is None:
            return None
        located = self._known.located((place, memory) for place, memory, _ in lasting)
        results = [
            SearchResult(each, min(float(cosine), 1.0), Method.MEANING)
            for each, (_, _, cosine) in zip(located, lasting, strict=True)
        ]
        if ephemeral:
            cosines = self._vectors.cosines(query, [each.memory.text for each in ephemeral], lasting=False)
            if cosines is None:
                return None
            results += [
                SearchResult(each, min(cosine, 1.0), Method.MEANING)
                for each, cosine in zip(ephemeral, cosines, strict=True)
            ]
        related = [result for result in results if result.score >= _RELATED]
        return sorted(related, key=lambda result: -result.score)[:pool]

    def _nearest(self, query: str, index: EmbeddingIndex, wanted: Filters, count: int) -> list[Near] | None:
        """Return the lasting memories nearest to the query, nearest first. None if there are no vectors now."""
        vector, provider = index.vector(query), index.provider
        if vector is None or provider is None or self._rebuilds != index.rebuilds:
            return None
        lasting, table, many = self._store.lasting, index.table, _FACTOR * count
        if wanted.location_id is None:
            rows = table.nearest(provider.model, vector, many)
            found = _allowed(rows, lasting, wanted)
            if len(found) >= count or len(rows) < many or rows[-1][1] < _RELATED:
                return found[:count]
        # Few memories pass the filters, so search only among them.
        among = {key_of(memory.text) for _, memory in lasting.find(wanted)}
        return _allowed(table.nearest(provider.model, vector, count, list(among)), lasting, wanted)[:count]

    def _follow(self, index: EmbeddingIndex) -> bool:
        """Make sure that all texts have a vector. False if there are no vectors now."""
        if index.is_loading or index.provider is None:
            return False
        lasting, is_new = self._store.lasting, self._rebuilds != index.rebuilds
        keys, seen = lasting.text_keys(None if is_new else self._seen)
        if keys:
            known = index.table.known(index.provider.model, None if len(keys) > _MANY else list(keys))
            new = lasting.find(replace(EVERY, texts=keys - known))
            texts = {memory.text for _, memory in new if memory.text.strip()}
            if texts and index.ready_vectors(list(texts)) is None:
                return False
        self._seen, self._rebuilds = seen, index.rebuilds
        return True

    def _ephemeral(self, filters: Filters) -> list[LocatedMemory]:
        return self._known.located(
            (place, memory)
            for place, memories in self._known.ephemeral.items()
            for memory in memories
            if filters.passes(place, memory)
        )


def _fused(by_words: Sequence[SearchResult], by_meaning: Sequence[SearchResult]) -> list[SearchResult]:
    """Return the results of both methods, ordered by their ranks in both. The score is the larger one.

    Scores never increase down the list: a result takes a larger score from any result below it.
    """
    rank_scores: dict[tuple[SubjectKey, str], float] = {}
    by_key: dict[tuple[SubjectKey, str], SearchResult] = {}
    for ranked in (by_words, by_meaning):
        for rank, result in enumerate(ranked, 1):
            key = result.located.location_id, result.located.id
            rank_scores[key] = rank_scores.get(key, 0.0) + 1 / (_RANK_OFFSET + rank)
            other = by_key.get(key)
            if other is not None:
                result = replace(result, score=max(result.score, other.score), method=Method.BOTH)
            by_key[key] = result
    results = [by_key[key] for key in sorted(by_key, key=lambda key: -rank_scores[key])]
    scores = list(accumulate((result.score for result in reversed(results)), max))
    return [replace(result, score=score) for result, score in zip(results, reversed(scores), strict=True)]


def _allowed(rows: Sequence[tuple[bytes, float]], lasting: MemoryRows, wanted: Filters) -> list[Near]:
    cosines = dict(rows)
    nearest = [
        (place, memory, cosines[key_of(memory.text)])
        for place, memory in lasting.find(replace(wanted, texts=cosines.keys()))
        if memory.text.strip()
    ]
    return sorted(nearest, key=lambda near: -near[2])


def best_matches(query: str, memories: Sequence[LocatedMemory], k: int, counts: WordCounts) -> list[SearchResult]:
    """Return the k memories that match the query best, best first. Memories without a word of the query are omitted.

    The score is Okapi BM25 divided by its upper limit, so that it is between 0 and 1.

    Args:
        counts: The word counts of all memories, not only of `memories`.
    """
    query_words = set(words(query))
    rarities = {word: _rarity(counts.holding.get(word, 0), counts.memories) for word in query_words}
    max_score = sum(rarities.values()) * (_K1 + 1)
    results = []
    for located in memories:
        bag = Counter(indexed_words(located.location_name, located.memory))
        length = bag.total() / counts.average_length
        score = sum(rarities[word] * _saturated(bag[word], length) for word in query_words & bag.keys())
        if score > 0:
            results.append(SearchResult(located, score / max_score))
    return sorted(results, key=lambda result: -result.score)[:k]


def _rarity(holding: int, total: int) -> float:
    return math.log(1 + max(0.0, total - holding + 0.5) / (holding + 0.5))


def _saturated(count: int, length: float) -> float:
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))

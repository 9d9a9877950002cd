"""Search over all places: by words and by meaning, and the two together."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from zorkgpt.memory.checks import check_episode
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.meaning import RELATED, Meaning, Wanted
from zorkgpt.memory.metadata import checked_metadata
from zorkgpt.memory.models import Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey, episode_key
from zorkgpt.memory.retrieval import LocatedMemory, Method, SearchResult, best_matches
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.word_index import (
    CURRENT,
    IndexUnavailable,
    WordCounts,
    mark,
    metadata_mark,
    words,
    words_of,
)
from zorkgpt.memory.writer import MemoryWriter
from zorkgpt.text import quoted

_POOL = 30
"""Of how many candidates at least the best are chosen."""
_RANK_OFFSET = 60
"""Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, 2009."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories are searched; None: all of them."""

    location_id: SubjectKey | None = None
    persistence: str | None = None
    status: str | None = None
    """None: those that are believed."""
    category: str | None = None
    episode: int | str | None = None
    """In which it was seen first or last."""
    kind: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Values that are to be equal."""
    among: Set[tuple[SubjectKey, str]] | None = None
    """Only these, by place and id."""

    def __post_init__(self) -> None:
        """
        Raises:
            TypeError, ValueError: a filter that no memory could pass.
        """
        for name, values in (("persistence", Persistence), ("status", MemoryStatus), ("kind", MemoryKind)):
            given, valid = getattr(self, name), [each.value for each in values]
            if given is not None and str(given).casefold() not in map(str.casefold, valid):
                raise ValueError(f"The {name} is {quoted(given)}; it must be one of {', '.join(valid)}.")
        if not isinstance(self.category, str | None):
            raise TypeError(f"The category is {quoted(self.category)}; it must be a text.")
        check_episode(self.episode)
        checked_metadata(self.metadata)

    def marks(self) -> list[str]:
        """Return the words that stand in the index for what is wanted, but for the place."""
        named = {
            "persistence": self.persistence,
            "status": self.status,
            "category": self.category,
            "kind": self.kind,
        }
        marks = [mark(name, value) for name, value in named.items() if value is not None]
        marks += [metadata_mark(name, value) for name, value in self.metadata.items()]
        if self.episode is not None:
            marks.append(mark("episode", episode_key(self.episode)))
        return marks if self.status is not None else [CURRENT, *marks]

    def allow(self, memory: Memory) -> bool:
        """Return whether it is wanted, wherever it is."""
        if self.status is None and not is_current(memory):
            return False
        if self.status is not None and (memory.vetoed or memory.status.casefold() != self.status.casefold()):
            return False
        if self.persistence is not None and memory.persistence.casefold() != self.persistence.casefold():
            return False
        if self.category is not None and memory.category.casefold() != self.category.casefold():
            return False
        if self.kind is not None and (memory.kind or "").casefold() != self.kind.casefold():
            return False
        if any(name not in memory.metadata or memory.metadata[name] != self.metadata[name] for name in self.metadata):
            return False
        wanted = None if self.episode is None else episode_key(self.episode)
        seen = (memory.episode, memory.episode if memory.first_episode is None else memory.first_episode)
        return wanted is None or any(episode_key(episode) == wanted for episode in seen)

    def has(self, located: LocatedMemory) -> bool:
        """Return whether it is among those that are searched."""
        return self.among is None or (located.location_id, located.id) in self.among


class Searcher:
    """Finds memories by a query. Used under the store's guard.

    Args:
        ephemeral: those of the episode, by location.
        vectors: by meaning too; None: by words alone.
        name_of: returns what a location is called.
    """

    def __init__(self, writer: MemoryWriter, vectors: EmbeddingIndex | None) -> None:
        self._writer = writer
        self._store = writer.store
        self._name_of = writer.name_of
        self._vectors = vectors
        self._meaning = Meaning()

    def search(self, query: str, k: int, filters: Filters) -> list[SearchResult]:
        """Return the k memories that answer the query best, best first."""
        if not query.strip() or k < 1:
            return []
        pool = max(_POOL, 3 * k)
        passing = self._passing(filters)
        by_words = self._by_words(query, pool, filters, passing)
        by_meaning = self._by_meaning(query, pool, filters, passing)
        return (_fused(by_words, by_meaning) if by_meaning is not None else by_words)[:k]

    def _by_words(self, query: str, pool: int, filters: Filters, passing: list[LocatedMemory]) -> list[SearchResult]:
        asked = set(words(query))
        is_narrow = filters.location_id is not None or filters.among is not None
        try:
            # Of a place all are looked at: the index tells only how often words stand elsewhere.
            limit = 0 if is_narrow else pool
            found, counts = self._store.index.find(self._store.document, asked, filters.marks(), limit)
        except IndexUnavailable:
            return best_matches(query, [*self._all(filters), *passing], pool)
        candidates = self._all(filters) if is_narrow else [self._one(*one) for one in found]
        said = [set(words_of(one.location_name, one.memory)) for one in passing]
        total = WordCounts(
            counts.memories + len(passing),
            counts.average_length,
            {word: counts.holding[word] + sum(word in one for one in said) for word in asked},
        )
        return best_matches(query, [*candidates, *passing], pool, total)

    def _by_meaning(
        self, query: str, pool: int, filters: Filters, passing: list[LocatedMemory]
    ) -> list[SearchResult] | None:
        """Return what is nearest in meaning, best first; None where vectors can't tell now."""
        if self._vectors is None or self._vectors.is_lost:
            return None
        allows = filters.allow
        if filters.among is not None:
            texts_among = {one.memory.text for one in self._all(filters)}
            allows = lambda memory: memory.text in texts_among and filters.allow(memory)  # noqa: E731
        wanted = Wanted(filters.location_id, allows, pool)
        lasting = self._meaning.nearest(query, self._vectors, self._store.document, wanted)
        if lasting is None:
            return None
        located = ((self._one(place, number), cosine) for place, number, cosine in lasting)
        found = [(one, cosine) for one, cosine in located if filters.has(one)]
        if passing:
            texts = [one.memory.text for one in passing]
            cosines = self._vectors.cosines(_NOWHERE, query, texts, lasting=False)
            if cosines is None:
                return None
            found += zip(passing, cosines, strict=True)
        found.sort(key=lambda each: -each[1])
        return [SearchResult(one, cosine, Method.MEANING) for one, cosine in found if cosine >= RELATED][:pool]

    def _passing(self, filters: Filters) -> list[LocatedMemory]:
        return [
            LocatedMemory(place, self._name_of(place), memory)
            for place, memories in self._writer.ephemeral.items()
            if filters.location_id in (None, place)
            for memory in memories
            if filters.allow(memory) and filters.has(LocatedMemory(place, "", memory))
        ]

    def _of_place(self, filters: Filters) -> list[LocatedMemory]:
        place = filters.location_id
        assert place is not None
        name = self._name_of(place)
        located = (LocatedMemory(place, name, one) for one in self._store.lasting.memories(place))
        return [one for one in located if filters.allow(one.memory) and filters.has(one)]

    def _all(self, filters: Filters) -> list[LocatedMemory]:
        if filters.location_id is not None:
            places: list[SubjectKey] = [filters.location_id]
        elif filters.among is not None:
            places = list({place for place, _ in filters.among})
        else:
            places = list(self._store.lasting.places())
        return [one for place in places for one in self._of_place(replace(filters, location_id=place))]

    def _one(self, place: SubjectKey, number: int) -> LocatedMemory:
        return LocatedMemory(place, self._name_of(place), self._store.lasting.memories(place)[number])


_NOWHERE = -1
"""Stands for all locations where vectors are kept by location."""


def _fused(by_words: Sequence[SearchResult], by_meaning: Sequence[SearchResult]) -> list[SearchResult]:
    """Return what either has found, best first by its ranks in both."""
    scores: dict[int, float] = {}
    kept: dict[int, SearchResult] = {}
    for ranked in (by_words, by_meaning):
        for rank, one in enumerate(ranked, 1):
            key = id(one.located.memory)
            scores[key] = scores.get(key, 0.0) + 1 / (_RANK_OFFSET + rank)
            method = Method.BOTH if key in kept else one.method
            kept[key] = SearchResult(one.located, 0.0, method)
    fused = [replace(one, score=scores[key]) for key, one in kept.items()]
    return sorted(fused, key=lambda one: -one.score)

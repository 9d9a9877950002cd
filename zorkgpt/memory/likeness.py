"""What the manager offers about memories that say alike: each a thin call."""

from typing import TYPE_CHECKING, Any

from zorkgpt.memory.dedup.choice import DeduplicationSettings
from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.models import Memory
from zorkgpt.memory.recall.search import Found, LocatedMemory, best_matches, nearest
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.storage.escaping import folded

if TYPE_CHECKING:
    import numpy as np

    from zorkgpt.memory.dedup.consolidation import Merge


class Likeness:
    """For the manager to inherit; it brings the keeper and the settings."""

    _keeper: Keeper
    _likeness: DeduplicationSettings

    @property
    def enable_deduplication(self) -> bool:
        """Whether more is recognised than word-for-word repeats."""
        return hasattr(self._keeper, "comparer")

    @property
    def similarity_threshold(self) -> float:
        return self._likeness.similarity_threshold

    @property
    def embedding_provider(self) -> Any:
        """The `EmbeddingProvider`; None if there is none."""
        return self._keeper.comparer.meaning.provider if self.enable_deduplication else None

    @property
    def embedding_cache(self) -> Any:
        """Vectors by text: `len()` and `in` tell what is in it. Empty where there is no provider."""
        return {} if self.embedding_provider is None else self._keeper.comparer.meaning.cache

    def calculate_embedding(self, text: str) -> "np.ndarray | None":
        """The vector of a text, float32 of unit length; None if there is none to be had."""
        return self._keeper.comparer.meaning.vector(text) if self.enable_deduplication else None

    def get_location_embeddings(self, location_id: int) -> "list[tuple[Memory, np.ndarray]]":
        """The believed lasting memories of a location with their vectors; none where there are no vectors."""
        if not self.enable_deduplication:
            return []
        self._keeper.refresh()
        memories = self._keeper.comparer.lasting(location_id)
        vectors = self._keeper.comparer.meaning.vectors([memory.text for memory in memories]) if memories else None
        return [] if vectors is None else list(zip(memories, vectors, strict=True))

    def check_semantic_duplicate(self, candidate_text: str, location_id: int) -> tuple[Memory, float] | None:
        """The nearest memory of the location whose text the candidate says, and their cosine similarity.

        Where there are no vectors only the very same words count.
        """
        self._keeper.refresh()
        if not candidate_text.strip():
            return None
        wanted = folded(candidate_text)
        kept = [memory for memory in self._keeper.current(location_id) if memory.persistence != "ephemeral"]
        repeats = [memory for memory in kept if folded(memory.text) == wanted]
        if self.enable_deduplication:
            found = self._keeper.comparer.says(location_id, candidate_text)
            if found is not None:
                return found
        return (repeats[0], 1.0) if repeats else None

    def rebuild_embedding_cache(self) -> bool:
        """Embed all lasting memories anew; False if that was not possible."""
        return self.enable_deduplication and self._keeper.comparer.meaning.rebuild(self._keeper.comparer.texts())

    @staticmethod
    def cosine_similarity(a: "np.ndarray", b: "np.ndarray") -> float:
        """In [-1, 1]; 0 where one of them is no vector but zeros, or not finite."""
        import numpy as np

        one, other = (np.asarray(vector, dtype=np.float64) for vector in (a, b))
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        if one.shape != other.shape or not np.isfinite(lengths) or lengths == 0:
            return 0.0
        return float(np.clip(one @ other / lengths, -1, 1))

    def consolidate(self, *, apply: bool = True, threshold: float | None = None) -> "list[Merge]":
        """Find what says the same in the whole file, place by place, and merge it; what is unsure is left alone.

        Args:
            apply: False: only say what would be merged.
            threshold: cosine below which nothing is merged; the candidates' threshold by default.
        """
        if not self.enable_deduplication:
            return []
        from zorkgpt.memory.dedup.consolidation import repeats

        self._keeper.refresh()
        found = repeats(self._keeper, threshold)
        if apply:
            self.merge(found)
        return found

    def merge(self, found: "list[Merge]") -> int:
        """Merge what `consolidate(apply=False)` has found; how many were."""
        from zorkgpt.memory.dedup.consolidation import merge

        return merge(self._keeper, found) if found else 0

    def _found(self, query: str, memories: list[LocatedMemory], k: int) -> list[Found]:
        current = [located for located in memories if is_current(located.memory)]
        if self.enable_deduplication and query.strip():
            vectors = self._keeper.comparer.meaning.cosines(-1, query, [located.memory.text for located in current])
            if vectors is not None:
                return nearest(vectors, current, k) or best_matches(query, current, k)
        return best_matches(query, current, k)

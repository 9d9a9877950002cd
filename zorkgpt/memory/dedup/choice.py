"""From settings to the keeper that does what they say: with vectors, with words alone, or word for word."""

import logging
from dataclasses import dataclass
from typing import Any

from zorkgpt.memory.keeping.keeper import Keeper
from zorkgpt.memory.keeping.lifecycle import Visits
from zorkgpt.memory.settings import setting
from zorkgpt.memory.storage.store import MemoryStore


@dataclass(frozen=True, slots=True)
class DeduplicationSettings:
    """Attributes of the flat names of `[tool.zorkgpt.memory_deduplication]`, where the object has them."""

    enable: bool
    provider: str
    """"" where nobody names one: then nothing is compared but for what is the same word for word."""
    similarity_threshold: float
    candidate_threshold: float
    sentence_transformer_model: str
    llm_embedding_model: str
    cache_embeddings: bool
    batch_size: int


def deduplication_settings(config: Any) -> DeduplicationSettings:
    return DeduplicationSettings(
        enable=setting(config, "enable_semantic_deduplication", True),
        provider=setting(config, "embedding_provider", ""),
        similarity_threshold=setting(config, "deduplication_similarity_threshold", 0.85),
        candidate_threshold=setting(config, "candidate_threshold", 0.55),
        sentence_transformer_model=setting(config, "sentence_transformer_model", "all-MiniLM-L6-v2"),
        llm_embedding_model=setting(config, "llm_embedding_model", "text-embedding-3-small"),
        cache_embeddings=setting(config, "cache_embeddings", True),
        batch_size=setting(config, "embedding_batch_size", 32),
    )


def keeper_for(
    settings: DeduplicationSettings,
    store: MemoryStore,
    visits: Visits,
    log: logging.Logger,
    *,
    embeddings: Any = None,
    llm_client: Any = None,
    judge: Any = None,
    wait: bool = True,
    debug: bool = False,
) -> Keeper:
    """A plain keeper where deduplication is off or nobody says by what to compare.

    Args:
        embeddings: an `EmbeddingProvider` in the place of the one that the settings name.
        llm_client: of the OpenAI SDK's shape; its server is asked for vectors where nothing else can make them.
        wait: whether the first use waits for the model to load.
    """
    if not settings.enable or (embeddings is None and not settings.provider):
        return Keeper(store, visits, log, debug=debug)
    from zorkgpt.memory.dedup.comparing import Comparer
    from zorkgpt.memory.dedup.discerning import DiscerningKeeper
    from zorkgpt.memory.dedup.meaning import Meaning

    path = store.file.path.with_suffix(".vectors.npz") if settings.cache_embeddings else None
    meaning = Meaning(embeddings or _provider(settings, llm_client), path, log, wait=wait)
    comparer = Comparer(store, log, meaning, judge, candidate_threshold=settings.candidate_threshold)
    return DiscerningKeeper(
        store, visits, log, comparer, similarity_threshold=settings.similarity_threshold, debug=debug
    )


def _provider(settings: DeduplicationSettings, llm_client: Any) -> Any:
    if settings.provider == "none":
        return None
    from zorkgpt.embeddings.choose import choose_provider

    return choose_provider(
        settings.provider,
        sentence_transformer_model=settings.sentence_transformer_model,
        llm_embedding_model=settings.llm_embedding_model,
        llm_client=llm_client if hasattr(llm_client, "embeddings") else None,
        batch_size=settings.batch_size,
    )

"""Builds the parts of a memory from its settings: store, model, embeddings and deduplicator."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from zorkgpt.errors import MemoryStoreError
from zorkgpt.extras import MissingExtra
from zorkgpt.llm.model import LLM
from zorkgpt.memory.dedup.deduplicator import Deduplicator
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.settings import MemorySettings
from zorkgpt.memory.storage.addresses import check_address
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.postgres import is_postgres
from zorkgpt.memory.storage.sql_store import PostgresStore, SqliteStore, Store
from zorkgpt.memory.storage.sqlite import IN_MEMORY, is_sqlite
from zorkgpt.memory.synthesis import MemorySynthesizer
from zorkgpt.memory.world import World

if TYPE_CHECKING:
    from zorkgpt.embeddings.choose import FirstThatWorks
    from zorkgpt.embeddings.provider import EmbeddingProvider, ProviderChoice
    from zorkgpt.memory.dedup.judge import Judge


class ChatClient(Protocol):
    """A client of the OpenAI SDK's shape."""

    @property
    def chat(self) -> object:
        """With `completions.create(...)`."""
        ...


@runtime_checkable
class EmbeddingClient(Protocol):
    """A client of the OpenAI SDK's shape whose server also makes embeddings."""

    @property
    def embeddings(self) -> object:
        """With `create(...)`."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The optional parts of a memory. A missing part is ""."""

    words: bool
    """Whether texts are compared word by word. If not, only identical texts count as duplicates."""
    vectors: str
    """The embedding model."""
    judge: str
    """The class that judges the pairs that the word check leaves unsure. Used only with embeddings."""
    synthesizer: str
    """The class that decides what a turn teaches."""
    vectors_kept: str = ""
    """Where vectors are stored, with the reason."""

    def __str__(self) -> str:
        vectors = f"{self.vectors}, kept {self.vectors_kept}" if self.vectors_kept else self.vectors
        named = {"vectors": vectors, "judge": self.judge, "synthesizer": self.synthesizer}
        words = f"words {'compared' if self.words else 'not compared'}"
        return ", ".join([words, *(f"{name}: {part or 'none'}" for name, part in named.items())])


def open_store(path: Path | str, scope: PlaceScope = EVERYWHERE) -> Store:
    """Open the store that a path names: a `.sqlite` file, ":memory:", a PostgreSQL address, or else a Markdown file.

    Raises:
        MemoryStoreError: If it can't be read, or is an address of another kind.
    """
    check_address(path)
    if path == IN_MEMORY or is_sqlite(path):
        return SqliteStore(path, scope)
    return PostgresStore(str(path), scope) if is_postgres(path) else MarkdownStore(path, scope)


def with_model(
    client: LLM | ChatClient | None,
    settings: MemorySettings,
    world: World,
    synthesizer: MemorySynthesizer | None,
    judge: "Judge | None",
) -> "tuple[MemorySynthesizer | None, Judge | None]":
    """Return the synthesizer and the judge. A missing one asks the model of `client`, if there is one.

    Raises:
        ConfigurationError: If `client` is not a supported client.
    """
    if client is None or (synthesizer and judge):
        return synthesizer, judge
    # Imported only here, so that a memory without a model loads no pydantic.
    from zorkgpt.llm.client import as_llm
    from zorkgpt.memory.dedup.judge import ModelJudge
    from zorkgpt.memory.model_synthesizer import ModelSynthesizer

    llm = as_llm(client, model=settings.model)
    synthesizer = synthesizer or ModelSynthesizer(llm, history_window=settings.history_window, world=world)
    return synthesizer, judge or ModelJudge(llm, world)


def configured_embeddings(settings: MemorySettings, server: EmbeddingClient | None) -> "FirstThatWorks | None":
    """Return the configured embedding provider. None if there is none.

    Args:
        server: Asked for embeddings if the settings allow it. None if there is no server.
    """
    if not settings.enable_semantic_deduplication or settings.embedding_provider in ("", "none"):
        return None
    from zorkgpt.embeddings.choose import choose_provider

    return choose_provider(
        # An unknown name gives a provider that is not available.
        cast("ProviderChoice", settings.embedding_provider),
        sentence_transformer_model=settings.sentence_transformer_model,
        llm_embedding_model=settings.llm_embedding_model,
        llm_client=server,
        batch_size=settings.embedding_batch_size,
    )


def deduplicator(
    store: Store,
    settings: MemorySettings,
    embeddings: "EmbeddingProvider | None",
    judge: "Judge | None",
    log: logging.Logger,
) -> Deduplicator | None:
    """Return the deduplicator. None if it is disabled or no provider is configured."""
    if not settings.enable_semantic_deduplication or (embeddings is None and not settings.embedding_provider):
        return None
    table = None
    if embeddings is not None and settings.cache_embeddings:
        try:
            table = store.vectors()
        except (MemoryStoreError, MissingExtra) as error:
            log.warning("vectors are kept in this process only", extra={"error": str(error)})
    return Deduplicator(
        store,
        EmbeddingIndex(embeddings, log, wait=settings.wait_for_embeddings, table=table),
        judge,
        log,
        candidate_threshold=settings.candidate_threshold,
        similarity_threshold=settings.deduplication_similarity_threshold,
    )

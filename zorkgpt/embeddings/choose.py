"""From a setting to a provider; nothing is loaded before its first use."""

from pathlib import Path
from typing import Any, Literal

from zorkgpt.embeddings.fallback import FirstThatWorks
from zorkgpt.embeddings.llm_provider import LLMEmbeddingProvider
from zorkgpt.embeddings.onnx_provider import OnnxProvider
from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.embeddings.sentence_transformers_provider import SentenceTransformerProvider
from zorkgpt.embeddings.weights import DEFAULT_MODEL

Choice = Literal["auto", "onnx", "sentence-transformers", "llm", "none"]

_NAMES_OF_DEFAULT = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")


def choose_provider(
    choice: Choice = "auto",
    *,
    sentence_transformer_model: str = DEFAULT_MODEL,
    llm_embedding_model: str = "text-embedding-3-small",
    llm_client: Any = None,
    batch_size: int = 32,
    cache_dir: Path | None = None,
    hub_timeout_s: float = 10.0,
) -> FirstThatWorks | None:
    """The provider of a setting, with those after it to fall back on for `auto`; None for `none`.

    Args:
        llm_client: of the shape of the OpenAI SDK's; without one no server is asked.
        cache_dir: where a model that has to be built is kept; the user's cache folder by default.
    """
    providers: list[EmbeddingProvider] = []
    if choice == "none":
        return None
    if choice == "onnx" or (choice == "auto" and sentence_transformer_model in _NAMES_OF_DEFAULT):
        providers.append(OnnxProvider(batch_size=batch_size, cache_dir=cache_dir, hub_timeout_s=hub_timeout_s))
    if choice in ("auto", "sentence-transformers"):
        name = DEFAULT_MODEL if sentence_transformer_model in _NAMES_OF_DEFAULT else sentence_transformer_model
        providers.append(SentenceTransformerProvider(name, batch_size=batch_size))
    if choice in ("auto", "llm") and llm_client is not None:
        providers.append(LLMEmbeddingProvider(llm_client, llm_embedding_model, batch_size=batch_size))
    return FirstThatWorks(providers)

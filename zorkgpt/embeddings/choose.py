"""Choose an embedding provider by a setting, with fallbacks. Models are loaded on first use."""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from zorkgpt.embeddings.provider import DEFAULT_MODEL, EmbeddingProvider, ProviderChoice, Vectors
from zorkgpt.errors import EmbeddingError
from zorkgpt.extras import install_command
from zorkgpt.fork_locks import new_lock

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_MAX_FAILURES = 3

# Provider → a module that exists if it is installed.
_MODULES = {
    "onnx": "onnxruntime",
    "sentence-transformers": "sentence_transformers",
    "llm": "numpy",
}
_ORDER = {
    "auto": ("onnx", "sentence-transformers", "llm"),
    "sentence-transformers": ("sentence-transformers", "onnx"),
}
_NAMES_OF_DEFAULT = (DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}")


def choose_provider(
    choice: ProviderChoice = "auto",
    *,
    sentence_transformer_model: str = DEFAULT_MODEL,
    llm_embedding_model: str = "text-embedding-3-small",
    llm_client: Any = None,
    batch_size: int = 32,
) -> "FirstThatWorks | None":
    """Return the provider of a setting, with others to fall back on; None for `none`.

    Only installed providers are taken. `sentence-transformers` falls back to the ONNX copy of the same model. If none
    is left, that is logged, and the result has no `available` provider.

    Args:
        llm_client: A client of the OpenAI SDK's shape; without one no server is asked.
    """
    if choice == "none":
        return None
    is_default = sentence_transformer_model in _NAMES_OF_DEFAULT
    local_model = DEFAULT_MODEL if is_default else sentence_transformer_model
    # Imported only when chosen, because each of them needs NumPy.
    makers: dict[str, Callable[[], EmbeddingProvider]] = {
        "onnx": lambda: _module("onnx_provider").OnnxProvider(batch_size=batch_size),
        "sentence-transformers": lambda: _module("sentence_transformers_provider").SentenceTransformerProvider(
            local_model, batch_size=batch_size
        ),
        "llm": lambda: _module("llm_provider").LLMEmbeddingProvider(
            llm_client, llm_embedding_model, batch_size=batch_size
        ),
    }
    if not is_default and choice != "onnx":
        del makers["onnx"]
    if llm_client is None:
        del makers["llm"]
    usable = [name for name in _ORDER.get(choice, (choice,)) if name in makers and find_spec(_MODULES[name])]
    providers = [makers[name]() for name in usable]
    if not usable:
        log.warning(without_embeddings(choice, sentence_transformer_model))
    elif choice == "sentence-transformers" and usable[0] == "onnx":
        log.warning(f"sentence-transformers is not installed. Using the ONNX copy of {DEFAULT_MODEL}.")
    return FirstThatWorks(providers)


def _module(name: str) -> Any:
    return import_module(f"zorkgpt.embeddings.{name}")


def without_embeddings(choice: ProviderChoice, sentence_transformer_model: str = DEFAULT_MODEL) -> str:
    """Return a message that semantic deduplication is off, with the command that installs embeddings."""
    needs_torch = choice != "onnx" and sentence_transformer_model not in _NAMES_OF_DEFAULT
    extra, size = ("embeddings-torch", "several GB") if needs_torch else ("embeddings", "about 180 MB")
    command = install_command(extra)
    return f"Semantic deduplication is off because embeddings are not installed. To add them ({size}): {command}"


class FirstThatWorks:
    """A provider that uses the first working one of several. If none is left, every call raises an error.

    A provider that has worked is dropped only after three consecutive failures, so that it survives temporary errors.
    """

    def __init__(self, providers: Sequence[EmbeddingProvider], *, load_timeout_s: float = 20.0) -> None:
        """
        Args:
            providers: Best first.
            load_timeout_s: Maximum wait of a call while another thread loads the model.
        """
        self.providers = tuple(providers)
        self._usable = list(providers)
        self._load_timeout_s = load_timeout_s
        self._lock = new_lock()
        self._problems: list[str] = []
        self._has_worked = False
        self._failures = 0
        self._last_model = providers[-1].model if providers else "none"

    @property
    def model(self) -> str:
        """The model of the current provider. It changes when a provider is dropped."""
        return self._usable[0].model if self._usable else self._last_model

    @property
    def in_use(self) -> EmbeddingProvider | None:
        """The current provider. None if none is left."""
        return self._usable[0] if self._usable else None

    @property
    def available(self) -> bool:
        """Whether a provider is left."""
        return bool(self._usable)

    def embed(self, text: str) -> Vectors:
        return self._ask(lambda provider: provider.embed(text))

    def embed_batch(self, texts: list[str]) -> Vectors:
        return self._ask(lambda provider: provider.embed_batch(texts))

    def get_dimension(self) -> int:
        return self._ask(lambda provider: provider.get_dimension())

    def _ask(self, question: Callable[[EmbeddingProvider], Answer]) -> Answer:
        if not self._lock.acquire(timeout=self._load_timeout_s):
            raise EmbeddingError(f"The embedding model is still loading after {self._load_timeout_s:g} s.")
        try:
            while self._usable:
                try:
                    answer = question(self._usable[0])
                except EmbeddingError as problem:
                    self._record_failure(problem)
                    continue
                self._record_success()
                return answer
        finally:
            self._lock.release()
        raise EmbeddingError(f"No embeddings: {'; '.join(self._problems) or 'no provider is configured'}")

    def _record_success(self) -> None:
        if not self._has_worked and self._problems:
            log.warning("embedding provider replaced", extra={"model": self.model, "problems": self._problems})
        self._has_worked, self._failures = True, 0

    def _record_failure(self, problem: EmbeddingError) -> None:
        self._failures += 1
        if self._has_worked and self._failures < _MAX_FAILURES:
            raise problem
        dropped = self._usable.pop(0)
        self._problems.append(f"{type(dropped).__name__}: {problem}")
        self._has_worked, self._failures = False, 0
        if not self._usable:
            log.warning("no embeddings, comparing memories only by words", extra={"problems": self._problems})

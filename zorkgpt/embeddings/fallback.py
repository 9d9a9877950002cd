"""The first of several providers that works, found on first use."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from zorkgpt.embeddings.provider import EmbeddingProvider
from zorkgpt.errors import EmbeddingError

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_FAILURES_IN_A_ROW = 3


class FirstThatWorks:
    """Passes over a provider that can't work; when none is left, every call raises.

    A provider that has worked before is passed over after three failures in a row, so that a server that stumbles
    once is not left for good.
    """

    def __init__(self, providers: Sequence[EmbeddingProvider], *, patience_s: float = 20.0) -> None:
        """
        Args:
            providers: the best first.
            patience_s: how long a call waits while another thread loads the model.
        """
        self.providers = tuple(providers)
        self._left = list(providers)
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._problems: list[str] = []
        self._has_worked = False
        self._failures = 0
        self._last_model = providers[-1].model if providers else "none"

    @property
    def model(self) -> str:
        """The model that is used next; it changes where one is passed over."""
        return self._left[0].model if self._left else self._last_model

    @property
    def available(self) -> bool:
        """False when every provider was passed over: nothing will be embedded from then on."""
        return bool(self._left)

    def embed(self, text: str) -> np.ndarray:
        return self._ask(lambda provider: provider.embed(text))

    def embed_batch(self, texts: list[str]) -> np.ndarray:
        return self._ask(lambda provider: provider.embed_batch(texts))

    def get_dimension(self) -> int:
        return self._ask(lambda provider: provider.get_dimension())

    def warm_up(self) -> threading.Thread:
        """Load the model in the background, while the first turns are played."""
        thread = threading.Thread(target=self._try_out, name="zorkgpt-embeddings", daemon=True)
        thread.start()
        return thread

    def _try_out(self) -> None:
        try:
            self.embed("warm up")
        except EmbeddingError as problem:
            log.debug("embeddings are not to be had", extra={"error": str(problem)})

    def _ask(self, question: Callable[[EmbeddingProvider], Answer]) -> Answer:
        if not self._lock.acquire(timeout=self._patience_s):
            raise EmbeddingError(f"The embedding model is still loading after {self._patience_s:g} s.")
        try:
            while self._left:
                try:
                    answer = question(self._left[0])
                except EmbeddingError as problem:
                    self._failed(problem)
                    continue
                self._worked()
                return answer
        finally:
            self._lock.release()
        raise EmbeddingError(f"No embeddings: {'; '.join(self._problems) or 'no provider is configured'}")

    def _worked(self) -> None:
        if not self._has_worked and self._problems:
            log.warning("embeddings by the next best provider", extra={"model": self.model, "problems": self._problems})
        self._has_worked, self._failures = True, 0

    def _failed(self, problem: EmbeddingError) -> None:
        self._failures += 1
        if self._has_worked and self._failures < _FAILURES_IN_A_ROW:
            raise problem
        passed_over = self._left.pop(0)
        self._problems.append(f"{type(passed_over).__name__}: {problem}")
        self._has_worked, self._failures = False, 0
        if not self._left:
            log.warning("no embeddings, memories are compared by their words alone", extra={"problems": self._problems})

"""Embeddings by the sentence-transformers library."""

from typing import Any

from zorkgpt.embeddings.provider import DEFAULT_MODEL, Vectors
from zorkgpt.embeddings.vectors import cut_by_tokens, embed_whole, unit
from zorkgpt.embeddings.weights import REVISION
from zorkgpt.errors import EmbeddingError
from zorkgpt.extras import missing_extra
from zorkgpt.fork_locks import new_lock, new_native_lock

# A margin for special tokens, and for words cut in two.
_MARGIN = 16


class SentenceTransformerProvider:
    """A provider with a model given by name or folder, loaded on first use."""

    def __init__(self, model_name: str = DEFAULT_MODEL, *, batch_size: int = 32) -> None:
        self.model = model_name
        self._batch_size = batch_size
        self._lock = new_lock()
        self._native = new_native_lock()
        self._encoder: Any = None
        self._dimension = 0

    def embed(self, text: str) -> Vectors:
        vector: Vectors = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: list[str]) -> Vectors:
        self._load()
        try:
            return embed_whole(texts, self._dimension, self._pieces, self._embed_pieces)
        except (RuntimeError, ValueError, TypeError) as problem:
            raise EmbeddingError(f"{self.model} could not embed {len(texts)} texts: {problem}") from problem

    def get_dimension(self) -> int:
        self._load()
        return self._dimension

    def _load(self) -> None:
        with self._lock:
            if self._encoder is not None:
                return
            try:
                with self._native:
                    from sentence_transformers import SentenceTransformer
            except ImportError as problem:
                raise EmbeddingError(str(missing_extra("embeddings-torch", problem.name))) from problem
            try:
                # Only the default model is pinned. Other models are the user's choice.
                revision = REVISION if self.model == DEFAULT_MODEL else None
                # Without the lock, because a download may take minutes.
                encoder = SentenceTransformer(self.model, device="cpu", revision=revision)
                with self._native:
                    self._dimension = int(encoder.encode(["dimension"]).shape[1])
                self._encoder = encoder
            except Exception as problem:  # the library raises errors of the hub, PyTorch and the file system
                raise EmbeddingError(f"sentence-transformers can't load {self.model!r}: {problem}") from problem

    def _pieces(self, text: str) -> list[str]:
        window = self._encoder.max_seq_length
        if not window or len(text) * 4 <= window - _MARGIN:
            return [text]
        tokenizer = self._encoder.tokenizer
        if getattr(tokenizer, "is_fast", False):
            with self._native:
                tokens = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            spans = tokens["offset_mapping"]
        else:
            # Without offsets, assume a conservative two characters per token. English has about four.
            spans = [(start, start + 2) for start in range(0, len(text), 2)]
        return cut_by_tokens(text, spans, max(window - _MARGIN, 8))

    def _embed_pieces(self, pieces: list[str]) -> Vectors:
        # The library sorts texts by length.
        with self._native:
            vectors = self._encoder.encode(pieces, batch_size=self._batch_size, show_progress_bar=False)
        return unit(vectors)

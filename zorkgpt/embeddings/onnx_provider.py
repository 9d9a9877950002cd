"""The default model on ONNX Runtime: the vectors of sentence-transformers without PyTorch."""

from pathlib import Path
from typing import Any

from zorkgpt.embeddings.arrays import np
from zorkgpt.embeddings.provider import DEFAULT_MODEL, Vectors
from zorkgpt.embeddings.vectors import cut_by_tokens, embed_whole, unit
from zorkgpt.embeddings.weights import ModelFile, download_model, local_model
from zorkgpt.errors import EmbeddingError
from zorkgpt.extras import missing_extra
from zorkgpt.fork_locks import new_lock, new_native_lock

_TOKENIZER = Path(__file__).parent / "tokenizer.json"
"""The tokenizer of the model, from the revision of its weights."""
_DIMENSION = 384
_WINDOW = 256
# A margin for [CLS] and [SEP], and for words cut in two, whose parts may have more tokens than the word.
_PIECE = _WINDOW - 16


class OnnxProvider:
    """A provider with the model `all-MiniLM-L6-v2`, loaded on first use."""

    def __init__(self, *, batch_size: int = 32, hub_timeout_s: float = 10.0) -> None:
        """
        Args:
            hub_timeout_s: Timeout of the model hub.
        """
        self._file = local_model()
        self.model = self._file.model if self._file else DEFAULT_MODEL
        self._batch_size = batch_size
        self._hub_timeout_s = hub_timeout_s
        self._lock = new_lock()
        self._native = new_native_lock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._inputs: set[str] = set()

    def embed(self, text: str) -> Vectors:
        vector: Vectors = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: list[str]) -> Vectors:
        self._load()
        return embed_whole(texts, _DIMENSION, self._pieces, self._embed_pieces)

    def get_dimension(self) -> int:
        return _DIMENSION

    def _load(self) -> None:
        with self._lock:
            if self._session is not None:
                return
            # Without the lock, because a download may take minutes.
            self._file = self._file or download_model(self._hub_timeout_s)
            try:
                with self._native:
                    self._open(self._file)
            except ImportError as problem:
                raise EmbeddingError(str(missing_extra("embeddings", problem.name))) from problem
            except Exception as problem:  # ONNX Runtime's exceptions have no common base class
                raise EmbeddingError(f"{self._file.path} can't be loaded: {problem}. Delete it.") from problem

    def _open(self, file: ModelFile) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_TOKENIZER))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Spinning threads would take CPU time from the game and its model.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(str(file.path), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in session.get_inputs()}
        self._tokenizer, self._session = tokenizer, session

    def _pieces(self, text: str) -> list[str]:
        # A character has at most four tokens (a Korean syllable has three), so short texts need no counting.
        if len(text) * 4 <= _PIECE:
            return [text]
        with self._native:
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return cut_by_tokens(text, offsets, _PIECE)

    def _embed_pieces(self, pieces: list[str]) -> Vectors:
        with self._native:
            tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(pieces)]
        vectors = np.empty((len(tokens), _DIMENSION), dtype=np.float32)
        # Batch texts of similar length, to reduce padding.
        order = sorted(range(len(tokens)), key=lambda position: len(tokens[position]))
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            vectors[batch] = self._run([tokens[position] for position in batch])
        return vectors

    def _run(self, tokens: list[list[int]]) -> Vectors:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, text_ids in enumerate(tokens):
            ids[row, : len(text_ids)] = text_ids
            mask[row, : len(text_ids)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with self._native:
            hidden = self._session.run(None, {name: inputs[name] for name in self._inputs})[0]
        # Mean pooling without padding. A sum is enough, because the result is normalized.
        return unit((hidden * mask[:, :, None].astype(np.float32)).sum(axis=1))

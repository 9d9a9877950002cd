"""Search by meaning for the store of LangGraph, with the embeddings and fields that its `index` names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory

with importing("langgraph"):
    from langgraph.store.base import IndexConfig, ensure_embeddings, get_text_at_path

with importing("embeddings"):
    import numpy as np

    from zorkgpt.text import key_of

Fields = Sequence[str] | bool | None
"""The fields that are indexed of one item: those of the index for None, none at all for False."""


class VectorIndex:
    """The vectors of the items' fields, in the table of the memory, where they outlive the process.

    Args:
        config: `embed` must be synchronous. `fields` defaults to the whole value.
    """

    def __init__(self, memory: AgentMemory, config: IndexConfig) -> None:
        self._embeddings = ensure_embeddings(config["embed"])
        self._fields = config.get("fields") or ["$"]
        self._table = memory.store.vectors()
        embed = config["embed"]
        maker = embed if isinstance(embed, str) else getattr(embed, "__qualname__", type(embed).__qualname__)
        self._model = f"langgraph {maker} {config['dims']}"

    def texts(self, value: Mapping[str, Any], fields: Fields) -> list[str]:
        """Return the texts of a value that are searched."""
        if fields is False:
            return []
        chosen = fields if isinstance(fields, Sequence) else self._fields
        return [text for field in chosen for text in get_text_at_path(dict(value), field)]

    def add(self, texts: Iterable[str]) -> None:
        """Embed the texts that have no vector yet, in one batch."""
        keys = {key_of(text): text for text in texts}
        known = self._table.known(self._model, list(keys))
        missing = {key: text for key, text in keys.items() if key not in known}
        if missing:
            vectors = np.asarray(self._embeddings.embed_documents(list(missing.values())), dtype=np.float32)
            self._table.put(self._model, dict(zip(missing, vectors, strict=True)))

    def scores(self, query: str, of: Sequence[Sequence[str]]) -> list[float | None]:
        """Return for each item the cosine between a query and the nearest of its texts; None if it has none."""
        texts = dict.fromkeys(text for its in of for text in its)
        self.add(texts)
        vectors = self._table.find(self._model, [key_of(text) for text in texts])
        wanted = np.asarray(self._embeddings.embed_query(query), dtype=np.float32)
        cosines = {text: _cosine(wanted, vectors[key]) for text in texts if (key := key_of(text)) in vectors}
        return [max((cosines[text] for text in its if text in cosines), default=None) for its in of]


def _cosine(one: "np.ndarray[Any, Any]", other: "np.ndarray[Any, Any]") -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0

"""Vector search for the LangGraph store, with the embeddings and fields in its `index`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory

with importing("langgraph"):
    from langgraph.store.base import IndexConfig, ensure_embeddings, get_text_at_path

with importing("embeddings"):
    import numpy as np

    from zorkgpt.embeddings.vectors import unit
    from zorkgpt.text import key_of

Fields = Sequence[str] | bool | None
"""The indexed fields of an item. None for the fields of the index, False for no fields."""


class VectorIndex:
    """The unit vectors of the items' fields, stored in the vector table of the memory.

    Args:
        config: `embed` must be synchronous. `fields` defaults to the whole value.
    """

    def __init__(self, memory: AgentMemory, config: IndexConfig) -> None:
        self._embeddings = ensure_embeddings(config["embed"])
        self._fields = config.get("fields") or ["$"]
        self._table = memory.store.vectors()
        embed = config["embed"]
        name = embed if isinstance(embed, str) else getattr(embed, "__qualname__", type(embed).__qualname__)
        self._model = f"langgraph {name} {config['dims']}"

    def texts(self, value: Mapping[str, Any], fields: Fields) -> list[str]:
        """Return the searched texts of a value."""
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
            vectors = unit(np.asarray(self._embeddings.embed_documents(list(missing.values()))))
            self._table.put(self._model, dict(zip(missing, vectors, strict=True)))

    def scores(self, query: str, of: Sequence[Sequence[str]]) -> list[float | None]:
        """Return for each item the cosine of a query and its nearest text. None if the item has no text."""
        texts = dict.fromkeys(text for texts_of_item in of for text in texts_of_item)
        self.add(texts)
        vectors = self._table.find(self._model, [key_of(text) for text in texts])
        query_vector = unit(np.asarray(self._embeddings.embed_query(query)))
        cosines = {text: float(query_vector @ vectors[key]) for text in texts if (key := key_of(text)) in vectors}
        return [max((cosines[text] for text in item if text in cosines), default=None) for item in of]

"""The memory as a store of LangGraph: namespaces are places, keys are titles, values are texts."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from zorkgpt.adapters.langgraph_encoding import (
    Namespace,
    items_of,
    key_of_title,
    namespace_of,
    place_of,
    text_of_value,
    title_of_key,
    value_of_text,
)
from zorkgpt.errors import MemoryEditError
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import Memory, Persistence, PlaceKey, SubjectKey
from zorkgpt.memory.places import is_place, place_order
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.person_edits import JournalFollower
from zorkgpt.memory.storage.versions import titled

with importing("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        InvalidNamespaceError,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        validate_op_namespace,
    )

if TYPE_CHECKING:
    # Loaded only where items are searched by vectors.
    from zorkgpt.adapters.langgraph_index import VectorIndex

_INDEX = "index"
"""In the metadata of an item: the fields that are searched, if it was put with others than those of the store."""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: float(value) > float(wanted),
    "$gte": lambda value, wanted: float(value) >= float(wanted),
    "$lt": lambda value, wanted: float(value) < float(wanted),
    "$lte": lambda value, wanted: float(value) <= float(wanted),
}


class MemoryBaseStore(BaseStore):
    """A `BaseStore` whose items are the lasting memories of a manager, in its file.

    The namespace `("users", "7")` is the place `users.7`, and `("5",)` is the place with the number 5. A place that
    such labels can't name, such as the text "5", is one label in quotation marks. An item's key is the memory's title.
    A value `{"text": "..."}` is the memory's text; any other is its text as JSON. So every lasting memory is an item,
    whoever wrote it, and every item is told with the other memories of its place.

    As with every store of LangGraph, an item is what was put last: what else says the same or the opposite is not
    looked for. Without an index, search is that of the manager, by meaning or by words.

    Args:
        memory: the manager; it is not closed with the store.
        index: Search by the cosines of the vectors of these fields, as every store of LangGraph has it.
    """

    def __init__(self, memory: AgentMemory, *, index: IndexConfig | None = None) -> None:
        self._memory = memory
        self._times = _Times(memory)
        self._index = None if index is None else _vector_index(memory, index)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read what is asked for, then write all that is put, or deleted with the value None, in one go.

        Raises:
            TypeError: a value is not of JSON.
            ValueError: a namespace or a key is none that a memory file can hold.
            MemoryEditError: A person has pinned or edited what was to be replaced or deleted; nothing was written.
            MemoryStoreError: the file can't be read or written.
        """
        wanted, puts = list(ops), list[PutOp]()
        for op in wanted:
            validate_op_namespace(op)
        with self._memory.store.guard:
            self._memory.refresh()
            results = [self._read(op, puts) for op in wanted]
            if puts:
                with self._memory.store.transaction() as draft:
                    for put in puts:
                        _put(draft, put)
        if self._index is not None:
            fresh = [self._index.texts(put.value, put.index) for put in puts if put.value is not None]
            self._index.add(text for texts in fresh for text in texts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op, puts: list[PutOp]) -> Result:
        if isinstance(op, PutOp):
            puts.append(op)
            return None
        if isinstance(op, GetOp):
            memory = titled(self._memory.store.lasting.memories(_place(op.namespace)), title_of_key(op.key))
            return None if memory is None else self._item(_place(op.namespace), memory)
        if isinstance(op, SearchOp):
            return self._found(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"{op!r} is no operation of a store.")

    def _found(self, op: SearchOp) -> list[SearchItem]:
        within = tuple(op.namespace_prefix)
        found = [
            (self._item(place, memory), memory)
            for place in self._places()
            if namespace_of(place)[: len(within)] == within
            for memory in self._items(place)
        ]
        if op.filter:
            found = [(item, memory) for item, memory in found if _fits_filter(item.value, op.filter)]
        items = [item for item, _ in found]
        if op.query:
            by = self._by_words if self._index is None else self._by_vectors
            for item, score in zip(items, by(op.query, found), strict=True):
                item.score = score
            items = sorted((item for item in items if item.score is not None), key=lambda item: -(item.score or 0))
        return items[op.offset : op.offset + op.limit]

    def _by_vectors(self, query: str, found: Sequence[tuple[SearchItem, Memory]]) -> list[float | None]:
        assert self._index is not None
        texts = [self._index.texts(item.value, memory.metadata.get(_INDEX)) for item, memory in found]
        return self._index.scores(query, texts)

    def _by_words(self, query: str, found: Sequence[tuple[SearchItem, Memory]]) -> list[float | None]:
        best = self._memory.search(query, k=len(self._memory.all_memories()))
        scores = {
            (namespace_of(at), key_of_title(one.located.memory.title)): one.score
            for one in best
            if is_place(at := one.located.location_id)
        }
        return [scores.get((item.namespace, item.key)) for item, _ in found]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {namespace_of(place) for place in self._places() if self._items(place)}
        kept = [each for each in found if all(_fits(each, condition) for condition in op.match_conditions or ())]
        cut = kept if op.max_depth is None else {each[: op.max_depth] for each in kept}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _places(self) -> list[PlaceKey]:
        return sorted(filter(is_place, self._memory.store.lasting.places()), key=place_order)

    def _items(self, place: PlaceKey) -> Iterable[Memory]:
        return items_of(self._memory.store.lasting.memories(place))

    def _item(self, place: PlaceKey, memory: Memory) -> SearchItem:
        created, updated = self._times.of(place, memory)
        return SearchItem(namespace_of(place), key_of_title(memory.title), value_of_text(memory.text), created, updated)


def _vector_index(memory: AgentMemory, index: IndexConfig) -> "VectorIndex":
    from zorkgpt.adapters.langgraph_index import VectorIndex

    return VectorIndex(memory, index)


def _put(draft: Draft, op: PutOp) -> None:
    place, title = _place(op.namespace), title_of_key(op.key)
    old = titled(draft.memories(place), title)
    if old is not None and old.is_settled_by_person:
        raise MemoryEditError(f"{title!r} at {place!r} was pinned or edited by a person. Unpin it first.")
    if op.value is None:
        if old is not None:
            draft.remove(place, old)
        return
    text, fields = text_of_value(op.value), {} if op.index is None else {_INDEX: op.index}
    if old is None:
        new = Memory("NOTE", title, 1, "0", None, text, Persistence.PERMANENT, metadata=fields)
        draft.add(place, " / ".join(op.namespace), new)
        return
    metadata = {name: value for name, value in old.metadata.items() if name != _INDEX} | fields
    if old.text != text:
        # Facts noted about the old text may not be true of the new one.
        draft.replace(place, old, replace(old, text=text, metadata=metadata, claims=(), when=(), outcome=""), "edited")
    elif old.metadata != metadata:
        draft.replace(place, old, replace(old, metadata=metadata), "edited")


class _Times:
    """When each memory was added and changed last, by the history beside the file; follows it while it grows."""

    def __init__(self, memory: AgentMemory) -> None:
        self._store = memory.store
        self._follower = JournalFollower(memory.store.journal)
        self._known: dict[tuple[SubjectKey, str], tuple[datetime, datetime]] = {}

    def of(self, place: PlaceKey, memory: Memory) -> tuple[datetime, datetime]:
        """Return both times; where the history does not know, that of the file's last change."""
        self._refresh()
        found = self._known.get((place, memory.title))
        if found is None:
            path = self._store.path
            written = datetime.fromtimestamp(path.stat().st_mtime if path.exists() else 0, UTC)
            found = written, written
        return found

    def _refresh(self) -> None:
        records, is_replaced = self._follower.read()
        if is_replaced:
            self._known = {}
        for record in records:
            before, after, at = record.change.before, record.change.after, datetime.fromisoformat(record.at)
            if after is not None and (before is None or before.text != after.text):
                key = record.change.location_id, after.title
                created = at if before is None else self._known.get(key, (at, at))[0]
                self._known[key] = created, at


def _place(namespace: Namespace) -> PlaceKey:
    if not namespace:
        raise InvalidNamespaceError("The namespace is empty; it needs a label.")
    return place_of(namespace)


def _fits_filter(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a value is as a filter wants it. `user.name` is the name within the user, unless it is a key."""
    for path, other in wanted.items():
        found: object = value
        for key in [path] if path in value else path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if not _matches(found, other):
            return False
    return True


def _matches(value: object, wanted: object) -> bool:
    """Return whether a value is as a filter wants it: equal, or as its operators say, at every depth."""
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return all(_compared(value, operator, other) for operator, other in wanted.items())
        return isinstance(value, Mapping) and all(_matches(value.get(key), other) for key, other in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(value, list) or len(value) != len(wanted):
            return False
        return all(map(_matches, value, wanted))
    return bool(value == wanted)


def _compared(value: object, operator: str, wanted: object) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"{operator!r} is no operator of a filter: {', '.join(_OPERATORS)}.")
    return _OPERATORS[operator](value, wanted)


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))

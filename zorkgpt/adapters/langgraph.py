"""The memory as a store of LangGraph: namespaces are places, keys are titles, values are texts."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
from zorkgpt.adapters.langgraph_ttl import TtlSweeper
from zorkgpt.errors import MemoryEditError
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.metadata import checked_time
from zorkgpt.memory.models import Memory, Persistence, PlaceKey, SubjectKey
from zorkgpt.memory.places import is_place, place_order
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.person_edits import JournalFollower

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
        TTLConfig,
        validate_op_namespace,
    )

if TYPE_CHECKING:
    # Loaded only where items are searched by vectors.
    from zorkgpt.adapters.langgraph_index import VectorIndex

_INDEX = "index"
"""In the metadata of an item: the fields that are searched, if it was put with others than those of the store."""
_TTL = "ttl_minutes"
"""In the metadata of an item: its time to live, in minutes, which a read may start again."""
_MAX_TTL_MINUTES = 1e9
_SWEEP_INTERVAL_MINUTES = 5.0

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

    The namespace `("users", "7")` is the place `("users", 7)`, and `("5",)` is the place 5. A label is in quotation
    marks where it would mean another place, such as the text "5". An item's key is the memory's title. A value
    `{"text": "..."}` is the memory's text, and any other value is the text as JSON. So every lasting memory is an item,
    whoever wrote it, and every item is shown with the other memories of its place.

    The last `put` wins, as in LangGraph's own stores: duplicates and contradictions are not checked. Without an index,
    search is that of the memory, by meaning or by words.

    Expired items are never returned (`omit_expired`), and are deleted by the next read or `sweep_ttl`.

    Args:
        memory: The memory; it is not closed with the store.
        index: Search by the cosines of the vectors of these fields, as LangGraph's own stores do.
        ttl: As in `SqliteStore`: a read starts the time to live again only with `refresh_on_read`, and nothing is
            swept before `start_ttl_sweeper`.
    """

    supports_ttl = True

    def __init__(self, memory: AgentMemory, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self._memory = memory
        self._times = _Times(memory)
        self._index = None if index is None else _vector_index(memory, index)
        self.ttl_config = ttl
        self._sweeper = TtlSweeper(self.sweep_ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run all reads, then write all puts and deletions in one transaction.

        Raises:
            TypeError: If a value can't be written as JSON.
            ValueError: If a namespace or key can't be stored, or a time to live is not from 0 to a billion minutes.
            MemoryEditError: If an item that would be replaced or deleted was pinned or edited by a person. Nothing is
                written then.
            MemoryStoreError: If the file can't be read or written.
        """
        wanted, puts, read = list(ops), list[PutOp](), list[tuple[PlaceKey, Memory]]()
        for op in wanted:
            validate_op_namespace(op)
        with self._memory.store.guard:
            self._memory.refresh()
            results = [self._result(op, puts, read) for op in wanted]
            if puts or read:
                with self._memory.store.transaction() as draft:
                    for place, memory in read:
                        _restart_ttl(draft, place, memory.title)
                    for put in puts:
                        _put(draft, put)
        if self._index is not None:
            fresh = [self._index.texts(put.value, put.index) for put in puts if put.value is not None]
            self._index.add(text for texts in fresh for text in texts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete expired memories, and return how many.

        Raises:
            MemoryStoreError: If the file can't be read.
        """
        return self._memory.refresh()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> "Future[None]":
        """Sweep at regular intervals in a thread, until `stop_ttl_sweeper`. Stop it before the memory is closed.

        Args:
            sweep_interval_minutes: Defaults to the configured interval, or else to 5.

        Returns:
            A future that is done when the thread ends, and at once if no `ttl` is configured. Cancelling it stops the
            thread.

        Raises:
            ValueError: If the interval is not positive.
        """
        if not self.ttl_config:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        configured = self.ttl_config.get("sweep_interval_minutes")
        return self._sweeper.start(sweep_interval_minutes or configured or _SWEEP_INTERVAL_MINUTES)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread.

        Args:
            timeout: Seconds to wait for its end. Defaults to no limit.

        Returns:
            False if it is still running.
        """
        return self._sweeper.stop(timeout)

    def _result(self, op: Op, puts: list[PutOp], read: list[tuple[PlaceKey, Memory]]) -> Result:
        """Return the result of an operation. Collects puts, and the memories whose time to live starts again."""
        if isinstance(op, PutOp):
            puts.append(op)
            return None
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, GetOp):
            place = _place(op.namespace)
            memory = self._memory.store.lasting.titled(place, title_of_key(op.key))
            if memory is None:
                return None
            found = [(place, memory, self._item(place, memory))]
        elif isinstance(op, SearchOp):
            found = self._found(op)
        else:
            raise ValueError(f"{op!r} is not a supported operation.")
        if op.refresh_ttl and self.ttl_config and self.ttl_config.get("refresh_on_read"):
            read += [(place, memory) for place, memory, _ in found if _ttl(memory) is not None]
        items = [item for _, _, item in found]
        return items[0] if isinstance(op, GetOp) else items

    def _found(self, op: SearchOp) -> list[tuple[PlaceKey, Memory, SearchItem]]:
        within = tuple(op.namespace_prefix)
        found = [
            (place, memory, self._item(place, memory))
            for place in self._places()
            if namespace_of(place)[: len(within)] == within
            for memory in self._items(place)
        ]
        if op.filter:
            found = [each for each in found if _fits_filter(each[2].value, op.filter)]
        if op.query:
            by = self._by_words if self._index is None else self._by_vectors
            for (_, _, item), score in zip(found, by(op.query, found), strict=True):
                item.score = score
            found = [each for each in found if each[2].score is not None]
            found.sort(key=lambda each: -(each[2].score or 0))
        return found[op.offset : op.offset + op.limit]

    def _by_vectors(self, query: str, found: Sequence[tuple[PlaceKey, Memory, SearchItem]]) -> list[float | None]:
        assert self._index is not None
        texts = [self._index.texts(item.value, memory.metadata.get(_INDEX)) for _, memory, item in found]
        return self._index.scores(query, texts)

    def _by_words(self, query: str, found: Sequence[tuple[PlaceKey, Memory, SearchItem]]) -> list[float | None]:
        best = self._memory.search(query, k=len(self._memory.all_memories()))
        scores = {
            (namespace_of(at), key_of_title(one.located.memory.title)): one.score
            for one in best
            if is_place(at := one.located.location_id)
        }
        return [scores.get((item.namespace, item.key)) for _, _, item in found]

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
    old = draft.lasting.titled(place, title)
    if old is not None and old.is_settled_by_person:
        raise MemoryEditError(f"{title!r} at {place!r} was pinned or edited by a person. Unpin it first.")
    if op.value is None:
        if old is not None:
            draft.remove(place, old)
        return
    text, expires_at = text_of_value(op.value), _expiry(op.ttl)
    fields = {name: value for name, value in ((_INDEX, op.index), (_TTL, op.ttl)) if value is not None}
    if old is None:
        new = Memory("NOTE", title, 1, "0", None, text, Persistence.PERMANENT, metadata=fields, expires_at=expires_at)
        draft.add(place, " / ".join(op.namespace), new)
        return
    metadata = {name: value for name, value in old.metadata.items() if name not in (_INDEX, _TTL)} | fields
    new = replace(old, text=text, metadata=metadata, expires_at=expires_at)
    if old.text != text:
        # Facts noted about the old text may not be true of the new one.
        new = replace(new, claims=(), when=(), outcome="")
    if new != old:
        draft.replace(place, old, new, "edited")


def _restart_ttl(draft: Draft, place: PlaceKey, title: str) -> None:
    memory = draft.lasting.titled(place, title)
    if memory is not None and not memory.is_settled_by_person and (ttl := _ttl(memory)) is not None:
        draft.replace(place, memory, replace(memory, expires_at=_expiry(ttl)), "edited")


def _ttl(memory: Memory) -> float | None:
    """Return the time to live in minutes; None if there is none, or if it was changed in the file to an invalid one."""
    ttl = memory.metadata.get(_TTL)
    return ttl if isinstance(ttl, (int, float)) and 0 <= ttl <= _MAX_TTL_MINUTES else None


def _expiry(ttl: float | None) -> str | None:
    if ttl is None:
        return None
    if not 0 <= ttl <= _MAX_TTL_MINUTES:
        raise ValueError(f"The time to live is {ttl} minutes; it must be from 0 to {_MAX_TTL_MINUTES:.0f}.")
    return checked_time(timedelta(minutes=ttl))


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
        raise ValueError(f"{operator!r} is not a supported filter operator. Use one of: {', '.join(_OPERATORS)}.")
    return _OPERATORS[operator](value, wanted)


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))

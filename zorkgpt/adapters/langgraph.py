"""The memory as a store for LangGraph: namespaces are places, keys are titles, values are texts."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zorkgpt.adapters.formats import permanent_note
from zorkgpt.adapters.langgraph_encoding import (
    TTL_FIELD,
    Namespace,
    checked_ttl,
    key_of_title,
    namespace_of,
    place_of,
    text_of_value,
    title_of_key,
    ttl_of,
    value_of_text,
)
from zorkgpt.errors import MemoryEditError
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.checks import checked_time
from zorkgpt.memory.models import Memory, PlaceKey
from zorkgpt.memory.places import is_place, path_of
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.lasting import Filters, Prefix
from zorkgpt.memory.storage.rows import titled_each

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

_log = logging.getLogger(__name__)

_INDEX = "index"
"""In the metadata of an item: the searched fields, if they differ from the store's default."""
_SWEEP_INTERVAL_MINUTES = 5.0

_PAGE = 1_000
"""Memories read at a time."""
_FIRST_RESULTS, _GROWTH = 50, 8
"""Number of results requested first, and the factor by which it grows while too few of them match."""
_Scored = tuple[PlaceKey, Memory, float | None]
"""A place, a memory and its score, which is None without a query."""

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

    The namespace `("users", "7")` is the place `("users", 7)`, and `("5",)` is the place 5. An ambiguous label, such as
    the text "5", is quoted. An item's key is the memory's title. A value `{"text": "..."}` is the memory's text, and
    any other value is stored as JSON text. So every lasting memory is an item, whoever wrote it, and every item is
    shown with the other memories of its place.

    As in LangGraph's own stores, the last `put` wins. Duplicates and contradictions are not checked. Without an index,
    `search` uses the search of the memory, by meaning or by words.

    Expired items are never returned (`omit_expired`). They are deleted by the next read or `sweep_ttl`.

    Args:
        memory: The memory. It is not closed with the store.
        index: Search by the cosines of these fields, as in LangGraph's own stores.
        ttl: As in `SqliteStore`, reads restart the time to live only with `refresh_on_read`, and nothing is deleted
            before `start_ttl_sweeper`.

    Raises:
        ValueError: If the memory was opened with a scope.
    """

    supports_ttl = True

    def __init__(self, memory: AgentMemory, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        if memory.store.scope.path:
            raise ValueError(
                f"The memory has the scope {memory.store.scope.path}, which namespaces would ignore. Open it without a "
                "scope, and begin the namespaces with these elements."
            )
        self._memory = memory
        self._index = None if index is None else _vector_index(memory, index)
        self.ttl_config = ttl
        self._guard = threading.Lock()
        self._sweeper: threading.Thread | None = None
        self._swept: Future[None] = Future()
        """Done when the thread ends."""
        self._swept.cancel()
        self._stopping = threading.Event()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run all reads, then write all puts and deletions in one transaction. The last one for a key wins.

        Raises:
            TypeError: If a value can't be written as JSON.
            ValueError: If a namespace or key can't be stored, or a time to live is not from 0 to a billion minutes.
            MemoryEditError: If an item to be replaced or deleted was pinned or edited by a person. Nothing is written.
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
                    _put(draft, puts)
        if self._index is not None:
            fresh = [self._index.texts(put.value, put.index) for put in puts if put.value is not None]
            self._index.add(text for texts in fresh for text in texts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete expired memories. Return their number.

        Raises:
            MemoryStoreError: If the file can't be read.
        """
        return self._memory.refresh()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> "Future[None]":
        """Sweep at regular intervals in a thread, until `stop_ttl_sweeper`. Stop it before the memory is closed.

        Args:
            sweep_interval_minutes: Defaults to the configured interval, or else to 5.

        Returns:
            A future that is done when the thread ends, or immediately if no `ttl` is configured. Canceling it stops
            the thread.

        Raises:
            ValueError: If the interval is not positive.
        """
        if not self.ttl_config:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        configured = self.ttl_config.get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or _SWEEP_INTERVAL_MINUTES
        if not 0 < minutes * 60 <= threading.TIMEOUT_MAX:
            raise ValueError(f"The interval is {minutes} minutes, but it must be positive.")
        with self._guard:
            if self._swept.done():
                swept: Future[None] = Future()
                stopping = threading.Event()
                self._swept, self._stopping = swept, stopping
                swept.add_done_callback(lambda done: stopping.set())
                arguments = (minutes * 60, stopping, swept)
                self._sweeper = threading.Thread(target=self._sweep, args=arguments, daemon=True, name="ttl-sweeper")
                self._sweeper.start()
            return self._swept

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread.

        Args:
            timeout: Seconds to wait for its end. Defaults to no limit.

        Returns:
            False if it is still running.
        """
        with self._guard:
            sweeper = self._sweeper
            self._stopping.set()
        if sweeper is not None:
            sweeper.join(timeout)
        return sweeper is None or not sweeper.is_alive()

    def _sweep(self, interval_s: float, stopping: threading.Event, swept: "Future[None]") -> None:
        while not stopping.wait(interval_s):
            try:
                if deleted := self.sweep_ttl():
                    _log.info("expired items deleted", extra={"count": deleted})
            except Exception as error:
                _log.warning("expired items not deleted", extra={"error": str(error)})
        if swept.set_running_or_notify_cancel():
            swept.set_result(None)

    def _result(self, op: Op, puts: list[PutOp], read: list[tuple[PlaceKey, Memory]]) -> Result:
        """Return the result of an operation. Collects puts, and the memories whose time to live starts again."""
        if isinstance(op, PutOp):
            puts.append(op)
            return None
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, GetOp):
            place = _place(op.namespace)
            [memory] = titled_each(self._memory.store.lasting, [(place, title_of_key(op.key))])
            if memory is None:
                return None
            found = self._items([(place, memory, None)])
        elif isinstance(op, SearchOp):
            found = self._found(op)
        else:
            raise ValueError(f"{op!r} is not a supported operation.")
        if op.refresh_ttl and self.ttl_config and self.ttl_config.get("refresh_on_read"):
            read += [(place, memory) for place, memory, _ in found if ttl_of(memory) is not None]
        items = [item for _, _, item in found]
        return items[0] if isinstance(op, GetOp) else items

    def _found(self, op: SearchOp) -> list[tuple[PlaceKey, Memory, SearchItem]]:
        wanted = op.offset + op.limit
        if op.query and self._index is None:
            found = self._by_words(op, wanted)
        elif op.query:
            found = self._by_vectors(op)
        else:
            found = [(place, memory, None) for place, memory in islice(self._matching(op, wanted), wanted)]
        return self._items(found[op.offset : wanted])

    def _matching(self, op: SearchOp, page: int) -> Iterator[tuple[PlaceKey, Memory]]:
        """Yield the items below the namespace that match the filter, with their places.

        Args:
            page: Number of memories to read first.
        """
        lasting, offset, seen = self._memory.store.lasting, 0, set[tuple[PlaceKey, str]]()
        prefix = _prefix(tuple(op.namespace_prefix))
        while prefix is not None and (found := lasting.find(Filters(prefix=prefix), limit=max(page, 1), offset=offset)):
            offset, page = offset + len(found), _PAGE
            for place, memory in found:
                # Of several memories with the same title, the first is the item.
                if not is_place(place) or (place, memory.title) in seen:
                    continue
                seen.add((place, memory.title))
                if not op.filter or _fits_filter(value_of_text(memory.text), op.filter):
                    yield place, memory

    def _by_vectors(self, op: SearchOp) -> "list[_Scored]":
        assert self._index is not None
        found = list(self._matching(op, _PAGE))
        texts = [self._index.texts(value_of_text(memory.text), memory.metadata.get(_INDEX)) for _, memory in found]
        scores = self._index.scores(op.query or "", texts)
        scored = [(score, *each) for score, each in zip(scores, found, strict=True) if score is not None]
        scored.sort(key=lambda each: -each[0])
        return [(place, memory, score) for score, place, memory in scored]

    def _by_words(self, op: SearchOp, wanted: int) -> "list[_Scored]":
        """Return at least `wanted` matches, if there are enough, best first."""
        lasting, within, count = self._memory.store.lasting, tuple(op.namespace_prefix), _FIRST_RESULTS
        while True:
            best = self._memory.search(op.query or "", k=count)
            found: list[_Scored] = []
            for result in best:
                place, memory = result.located.location_id, result.located.memory
                if not is_place(place) or namespace_of(place)[: len(within)] != within:
                    continue
                if op.filter and not _fits_filter(value_of_text(memory.text), op.filter):
                    continue
                [item] = titled_each(lasting, [(place, memory.title)])
                if item is not None and item.id == result.located.id:
                    found.append((place, item, result.score))
            if len(found) >= wanted or len(best) < count:
                return found
            count *= _GROWTH

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        places = self._memory.store.lasting.places(believed=True)
        found = {namespace_of(place) for place in places if is_place(place)}
        kept = [each for each in found if all(_fits(each, condition) for condition in op.match_conditions or ())]
        cut = kept if op.max_depth is None else {each[: op.max_depth] for each in kept}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _items(self, found: "Sequence[_Scored]") -> list[tuple[PlaceKey, Memory, SearchItem]]:
        path = self._memory.store.path
        items = []
        for place, memory, score in found:
            created, updated = memory.created_at, memory.updated_at
            item = SearchItem(
                namespace_of(place),
                key_of_title(memory.title),
                value_of_text(memory.text),
                _moment(created or updated, path),
                _moment(updated or created, path),
                score,
            )
            items.append((place, memory, item))
        return items


def _moment(time: str | None, path: Path) -> datetime:
    """Parse a time of the history. If unknown, return the time of the file's last change."""
    if time is not None:
        return datetime.fromisoformat(time)
    return datetime.fromtimestamp(path.stat().st_mtime if path.exists() else 0, UTC)


def _prefix(namespace: Namespace) -> Prefix | None:
    """Return the prefix of places for a prefix of namespaces. None if no place can have it."""
    try:
        return path_of(place_of(namespace)) if namespace else ()
    except ValueError:
        return None


def _vector_index(memory: AgentMemory, index: IndexConfig) -> "VectorIndex":
    from zorkgpt.adapters.langgraph_index import VectorIndex

    return VectorIndex(memory, index)


def _put(draft: Draft, puts: Iterable[PutOp]) -> None:
    """Write puts and deletions. The last one for a namespace and key wins."""
    wanted = {(_place(op.namespace), title_of_key(op.key)): op for op in puts}
    known = zip(wanted.items(), titled_each(draft.lasting, list(wanted)), strict=True)
    added: list[tuple[PlaceKey, str, Memory]] = []
    for ((place, title), op), old in known:
        if old is not None and old.is_settled_by_person:
            raise MemoryEditError(f"{title!r} at {place!r} was pinned or edited by a person. Unpin it first.")
        if op.value is None:
            if old is not None:
                draft.remove(place, old)
            continue
        text, expires_at = text_of_value(op.value), _expiry(op.ttl)
        given = ((_INDEX, op.index), (TTL_FIELD, op.ttl))
        fields: dict[str, object] = {name: value for name, value in given if value is not None}
        if old is None:
            new = permanent_note(title, text, metadata=fields, expires_at=expires_at)
            added.append((place, " / ".join(op.namespace), new))
        else:
            _replace(draft, place, old, text, fields, expires_at)
    if added:
        draft.add_each(added)


def _replace(
    draft: Draft, place: PlaceKey, old: Memory, text: str, fields: dict[str, object], expires_at: str | None
) -> None:
    metadata = {name: value for name, value in old.metadata.items() if name not in (_INDEX, TTL_FIELD)} | fields
    new = replace(old, text=text, metadata=metadata, expires_at=expires_at)
    if old.text != text:
        # Claims about the old text may not apply to the new one.
        new = replace(new, claims=(), when=(), outcome="")
    if new != old:
        draft.replace(place, old, new, "edited")


def _restart_ttl(draft: Draft, place: PlaceKey, title: str) -> None:
    [memory] = titled_each(draft.lasting, [(place, title)])
    if memory is not None and not memory.is_settled_by_person and (ttl := ttl_of(memory)) is not None:
        draft.replace(place, memory, replace(memory, expires_at=_expiry(ttl)), "edited")


def _expiry(ttl: float | None) -> str | None:
    if ttl is None:
        return None
    return checked_time(timedelta(minutes=checked_ttl(ttl)))


def _place(namespace: Namespace) -> PlaceKey:
    if not namespace:
        raise InvalidNamespaceError("The namespace is empty. It needs at least one label.")
    return place_of(namespace)


def _fits_filter(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a value matches a filter. `user.name` is the field `name` of `user`, unless it is itself a key."""
    for path, other in wanted.items():
        found: object = value
        for key in [path] if path in value else path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if not _matches(found, other):
            return False
    return True


def _matches(value: object, wanted: object) -> bool:
    """Return whether a value is equal to a filter value, or matches its operators, recursively."""
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

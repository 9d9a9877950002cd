"""The memory as a store of LangGraph: namespaces are places, keys are titles, values are texts."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from zorkgpt.errors import MemoryEditError
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import Memory, Persistence, PlaceKey, SubjectKey
from zorkgpt.memory.places import checked_place, is_place, place_order
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import json_in_a_line, one_line
from zorkgpt.memory.storage.person_edits import JournalFollower
from zorkgpt.memory.storage.versions import is_current, titled

with importing("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )

Namespace = tuple[str, ...]

_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
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
    looked for. Search is that of the manager, by meaning or by words, and `index=` is ignored.

    Args:
        memory: the manager; it is not closed with the store.
    """

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory
        self._times = _Times(memory)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read what is asked for, then write all that is put, or deleted with the value None, in one go.

        Raises:
            TypeError: a value is not of JSON.
            ValueError: a namespace or a key is none that a memory file can hold.
            MemoryEditError: A person has pinned or edited what was to be replaced or deleted; nothing was written.
            MemoryStoreError: the file can't be read or written.
        """
        wanted, puts = list(ops), list[PutOp]()
        with self._memory.store.guard:
            self._memory.store.refresh()
            results = [self._read(op, puts) for op in wanted]
            if puts:
                with self._memory.store.transaction() as draft:
                    for put in puts:
                        _put(draft, put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op, puts: list[PutOp]) -> Result:
        if isinstance(op, PutOp):
            puts.append(op)
            return None
        if isinstance(op, GetOp):
            memory = titled(self._memory.store.document.memories(_place(op.namespace)), _title(op.key))
            return None if memory is None else self._item(_place(op.namespace), memory)
        if isinstance(op, SearchOp):
            return self._found(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"{op!r} is no operation of a store.")

    def _found(self, op: SearchOp) -> list[SearchItem]:
        within = len(op.namespace_prefix)
        items = [
            self._item(place, memory)
            for place, memory in self._items()
            if _namespace(place)[:within] == tuple(op.namespace_prefix)
        ]
        if op.filter:
            items = [item for item in items if _matches(item.value, op.filter)]
        if op.query:
            scores = self._scores(op.query)
            items = [item for item in items if (item.namespace, item.key) in scores]
            for item in items:
                item.score = scores[item.namespace, item.key]
            items.sort(key=lambda item: -(item.score or 0))
        return items[op.offset : op.offset + op.limit]

    def _scores(self, query: str) -> dict[tuple[Namespace, str], float]:
        found = self._memory.search(query, k=len(self._memory.all_memories()))
        return {
            (_namespace(place), _key(each.located.memory.title)): each.score
            for each in found
            if is_place(place := each.located.location_id)
        }

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {_namespace(place) for place, _ in self._items()}
        kept = [each for each in found if all(_fits(each, condition) for condition in op.match_conditions or ())]
        cut = kept if op.max_depth is None else {each[: op.max_depth] for each in kept}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _items(self) -> Iterator[tuple[PlaceKey, Memory]]:
        """Yield the memories that are items: of several with one title at a place, the first that is believed."""
        places = filter(is_place, self._memory.store.document.section_indexes)
        for place in sorted(places, key=place_order):
            by_title: dict[str, Memory] = {}
            for memory in self._memory.store.document.memories(place):
                if is_current(memory):
                    by_title.setdefault(one_line(memory.title), memory)
            yield from ((place, memory) for memory in by_title.values())

    def _item(self, place: PlaceKey, memory: Memory) -> SearchItem:
        created, updated = self._times.of(place, memory)
        return SearchItem(_namespace(place), _key(memory.title), _value(memory.text), created, updated)


def _put(draft: Draft, op: PutOp) -> None:
    place, title = _place(op.namespace), _title(op.key)
    old = titled(draft.memories(place), title)
    if old is not None and old.is_settled_by_person:
        raise MemoryEditError(f"{title!r} at {place!r} was pinned or edited by a person. Unpin it first.")
    if op.value is None:
        if old is not None:
            draft.remove(place, old)
        return
    text = _text(op.value)
    if old is None:
        draft.add(place, " / ".join(op.namespace), Memory("NOTE", title, 1, "0", None, text, Persistence.PERMANENT))
    elif old.text != text:
        # Facts noted about the old text may not be true of the new one.
        draft.replace(place, old, replace(old, text=text, claims=(), when=(), outcome=""), "edited")


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
    """Return the place of a namespace.

    Raises:
        InvalidNamespaceError: a label is empty or holds a full stop, which is what labels are joined by.
    """
    if not namespace or not all(label and "." not in label for label in namespace):
        raise InvalidNamespaceError(f"The namespace is {namespace!r}; it needs labels without a full stop.")
    joined = ".".join(namespace)
    if _NUMBER.fullmatch(joined):
        return checked_place(int(joined))
    return checked_place(_quoted_in(joined, _is_plain_place, _label) or joined)


def _namespace(place: PlaceKey) -> Namespace:
    """Return the labels of a place; one label, in quotation marks, where the labels would mean another place."""
    if isinstance(place, int) or _is_plain_place(place):
        return tuple(str(place).split("."))
    return (_label(place),)


def _is_plain_place(place: str) -> bool:
    if not all(place.split(".")) or _NUMBER.fullmatch(place):
        return False
    return _quoted_in(place, _is_plain_place, _label) is None


def _label(place: str) -> str:
    return json_in_a_line(place).replace(".", "\\u002e")


def _title(key: str) -> str:
    """Return the title for a key: the key itself, or in quotation marks if the file would not keep it as it is."""
    return key if _is_plain_title(key) else json_in_a_line(key)


def _key(title: str) -> str:
    return title if (key := _quoted_in(title, _is_plain_title, json_in_a_line)) is None else key


def _is_plain_title(key: str) -> bool:
    return bool(key) and key == one_line(key) and _quoted_in(key, _is_plain_title, json_in_a_line) is None


def _quoted_in(text: str, is_plain: Callable[[str], bool], quoted: Callable[[str], str]) -> str | None:
    """Return the text that was put in quotation marks because it is not plain; None if this is another text."""
    if not text.startswith('"'):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, str) and not is_plain(found) and quoted(found) == text else None


def _text(value: Mapping[str, Any]) -> str:
    plain = value.get("text")
    if len(value) == 1 and isinstance(plain, str) and plain and plain == one_line(plain) and _value(plain) == value:
        return plain
    return json_in_a_line(dict(value))


def _value(text: str) -> dict[str, Any]:
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {"text": text}
        return value if isinstance(value, dict) else {"text": text}
    return {"text": text}


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

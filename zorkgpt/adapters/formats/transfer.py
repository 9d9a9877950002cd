"""Import of memories in any `ImportFormat`."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from zorkgpt.adapters.formats import ImportFormat, basic_memory, langgraph_items, mem0
from zorkgpt.adapters.langgraph_encoding import items_of
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_in_words
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.upkeep.exchange import ImportReport, Skipped, import_memories, lasting_only

_READERS = {
    ImportFormat.MEM0: mem0.read,
    ImportFormat.LANGGRAPH: langgraph_items.read,
    ImportFormat.BASIC_MEMORY: basic_memory.read,
}


def import_as(store: Store, path: Path, file_format: ImportFormat) -> ImportReport:
    """Add the memories of a file or folder to a store in one transaction. Existing memories are never changed.

    A memory is already known if its place has a memory with the same text (for LangGraph, the same key), in any status.

    Raises:
        MemoryStoreError: If the input can't be read or has another format, or the store can't be written. Nothing was
            stored.
    """
    reader = _READERS.get(file_format)
    if reader is None:
        return import_memories(store, path)
    memories, skipped = reader(path)
    kept, unkept = lasting_only(memories)
    skipped += unkept
    add = _with_key if file_format is ImportFormat.LANGGRAPH else _with_unique_title
    places: dict[SubjectKey, list[LocatedMemory]] = {}
    for located in kept:
        places.setdefault(located.location_id, []).append(located)
    added = 0
    with store.transaction() as draft:
        before = len(skipped)
        for place, group in places.items():
            new = add(draft, place, [located.memory for located in group], skipped)
            if new:
                draft.add(place, group[0].location_name, *new)
                added += len(new)
    return ImportReport(added, len(kept) - added - (len(skipped) - before), tuple(skipped))


def _with_unique_title(
    draft: Draft, place: SubjectKey, memories: Iterable[Memory], skipped: list[Skipped]
) -> list[Memory]:
    """Return the memories with new texts, with titles that are unique at the place."""
    kept = draft.lasting.memories(place)
    texts, titles = {folded(memory.text) for memory in kept}, {folded(memory.title) for memory in kept}
    new = []
    for memory in memories:
        if (text := folded(memory.text)) in texts:
            continue
        numbered = (f"{memory.title} ({number})" for number in count(2))
        title = next(title for title in chain([memory.title], numbered) if folded(title) not in titles)
        texts.add(text)
        titles.add(folded(title))
        new.append(replace(memory, title=title))
    return new


def _with_key(draft: Draft, place: SubjectKey, memories: Iterable[Memory], skipped: list[Skipped]) -> list[Memory]:
    """Return the items with new keys. Items whose key already has another value are skipped."""
    texts = {(memory.title, memory.text) for memory in draft.lasting.memories(place)}
    keys = {memory.title: memory.text for memory in items_of(draft.lasting.memories(place))}
    new = []
    for memory in memories:
        if (memory.title, memory.text) in texts:
            continue
        if memory.title in keys:
            where = f"{memory.title!r} at {place_in_words(place)}"
            skipped.append(Skipped(where, "this key already has another value, which is kept"))
            continue
        keys[memory.title] = memory.text
        texts.add((memory.title, memory.text))
        new.append(memory)
    return new

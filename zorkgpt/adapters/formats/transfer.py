"""Import and export of memories in any `FileFormat`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from zorkgpt.adapters.formats import FileFormat, basic_memory, langgraph_items, mem0
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import place_in_words
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.document import render
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.protocol import Store
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.upkeep.exchange import ImportReport, Skipped, import_memories, json_lines, lasting_only


@dataclass(frozen=True, slots=True)
class Exported:
    """Memories in another format."""

    files: dict[str, bytes]
    """Path in the folder → content. A single file has the path ""."""
    count: int
    """The number of exported memories."""
    skipped: tuple[Skipped, ...] = ()


_READERS = {
    FileFormat.MEM0: mem0.read,
    FileFormat.LANGGRAPH: langgraph_items.read,
    FileFormat.BASIC_MEMORY: basic_memory.read,
}


def import_as(store: Store, path: Path, file_format: FileFormat) -> ImportReport:
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
    add = _with_key if file_format is FileFormat.LANGGRAPH else _with_unique_title
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


def export_as(memory: SimpleMemoryManager, file_format: FileFormat) -> Exported:
    """Return all memories in a format. For other libraries, only current memories are exported.

    Raises:
        MemoryStoreError: If the memories can't be read.
    """
    memories = memory.all_memories()
    if file_format is FileFormat.MARKDOWN:
        return Exported({"": render(memory.store.lasting.document)}, len(memories))
    if file_format is FileFormat.JSONL:
        return Exported({"": json_lines(memories).encode()}, len(memories))
    believed = [located for located in memories if is_current(located.memory)]
    skipped = [
        Skipped(_where(located), "it is superseded or hidden") for located in memories if not is_current(located.memory)
    ]
    others: list[tuple[LocatedMemory, str]] = []
    if file_format is FileFormat.MEM0:
        files = {"": mem0.written(believed)}
    elif file_format is FileFormat.BASIC_MEMORY:
        files = basic_memory.written(believed)
    else:
        text, others = langgraph_items.written(believed)
        files = {"": text}
    skipped += [Skipped(_where(located), reason) for located, reason in others]
    encoded = {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()}
    return Exported(encoded, len(believed) - len(others), tuple(skipped))


def write_new(target: Path, exported: Exported, file_format: FileFormat) -> None:
    """Write exported memories to a new file, or to a new or empty folder.

    Raises:
        MemoryStoreError: If the target exists or can't be written.
    """
    try:
        if not file_format.is_folder:
            with target.open("xb") as file:
                file.write(exported.files[""])
            return
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise MemoryStoreError(f"The folder {target} is not empty. Name a new folder.")
        for name, data in exported.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except FileExistsError as error:
        raise MemoryStoreError(f"{target} already exists. Name a new file.") from error
    except OSError as error:
        raise MemoryStoreError(f"Can't write {target}: {error.strerror}") from error


def _where(located: LocatedMemory) -> str:
    return f"{located.memory.title!r} at {place_in_words(located.location_id)}"


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
    keys = {memory.title: memory.text for memory in langgraph_items.items_of(draft.lasting.memories(place))}
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

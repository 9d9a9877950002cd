"""Erasure of memories and texts, such as secrets, from every file that the memory has written."""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.errors import OutOfBounds
from zorkgpt.files import write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, SubjectKey, fields_of
from zorkgpt.memory.places import is_place, path_of
from zorkgpt.memory.scope import EVERYWHERE, PlaceScope
from zorkgpt.memory.storage.book import MemoryBook
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.storage.earlier import earlier_store
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.lasting import EVERY, Prefix
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.traces import Traces, document_without, event_without, line_without, value_without
from zorkgpt.record.events import Events
from zorkgpt.text import indented

log = get_logger(__name__)


def traces_of_memory(store: Store, place: SubjectKey, memory: Memory) -> Traces:
    """Return the traces of one memory: every text and title that it ever had."""
    wanted = memory.id
    versions = [memory]
    for record in store.journal.records(place):
        for version in (record.change.before, record.change.after):
            if version is not None and version.id == wanted:
                versions.append(version)
    titles = frozenset(version.title for version in versions)
    return Traces(frozenset({(place, wanted)}), frozenset(_texts_of(versions)), titles, scope=store.scope)


def _texts_of(memories: Iterable[Memory]) -> set[str]:
    """Return the texts of memories in their two formats: plain and indented."""
    texts = [memory.text for memory in memories if memory.text.strip()]
    return {*texts, *map(indented, texts)}


def traces_of_places(
    store: Store, book: MemoryBook, is_wanted: Callable[[SubjectKey], bool], runs: Path, prefix: Prefix | None
) -> Traces:
    """Return the traces of every memory that these places ever had.

    Files may repeat texts: the memory file, its backups, and those in `runs`. Texts and titles that also occur in a
    memory of another place are not erased there.

    Args:
        prefix: The beginning of the wanted places. None if unknown.
    """
    lasting = store.lasting.places(prefix)
    gone = {place for place in {*lasting, *book.ephemeral, *store.journal.places(prefix)} if is_wanted(place)}
    known = [(place, memory) for place in gone for memory in book.memories(place)]
    removed = {(place, memory.id) for place, memory in known} | store.journal.memories(gone)
    if not store.has_file and not runs.is_dir():
        return Traces(frozenset(removed), frozenset(), frozenset(), frozenset(gone), store.scope)
    for place in gone:
        for record in store.journal.records(place):
            both = (record.change.before, record.change.after)
            known += [(place, memory) for memory in both if memory is not None]
    others = "\0".join(f"{memory.title}\0{memory.text}" for place, memory in book.find(EVERY) if place not in gone)
    texts = _texts_of(memory for _, memory in known)
    titles = {memory.title for _, memory in known}
    return Traces(
        frozenset((place, memory.id) for place, memory in known),
        frozenset(text for text in texts if text not in others),
        frozenset(title for title in titles if title not in others),
        frozenset(gone),
        store.scope,
    )


def traces_of_text(text: str, book: MemoryBook, scope: PlaceScope = EVERYWHERE) -> Traces:
    """Return the traces of a text: itself, and the memories that contain it or whose place contains it."""
    wanted = single_spaced(text)
    places = {place: scope.relative(place) for place in book.places()}
    gone = {
        place for place, path in places.items() if is_place(path) and any(wanted in str(part) for part in path_of(path))
    }
    removed = {
        (place, memory.id)
        for place, memory in book.find(EVERY)
        if place in gone
        or any(isinstance(value, str) and wanted in single_spaced(value) for value in fields_of(memory).values())
    }
    return Traces(frozenset(removed), frozenset({wanted, text}), frozenset(), frozenset(gone), scope)


def forget(store: Store, traces: Traces, runs: Path) -> None:
    """Erase the traces from the memories, their backups and history, and the folders of the episodes.

    A damaged record that was set aside is left as it is, and named in a warning.

    Raises:
        MemoryStoreError, FileError, OSError: If a file can't be read or written. Another call continues from there.
    """
    path = store.path
    with store.guard:
        with store.transaction() as draft:
            draft.erase(traces)
        for beside in sorted(path.parent.glob(f"{path.name}.*")):
            if beside.name.startswith(f"{path.name}.sqlite.damaged-"):
                log.warning(
                    "a damaged record may still have what was forgotten: delete the file", extra={"path": str(beside)}
                )
            elif beside.suffix == ".backup" or ".damaged-" in beside.name:
                _clean_markdown(beside, traces)
            elif ".earlier-" in beside.name and (earlier := earlier_store(beside)) is not None:
                with closing(earlier):
                    earlier.erase(traces)
        # Snapshots and runs belong to the whole memory.
        if not store.scope.path:
            _clean_runs(path, runs, traces)
            for record in set(runs.parent.glob("*.md.sqlite")) - {Path(f"{path}.sqlite")}:
                _clean_events(record, traces)
        store.erase(traces)
    store.refresh()


def _clean_runs(path: Path, runs: Path, traces: Traces) -> None:
    for snapshot in path.parent.glob("*.json"):
        _clean_json(snapshot, traces)
    for file in sorted(runs.rglob("*")):
        if file.suffix in (".json", ".jsonl", ".journal"):
            _clean_json(file, traces)
        elif file.name.endswith(path.name):
            _clean_markdown(file, traces)


def _clean_events(record: Path, traces: Traces) -> None:
    """Clean the events in the record of a run without this memory."""
    with closing(sidecar(record.with_suffix(""))) as database:
        Events(database).rewrite(lambda text: event_without(text, traces))
        database.empty_log()


def _clean_markdown(path: Path, traces: Traces) -> None:
    if path.is_file():
        data = path.read_bytes()
        cleaned = render(document_without(parse(data), traces))
        if cleaned != data:
            write_file(path, cleaned)


def _clean_json(path: Path, traces: Traces) -> None:
    """Clean a file with one JSON value, or one per line."""
    if not path.is_file():
        return
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    try:
        whole = parse_json(data, SAVED_FILE) if len(lines) != 1 else None
    except OutOfBounds:
        whole = None
    if whole is not None:
        cleaned = value_without(whole, traces)
        new = data if cleaned == whole else json.dumps(cleaned, indent=1).encode()
    else:
        new = b"".join(line_without(line, traces) for line in lines)
    if new != data:
        write_file(path, new)

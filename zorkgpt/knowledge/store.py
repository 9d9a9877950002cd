"""The knowledge base: memories of the record, and a file that shows them and that a person can edit."""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from platform import node

from zorkgpt.errors import FileError, MemoryStoreError
from zorkgpt.files import AtomicFile, Disk, Stamp, write_file
from zorkgpt.knowledge.file import KnowledgeDocument, is_damaged, parse, render
from zorkgpt.knowledge.lines import Lessons, Revision, is_by_person
from zorkgpt.log import get_logger
from zorkgpt.memory.checks import utc_now
from zorkgpt.memory.models import KNOWLEDGE, Memory
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.merging import FileEdits, Memories
from zorkgpt.memory.storage.reprint import typographic
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.run_folder import KNOWLEDGE_FILE

log = get_logger(__name__)

_ATTEMPTS = 5


class KnowledgeStore:
    """The knowledge base, which other processes and people may also change.

    A change is recorded, then the file is written, and then its content is noted. If the file has another content than
    was noted, somebody has edited it, and the differences that the record does not have are recorded. A process may be
    killed at any time: the file then has the noted content, or shows the record.

    If the file is deleted or emptied, its lines are deleted. They are kept in a file beside it, and this is logged.

    Args:
        memories: The store with the memories about `KNOWLEDGE`.
        events: The events of the record.
        turn: Returns the turn to which changes belong.

    Raises:
        FileError: If file or record exist and can't be read.
    """

    def __init__(
        self,
        memories: Store,
        events: Events,
        path: Path | str,
        *,
        turn: Callable[[], TurnStamp | None] = lambda: None,
        disk: Disk | None = None,
    ) -> None:
        self._turn = turn
        self.file = AtomicFile(path, disk=disk)
        self.recovered = False
        """Whether the file was damaged and was restored."""
        self._memories = memories
        self._events = events
        self._name = "" if memories.has_file else f"{node()}:{self.file.path.resolve()}"
        """The name of the file among those of other folders that share the record."""
        self._guard = threading.RLock()
        self._document = KnowledgeDocument()
        self._memories_shown: list[Memory] = []
        """The memories of the record that the document shows."""
        self._stamp: Stamp | None = ()
        """The stamp of the file that shows the document. None if it must be read again."""
        self._is_unwritten = False
        """Whether the last attempt to write the file failed."""
        self.refresh()

    @classmethod
    def open(cls, folder: Path, memory_file: str = "Memories.md", *, disk: Disk | None = None) -> "KnowledgeStore":
        """Open the knowledge base of a folder with a memory file."""
        memories = MarkdownStore(folder / memory_file)
        return cls(memories, Events(memories.database), folder / KNOWLEDGE_FILE, disk=disk)

    @property
    def lines(self) -> tuple[Memory, ...]:
        """The lines as they were last read, in the order of the file."""
        return self._document.lines

    @property
    def text(self) -> str:
        """The content of the file as it was last read."""
        return render(self._document).decode("utf-8", "replace")

    def refresh(self) -> tuple[Memory, ...]:
        """Read the changes of others, and record the edits of the file if nobody else has its lock.

        Raises:
            FileError: If file or record can't be read. The lines are unchanged.
        """
        with self._guard:
            self._memories.refresh()
            if self._is_as_seen():
                return self.lines
            try:
                with self._memories.turn(), self.file.locked(timeout_s=0):
                    self._catch_up()
            except FileError:
                self._stamp = None
                data, _ = self.file.read()
                if data is not None and not is_damaged(data):
                    self._document = parse(data)
            return self.lines

    def revise(self, lessons: Lessons) -> Revision:
        """Apply lessons to the present lines, within the transaction that records the changes.

        Raises:
            FileError: If the file can't be locked or read, or the changes can't be recorded. Nothing is changed.
        """
        # In this order, because the file is also locked within the transaction of a turn.
        with self._guard, self._memories.turn(), self.file.locked():
            self._catch_up()
            with self._memories.transaction(places=[KNOWLEDGE], turn_stamp=self._turn()) as draft:
                revision = Revision(draft).apply(lessons)
            if not self._is_as_seen():
                self._take(self._document)
                self._memories.when_committed(self._show_change)
            return revision

    def postpone(self, episode: int, learned_until: int | None) -> None:
        """Record that a finished episode is to be learned from later, after this turn. None if that has been done.

        Raises:
            FileError: If it can't be recorded.
        """
        events = [] if learned_until is None else [EventRow(learned_until, EventKind.UNLEARNED, "")]
        self._events.add(episode, *events, replacing=[EventKind.UNLEARNED])

    def postponed(self) -> dict[int, int]:
        """Return the `learned_until` of each episode that was postponed, in order.

        Raises:
            FileError: If the record can't be read.
        """
        return self._events.turns(EventKind.UNLEARNED)

    def _show_change(self) -> None:
        """Write the file after a change was committed."""
        with self._guard:
            self._show()
            if self._stamp is None and not self._is_unwritten:
                # An editor, which ignores our lock, has saved the file meanwhile.
                with suppress(FileError):
                    self.refresh()

    def _present(self) -> list[Memory]:
        with self._memories.guard:
            return self._memories.lasting.memories(KNOWLEDGE)

    def _is_as_seen(self) -> bool:
        return self._stamp == self.file.stamp() and self._memories_shown == self._present()

    def _take(self, document: KnowledgeDocument) -> None:
        """Set the document, with the memories of the record."""
        self._memories_shown = self._present()
        self._document = document.showing(self._memories_shown)

    def _catch_up(self) -> None:
        """Record what happened to the file, and write it if it doesn't show the record. The file must be locked."""
        self._memories.refresh()
        for _ in range(_ATTEMPTS):
            if self._is_as_seen():
                return
            shown = self._shown()
            data, self._stamp = self._read(shown)
            document = parse(data)
            if data != shown:
                self._record_edits(parse(shown).lines, document.lines)
                self._note(data)
            self._take(document)
            if render(self._document) == data:
                return
            self._memories.when_committed(self._show)
            if self._stamp is not None or self._is_unwritten:
                return
        raise FileError(f"{self.file.path} keeps being changed by a program that ignores its lock.")

    def _record_edits(self, base: Sequence[Memory], edited: Sequence[Memory]) -> None:
        """Record the differences between the lines that the file showed and what somebody made of them."""
        # A line in which a formatter has replaced the quotation marks is unchanged.
        known = {typographic(line.text): line.text for line in base}
        texts = [(line, known.get(typographic(line.text), line.text)) for line in edited]
        theirs: Memories = {KNOWLEDGE: [replace(line, title=text, text=text) for line, text in texts]}
        gone = [line for line in base if line not in edited]
        by_person = [
            line
            for line in edited
            if is_by_person(line) or any(replace(old, title=line.title, text=line.text) == line for old in gone)
        ]
        edits = FileEdits(theirs, by_person, False, {KNOWLEDGE: self._present()}, utc_now(), {}, self._versions)
        records = edits.since({KNOWLEDGE: base})
        for source in dict.fromkeys(record.source for record in records):
            with self._memories.transaction(source=source, places=[KNOWLEDGE]) as draft:
                draft.apply(*(record.change for record in records if record.source == source))

    def _versions(self, subject: object, memory: str) -> list[Memory]:
        """Return the earlier versions of a memory, as the file shows them."""
        return [replace(version, metadata={}) for version in self._memories.journal.versions(KNOWLEDGE, memory)]

    # The file

    def _read(self, shown: bytes) -> tuple[bytes, Stamp]:
        """Read the file; b"" if there is none. Restore it if it is damaged. If it was deleted, keep its lines."""

        def replacement(data: bytes) -> bytes | None:
            return shown if data.strip() and is_damaged(data) and shown.strip() else None

        self.recovered |= self.file.recover(replacement) is not None
        data, stamp = self.file.read()
        if shown.strip() and not (data or b"").strip():
            aside = Path(f"{self.file.path}.deleted")
            write_file(aside, shown)
            way_out = f"To bring them back, copy {aside} to {self.file.path}."
            extra = {"path": str(self.file.path), "set_aside": str(aside), "way_out": way_out}
            log.warning("the lines of a deleted file are no longer used", extra=extra)
        return data or b"", stamp

    def _show(self) -> None:
        """Write the document to the file. `_stamp` is then None if the file was edited or can't be written."""
        data = render(self._document)
        try:
            with self.file.locked():
                written = self.file.write(data, over=self._stamp)
        except FileError as error:
            # The change is recorded, so it is not undone.
            if not self._is_unwritten:
                log.warning("knowledge base not written yet", extra={"path": str(self.file.path), "error": str(error)})
            self._stamp, self._is_unwritten = None, True
            return
        self._stamp, self._is_unwritten = written, False
        if written is not None:
            with suppress(MemoryStoreError):
                self._note(data)

    def _shown(self) -> bytes:
        """Return the content that the file is known to have shown. b"" if there was none."""
        content = self._events.shown(self._name)
        # Without a journal, the record was deleted.
        return str(json.loads(content)).encode("latin-1") if content and self._memories.journal.size() else b""

    def _note(self, data: bytes) -> None:
        # Each byte becomes a character, whatever the encoding is.
        self._events.show(self._name, json.dumps(data.decode("latin-1")))

"""Shelves: a memory file that has grown large is cut into files that it lists, and they are changed as one.

The pieces, one after the other, are the file. A change of one place rewrites one shelf, however much is remembered.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from zorkgpt.errors import FileError, MemoryStoreError
from zorkgpt.files import AtomicFile, Disk, ReplacementObserver, Stamp, write_file
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.document import INTRODUCTION, Document, Shelf, first_section, indexed, parse_shelf, render
from zorkgpt.memory.storage.escaping import encode
from zorkgpt.memory.storage.section import LocationSection

log = get_logger(__name__)

_LISTED = re.compile(rb"^[ \t]*[-*+][ \t]+\[([A-Za-z0-9_][A-Za-z0-9_.-]{0,80}\.md)\]\([^\n]*\)[ \t\r]*$", re.MULTILINE)
_NUMBERED = re.compile(r"([0-9]{4,9})\.md\b.*")

MAIN = ""
"""The name of the memory file itself among the shelves."""


@dataclass(frozen=True, slots=True)
class ShelfSizes:
    """From which sizes files are cut, in bytes."""

    file: int = 1_000_000
    """The memory file, as long as it is the only one: about what editors and hosts of repositories still show."""
    shelf: int = 500_000
    """A shelf; the pieces are about half as large."""


def listed(data: bytes) -> tuple[str, ...]:
    """Return the names of the shelves that a memory file lists, in their order."""
    return tuple(dict.fromkeys(found[1].decode("ascii") for found in _LISTED.finditer(data)))


def is_shelf_name(name: str) -> bool:
    """Return whether a shelf may have this name; then it is no path out of its folder."""
    return listed(f"- [{name}]()".encode(errors="replace")) == (name,)


def joined(document: Document) -> bytes:
    """Return all of it as the bytes of one file."""
    main, *shelves = document.shelves
    if not any(shelf.name for shelf in shelves):
        return render(document)
    data = _LISTED.sub(b"", main.render()).replace(encode(INTRODUCTION), b"").rstrip(b"\r\n")
    eol = encode(main.eol)
    top = first_section(main.eol).data
    rest = [section.data for shelf in shelves for section in shelf.sections if section.data != top]
    return data + eol + eol + b"".join(one if one.endswith(b"\n") else one + eol for one in rest)


def read_document(path: Path) -> Document:
    """Read a memory file with its shelves, as they are now, without recovering anything.

    Raises:
        OSError: the memory file can't be read.
    """
    data = path.read_bytes()
    files = MemoryFiles(path, lock_timeout_s=0)
    shelves = [parse_shelf(data)]
    for name in listed(data):
        with suppress(FileNotFoundError):
            shelves.append(parse_shelf(files.file(name).path.read_bytes(), name=name))
    return indexed(tuple(shelves))


def cut(document: Document, sizes: ShelfSizes, names: Iterator[str], folder: str) -> Document | None:
    """Return the document with what has grown too large cut into shelves; None if nothing has.

    Args:
        names: for new shelves; none that was used before.
        folder: the name of the folder that holds them.
    """
    main, *shelves = document.shelves
    limit = sizes.shelf if shelves else sizes.file
    made: list[Shelf] = []
    head = main
    if main.size > limit and (pieces := _pieces(main.sections, sizes.shelf // 2)) and pieces[1:]:
        head = replace(main, sections=tuple(pieces[0]))
        made = [_new(next(names), piece, main.eol) for piece in pieces[1:]]
        head = _listing(head, [shelf.name for shelf in made], None, folder)
    others: list[Shelf] = []
    for shelf in shelves:
        others.append(shelf)
        if shelf.size > sizes.shelf and len(pieces := _pieces(shelf.sections, sizes.shelf // 2)[1:]) > 1:
            first = shelf.sections[: len(shelf.sections) - sum(map(len, pieces[1:]))]
            others[-1] = replace(shelf, sections=first)
            new = [_new(next(names), piece, shelf.eol) for piece in pieces[1:]]
            head = _listing(head, [one.name for one in new], shelf.name, folder)
            others += new
    if head is main and len(others) == len(shelves):
        return None
    return indexed((head, *others, *made))


def _pieces(sections: tuple[LocationSection, ...], size: int) -> list[list[LocationSection]]:
    """Return what stands above the first location, then runs of locations of about this size."""
    pieces: list[list[LocationSection]] = [[]]
    filled = 0
    for section in sections:
        if section.location_id is not None and (len(pieces) == 1 or filled >= size):
            pieces.append([])
            filled = 0
        pieces[-1].append(section)
        filled += len(section.data)
    return pieces


def _new(name: str, sections: Iterable[LocationSection], eol: str) -> Shelf:
    return Shelf((first_section(eol), *sections), eol, name)


def _listing(main: Shelf, names: list[str], after: str | None, folder: str) -> Shelf:
    """Return the memory file with these shelves listed after this one; None: at the end of the list."""
    data, eol = main.render(), encode(main.eol)
    lines = b"".join(encode(f"- [{name}]({quote(folder)}/{name})") + eol for name in names)
    places = [found for found in _LISTED.finditer(data) if after is None or found[1] == encode(after)]
    if places:
        at = data.find(b"\n", places[-1].start()) + 1
        if at == 0:
            data, at = data + eol, len(data) + len(eol)
    else:
        first = next((s for s in main.sections if s.location_id is not None), None)
        at = len(data) if first is None else data.index(first.data)
        above = data[:at].rstrip(b"\r\n") + eol + eol if data[:at].strip() else b""
        introduced = above + encode(INTRODUCTION) + eol
        data, at = introduced + (eol + data[at:] if data[at:] else b""), len(introduced)
    return parse_shelf(data[:at] + lines + data[at:], {s.data: s for s in main.sections})


class MemoryFiles:
    """The memory file and its shelves. Several are replaced as one, also where a kill comes in between.

    Every method may raise `MemoryStoreError`.
    """

    def __init__(self, path: Path | str, *, lock_timeout_s: float, disk: Disk | None = None) -> None:
        self._disk = disk
        self.main = AtomicFile(path, lock_timeout_s=lock_timeout_s, error=MemoryStoreError, disk=disk)
        own = self.main.path
        self.folder = own.with_suffix("") if own.suffix else own.with_name(f"{own.name}.shelves")
        self._pending = f"{own}.pending"
        self._shelves: dict[str, AtomicFile] = {}
        self._paths = {MAIN: str(own)}
        self._was_refused = False
        self._observer_of: Callable[[str], ReplacementObserver] | None = None
        self._observed: set[str] = set()

    def notify(self, observer_of: Callable[[str], ReplacementObserver]) -> None:
        """Tell these, and no others any longer, of every replacement of a shelf from now on, each by its name."""
        self._observer_of = observer_of
        self._observed.clear()

    def file(self, name: str) -> AtomicFile:
        if name == MAIN:
            return self.main
        if name not in self._shelves:
            made = AtomicFile(self.folder / name, error=MemoryStoreError, disk=self._disk)
            self._shelves[name], self._paths[name] = made, str(made.path)
        return self._shelves[name]

    def stamp(self, name: str) -> Stamp:
        try:
            return self.file(name).stamp()
        except MemoryStoreError:
            if name == MAIN or os.path.isdir(self.folder):
                raise
            return ()

    def have(self, stamps: Mapping[str, Stamp]) -> bool:
        """Return whether the files have these stamps. Asked at every call, so it asks the system directly."""
        stat = (self._disk or Disk).stat
        try:
            for name, stamp in stamps.items():
                found = stat(self._paths[name])
                if (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size) != stamp:
                    return False
        except (OSError, KeyError):
            # One that is missing, or was never looked at.
            return all(self.stamp(name) == stamp for name, stamp in stamps.items())
        return True

    def is_pending(self) -> bool:
        """Return whether a change of several files is under way, or was when its process was killed."""
        return os.path.exists(self._pending)

    def names(self) -> Iterator[str]:
        """Yield names for new shelves: numbers above all that are or were used."""
        found = os.listdir(self.folder) if self.folder.is_dir() else ()
        number = max((int(used[1]) for one in found if (used := _NUMBERED.fullmatch(one))), default=0)
        while True:
            number += 1
            yield f"{number:04}.md"

    def can_be_cut(self) -> bool:
        """Return whether the shelves' folder is there or can be made; says so once if not."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            if not self._was_refused:
                extra = {"path": str(self.folder), "error": str(error)}
                log.warning("the memory file can't be cut into shelves, and stays one file", extra=extra)
            self._was_refused = True
            return False
        return True

    def commit(
        self, new: Mapping[str, bytes], over: Mapping[str, Stamp], *, is_cut: bool = False
    ) -> dict[str, Stamp] | None:
        """Put these bytes in the place of the files, all or none. Only under the lock.

        Args:
            over: the stamps of the files that they are to replace.
            is_cut: places go from one file to another, so that none may come back from a backup.

        Returns:
            The stamps of the new files; None: somebody who does not know our lock has changed one meanwhile, and
            nothing was done.
        """
        self._prepare_shelves(new)
        if len(new) == 1:
            ((name, data),) = new.items()
            written = self.file(name).write(data, over=over.get(name, ()))
            return None if written is None else {name: written}
        files = {name: self.file(name) for name in new}
        try:
            for name, data in new.items():
                files[name].prepare(data)
            rows = [[name, _digest(files[name].read()[0]), _digest(data)] for name, data in new.items()]
            if any(self.stamp(name) != over.get(name, ()) for name in new):
                _discard(files.values())
                return None
            write_file(self._pending, json.dumps({"cut": is_cut, "files": rows}).encode())
        except FileError as error:
            _discard(files.values())
            raise MemoryStoreError(str(error)) from error
        stamps = {name: files[name].put_prepared(data) for name, data in new.items()}
        if is_cut:
            stamps = {name: file.renew_backup() for name, file in files.items()}
        self._finished()
        return stamps

    def _prepare_shelves(self, names: Iterable[str]) -> None:
        shelves = [name for name in names if name != MAIN]
        try:
            if shelves:
                self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise MemoryStoreError(f"Can't make the folder {self.folder}: {error.strerror}") from error
        for name in shelves:
            if self._observer_of is not None and name not in self._observed:
                self._observed.add(name)
                self.file(name).notify(self._observer_of(name))

    def finish(self) -> tuple[str, ...]:
        """Finish the change of several files that a kill has cut short. Only under the lock.

        Returns:
            The names of the files that it has replaced, then or now.
        """
        try:
            data = Path(self._pending).read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise MemoryStoreError(f"Can't read {self._pending}: {error}") from error
        try:
            given = json.loads(data)
            rows = {str(name): (str(before), str(after)) for name, before, after in given["files"]}
            is_cut = bool(given["cut"])
            if any(name != MAIN and not is_shelf_name(name) for name in rows):
                raise ValueError(f"no names of files: {sorted(rows)}")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            log.warning("what was under way can't be read", extra={"path": self._pending, "error": str(error)})
            self._finished()
            return ()
        files = {name: self.file(name) for name in rows}
        now = {name: _digest(file.read()[0]) for name, file in files.items()}
        done = [name for name in rows if now[name] == rows[name][1]]
        foreign = [name for name in rows if now[name] not in rows[name]]
        if done or not foreign:
            self._put_rest(files, rows, done, foreign)
            if is_cut:
                for file in files.values():
                    file.renew_backup()
        _discard(files.values())
        self._finished()
        return tuple(rows)

    def _put_rest(
        self,
        files: Mapping[str, AtomicFile],
        rows: Mapping[str, tuple[str, str]],
        done: list[str],
        foreign: list[str],
    ) -> None:
        for name in rows.keys() - done:
            prepared = files[name].prepared()
            if prepared is None or _digest(prepared) != rows[name][1]:
                log.warning("a change was cut short and can't be finished", extra={"path": str(files[name].path)})
                continue
            if name in foreign:
                aside = files[name].set_aside()
                log.warning(
                    "a file was edited in the midst of a change of several; the edit is set aside",
                    extra={"path": str(files[name].path), "set_aside": str(aside)},
                )
            files[name].put_prepared(prepared)

    def _finished(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._pending)


def _discard(files: Iterable[AtomicFile]) -> None:
    for file in files:
        file.discard()


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()

"""Restore points: what a file was at the last checkpoint, so that an interrupted turn can be undone."""

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.files import AtomicFile
from zorkgpt.log import get_logger

log = get_logger(__name__)

_FOREIGN = "changed by somebody else"


class Restorer(Protocol):
    """Undoes what was written since a checkpoint."""

    @property
    def name(self) -> str:
        """The name of what it restores, by which a checkpoint knows it."""
        ...

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return what a checkpoint that is about to be written keeps, as plain values."""
        ...

    def begin(self, folder: Path, number: int) -> None:
        """Keep from now on what is needed to return to the checkpoint of this number."""
        ...

    def end(self, *, remove: bool) -> None:
        """Stop keeping it.

        Args:
            remove: Also drop what was kept: nothing can be resumed any more.
        """
        ...

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        """Undo what was written since the checkpoint. False if others wrote too, and nothing was undone."""
        ...


class FileRestorer:
    """Keeps a file as it was before it was first replaced since the checkpoint, and remembers what replaced it.

    The file is put back only if its content was written by the interrupted process: what another process or a person
    wrote since is never undone.

    Args:
        file: Is replaced as a whole; its replacements are followed from now on.
        on_restored: Called when the file may have been put back, for whoever holds its content.
    """

    def __init__(self, file: AtomicFile, *, on_restored: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._on_restored = on_restored
        self._path = file.path
        file.before_replacement = self._before_replacement
        self._folder: Path | None = None
        self._number = 0
        self._before: Path | None = None
        """Where the previous content is kept; None if the file was not replaced since the checkpoint."""
        self._written: set[str] = set()
        """The digests of what replaced it since then."""
        self._failures = 0

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return what a checkpoint that is about to be written keeps of the file."""
        return {"number": number}

    def begin(self, folder: Path, number: int) -> None:
        """Keep from now on what the file was at the checkpoint of this number, and nothing for earlier ones."""
        before = self._before
        self._folder, self._number, self._before = folder, number, None
        self._written.clear()
        if before:
            # If it can't be removed it stays there unused: it is named after the earlier checkpoint.
            with suppress(OSError):
                before.unlink()

    def end(self, *, remove: bool) -> None:
        """Stop keeping what the file was."""
        self._folder = None

    def _before_replacement(self, data: bytes) -> None:
        """Keep what the file was, and note what replaces it. A failure is logged once and stops nothing."""
        if self._folder is None:
            return
        digest = _digest(data)
        try:
            if self._before is None:
                self._keep(self._folder, digest)
            elif self._is_ours():
                self._note(self._folder, digest)
            else:
                self._note(self._folder, _FOREIGN, digest)
            self._written.add(digest)
        except OSError as error:
            if not self._failures:
                log.warning("an interrupted turn could not be undone", extra={"reason": str(error)})
            self._failures += 1

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        """Undo what was written since the checkpoint. False if others wrote too, and nothing was undone.

        Raises:
            OSError, FileError: The file can't be locked, read or written; calling again goes on from there.
        """
        with self._file.locked():
            done = self._restore(folder, int(point["number"]))
        self._on_restored()
        return done

    def _restore(self, folder: Path, number: int) -> bool:
        before, notes = self._places(folder, number)
        digests = _noted(notes, number)
        if digests is not None:
            was, now = _content(before), _content(self._path)
            if now != was:
                if now is None or _FOREIGN in digests or _digest(now) not in digests:
                    return False
                if was is None:
                    self._file.remove()
                else:
                    self._file.restore(was)
        self.end(remove=False)
        for path in (notes, before):
            path.unlink(missing_ok=True)
        return True

    def _is_ours(self) -> bool:
        """Return whether the content was kept or written here; an interrupt may have cut a write short."""
        now = self._path.read_bytes()
        return _digest(now) in self._written or (self._before is not None and now == self._before.read_bytes())

    def _keep(self, folder: Path, digest: str) -> None:
        before, _ = self._places(folder, self._number)
        folder.mkdir(exist_ok=True)
        before.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            before.write_bytes(self._path.read_bytes())
        # On a line of its own, also if a kill cut the last one short.
        self._note(folder, "", json.dumps({"number": self._number}), digest)
        self._before = before

    def _note(self, folder: Path, *lines: str) -> None:
        _, notes = self._places(folder, self._number)
        with notes.open("a", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _places(self, folder: Path, number: int) -> tuple[Path, Path]:
        return folder / f"{number}.{self.name}", folder / f"{self.name}.written"


def _noted(notes: Path, number: int) -> list[str] | None:
    """Return what was noted since this checkpoint, None if the file was not changed.

    What a kill has cut short was noted of a change that never happened.
    """
    if not notes.is_file():
        return None
    lines = notes.read_text(encoding="ascii").splitlines()
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].startswith("{") and lines[at].endswith("}"):
            return lines[at + 1 :] if parse_json(lines[at], RECORD)["number"] == number else None
    return None


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()

"""Keep the content that a file had at the last checkpoint, so that later replacements can be undone."""

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
"""A line of the notes: another process or a person changed the file."""


class Restorer(Protocol):
    """Undoes the changes of shared data since a checkpoint."""

    @property
    def name(self) -> str:
        """The name of the data, and the key of its value in a checkpoint."""
        ...

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return the value that the checkpoint with this number must contain, as plain values."""
        ...

    def begin(self, folder: Path, number: int) -> None:
        """Start to keep what is needed to return to the checkpoint with this number."""
        ...

    def end(self, *, remove: bool) -> None:
        """Stop keeping it.

        Args:
            remove: Whether to delete it too, because the episode can't be resumed any more.
        """
        ...

    def restore(self, folder: Path, point: dict[str, Any]) -> bool:
        """Undo the changes since the checkpoint. Return False if others have written too. Then nothing is undone."""
        ...


class FileRestorer:
    """Restores the content that a file had at a checkpoint.

    Before the first replacement after a checkpoint, it copies the file. It also notes the digest of every replacement.
    The file is restored only if its present content is one of these: changes by another process or a person are never
    undone.

    Args:
        file: The file. Only replacements through this object are noticed.
        on_restored: Called when the file may have been restored, to update copies of its content in memory.
    """

    def __init__(self, file: AtomicFile, *, on_restored: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._on_restored = on_restored
        self._path = file.path
        file.before_replacement = self._before_replacement
        self._folder: Path | None = None
        self._number = 0
        self._before: Path | None = None
        """The path of the copy. None if the file was not replaced since the checkpoint."""
        self._written: set[str] = set()
        """The digests of the replacements since then."""
        self._failures = 0

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return the value that the checkpoint with this number must contain."""
        return {"number": number}

    def begin(self, folder: Path, number: int) -> None:
        """Forget earlier checkpoints, and keep the content at the checkpoint with this number from now on."""
        before = self._before
        self._folder, self._number, self._before = folder, number, None
        self._written.clear()
        if before:
            # A copy that can't be deleted does no harm, because its name contains the number of the earlier checkpoint.
            with suppress(OSError):
                before.unlink()

    def end(self, *, remove: bool) -> None:
        """Stop keeping copies."""
        self._folder = None

    def _before_replacement(self, data: bytes) -> None:
        """Copy the file and note the digest of its replacement. The first failure is logged, and none is raised."""
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
        """Undo the changes since the checkpoint. Return False if others have written too. Then nothing is undone.

        Raises:
            OSError, FileError: If a file can't be locked, read or written. Another call continues from there.
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
        """Return whether the present content was copied or written by this object."""
        now = self._path.read_bytes()
        return _digest(now) in self._written or (self._before is not None and now == self._before.read_bytes())

    def _keep(self, folder: Path, digest: str) -> None:
        before, _ = self._places(folder, self._number)
        folder.mkdir(exist_ok=True)
        before.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            before.write_bytes(self._path.read_bytes())
        # The empty line completes a line that a killed process has left incomplete.
        self._note(folder, "", json.dumps({"number": self._number}), digest)
        self._before = before

    def _note(self, folder: Path, *lines: str) -> None:
        _, notes = self._places(folder, self._number)
        with notes.open("a", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _places(self, folder: Path, number: int) -> tuple[Path, Path]:
        return folder / f"{number}.{self.name}", folder / f"{self.name}.written"


def _noted(notes: Path, number: int) -> list[str] | None:
    """Return the lines noted since this checkpoint. None if the file was not changed.

    An incomplete line belongs to a change that never happened, because it is written before the change.
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

"""Undo the replacements of a file since a checkpoint."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from zorkgpt.files import AtomicFile

_FOREIGN = "changed by somebody else"
"""A note: another process or a person changed the file."""

NoteChange = Callable[[str], None]
"""Records a text about a change, before it is made. Never raises."""


class Restorer(Protocol):
    """Undoes the changes of shared data since a checkpoint."""

    @property
    def name(self) -> str:
        """The name of the data, and the key of its value in a checkpoint."""
        ...

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return the value that the checkpoint with this number must contain, as plain values."""
        ...

    def begin(self, number: int, note: NoteChange) -> None:
        """Start to keep what is needed to return to the checkpoint with this number.

        Args:
            note: Records a text for `restore`.
        """
        ...

    def end(self, *, remove: bool) -> None:
        """Stop keeping it.

        Args:
            remove: Whether to delete it too, because the episode can't be resumed any more.
        """
        ...

    def restore(self, point: dict[str, Any], notes: Sequence[str]) -> bool:
        """Undo the changes since the checkpoint. Return False if others have written too. Then nothing is undone.

        Args:
            point: The value in the checkpoint.
            notes: The texts that were noted since.
        """
        ...


class FileRestorer:
    """Restores the content that a file had at a checkpoint, which contains it.

    Before each replacement, it notes the digest of the new content. The file is restored only if its present content is
    one of these: changes by another process or a person are never undone.

    Args:
        file: The file. Only replacements through this object are noticed.
        on_restored: Called when the file may have been restored, to update copies of its content in memory.
    """

    def __init__(self, file: AtomicFile, *, on_restored: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._on_restored = on_restored
        self._path = file.path
        file.before_replacement = self._before_replacement
        self._note: NoteChange | None = None
        """None if replacements aren't noted."""
        self._known: set[str] = set()
        """The digests of the content at the checkpoint and of the replacements since then."""

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def restore_point(self, number: int) -> dict[str, Any]:
        """Return the value that the checkpoint must contain."""
        content = _content(self._path)
        # Each byte becomes a character, whatever the encoding is.
        return {"content": None if content is None else content.decode("latin-1")}

    def begin(self, number: int, note: NoteChange) -> None:
        """Forget earlier checkpoints, and note replacements from now on."""
        self._note, self._known = note, {_digest(_content(self._path))}

    def end(self, *, remove: bool) -> None:
        """Stop noting replacements."""
        self._note = None

    def _before_replacement(self, data: bytes) -> None:
        if self._note is None:
            return
        if _digest(_content(self._path)) not in self._known:
            self._note(_FOREIGN)
        digest = _digest(data)
        self._known.add(digest)
        self._note(digest)

    def restore(self, point: dict[str, Any], notes: Sequence[str]) -> bool:
        """Undo the changes since the checkpoint. Return False if others have written too. Then nothing is undone.

        Raises:
            OSError, FileError: If a file can't be locked, read or written. Another call continues from there.
        """
        was = None if point["content"] is None else str(point["content"]).encode("latin-1")
        with self._file.locked():
            now = _content(self._path)
            if notes and now != was:
                if now is None or _FOREIGN in notes or _digest(now) not in notes:
                    return False
                if was is None:
                    self._file.remove()
                else:
                    self._file.restore(was)
        self.end(remove=False)
        self._on_restored()
        return True


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()

"""Copy the results of an evaluation to and from a store that fsspec supports."""

import re
from pathlib import Path
from typing import Any

from zorkgpt.errors import ConfigurationError, FileError, reason_of
from zorkgpt.extras import require

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SECRET = re.compile(r"//[^/@\s]*@|(?<=[?&])[^=&\s]*=[^&\s]*")
_LEFT_BEHIND = (".lock", ".tmp")
_RESULTS = ("results.json", "episodes.csv", "report.md", "report.html")
"""The files of an evaluation beside its runs."""


def is_url(given: str) -> bool:
    """Return whether something names a store, and not a folder."""
    return _URL.match(given) is not None


def shown_url(url: str) -> str:
    """Return a URL for people: without user, password and parameters, which may be secret."""
    return _SECRET.sub(lambda found: "//…@" if found[0].startswith("//") else "…", url)


class ResultStore:
    """A folder of a store that mirrors a local folder.

    Args:
        url: Such as `s3://bucket/folder` or `file:///folder`. What a store has to know of its user is taken from
            where its own library looks for that: The environment, or a file of its own.

    Raises:
        ConfigurationError: If fsspec is not installed, or knows no such store.
    """

    def __init__(self, url: str) -> None:
        require("storage")
        import fsspec

        self.shown = shown_url(url)
        self._sent: dict[Path, tuple[int, int]] = {}
        """Each file → size and time of change when it was stored."""
        try:
            self._files: Any
            self._files, self._root = fsspec.core.url_to_fs(url)
        except Exception as error:
            # The message of a library may contain the URL.
            reason = shown_url(reason_of(error))
            raise ConfigurationError(f"--out {self.shown} can't be used: {reason}") from None

    def fetch(self, folder: Path) -> None:
        """Download what is stored and not in this folder.

        Raises:
            FileError: If it can't be read.
        """
        try:
            stored = self._files.find(self._root) if self._files.exists(self._root) else []
            for name in stored:
                relative = name[len(self._root.rstrip("/")) :].lstrip("/")
                if not (relative.startswith("runs/") or relative in _RESULTS):
                    # The URL may contain more than this evaluation.
                    continue
                path = (folder / relative).resolve()
                if not path.is_relative_to(folder.resolve()):
                    continue
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    draft = path.with_name(f".{path.name}.arriving")
                    self._files.get_file(name, str(draft))
                    draft.rename(path)
                    self._sent[path] = _mark(path)
        except Exception as error:
            raise FileError(f"{self.shown} can't be read: {shown_url(reason_of(error))}") from None

    def keep(self, root: Path, folder: Path) -> None:
        """Upload what has changed below a folder, under its path relative to `root`.

        Raises:
            FileError: If it can't be written.
        """
        try:
            for path in sorted(folder.resolve().rglob("*")):
                if not path.is_file() or path.name.endswith(_LEFT_BEHIND) or self._sent.get(path) == _mark(path):
                    continue
                target = f"{self._root.rstrip('/')}/{path.relative_to(root.resolve()).as_posix()}"
                self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._files.put_file(str(path), target)
                self._sent[path] = _mark(path)
        except Exception as error:
            raise FileError(f"{self.shown} can't be written: {shown_url(reason_of(error))}") from None


def _mark(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns

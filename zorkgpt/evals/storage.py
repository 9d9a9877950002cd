"""Copy the results of an evaluation to and from a remote store, by fsspec."""

import re
from pathlib import Path
from typing import Any

from zorkgpt.errors import ConfigurationError, FileError, reason_of
from zorkgpt.extras import require

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SECRET = re.compile(r"//[^/@\s]*@|(?<=[?&])[^=&\s]*=[^&\s]*")
_NOT_COPIED = (".lock", ".tmp")
"""Suffixes of files that are not copied."""
_RESULTS = ("results.json", "episodes.csv", "report.md", "report.html")
"""The files of an evaluation beside its runs."""


def is_url(text: str) -> bool:
    """Return whether a text is the URL of a store instead of a folder."""
    return _URL.match(text) is not None


def shown_url(url: str) -> str:
    """Return a URL without user, password and parameters, which may be secret."""
    return _SECRET.sub(lambda match: "//…@" if match[0].startswith("//") else "…", url)


class ResultStore:
    """A folder of a remote store that mirrors a local folder.

    Args:
        url: A URL such as `s3://bucket/folder` or `file:///folder`. Credentials come from the environment or the
            configuration files of the store's own library.

    Raises:
        ConfigurationError: If fsspec is not installed or doesn't support the store.
    """

    def __init__(self, url: str) -> None:
        require("storage")
        import fsspec

        self.shown = shown_url(url)
        self._sent: dict[Path, tuple[int, int]] = {}
        """File → size and modification time when it was copied."""
        try:
            self._files: Any
            self._files, self._root = fsspec.core.url_to_fs(url)
        except Exception as error:
            # The message of a library may contain the URL.
            reason = shown_url(reason_of(error))
            raise ConfigurationError(f"--out {self.shown} can't be used: {reason}") from None

    def fetch(self, root: Path, folder: Path | None = None) -> None:
        """Download the files that are not in a folder.

        Args:
            root: The folder that the store mirrors.
            folder: The folder in it. Defaults to `root`.

        Raises:
            FileError: If the store can't be read.
        """
        below = (folder or root).resolve()
        try:
            stored = self._files.find(self._root) if self._files.exists(self._root) else []
            for name in stored:
                relative = name[len(self._root.rstrip("/")) :].lstrip("/")
                if not (relative.startswith("runs/") or relative in _RESULTS):
                    # The URL may contain other files.
                    continue
                path = (root / relative).resolve()
                if path.is_relative_to(below) and not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    draft = path.with_name(f".{path.name}.arriving")
                    self._files.get_file(name, str(draft))
                    draft.rename(path)
                    self._sent[path] = _mark(path)
        except Exception as error:
            raise FileError(f"{self.shown} can't be read: {shown_url(reason_of(error))}") from None

    def keep(self, root: Path, folder: Path) -> None:
        """Upload the changed files of a folder, with their paths relative to `root`.

        Raises:
            FileError: If the store can't be written.
        """
        try:
            for path in sorted(folder.resolve().rglob("*")):
                if not path.is_file() or path.name.endswith(_NOT_COPIED) or self._sent.get(path) == _mark(path):
                    continue
                target = f"{self._root.rstrip('/')}/{path.relative_to(root.resolve()).as_posix()}"
                self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._files.put_file(str(path), target)
                self._sent[path] = _mark(path)
        except Exception as error:
            raise FileError(f"{self.shown} can't be written: {shown_url(reason_of(error))}") from None


def _mark(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns

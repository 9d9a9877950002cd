"""The folder of a story: identify, find and create it.

The file `story.json` in it identifies the story by the hash of the story file. Names of files and folders are only for
people.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from zorkgpt.encoding import as_json
from zorkgpt.errors import WorkdirError
from zorkgpt.files import create_file
from zorkgpt.run_folder import MARKER, RUNS

_LOCK = ".stories.lock"
_LOCK_TIMEOUT_S = 30
_MOST_CHARACTERS = 60
"""Maximum length of a folder's name."""


class StoryMark(BaseModel):
    """The story that a folder belongs to."""

    model_config = ConfigDict(frozen=True)

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """The hash of the story, without the Blorb file around it."""
    title: str | None = None
    """None if unknown."""
    release: int | None = None
    serial: str | None = None
    file: str = ""
    """The name of the story file when it was first played here."""

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> "StoryMark":
        """Return the mark for the description of a story in the log of an episode.

        Raises:
            ValidationError: If the description does not identify the story.
        """
        return cls.model_validate(dict(summary))

    @field_validator("title", "serial", "file", mode="before")
    @classmethod
    def _printable(cls, value: object) -> object:
        return _plain(value) if isinstance(value, str) else value

    @property
    def name(self) -> str:
        """The name for people."""
        return self.title or Path(self.file).stem or self.sha256[:12]

    def __str__(self) -> str:
        # Two builds of a story may differ only in the hash.
        release = "" if self.release is None else f"release {self.release}, serial {self.serial}, "
        return f"{self.name} ({release}sha256 {self.sha256[:12]}…)"


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


@dataclass(frozen=True)
class StoryFolder:
    """A folder with its mark."""

    path: Path
    mark: StoryMark


def read_mark(folder: Path) -> StoryMark | None:
    """Return the story that the folder belongs to; None if it has no marker.

    Raises:
        WorkdirError: If the marker is damaged or can't be read.
    """
    path = folder / MARKER
    try:
        return StoryMark.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkdirError(f"{path}, which identifies the folder's story, can't be read: {error.strerror}.") from None
    except ValidationError:
        raise WorkdirError(
            f"{path}, which identifies the folder's story, is damaged. Restore it, or delete it and play the story "
            f"with --workdir {folder} to write a new one."
        ) from None


def story_folders(root: Path) -> list[StoryFolder]:
    """Return the story folders in `root`, and `root` if it is one, the most recently played first.

    Folders without a readable marker are left out.
    """
    folders = []
    for folder in (root, *(marker.parent for marker in root.glob(f"*/{MARKER}"))):
        with suppress(WorkdirError, OSError):
            if mark := read_mark(folder):
                folders.append(((folder / MARKER).stat().st_mtime_ns, StoryFolder(folder, mark)))
    return [folder for _, folder in sorted(folders, key=lambda pair: pair[0], reverse=True)]


def check_story(folder: Path, story: StoryMark) -> None:
    """Check that the folder does not belong to another story.

    Raises:
        WorkdirError: If its marker says so.
    """
    theirs = read_mark(folder)
    if theirs and theirs.sha256 != story.sha256:
        raise _wrong_story(folder, theirs, story)


def _wrong_story(folder: Path, theirs: StoryMark, ours: StoryMark) -> WorkdirError:
    return WorkdirError(
        f"{folder} has the memories, map and runs of {theirs}. {ours} can't be played there. Name another folder with "
        "--workdir or zork_game_workdir. Without either, each story has its own folder."
    )


def mark_folder(folder: Path, story: StoryMark) -> None:
    """Mark an existing folder as this story's, and as the most recently played one.

    Raises:
        WorkdirError: If it belongs to another story, or can't be written.
    """
    path = folder / MARKER
    try:
        if read_mark(folder) is None:
            create_file(path, as_json(story.model_dump(), indented=True) + b"\n")
        mark = read_mark(folder)
        if mark and mark.sha256 != story.sha256:
            raise _wrong_story(folder, mark, story)
        # Another user's marker may be read-only. This affects only the order of the folders.
        with suppress(PermissionError):
            os.utime(path)
    except OSError as error:
        raise WorkdirError(f"{path} can't be written: {error.strerror}. Name another folder with --workdir.") from None


def kept_folder(root: Path, story: StoryMark, *, may_share: bool = True) -> Path | None:
    """Return the folder of this story, in `root` or `root` itself; None if there is none yet.

    Args:
        may_share: Whether a root that is a story's folder may contain folders of other stories.

    Raises:
        WorkdirError: If the root is another story's folder and `may_share` is false.
    """
    for folder in story_folders(root):
        if folder.mark.sha256 == story.sha256:
            return folder.path
    own = read_mark(root)
    if own and not may_share:
        raise _wrong_story(root, own, story)
    return None


def folder_for(root: Path, story: StoryMark, *, files: Sequence[str], may_share: bool = True) -> Path:
    """Return the story's folder in `root`. Create it if there is none yet.

    Args:
        files: Names of the files in a story's folder.
        may_share: See `kept_folder`.

    Raises:
        WorkdirError: See `kept_folder`. Also if something can't be read or written.
    """
    if kept := kept_folder(root, story, may_share=may_share):
        return kept
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root):
            kept = kept_folder(root, story, may_share=may_share)
            return kept or _new_folder(root, story, files)
    except OSError as error:
        where = error.filename or root
        raise WorkdirError(
            f"The working directory {root} can't be written: {where}: {error.strerror}. Name another with --workdir."
        ) from None


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    try:
        with FileLock(root / _LOCK, timeout=_LOCK_TIMEOUT_S):
            yield
    except Timeout:
        raise WorkdirError(f"{root / _LOCK} has been held by another process for {_LOCK_TIMEOUT_S} s.") from None


def _new_folder(root: Path, story: StoryMark, files: Sequence[str]) -> Path:
    folder = next(folder for folder in _candidates(root, story) if _is_free(folder, files))
    folder.mkdir(exist_ok=True)
    mark_folder(folder, story)
    return folder


def _candidates(root: Path, story: StoryMark) -> Iterator[Path]:
    name = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", story.name).casefold())
    name = name[:_MOST_CHARACTERS].strip("-") or "story"
    number = 1
    while True:
        # This is already the name of the folder of episodes.
        if number > 1 or name != RUNS:
            yield root / (name if number == 1 else f"{name}-{number}")
        number += 1


def _is_free(folder: Path, files: Sequence[str]) -> bool:
    """Return whether the folder does not exist, is empty, or was created for a story by a person."""
    if read_mark(folder) is not None:
        return False
    if not folder.exists() and not folder.is_symlink():
        return True
    if not folder.is_dir():
        return False
    begun = tuple(f"{Path(name).stem}." for name in files)
    names = [path.name for path in folder.iterdir()]
    return not names or any(name in (*files, RUNS) or name.startswith(begun) for name in names)

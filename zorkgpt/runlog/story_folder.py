"""The folder of a story: which story it belongs to, how it is found again, and how it is made.

A file in it, `story.json`, names its story. Stories are told apart by the bytes of their files; the names of files and
folders are for people.
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
from zorkgpt.errors import FileError, WorkdirError
from zorkgpt.files import create_file
from zorkgpt.run_folder import MARKER, RUNS, episodes_in, run_directory
from zorkgpt.runlog.episodes import read_events
from zorkgpt.runlog.events import EpisodeStarted

_LOCK = ".stories.lock"
_LOCK_TIMEOUT_S = 30
_MOST_CHARACTERS = 60
"""The limit of a folder's name."""


class StoryMark(BaseModel):
    """Which story a folder belongs to."""

    model_config = ConfigDict(frozen=True)

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """The hash of the story itself, extracted where it is in a Blorb file."""
    title: str | None = None
    """None if unknown."""
    release: int | None = None
    serial: str | None = None
    file: str = ""
    """The name of the story file when it was first played here."""

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> "StoryMark":
        """Make a mark from what the log of an episode says about its story.

        Raises:
            ValidationError: If it does not identify the story.
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
        # Two builds of a story may differ in the hash only.
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
    """Return which story the folder belongs to; None if it has no marker.

    Raises:
        WorkdirError: If the marker is damaged or can't be read.
    """
    path = folder / MARKER
    try:
        return StoryMark.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkdirError(f"{path}, which says whose folder it is, can't be read: {error.strerror}.") from None
    except ValidationError:
        raise WorkdirError(
            f"{path}, which says whose folder it is, is damaged. Restore it, or delete it and play the folder's story "
            f"with --workdir {folder}: that writes it anew."
        ) from None


def story_folders(root: Path) -> list[StoryFolder]:
    """Return the story folders in `root`, itself included if it is one; the one played last comes first.

    Folders without a readable marker are left out.
    """
    found = []
    for folder in (root, *(marker.parent for marker in root.glob(f"*/{MARKER}"))):
        with suppress(WorkdirError, OSError):
            if mark := read_mark(folder):
                found.append(((folder / MARKER).stat().st_mtime_ns, StoryFolder(folder, mark)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0], reverse=True)]


def stories_of(folder: Path, log_name: str) -> dict[str, StoryMark]:
    """Return whose folder it is, by sha256: the story of its marker or, without one, those that its logs name.

    Raises:
        WorkdirError: If the marker is damaged or can't be read.
    """
    mark = read_mark(folder)
    return {mark.sha256: mark} if mark else _stories_played(folder, log_name)


def _stories_played(folder: Path, log_name: str) -> dict[str, StoryMark]:
    played = {}
    for episode in episodes_in(folder):
        with suppress(FileError, ValidationError):
            started = next(read_events(run_directory(folder, episode) / log_name), None)
            if isinstance(started, EpisodeStarted):
                mark = StoryMark.of(started.story)
                played[mark.sha256] = mark
    return played


def check_story(folder: Path, story: StoryMark, log_name: str) -> None:
    """Raise an error if the folder is another story's; nothing is changed.

    Raises:
        WorkdirError: If it is another story's, by its marker or, without one, by the logs of its episodes.
    """
    theirs = stories_of(folder, log_name)
    if theirs and story.sha256 not in theirs:
        raise _wrong_story(folder, next(iter(theirs.values())), story)


def _wrong_story(folder: Path, theirs: StoryMark, ours: StoryMark) -> WorkdirError:
    return WorkdirError(
        f"{folder} keeps memories, map and runs of {theirs}; {ours} can't be played there. Name another folder with "
        "--workdir or zork_game_workdir; without either, each story has a folder of its own."
    )


def mark_folder(folder: Path, story: StoryMark) -> None:
    """Mark an existing folder as this story's, and as the one that was played last.

    Raises:
        WorkdirError: If it is another story's, or can't be written.
    """
    path = folder / MARKER
    try:
        if read_mark(folder) is None:
            create_file(path, as_json(story.model_dump(), indented=True) + b"\n")
        mark = read_mark(folder)
        if mark and mark.sha256 != story.sha256:
            raise _wrong_story(folder, mark, story)
        # The marker of another user can be read but not touched; that affects only the order of the folders.
        with suppress(PermissionError):
            os.utime(path)
    except OSError as error:
        raise WorkdirError(f"{path} can't be written: {error.strerror}. Name another folder with --workdir.") from None


def kept_folder(root: Path, story: StoryMark, *, may_share: bool = True) -> Path | None:
    """Return the folder of this story in `root`, or `root` itself; None if there is none yet.

    Args:
        may_share: Whether there may be folders of other stories in a root that is one story's folder itself.

    Raises:
        WorkdirError: If the root is another story's folder, and not to be shared.
    """
    for folder in story_folders(root):
        if folder.mark.sha256 == story.sha256:
            return folder.path
    own = read_mark(root)
    if own and not may_share:
        raise _wrong_story(root, own, story)
    return None


def folder_for(root: Path, story: StoryMark, *, files: Sequence[str], log_name: str, may_share: bool = True) -> Path:
    """Return the story's folder in `root`, made if there is none yet.

    Args:
        files: Names of the files that a story's folder holds.
        log_name: The name of an episode's log.
        may_share: See `kept_folder`.

    Raises:
        WorkdirError: See `kept_folder`; or something can't be read or written.
    """
    if kept := kept_folder(root, story, may_share=may_share):
        return kept
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root):
            kept = kept_folder(root, story, may_share=may_share)
            return kept or _new_folder(root, story, files, log_name)
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


def _new_folder(root: Path, story: StoryMark, files: Sequence[str], log_name: str) -> Path:
    folder = next(folder for folder in _candidates(root, story) if _is_free(folder, story, files, log_name))
    folder.mkdir(exist_ok=True)
    mark_folder(folder, story)
    return folder


def _candidates(root: Path, story: StoryMark) -> Iterator[Path]:
    name = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", story.name).casefold())
    name = name[:_MOST_CHARACTERS].strip("-") or "story"
    number = 1
    while True:
        # The folder of the episodes has that name already.
        if number > 1 or name != RUNS:
            yield root / (name if number == 1 else f"{name}-{number}")
        number += 1


def _is_free(folder: Path, story: StoryMark, files: Sequence[str], log_name: str) -> bool:
    """Whether the folder does not exist, is empty, or was made for this story by a person."""
    if read_mark(folder) is not None:
        return False
    if not folder.exists() and not folder.is_symlink():
        return True
    if not folder.is_dir():
        return False
    played = _stories_played(folder, log_name)
    if played:
        return set(played) == {story.sha256}
    begun = tuple(f"{Path(name).stem}." for name in files)
    names = [path.name for path in folder.iterdir()]
    return not names or any(name in (*files, RUNS) or name.startswith(begun) for name in names)

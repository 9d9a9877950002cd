"""What the user should know about a memory file, each message once."""

from collections.abc import Callable, Sequence
from logging import INFO, WARNING
from pathlib import Path

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.section import Problem
from zorkgpt.text import number_of

log = get_logger(__name__)

_LARGE = 1_000_000
"""Minimum size of a large file, in bytes. Some editors and code hosts don't show larger files."""
_MOST_LINES = 20
"""Maximum number of lines in a message."""
_CONFLICT = "'<<<<<<< "
"""The beginning of a merge conflict, as quoted in a problem's message."""


class FileMessages:
    """Logs messages about a memory file.

    Args:
        notify: Shows a message to the user.
    """

    def __init__(self, path: Path, notify: Callable[[str], None]) -> None:
        self._path = path
        self._notify = notify
        self._logged: set[str] = set()

    def written(self, size: int) -> None:
        """Recommend another kind of file if this one, with a size in bytes, is large."""
        message = (
            f"{self._path.name} is over {_LARGE // 1000} kB, and each change writes all of it: `zorkgpt memories "
            "convert` makes it a SQLite file"
        )
        if size > _LARGE and self._is_new(message):
            log.warning(message)

    def unwritten(self, error: MemoryStoreError) -> None:
        """Say that the file could not be written yet."""
        if self._is_new(message := "memory file not written yet"):
            log.warning(message, extra={"path": str(self._path), "error": str(error)})
            self._notify(f"{error} The memories are recorded, and shown in the file when it can be written.")

    def problems(self, document: Document) -> None:
        """Name the parts of the file that were not understood."""
        new = [problem for problem in document.problems() if problem.message not in self._logged]
        for problem in new:
            self._logged.add(problem.message)
            level = WARNING if problem.is_broken else INFO
            log.log(level, "line %d is preserved but not understood: %s", problem.line, problem.message)
        broken = [problem for problem in new if problem.is_broken]
        if any(_CONFLICT in problem.message for problem in broken):
            self._warn("a merge conflict is not resolved: both sides are read", "Remove its marks from the file.")
        if broken:
            self._warn(
                f"{_lines(broken)} {'is' if len(broken) == 1 else 'are'} preserved but not understood",
                "`memories check` lists them.",
            )

    def removed(self, changes: Sequence[Change], document: Document, *, has_file: bool) -> None:
        """Say how many memories are no longer in the file."""
        added = sum(change.before is None for change in changes)
        removed = sum(change.after is None for change in changes)
        if removed <= added:
            return
        lost, left = number_of(removed - added, "memory is", "memories are"), document.count()
        what = f"{number_of(left, 'memory', 'memories')} left" if has_file else "the file was deleted"
        if problems := list(document.problems()):
            what += f", not understood: {_lines(problems)}"
        self._warn(f"{lost} no longer in the file ({what})", "To bring them back: `memories undo`.")

    def _is_new(self, message: str) -> bool:
        is_new = message not in self._logged
        self._logged.add(message)
        return is_new

    def _warn(self, message: str, way_out: str) -> None:
        """Log a warning that is also shown to the user."""
        log.warning(message, extra={"path": str(self._path), "set_aside": "", "way_out": way_out})
        self._notify(f"{self._path}: {message}. {way_out}")


def _lines(problems: Sequence[Problem]) -> str:
    """Return the lines of problems in words, such as "lines 3, 17 and 5 more"."""
    numbers = [str(problem.line) for problem in problems]
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers[:_MOST_LINES])}{more}"

"""The interface for undoing the changes of shared data since a checkpoint."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

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

"""Whether an episode is being played: its process holds a lock for as long as it lives."""

from pathlib import Path

LOCK = "playing.lock"
"""In the episode's folder."""
PATIENCE_S = 0.2
"""For which a player tries to get it: whoever only looks holds it for an instant."""


def is_played(directory: Path) -> bool | None:
    """Whether a process plays the episode now; None: that can't be told here."""
    try:
        import fcntl

        with (directory / LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False
    except (ImportError, OSError):
        # No such locks on this system, or no lock was ever made in this folder.
        return None

"""Ctrl-C and SIGTERM: the first one interrupts the run, once and reliably."""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_RETRY_S = 0.01
_UNINTERRUPTIBLE = ("<frozen importlib", f"{os.sep}pydantic{os.sep}")


class Stop:
    """Raises KeyboardInterrupt for the first signal; later ones are ignored, so they don't disturb the saving.

    Where Python would not let the exception out it is raised again a moment later, and if some library swallows it,
    `requested` still tells.
    """

    def __init__(self) -> None:
        self.requested = False
        self._report = sys.__unraisablehook__

    def install(self) -> None:
        """Install the signal handlers."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._request)
        signal.signal(signal.SIGALRM, self._raise)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._raise_lost

    def raise_if_requested(self) -> None:
        """Raise KeyboardInterrupt if it was requested and has not arrived yet."""
        if self.requested:
            # A second one would interrupt the saving.
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    def ignore(self) -> None:
        """Ignore all further signals."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)

    def _request(self, signum: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            self._raise(signum, frame)

    def _raise(self, signum: int, frame: FrameType | None) -> None:
        if not _is_uninterruptible(frame):
            raise KeyboardInterrupt
        _raise_later()

    def _raise_lost(self, lost: "UnraisableHookArgs") -> None:
        """Raise an interrupt again that was lost in a `__del__` or in a callback from C."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _raise_later()
        else:
            self._report(lost)


STOP = Stop()
"""The handler of this process, as signals are the process's too."""


def _raise_later() -> None:
    signal.setitimer(signal.ITIMER_REAL, _RETRY_S)


def _is_uninterruptible(frame: FrameType | None) -> bool:
    """Whether a module is being imported or a pydantic model built.

    Both turn an interrupt into an error of their own, and neither takes long.
    """
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in _UNINTERRUPTIBLE):
            return True
        frame = frame.f_back
    return False

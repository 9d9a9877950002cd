"""A stop that somebody has asked for, by Ctrl-C or SIGTERM: it comes once, and it does come."""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LATER_S = 0.01
_MAKING = ("<frozen importlib", f"{os.sep}pydantic{os.sep}")


class Stop:
    """The first signal ends the run with everything saved, and the next ones don't disturb the saving.

    It raises KeyboardInterrupt wherever the run happens to be. Where Python would not let that out it is raised again
    a moment later; and if some library keeps it to itself, `asked` still tells.
    """

    def __init__(self) -> None:
        self.asked = False
        self._report = sys.__unraisablehook__

    def listen(self) -> None:
        """From now on the signals are this one's."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)
        signal.signal(signal.SIGALRM, self._raise)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._take_up

    def insist(self) -> None:
        """Raise what was asked for and has not come yet."""
        if self.asked:
            # Once is enough: a second one would cut the saving short.
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    def be_deaf(self) -> None:
        """From now on nothing is cut short."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = True
            self._raise(signum, frame)

    def _raise(self, signum: int, frame: FrameType | None) -> None:
        if not _is_making_something(frame):
            raise KeyboardInterrupt
        _raise_later()

    def _take_up(self, lost: "UnraisableHookArgs") -> None:
        """What is raised in a `__del__`, or in a callback from C, ends there; an interrupt goes on after it."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _raise_later()
        else:
            self._report(lost)


STOP = Stop()
"""Of this process, as its signals are."""


def _raise_later() -> None:
    signal.setitimer(signal.ITIMER_REAL, _LATER_S)


def _is_making_something(frame: FrameType | None) -> bool:
    """Whether this is where a module is loaded or a form of data built.

    Cut short, they turn the interrupt into an error of their own; they don't take long.
    """
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in _MAKING):
            return True
        frame = frame.f_back
    return False

"""The progress of a model call, for displays."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from zorkgpt.llm.roles import Role


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A call without an answer yet. Times are in seconds of a monotonic clock."""

    role: Role
    model: str
    began: float
    retry: int = 0
    """0 for the first attempt."""
    retries: int = 0
    ends: float | None = None
    """The deadline of the current attempt. None if unknown."""
    tokens: int | None = None
    """The tokens received so far. None if not counted."""
    waits_for: str = ""
    """The reason for a wait that the server asked for, which lasts until `ends`. "" if there is none."""


class CurrentCall:
    """The call in progress, updated by the client from any thread.

    Args:
        now: A monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.on_notice: Callable[[str], None] = lambda message: None
        """Called with each message for the user."""
        self.in_progress: CallInProgress | None = None
        """None if there is no call in progress."""

    def call_began(self, role: Role, model: str) -> None:
        """Record that a request is sent."""
        self.in_progress = CallInProgress(role, model, self._now())

    def retry_began(self, retry: int, retries: int, seconds_left: float | None) -> None:
        """Record a retry, counted from 1. `seconds_left` is None if there is no time limit."""
        if (call := self.in_progress) is not None:
            ends = None if seconds_left is None else self._now() + seconds_left
            self.in_progress = replace(call, retry=retry, retries=retries, ends=ends, tokens=None, waits_for="")

    def waiting(self, reason: str, seconds: float) -> None:
        """Record a wait that the server asked for, such as `rate limit`."""
        if (call := self.in_progress) is not None:
            self.in_progress = replace(call, waits_for=reason, ends=self._now() + seconds, tokens=None)

    def notify(self, message: str) -> None:
        """Show a message to the user."""
        self.on_notice(message)

    def tokens_received(self, tokens: int) -> None:
        """Record the number of tokens of the answer so far."""
        if (call := self.in_progress) is not None:
            self.in_progress = replace(call, tokens=tokens, waits_for="")

    def call_ended(self) -> None:
        """Record an answer or an error."""
        self.in_progress = None

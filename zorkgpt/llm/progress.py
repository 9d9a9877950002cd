"""What a call to a model is doing while it lasts, for a display."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from zorkgpt.llm.roles import Role


class CallObserver(Protocol):
    """Follows the calls to models; each method may be called from any thread."""

    def call_began(self, role: Role, model: str) -> None:
        """Record that a request is sent."""

    def retry_began(self, retry: int, retries: int, seconds_left: float | None) -> None:
        """Record a retry after a failure of the server. The first one is 1; None if there is no time limit."""

    def tokens_received(self, tokens: int) -> None:
        """Record how many tokens of the answer have come so far."""

    def call_ended(self) -> None:
        """Record that there is an answer, or an error."""


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A call that has no answer yet; times are those of a monotonic clock, in seconds."""

    role: Role
    model: str
    began: float
    retry: int = 0
    """0 for the first attempt."""
    retries: int = 0
    ends: float | None = None
    """When the last attempt is given up; None if unknown."""
    tokens: int | None = None
    """The tokens that have come so far; None if not counted."""


class CurrentCall:
    """A `CallObserver` that keeps the call in progress.

    Args:
        now: A monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.in_progress: CallInProgress | None = None
        """None if no model is being asked."""

    def call_began(self, role: Role, model: str) -> None:
        self.in_progress = CallInProgress(role, model, self._now())

    def retry_began(self, retry: int, retries: int, seconds_left: float | None) -> None:
        if (call := self.in_progress) is not None:
            ends = None if seconds_left is None else self._now() + seconds_left
            self.in_progress = replace(call, retry=retry, retries=retries, ends=ends, tokens=None)

    def tokens_received(self, tokens: int) -> None:
        if (call := self.in_progress) is not None:
            self.in_progress = replace(call, tokens=tokens)

    def call_ended(self) -> None:
        self.in_progress = None

"""Limits of our HTTP servers: connections, time and size of a request, and repeated log messages."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import ClassVar

from zorkgpt.extras import importing

with importing("viewer"):
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIME_S = 10.0
"""Time in which a request, with its body, must arrive."""
MAX_REQUEST_BYTES = 1_000_000
MAX_CONNECTIONS = 400
BACKLOG = 32
"""Connections that asyncio accepts at a time, before the bound on connections applies."""
_SPARE_FILES = 5 * BACKLOG + 100
"""File descriptors for connections that are being accepted or closed, which takes asyncio some passes of its loop, and
for the server itself."""
_REPEAT_S = 60.0
_FULL = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _LimitedProtocol(H11Protocol):
    """uvicorn's protocol with limits; each server has a subclass of its own."""

    max_connections: ClassVar[int]
    waiting: "ClassVar[dict[_LimitedProtocol, asyncio.TimerHandle]]"
    """The connections that wait for a request, the longest waiting first, each with its timeout."""
    _received = 0
    """The bytes of the current request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections and self.waiting:
            oldest = next(iter(self.waiting))
            # At once, so that the next connection in this pass of the loop closes another one.
            oldest._stop_waiting()
            oldest.transport.abort()
        elif len(self.connections) > self.max_connections:
            transport.write(_FULL)
            transport.close()
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and self not in self.waiting:
            self._received = 0
        self._received += len(data)
        if self._received > MAX_REQUEST_BYTES:
            self.transport.abort()
            return
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self not in self.waiting:
            self.waiting[self] = self.loop.call_later(REQUEST_TIME_S, self._expire)

    def _stop_waiting(self) -> None:
        if timer := self.waiting.pop(self, None):
            timer.cancel()

    def _expire(self) -> None:
        del self.waiting[self]
        self.transport.abort()


def limited_protocol(max_connections: int) -> type[H11Protocol]:
    """Return uvicorn's protocol with limits on connections and on the time and size of a request.

    Beyond the limit, the connection that has waited longest for its request is closed; if none is waiting, the new one
    is.
    """
    return type("LimitedProtocol", (_LimitedProtocol,), {"max_connections": max_connections, "waiting": {}})


def connection_bound() -> int:
    """Return the maximum number of connections, which is lower if the system allows few open files."""
    try:
        import resource
    except ImportError:
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(8, min(MAX_CONNECTIONS, files - _SPARE_FILES))


class Throttle(logging.Filter):
    """Passes each log message at most once a minute, with the number of repetitions that were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        # The phrase is fixed, its fields are not.
        phrase, now = str(record.msg)[:200], self._clock()
        if phrase in self._last and now - self._last[phrase] < _REPEAT_S:
            self._left_out[phrase] = self._left_out.get(phrase, 0) + 1
            return False
        if left_out := self._left_out.pop(phrase, 0):
            record.msg = f"{record.msg} ({left_out} more since the last one)"
        if len(self._last) > 100:
            self._last.clear()
        self._last[phrase] = now
        return True

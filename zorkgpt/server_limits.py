"""The HTTP server of the viewer and the MCP server, with limits on connections, time and sizes."""

import asyncio
import logging
from types import FrameType
from typing import TYPE_CHECKING, ClassVar

from zorkgpt.extras import importing

with importing("viewer"):
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

REQUEST_TIME_S = 10.0
"""Maximum time for receiving a request with its body."""
MAX_REQUEST_BYTES = 1_000_000
MAX_CONNECTIONS = 400
BACKLOG = 32
"""Connections that asyncio accepts at once, before the limit on connections applies."""
_SPARE_FILES = 5 * BACKLOG + 100
"""File descriptors for the server itself, and for connections that are being accepted or closed, which takes asyncio
several passes of its loop."""


class _LimitedProtocol(H11Protocol):
    """uvicorn's protocol with limits. Each server has its own subclass."""

    max_connections: ClassVar[int]
    waiting: "ClassVar[dict[_LimitedProtocol, asyncio.TimerHandle]]"
    """Connections that wait for a request, oldest first, with their timeouts."""
    answering: "ClassVar[dict[_LimitedProtocol, None]]"
    """Connections that are sending an answer, oldest first, so that event streams come before short answers."""
    _received = 0
    """Bytes of the current request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            # None if all others are already being closed.
            oldest = next(iter([*self.waiting, *self.answering]), None)
            if oldest is not None:
                # Immediately, so that the next connection in this pass of the loop closes another one.
                oldest._forget()
                oldest.transport.abort()
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
        elif not self.transport.is_closing() and self not in self.answering:
            self._forget()
            self.answering[self] = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._forget()
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self not in self.waiting:
            self.waiting[self] = self.loop.call_later(REQUEST_TIME_S, self._expire)

    def _forget(self) -> None:
        self.answering.pop(self, None)
        if timer := self.waiting.pop(self, None):
            timer.cancel()

    def _expire(self) -> None:
        del self.waiting[self]
        self.transport.abort()


class _QuietServer(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Don't report the open event streams that are closed.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        super().handle_exit(sig, frame)


def limited_server(app: "ASGIApp", *, host: str = "127.0.0.1", port: int = 0) -> uvicorn.Server:
    """Return a server with limits on connections and on the time and size of a request.

    If there are too many connections, the one that has waited longest for a request is closed. If none is waiting, the
    one with the longest-running answer is closed, such as an event stream.
    """
    limits = {"max_connections": _max_connections(), "waiting": {}, "answering": {}}
    return _QuietServer(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=type("LimitedProtocol", (_LimitedProtocol,), limits),
            backlog=BACKLOG,
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )


def _max_connections() -> int:
    """Return the maximum number of connections, which is lower if the system allows few open files."""
    try:
        import resource
    except ImportError:
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(8, min(MAX_CONNECTIONS, files - _SPARE_FILES))

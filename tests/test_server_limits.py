"""Tests that clients with many connections do not block the servers."""

import asyncio
import socket
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from mcp import Client

from tests.adapters.test_mcp import serving
from tests.fixtures.viewer import served, started, turn, write_log
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.server_limits import BACKLOG, MAX_REQUEST_BYTES

OPEN_FILES = 300
"""Limits the servers to 40 connections."""
CLIENTS = 600
HALF_OPEN = [b"", b"GET / HTTP/1.1\r\nX-Slow: ", b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"]


class ServedViewer:
    answered = b"GET /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    @contextmanager
    def start(self, folder):
        write_log(folder, started(), turn(1))
        with served(folder, "--edit", open_files=OPEN_FILES) as address:
            self.url, _, self.token = address.partition("#token=")
            yield self.url

    def answers(self) -> bool:
        return httpx.get(f"{self.url}api/run", timeout=30).json()["episodes"][0]["count"] == 1


class ServedMemory:
    answered = (
        b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: text/event-stream\r\n"
        b"Mcp-Protocol-Version: 2025-06-18\r\n\r\n"
    )

    @contextmanager
    def start(self, folder):
        with AgentMemory.open(folder) as memory:
            memory.remember(5, "A rug lies here.")
        with serving(folder, files=OPEN_FILES) as self.url:
            self.answered = self.answered % urlsplit(self.url).port
            yield self.url

    def answers(self) -> bool:
        async def recalled():
            async with Client(self.url) as client:
                return (await client.call_tool("recall", {"place": 5})).content[0].text

        return "A rug lies here." in asyncio.run(recalled())


@pytest.fixture(params=[ServedViewer, ServedMemory])
def server(request, tmp_path):
    server = request.param()
    with server.start(tmp_path):
        yield server


def connected(stack: ExitStack, url: str, head: bytes) -> socket.socket:
    parts = urlsplit(url)
    one = stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60))
    # The server may have closed it in favor of a newer one.
    with suppress(ConnectionError):
        one.sendall(head)
    return one


def is_closed(one: socket.socket) -> bool:
    """Return whether the other side closes the connection."""
    with suppress(ConnectionError):
        while one.recv(10_000):
            pass
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["half-open", "open"])
def test_many_clients_do_not_block_others(server, kind):
    heads = [server.answered] if kind == "open" else HALF_OPEN
    with ExitStack() as stack:
        others = []
        if kind == "half-open" and isinstance(server, ServedViewer):
            others.append(connected(stack, server.url, b"GET /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
            assert others[0].recv(100_000).startswith(b"HTTP/1.1 200")
            others[0].sendall(b"GET /api/run HTTP/1.1\r\nHost:")
            change = f"POST /api/places/10/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}"
            others.append(connected(stack, server.url, f"{change}\r\nContent-Length: 90\r\n\r\n{{".encode()))
        for number in range(CLIENTS):
            if number % (BACKLOG - 2) == 0:
                # A handshake that meets a full backlog is retried after a second.
                assert httpx.get(urljoin(server.url, "/none"), timeout=30).status_code == 404
            others.append(connected(stack, server.url, heads[number % len(heads)]))
            if kind == "open" and number in (0, CLIENTS - 1):
                assert others[-1].recv(100).startswith(b"HTTP/1.1 200")
        for _ in range(5):
            assert server.answers()
        if kind == "half-open":
            assert all(is_closed(connection) for connection in others)


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_large_body_or_header_is_refused(server, method):
    large = "x" * (MAX_REQUEST_BYTES + 100_000)
    where = {"content": large} if method == "POST" else {"headers": {"x-large": large}}
    # The viewer refuses a change without a token before it reads the body.
    with suppress(httpx.TransportError):
        assert httpx.request(method, server.url, timeout=30, **where).status_code in (401, 403, 405)
    assert server.answers()

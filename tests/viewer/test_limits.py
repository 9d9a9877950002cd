"""Whoever keeps connections open takes the page from nobody else."""

import resource
import socket
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_log

pytestmark = pytest.mark.slow

OPEN_FILES = 400
"""The server then allows 140 connections."""
HALF_OPEN = 240
HEADS = [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b"POST /api/places/10/memories HTTP/1.1\r\n"]


@pytest.fixture
def workdir(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2))
    return tmp_path


@contextmanager
def files(most: int):
    """Limit how many files this process may open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connected(stack: ExitStack, url: str, head: bytes) -> socket.socket:
    parts = urlsplit(url)
    one = stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60))
    one.sendall(head)
    return one


def is_closed(one: socket.socket) -> bool:
    """Waits until the other side closes it, whatever it says before."""
    with suppress(ConnectionError):
        while one.recv(10_000):
            pass
    return True


def test_half_open_connections_leave_the_page_to_others_and_are_closed(workdir, open_page):
    with files(4096), served(workdir, "--edit", open_files=OPEN_FILES) as address, ExitStack() as stack:
        url, token = address.split("#token=")
        page = open_page(f"{url}#1:1")
        expect(page.locator("article[aria-current] .number")).to_have_text("1")
        kept = connected(stack, url, b"GET /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert kept.recv(100_000).startswith(b"HTTP/1.1 200")
        kept.sendall(b"GET /api/run HTTP/1.1\r\nHost:")
        head = f"POST /api/places/10/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        slow_body = connected(stack, url, f"{head}Content-Length: 90\r\n\r\n{{".encode())
        # One after the other: a handshake that meets a full backlog halfway leaves a connection that only we know of.
        others = [connected(stack, url, HEADS[number % len(HEADS)]) for number in range(HALF_OPEN)]
        for _ in range(20):
            assert httpx.get(f"{url}api/run", timeout=30).status_code == 200
        page.reload()
        expect(page.locator("article[aria-current] .number")).to_have_text("1")
        write_log(workdir, turn(3))
        expect(page.locator("#scrubber")).to_have_attribute("max", "3")
        assert all(is_closed(one) for one in (kept, slow_body, *others))

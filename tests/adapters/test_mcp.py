"""Tests of the MCP server, with the client of the SDK."""

import asyncio
import re
import socket
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.fixtures.command_line import ROOT, Started, command, environment
from zorkgpt.adapters.mcp import address_of, make_server
from zorkgpt.memory.agent_memory import AgentMemory

CART = "https://shop.example/cart?a=1"
READING, CHANGING = {"recall", "search"}, {"remember", "supersede", "invalidate", "reset"}


def ask(server, *questions):
    """Ask a server several questions as one client. Each question gets the client and the answers so far."""

    async def talk():
        answers = []
        async with Client(server) as client:
            for question in questions:
                answers.append(await question(client, answers))
        return answers

    return asyncio.run(talk())


def call(tool, **arguments):
    async def asked(client, answers):
        given = {name: value(answers) if callable(value) else value for name, value in arguments.items()}
        return await client.call_tool(tool, given)

    return asked


def text_of(answer):
    return "".join(part.text for part in answer.content)


def test_shared_memory_is_served(postgres):
    with AgentMemory.open(postgres.address) as shared, AgentMemory.open(postgres.address) as other:
        kept, recalled = ask(
            make_server(shared),
            call("remember", place=CART, text="The button is below the fold.", place_name="Cart"),
            call("recall", place=CART),
        )
        found = other.get(text_of(kept))
        assert (found.memory.text, found.location_name) == ("The button is below the fold.", "Cart")
        assert "The button is below the fold." in text_of(recalled)


def test_memory_is_superseded_and_invalidated_by_id(memory):
    *_, first, second, last = ask(
        make_server(memory),
        call("remember", place=5, text="The lever opens the gate."),
        call("supersede", memory_id=lambda done: text_of(done[0]), text="The lever opens the sluice."),
        call("recall", place=5),
        call("invalidate", memory_id=lambda done: text_of(done[1]), reason="It only rattles."),
        call("recall", place=5),
    )
    assert "sluice" in text_of(first)
    assert "gate" not in text_of(first)
    assert not second.is_error
    assert text_of(last) == ""
    assert "It only rattles." in memory.store.file.path.read_text("utf-8")


def test_reset_forgets_only_ephemeral_memories(memory):
    *_, recalled = ask(
        make_server(memory),
        call("remember", place="desk", text="The drawer is locked at first.", persistence="core"),
        call("remember", place="desk", text="I put the pen into the drawer.", persistence="ephemeral"),
        call("reset"),
        call("recall", place="desk"),
    )
    assert "locked" in text_of(recalled)
    assert "pen" not in text_of(recalled)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("remember", {"place": " ", "text": "x"}, "must not be blank"),
        ("remember", {"place": 5, "text": " "}, "text is ' '"),
        ("remember", {"place": 5, "text": "x", "category": "no such thing"}, "a word in capitals"),
        ("supersede", {"memory_id": "nothing", "text": "x"}, "There is no memory with the id or title 'nothing'"),
        ("search", {"query": "x", "limit": 0}, "from 1 to 50"),
    ],
)
def test_refused_call_is_explained_and_changes_nothing(memory, tool, arguments, message):
    (answer,) = ask(make_server(memory), call(tool, **arguments))
    assert answer.is_error
    assert message in text_of(answer)
    assert memory.find() == []


def test_each_place_is_a_resource(memory):
    memory.remember(CART, "It is empty at first.", place_name="Cart")
    memory.remember(5, "A rug lies here.", place_name="Living Room")

    async def read(client, answers):
        listed = await client.read_resource("memory://places")
        texts = [(await client.read_resource(address_of(key))).contents[0].text for key in (CART, 5)]
        return listed.contents[0].text, texts

    ((listed, texts),) = ask(make_server(memory), read)
    assert '"Living Room"' in listed
    assert address_of(CART) in listed
    assert "It is empty at first." in texts[0]
    assert "A rug lies here." in texts[1]


def test_read_only_server_has_no_writing_tools(memory):
    async def tools(client, answers):
        return {tool.name for tool in (await client.list_tools()).tools}

    assert ask(make_server(memory), tools) == [READING | CHANGING]
    names, refused = ask(make_server(memory, read_only=True), tools, call("remember", place=5, text="x"))
    assert names == READING
    assert refused.is_error
    assert memory.find() == []


def test_tools_are_documented(memory):
    page = (ROOT / "docs" / "integrations.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)) == READING | CHANGING


@pytest.mark.slow
def test_server_runs_as_a_command(tmp_path):
    program = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "main.py"), "mcp", "--memories", str(tmp_path)], env=environment()
    )
    _, recalled = ask(program, call("remember", place=5, text="A rug lies here."), call("recall", place=5))
    assert "A rug lies here." in text_of(recalled)
    assert "A rug lies here." in (tmp_path / "Memories.md").read_text("utf-8")


@contextmanager
def serving(folder, *options, files=None, **env):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["mcp", "--memories", str(folder), "--host", "127.0.0.1", "--port", str(port), *options]
    with Started(*arguments, open_files=files, **env):
        for _ in range(600):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.slow
def test_server_with_a_scope_serves_nothing_outside_it(tmp_path):
    path = tmp_path / "all.sqlite"
    with AgentMemory.open(path) as everything:
        everything.remember(("acme", "cart"), "The coupon works once.")
        everything.remember(("acmeother", "cart"), "Nobody may see this.")
        everything.remember("cart", "Nobody may see this.")

    async def talk(address):
        async with Client(address) as client:
            there = await client.call_tool("recall", {"place": "cart"})
            found = await client.call_tool("search", {"query": "coupon nobody may see this"})
            places = await client.read_resource("memory://places")
            await client.call_tool("remember", {"place": "door", "text": "It sticks."})
            return text_of(there), text_of(found), places.contents[0].text

    with serving(path, "--scope", '["acme"]') as address:
        there, found, places = asyncio.run(talk(address))
    assert "The coupon works once." in there
    assert "Nobody" not in there + found + places
    assert '"cart"' in places
    with AgentMemory.open(path) as everything:
        assert "It sticks." in everything.recall(("acme", "door"))
        assert not everything.recall("door")


@pytest.mark.parametrize("scope", ["acme", "[]", '{"a": 1}', "5", '[["a"]]'])
def test_invalid_scope_is_named(tmp_path, scope):
    done = command("mcp", "--memories", str(tmp_path), "--scope", scope)
    assert done.returncode == 2
    assert scope in done.stderr
    assert "JSON array" in done.stderr
    assert not list(tmp_path.iterdir())


def test_concurrent_clients_lose_nothing(tmp_path):
    async def writes(address, who):
        async with Client(address) as client:
            for number in range(5):
                await client.call_tool("remember", {"place": number, "text": f"Client {who} was here, time {number}."})

    async def all_write(address):
        await asyncio.gather(*(writes(address, who) for who in range(4)))

    with serving(tmp_path) as address:
        asyncio.run(all_write(address))
    with AgentMemory.open(tmp_path) as memory:
        texts = {located.memory.text for located in memory.find()}
    assert texts == {f"Client {who} was here, time {number}." for who in range(4) for number in range(5)}


def test_token_and_host_are_checked(tmp_path):
    async def recalled(address):
        async with (
            httpx.AsyncClient(headers={"authorization": "Bearer secret"}) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return text_of(await client.call_tool("recall", {"place": 5}))

    with AgentMemory.open(tmp_path) as memory:
        memory.remember(5, "A rug lies here.")
    with serving(tmp_path, ZORKGPT_MCP_TOKEN="secret") as address:
        assert httpx.post(address).status_code == 401
        assert httpx.post(address, headers={"authorization": "Bearer wrong"}).status_code == 401
        known = {"authorization": "Bearer secret"}
        assert httpx.post(address, headers={**known, "host": "evil.example"}, json={}).status_code == 421
        assert "A rug lies here." in asyncio.run(recalled(address))


@pytest.mark.slow
def test_other_hosts_require_a_token(tmp_path):
    done = command("mcp", "--memories", str(tmp_path), "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "a token is needed" in done.stderr

#!/usr/bin/env bash
# mcp 2.3.0
# Expected: a tool call with a misspelled optional argument is an error, which tells the model.
# Behavior: the argument is dropped silently, and the tool runs with the default.
# Output: 'limit 10' for {"limits": 3}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import asyncio

from mcp import Client
from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def search(limit: int = 10) -> str:
    return f"limit {limit}"


async def call():
    async with Client(server) as client:
        result = await client.call_tool("search", {"limits": 3})
    return [result.is_error, result.content[0].text]


seen = asyncio.run(call())
described = [False, "limit 10"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON

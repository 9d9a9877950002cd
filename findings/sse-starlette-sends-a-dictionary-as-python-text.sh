#!/usr/bin/env bash
# sse-starlette 3.7.0
# Expected: {"data": {...}} is sent as JSON, and None sends nothing.
# Behavior: data is converted with str(): a browser gets Python's notation, which JSON.parse() refuses. None is sent as the
# text "None".
# Output: data: {'lit': True} and data: None
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sse-starlette==3.7.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import asyncio

from sse_starlette import EventSourceResponse


async def events():
    yield {"data": {"lit": True}}
    yield None


sent = []


async def send(message):
    sent.append(message.get("body", b"").decode())


asyncio.run(EventSourceResponse(events())({"type": "http", "method": "GET", "headers": []}, asyncio.Event().wait, send))
seen = "".join(sent)
described = "data: {'lit': True}\r\n\r\ndata: None\r\n\r\n"
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON

"""The memory as a server of the Model Context Protocol: tools, a resource for each place, and a prompt."""

import inspect
import secrets
from collections.abc import Callable
from contextlib import suppress
from sys import maxsize
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import PlainValidator, TypeAdapter, WithJsonSchema

from zorkgpt.adapters.tools import INSTRUCTIONS, MemoryTools, instructions_at
from zorkgpt.bounded import ADDRESS, parse_json
from zorkgpt.errors import ConfigurationError
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import parse_place, place_from_json, place_to_json, render_place

with importing("mcp"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import ToolAnnotations
    from starlette.types import ASGIApp, Receive, Scope, Send

    from zorkgpt.server_limits import limited_server

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


def make_server(memory: AgentMemory, *, read_only: bool = False) -> MCPServer[Any]:
    """Return a server for a memory. All clients share the memory and its episodes, which end with `reset`.

    Args:
        read_only: Only `recall` and `search`.
    """
    server: MCPServer[Any] = MCPServer(
        "zorkgpt-memory", title="Memory of places", instructions=INSTRUCTIONS, log_level="ERROR"
    )
    tools = MemoryTools(memory, read_only=read_only, refusal=ToolError)
    for tool in tools.reading:
        server.tool(annotations=_READS)(_with_plain_places(tool))
    for tool in tools.changing:
        server.tool(annotations=_WRITES)(_with_plain_places(tool))

    @server.resource("memory://places", mime_type="application/json")
    def places() -> list[dict[str, object]]:
        """Return the places with memories, each with its name and the URI of its memories."""
        names = {each.location_id: each.location_name for each in memory.find(limit=maxsize)}
        return [{"place": place_to_json(key), "name": name, "uri": address_of(key)} for key, name in names.items()]

    @server.resource("memory://place/{key}", mime_type="text/plain")
    def place(key: str) -> str:
        """Return the memories of a place."""
        # Already decoded by the SDK. Decoding again would break places that are URLs with characters such as %20.
        parsed = _place_in(key)
        if not (text := memory.recall(parsed)):
            raise ResourceNotFoundError(f"There are no memories of {render_place(parsed)}.")
        return text

    @server.prompt()
    def use_memory(place: str = "") -> str:
        """Explain how to use the memory, with the memories of a place. The place is JSON or plain text."""
        return instructions_at(memory, _place_in(place) if place else None)

    return server


def _place_in(text: str) -> SubjectKey:
    for parse in (parse_place, lambda text: place_from_json(parse_json(text, ADDRESS))):
        with suppress(TypeError, ValueError):
            return parse(text)
    return text


def address_of(place: SubjectKey) -> str:
    """Return the URI of the resource with the memories of a place."""
    return f"memory://place/{quote(render_place(place), safe='')}"


def serve(
    memory: AgentMemory,
    *,
    host: str | None = None,
    port: int = 8766,
    token: str | None = None,
    read_only: bool = False,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a memory until the client disconnects (stdio) or the process is interrupted (HTTP).

    Args:
        host: The address for streamable HTTP. None for stdio.
        token: The bearer token that requests need. Required unless `host` is local.
        ready: Called with the URL before the first request.

    Raises:
        ConfigurationError: If other machines can reach the host and there is no token.
    """
    server = make_server(memory, read_only=read_only)
    if host is None:
        server.run("stdio")
        return
    if host not in LOOPBACK and not token:
        raise ConfigurationError(
            f"Other machines can reach {host}, so a token is needed. Set ZORKGPT_MCP_TOKEN to a secret."
        )
    shown = f"[{host}]" if ":" in host else host
    # Prevents web pages from reaching a local server under another host name.
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=host in LOOPBACK,
        allowed_hosts=[f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")],
    )
    # Stateless, because no tool needs a session, and unused sessions would accumulate.
    app = server.streamable_http_app(host=host, transport_security=security, stateless_http=True)
    ready(f"http://{shown}:{port}/mcp")
    with suppress(KeyboardInterrupt):
        limited_server(with_token(app, token), host=host, port=port).run()


def with_token(app: ASGIApp, token: str | None) -> ASGIApp:
    """Return the application with a check of the token, if there is one."""
    if token is None:
        return app
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        authorization = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not secrets.compare_digest(authorization, expected):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"Missing or wrong token."})
            return
        await app(scope, receive, send)

    return checked


def _with_plain_places(tool: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(tool)
    parameters = [_not_parsed(each) if each.name == "place" else each for each in signature.parameters.values()]
    tool.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return tool


def _not_parsed(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose text is not parsed as JSON. The SDK parses text unless the type is `str`.

    A place may look like JSON, for example `["File", "Open"]`.
    """
    adapter: TypeAdapter[object] = TypeAdapter(parameter.annotation)
    schema = adapter.json_schema()
    kinds = [schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in schema["anyOf"]]
    valid = PlainValidator(adapter.validate_python)
    return parameter.replace(annotation=Annotated[str, valid, WithJsonSchema({"anyOf": kinds})])

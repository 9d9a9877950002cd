"""The memory as a server of the Model Context Protocol: tools, a resource for each place, and a prompt."""

import functools
import inspect
import secrets
from collections.abc import Callable
from contextlib import suppress
from sys import maxsize
from typing import Annotated, Any, ParamSpec, TypeVar
from urllib.parse import quote

from pydantic import PlainValidator, TypeAdapter, WithJsonSchema

from zorkgpt.adapters.tools import INSTRUCTIONS, REFUSALS, MemoryTools, instructions_at
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

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


def make_server(memory: AgentMemory, *, read_only: bool = False) -> MCPServer[Any]:
    """Return a server of this memory; several clients share it, and the episode that `reset` ends.

    Args:
        read_only: Nothing can be changed.
    """
    server: MCPServer[Any] = MCPServer(
        "zorkgpt-memory", title="Memory of places", instructions=INSTRUCTIONS, log_level="ERROR"
    )
    tools = MemoryTools(memory, read_only=read_only)
    for tool in tools.reading:
        server.tool(annotations=_READS)(_refusing(tool))
    for tool in tools.changing:
        server.tool(annotations=_WRITES)(_refusing(tool))

    @server.resource("memory://places", mime_type="application/json")
    def places() -> list[dict[str, object]]:
        """Return the places of which something is known, each with its name and the address of its memories."""
        known = {each.location_id: each.location_name for each in memory.find(limit=maxsize)}
        return [{"place": place_to_json(key), "name": name, "uri": address_of(key)} for key, name in known.items()]

    @server.resource("memory://place/{key}", mime_type="text/plain")
    def place(key: str) -> str:
        """Return what is known of a place."""
        # What stands in an address as %20 is decoded already; a URL that is a key has such signs of its own.
        found = _place_in(key)
        if not (text := memory.recall(found)):
            raise ResourceNotFoundError(f"Nothing is known of {render_place(found)}.")
        return text

    @server.prompt()
    def use_memory(place: str = "") -> str:
        """Explain how to use the memory, with the memories of a place: JSON, or a text that is not JSON."""
        return instructions_at(memory, _place_in(place) if place else None)

    return server


def _place_in(text: str) -> SubjectKey:
    for parse in (parse_place, lambda text: place_from_json(parse_json(text, ADDRESS))):
        with suppress(TypeError, ValueError):
            return parse(text)
    return text


def address_of(place: SubjectKey) -> str:
    """Return the address of the resource that holds the memories of a place."""
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
    """Serve a memory until the client is gone (standard input and output), or until it is stopped (HTTP).

    Args:
        host: The address for streamable HTTP; None for standard input and output.
        token: What a request has to carry as `Authorization: Bearer`; needed for every host but this machine.
        ready: Called with the address, before the first request.

    Raises:
        ConfigurationError: If others can reach the host, and there is no token.
    """
    server = make_server(memory, read_only=read_only)
    if host is None:
        server.run("stdio")
        return
    if host not in LOOPBACK and not token:
        raise ConfigurationError(f"Others can reach {host}: a token is needed. Set ZORKGPT_MCP_TOKEN to a secret.")
    shown = f"[{host}]" if ":" in host else host
    # A page in a browser must not reach a server of this machine by a name of its own.
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=host in LOOPBACK,
        allowed_hosts=[f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")],
    )
    # No tool needs a session, and nobody can leave sessions behind.
    app = server.streamable_http_app(host=host, transport_security=security, stateless_http=True)
    ready(f"http://{shown}:{port}/mcp")
    with suppress(KeyboardInterrupt):
        limited_server(with_token(app, token), host=host, port=port).run()


def with_token(app: ASGIApp, token: str | None) -> ASGIApp:
    """Return the application behind a check of the token, if there is one."""
    if token is None:
        return app
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not secrets.compare_digest(given, wanted):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"This memory needs its token."})
            return
        await app(scope, receive, send)

    return checked


def _refusing(tool: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a tool tell the client why it refused, in the words of the error."""

    @functools.wraps(tool)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return tool(*args, **kwargs)
        except REFUSALS as error:
            raise ToolError(str(error)) from error

    signature = inspect.signature(tool)
    parameters = [_taken_as_given(each) if each.name == "place" else each for each in signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _taken_as_given(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose texts are not read as JSON, as the SDK does unless the type is `str`.

    A place may be such a text, for example `["File", "Open"]`.
    """
    adapter: TypeAdapter[object] = TypeAdapter(parameter.annotation)
    schema = adapter.json_schema()
    kinds = [schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in schema["anyOf"]]
    valid = PlainValidator(adapter.validate_python)
    return parameter.replace(annotation=Annotated[str, valid, WithJsonSchema({"anyOf": kinds})])

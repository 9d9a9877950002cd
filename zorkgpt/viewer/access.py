"""Access control: checks of the Host header, the origin of a request, and the token."""

import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

# Starlette is in the optional extra `viewer`, so it is imported on use.
if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_API = "/api/"
_PAGE = re.compile(r"/(?:runs/\d{1,6}/)?", re.ASCII)
_MAX_PATH_CHARS = 4000
"""Long enough for the key of a place, and below the number of digits that Python refuses to parse."""
_HOST = re.compile(r"(?:\[(?P<address>[\da-fA-F:.]+)\]|(?P<name>[\w.-]+))(?::\d{0,5})?", re.ASCII)


@dataclass(frozen=True)
class AccessRules:
    """The conditions that a request must satisfy."""

    hosts: frozenset[str] = LOOPBACK
    any_address: bool = False
    """Whether any IP address is accepted as Host. Unlike a name, an address is safe from DNS rebinding."""
    token: str | None = None
    """Required for reading. None if reading is open."""
    edit_token: str | None = None
    """Required for changes. None if changes are not allowed."""

    @classmethod
    def of(cls, host: str | None, *, edit: bool) -> "AccessRules":
        """Return the rules for listening on `host`. None means this machine only; other machines need a token."""
        token = secrets.token_urlsafe(24)
        if host is None:
            return cls(edit_token=token if edit else None)
        names = LOOPBACK | {host.lower(), socket.gethostname().lower()}
        return cls(names, any_address=True, token=token, edit_token=token if edit else None)


class AccessControl:
    """Middleware that checks every request."""

    def __init__(self, app: "ASGIApp", rules: AccessRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        else:
            from starlette.responses import JSONResponse

            status, message = refusal
            response = JSONResponse({"error": message}, status)
            await response(scope, receive, _with_headers(send))

    def _refusal(self, scope: "Scope") -> tuple[int, str] | None:
        from starlette.datastructures import Headers

        headers, rules = Headers(scope=scope), self._rules
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_known_host(hosts[0]):
            return 403, "Unknown host name. Open the address that the viewer printed."
        if not _same_origin(headers, hosts[0], scope["path"]):
            return 403, "Requests from other sites are not allowed."
        if len(scope["path"]) > _MAX_PATH_CHARS:
            return 404, "Not found."
        is_change = scope["method"] not in ("GET", "HEAD")
        token = rules.edit_token if is_change else rules.token
        if is_change and token is None:
            return 405, "Read-only. Start the viewer with --edit to make changes."
        if token is not None and scope["path"].startswith(_API) and not _has_token(headers, token):
            return 401, "Missing or wrong token. Open the complete address that the viewer printed."
        return None

    def _is_known_host(self, host: str) -> bool:
        name = _host_name(host)
        return name in self._rules.hosts or (self._rules.any_address and _is_address(name))


def _same_origin(headers: "Headers", host: str, path: str) -> bool:
    origins = headers.getlist("origin")
    if not {*origins} <= {f"http://{host}", f"https://{host}"}:
        return False
    # Other sites may link to the page, but only the page itself may use the API.
    return _PAGE.fullmatch(path) is not None or headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _has_token(headers: "Headers", token: str) -> bool:
    return secrets.compare_digest(headers.get("authorization", "").encode(), f"Bearer {token}".encode())


def may_edit(headers: "Headers", rules: AccessRules) -> bool:
    """Return whether a request with these headers may make changes."""
    return rules.edit_token is not None and _has_token(headers, rules.edit_token)


def _host_name(host: str) -> str:
    match = _HOST.fullmatch(host)
    return (match["address"] or match["name"]).lower() if match else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: "Send") -> "Send":
    from starlette.datastructures import MutableHeaders

    async def sending(message: "Message") -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending

"""Connections to model servers by the OpenAI SDK, and the problems of the environment that prevent them."""

import ipaddress
import os
import ssl
import time
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from zorkgpt.bounded import MODEL_RESPONSE
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.settings import LLMSettings

_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_SENT_AS_HEADERS = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")


def connect_openai(base_url: str, api_key: SecretStr | None, settings: LLMSettings) -> Any:
    """Create a client of the OpenAI SDK, which repeats no request. Imported on use, because that takes a second.

    Raises:
        ConfigurationError: If the key can't be sent, or a proxy or certificate of the environment can't be used.
    """
    from openai import DefaultHttpxClient, OpenAI

    # The SDK requires a key. Servers that need none ignore it.
    key = api_key.get_secret_value() if api_key else "none"
    _check_header(_key_variable(key), key)
    for name in _SENT_AS_HEADERS:
        _check_header(name, os.environ.get(name, ""))
    is_local = is_loopback(urlsplit(base_url).hostname or "")
    try:
        transport = DefaultHttpxClient(
            base_url=base_url,
            timeout=settings.timeout_s,
            event_hooks={"response": [partial(_bound_body, settings.deadline_s)]},
            follow_redirects=False,  # prompts are sent only to the configured server
            # A proxy can't reach a server on this machine.
            trust_env=not is_local,
            verify=_verification(base_url, is_local=is_local),
        )
    except (ImportError, ValueError, OSError) as error:
        raise _environment_problem(error) from None
    return OpenAI(base_url=base_url, api_key=key, timeout=settings.timeout_s, max_retries=0, http_client=transport)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _verification(base_url: str, *, is_local: bool) -> Any:
    if urlsplit(base_url).scheme == "http":
        # Loading the certificates takes 40 ms, and this client can't reach a TLS server from an http:// address.
        return False
    if is_local and any(os.environ.get(name) for name in _CERTIFICATES):
        return ssl.create_default_context(
            cafile=os.environ.get(_CERTIFICATES[0]), capath=os.environ.get(_CERTIFICATES[1])
        )
    return True


def _key_variable(key: str) -> str:
    """Return the name of the environment variable with the key, or else of the setting."""
    names = (name for name in sorted(os.environ) if name.upper().endswith("API_KEY") and os.environ[name] == key)
    return next(names, "client_api_key")


def _check_header(name: str, value: str) -> None:
    """Check that a value can be sent as a header.

    Raises:
        ConfigurationError: If it contains a line end, or a character that is not ASCII. The value is not shown.
    """
    if value != value.strip():
        what = "a line end" if "\n" in value or "\r" in value else "a space"
        raise ConfigurationError(f"{name} begins or ends with {what}. Set it again without.")
    for position, character in enumerate(value, 1):
        if not " " <= character <= "~":
            shown = "a line end" if character in "\r\n" else f"the character {unicodedata.name(character, 'unknown')}"
            raise ConfigurationError(
                f"{name} contains {shown} at position {position}. A key has only plain letters, digits and "
                "punctuation. Copy it again."
            )


def _environment_problem(error: Exception) -> ConfigurationError:
    """Return an error that names the environment variable that prevents a connection."""
    proxies = {
        name: urlsplit(os.environ[name]).scheme
        for name in sorted(os.environ)
        if name.upper() in _PROXIES and os.environ[name]
    }
    if isinstance(error, ImportError):
        socks = [name for name, scheme in proxies.items() if scheme.startswith("socks")] or list(proxies)
        return ConfigurationError(
            f"{' and '.join(socks)}: this proxy needs the package socksio. Install it with pip install socksio, "
            f"or unset {' and '.join(socks)}."
        )
    if isinstance(error, OSError):
        names = [name for name in _CERTIFICATES if os.environ.get(name)]
        return ConfigurationError(f"{' or '.join(names) or 'The certificates'} can't be read: {error}.")
    names = [name for name, scheme in proxies.items() if scheme not in ("http", "https")] or list(proxies)
    return ConfigurationError(
        f"{' or '.join(names)} is not the address of a proxy that can be used, such as http://proxy:8080. "
        "Correct it, or unset it."
    )


def _bound_body(limit_s: float, response: Any) -> None:
    """Make the response raise an error, which ends its connection, when its body becomes too large or takes too long.

    It raises `OutOfBounds` for the decompressed size. Nobody waits any more when it raises `TimeoutError`.
    """
    iter_bytes, ends = response.iter_bytes, time.monotonic() + limit_s

    def bounded(*arguments: Any) -> Iterator[bytes]:
        size = 0
        for part in iter_bytes(*arguments):
            size += len(part)
            MODEL_RESPONSE.check_size(size)
            if time.monotonic() > ends:
                raise TimeoutError
            yield part

    response.iter_bytes = bounded

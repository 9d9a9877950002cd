"""The wire format of the chat-completions API: requests, responses and errors."""

import re
import socket
import ssl
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from zorkgpt.errors import LLMError, LLMUnreachable
from zorkgpt.llm.messages import Message, Usage
from zorkgpt.llm.settings import RoleSettings
from zorkgpt.llm.structured import json_schema

_SAMPLING = ("temperature", "top_p")
# The API of OpenAI has no such parameters; most local servers do.
_EXTRA_SAMPLING = ("top_k", "min_p")
_REFUSALS = {400, 415, 422, 501}
_NO_SUCH_PAGE = {404, 405, 501}
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_LONGEST_ERROR = 500

_TAGS = "think|thinking|reflection"
_PAIR = re.compile(rf"<({_TAGS})>(?P<thought>.*?)</\1>", re.DOTALL | re.IGNORECASE)
# Some chat templates open the block themselves, so that only its end is in the answer.
_ONLY_CLOSED = re.compile(rf"\A(?P<thought>.*?)</(?:{_TAGS})>", re.DOTALL | re.IGNORECASE)
# At the start of a line only: inside a JSON string the same letters are somebody's text.
_ONLY_OPENED = re.compile(rf"^[ \t]*<(?:{_TAGS})>(?P<thought>.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters that a server accepts for one model, as far as its refusals have shown."""

    schema: bool = True
    limit_name: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    system: bool = True
    """Whether there is a system role; without one its text is put before the first message of the user."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The parts of a response; `content` is "" where there was none."""

    content: str
    reasoning: str
    usage: Usage
    truncated: bool
    complaint: str = ""
    """The refusal or error that came in the place of an answer."""


def request(
    settings: RoleSettings,
    messages: list[Message],
    dialect: Dialect,
    *,
    limit: int | None,
    response_model: type[BaseModel] | None,
) -> dict[str, Any]:
    """Return the arguments of `client.chat.completions.create`, without those that are not set."""
    sampling = {
        name: value
        for name in _SAMPLING + _EXTRA_SAMPLING
        if (value := getattr(settings, name)) is not None and name not in dialect.left_out
    }
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": [
            {"role": message.speaker, "content": _sendable(message.content)}
            for message in (messages if dialect.system else _without_system(messages))
        ],
    }
    arguments |= {name: sampling[name] for name in _SAMPLING if name in sampling}
    if limit is not None:
        arguments[dialect.limit_name] = limit
    if response_model is not None and dialect.schema:
        schema = {"name": response_model.__name__, "schema": json_schema(response_model), "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    extra = {name: sampling[name] for name in _EXTRA_SAMPLING if name in sampling}
    return arguments | ({"extra_body": extra} if extra else {})


def _sendable(text: str) -> str:
    # JSON lets a model write a lone surrogate, which has no UTF-8.
    return _SURROGATES.sub("\ufffd", text)


def _without_system(messages: list[Message]) -> list[Message]:
    said = [message.content for message in messages if message.speaker == "system"]
    first, *others = [message for message in messages if message.speaker != "system"]
    return [Message(first.speaker, "\n\n".join([*said, first.content])), *others]


def adapted(dialect: Dialect, arguments: dict[str, Any], error: Exception) -> Dialect | None:
    """Return the dialect to try after this refusal; None if the refusal is about something else."""
    if getattr(error, "status_code", None) not in _REFUSALS:
        return None
    complaint = f"{getattr(error, 'param', None)} {error}"
    if dialect.limit_name in arguments and "max_completion_tokens" in complaint and dialect.limit_name == "max_tokens":
        return replace(dialect, limit_name="max_completion_tokens")
    if dialect.system and "system role" in complaint.lower():
        return replace(dialect, system=False)
    sent = {*arguments, *arguments.get("extra_body", {})}
    named = {name for name in _SAMPLING + _EXTRA_SAMPLING if name in sent and re.search(rf"\b{name}\b", complaint)}
    if named:
        return replace(dialect, left_out=dialect.left_out | named)
    if "response_format" in arguments:
        return replace(dialect, schema=False)
    return None


def read(response: Any) -> RawAnswer:
    """Read a response leniently: servers leave out and mistype every one of these fields."""
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list | tuple) and choices else None
    message = getattr(choice, "message", None)
    content, thought = split_reasoning(_text(getattr(message, "content", None)))
    field = _text(getattr(message, "reasoning_content", None)) or _text(getattr(message, "reasoning", None))
    return RawAnswer(
        content=content,
        reasoning="\n".join(filter(None, (field.strip(), thought))),
        usage=_usage(getattr(response, "usage", None)),
        truncated=getattr(choice, "finish_reason", None) == "length",
        complaint=_text(getattr(message, "refusal", None)) or _complaint(getattr(response, "error", None)),
    )


def _complaint(error: Any) -> str:
    # Some gateways answer 200 with the upstream error in the body.
    return _text(error.get("message")) if isinstance(error, dict) else _text(error)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) and count >= 0 else None for count in counts))


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a text with `<think>`, `<thinking>` or `<reflection>` blocks into the answer and the reasoning.

    A block that was never closed reaches to the end; one that was never opened begins at the start.
    """
    thoughts: list[str] = []

    def take(found: re.Match[str]) -> str:
        thoughts.append(found["thought"].strip())
        return ""

    text = _PAIR.sub(take, text)
    text = _ONLY_CLOSED.sub(take, text)
    text = _ONLY_OPENED.sub(take, text)
    return text.strip(), "\n".join(thought for thought in thoughts if thought)


def listed_models(connection: Any) -> tuple[str, ...] | None:
    """Return the model names that a client of the OpenAI SDK's shape lists, sorted; None if it can't."""
    if not hasattr(connection, "models"):
        return None
    try:
        return tuple(sorted(model.id for model in connection.models.list()))
    # The exceptions are those of whichever SDK this is; what they share is the HTTP status.
    except Exception as error:
        if getattr(error, "status_code", None) in _NO_SUCH_PAGE:
            return None
        raise


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return the text with the secrets masked, cut to a length that a person reads."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_ERROR else text[:_LONGEST_ERROR] + " ..."


def as_llm_error(error: Exception, *, model: str, base_url: str, secrets: list[str]) -> LLMError:
    """Convert an error of the SDK to one of ours.

    `LLMUnreachable` is for what no retry mends: an absent server, a refused key, an unknown model.
    """
    said = scrubbed(str(error) or type(error).__name__, secrets)
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return LLMUnreachable(
            f"{base_url} refuses the key (HTTP {status}: {said}). "
            "Set OPENAI_API_KEY or client_api_key to one that it accepts."
        )
    if status == 404 or getattr(error, "code", None) == "model_not_found":
        return LLMUnreachable(
            f"{base_url} does not serve the model {model!r} (HTTP {status}: {said}). "
            "Correct the model's name, fetch the model, or correct the address: most end in /v1."
        )
    if status == 402 or getattr(error, "code", None) == "insufficient_quota":
        return LLMUnreachable(f"{base_url} wants to be paid before it answers (HTTP {status}: {said}).")
    if _is_absent(error):
        return LLMUnreachable(
            f"No server answers at {base_url} for the model {model!r} ({said}). Start it, or correct its address "
            "(OPENAI_BASE_URL, client_base_url or the role's own)."
        )
    kind = f"HTTP {status}" if status else type(error).__name__
    return LLMError(f"The model {model!r} at {base_url} gave no answer ({kind}: {said}).")


def _is_absent(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False

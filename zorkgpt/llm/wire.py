"""The chat-completions API: what a request says, and what can be read out of a response."""

import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from zorkgpt.llm.messages import Message, Usage
from zorkgpt.llm.reasoning import split_reasoning
from zorkgpt.llm.settings import RoleSettings
from zorkgpt.llm.structured import json_schema

_SAMPLING = ("temperature", "top_p")
# The API of OpenAI has no such parameters; most local servers do.
_EXTRA_SAMPLING = ("top_k", "min_p")
_REFUSALS = {400, 415, 422, 501}
_HALVES = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes for one model, as far as its refusals have told."""

    schema: bool = True
    limit_name: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    system: bool = True
    """Off: what a system message says goes before the first message of the user."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What could be read out of a response; `content` is "" where there was none."""

    content: str
    reasoning: str
    usage: Usage
    truncated: bool
    complaint: str = ""
    """What the server or the model said instead of an answer."""


def request(
    settings: RoleSettings,
    messages: list[Message],
    dialect: Dialect,
    *,
    limit: int | None,
    response_model: type[BaseModel] | None,
) -> dict[str, Any]:
    """The arguments of `client.chat.completions.create`; what is not set is not in it."""
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
    # JSON lets a model write half a surrogate pair, which is no character and has no UTF-8.
    return _HALVES.sub("\ufffd", text)


def _without_system(messages: list[Message]) -> list[Message]:
    said = [message.content for message in messages if message.speaker == "system"]
    first, *others = [message for message in messages if message.speaker != "system"]
    return [Message(first.speaker, "\n\n".join([*said, first.content])), *others]


def adapted(dialect: Dialect, arguments: dict[str, Any], error: Exception) -> Dialect | None:
    """The dialect to try after this refusal; None if the refusal is about something else."""
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
    """Whatever a server sent, as far as it is an answer: servers leave out and mistype every one of these fields."""
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
    # Some gateways answer 200 and put the upstream's error into the body.
    return _text(error.get("message")) if isinstance(error, dict) else _text(error)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) and count >= 0 else None for count in counts))

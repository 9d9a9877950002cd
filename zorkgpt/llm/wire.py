"""The wire format of the chat-completions API: requests, responses and errors."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from zorkgpt.bounded import MODEL_ANSWER, json_object, parse_json
from zorkgpt.errors import MalformedResponse, OutOfBounds
from zorkgpt.llm.cleaning import split_reasoning
from zorkgpt.llm.failures import Failure, FailureKind, failure_of
from zorkgpt.llm.messages import Completion, Message, ToolCall, Usage
from zorkgpt.llm.settings import RoleSettings
from zorkgpt.llm.structured import BARE_OBJECT, json_schema, with_form, with_instruction
from zorkgpt.llm.tools import Toolbox

_SAMPLING = ("temperature", "top_p")
# The API of OpenAI has no such parameters; most local servers do.
_EXTRA_SAMPLING = ("top_k", "min_p")
_ABOUT_ONE_FORM = re.compile(r"json_schema|json_object")
"""In the message of a server that accepts another form. Servers that accept none name only the parameter."""
_REASONING = "reasoning_content"
_CONTEXT_FIELDS = (
    *("n_ctx", "loaded_context_length", "max_model_len", "context_length", "max_context_length", "context_window"),
    *("max_input_tokens", "n_ctx_per_seq"),
)
"""Fields with the context length in the model lists of llama.cpp, LM Studio, vLLM, OpenRouter, Groq and others."""
_CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose, so that shortened prompts fit."""
_MIN_PROMPT = 200
"""Minimum tokens for the prompt. Smaller contexts can't be used."""
_ANSWER_TOKENS = 512
"""Tokens reserved for the answer of a role without its own limit."""
_ANSWER_SHARE = 4
"""An answer gets at most a quarter of the context."""
_CUT = "\n[...]\n"
_SURROGATES = re.compile(r"[\ud800-\udfff]")


RequestForm = type[BaseModel] | Toolbox | None
"""The model of a typed answer, or the tools that may be called before a text answer."""


class AnswerForm(StrEnum):
    """How the schema of a typed answer is sent to the server, strictest first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT_WITH_SCHEMA = "json_object with a schema"
    """For the Python server of llama.cpp."""
    JSON_OBJECT = "json_object"
    """The schema is in the prompt."""
    TEXT = "an instruction in the prompt"

    @property
    def carries_schema(self) -> bool:
        """Whether the schema is in a parameter of the request instead of the prompt."""
        return self in (AnswerForm.JSON_SCHEMA, AnswerForm.JSON_OBJECT_WITH_SCHEMA)

    def next(self) -> "AnswerForm":
        """Return the next form, which is less strict."""
        forms = list(AnswerForm)
        return forms[min(forms.index(self) + 1, len(forms) - 1)]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters that a server accepts for a model, learned from its list of models and its rejections."""

    form: AnswerForm = AnswerForm.JSON_SCHEMA
    bounds: bool | None = None
    """Whether the schema limits strings and lists, for a server that enforces it and a model that doesn't end them.

    None until that is needed, False if the server refuses it.
    """
    limit_name: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    system: bool = True
    """Whether there is a system role. Without one, its text is put before the first user message."""
    stream: bool = True
    """Whether answers can be streamed."""
    tools: bool = True
    """Whether tools can be offered."""
    context_length: int | None = None
    """Maximum tokens of prompt and answer together. None if unknown."""
    max_answer: int | None = None
    """Maximum tokens of an answer. None if unknown."""

    @property
    def may_bound(self) -> bool:
        """Whether limits of strings and lists can be tried."""
        return self.form is AnswerForm.JSON_SCHEMA and self.bounds is None

    def __str__(self) -> str:
        parts = (
            (True, f"typed answers by {self.form}"),
            (self.context_length is not None, f"a context of {self.context_length} tokens"),
            (self.max_answer is not None, f"answers of at most {self.max_answer} tokens"),
            (self.left_out, f"without {', '.join(sorted(self.left_out))}"),
            (self.limit_name != "max_tokens", f"limits as {self.limit_name}"),
            (not self.system, "no system role"),
            (not self.stream, "no streaming"),
            (not self.tools, "no tools"),
        )
        return ", ".join(text for applies, text in parts if applies)


def request(
    settings: RoleSettings,
    messages: list[Message],
    dialect: Dialect,
    *,
    limit: int | None,
    form: RequestForm,
    stream: bool = False,
) -> dict[str, Any]:
    """Return the arguments of `client.chat.completions.create`. Parameters that are not set are left out.

    If the tools can't be offered, earlier tool calls and results are left out too.
    """
    toolbox, response_model = (form, None) if isinstance(form, Toolbox) else (None, form)
    if toolbox is not None and not (dialect.tools and toolbox.fits(dialect.context_length)):
        toolbox, messages = None, [each for each in messages if each.speaker != "tool" and not each.tool_calls]
    if toolbox is not None:
        messages = [*with_instruction(messages[:1], toolbox.instruction), *messages[1:]]
    if response_model is not None:
        by_schema = dialect.form.carries_schema
        messages = with_instruction(messages, BARE_OBJECT) if by_schema else with_form(messages, response_model)
    if dialect.max_answer is not None:
        limit = limit and min(limit, dialect.max_answer)
    if dialect.context_length is not None:
        limit = limit and min(limit, dialect.context_length // _ANSWER_SHARE)
        room = dialect.context_length - (limit or _ANSWER_TOKENS) - (toolbox.tokens if toolbox else 0)
        messages = cut_to_fit(messages, room)
    sampling = {
        name: value
        for name in _SAMPLING + _EXTRA_SAMPLING
        if (value := getattr(settings, name)) is not None and name not in dialect.left_out
    }
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": [_sent(each, dialect) for each in (messages if dialect.system else _without_system(messages))],
    }
    if toolbox is not None:
        arguments["tools"] = toolbox.specifications()
    arguments |= {name: sampling[name] for name in _SAMPLING if name in sampling}
    if limit is not None and dialect.limit_name not in dialect.left_out:
        arguments[dialect.limit_name] = limit
    if response_model is not None and dialect.form is not AnswerForm.TEXT:
        arguments["response_format"] = _response_format(dialect, response_model)
    if stream and dialect.stream:
        arguments["stream"] = True
        if "stream_options" not in dialect.left_out:
            arguments["stream_options"] = {"include_usage": True}
    extra = {name: sampling[name] for name in _EXTRA_SAMPLING if name in sampling}
    return arguments | ({"extra_body": extra} if extra else {})


def _sent(message: Message, dialect: Dialect) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.speaker, "content": _sendable(message.content)}
    if message.tool_call_id:
        sent["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _as_object(call.arguments)},
            }
            for call in message.tool_calls
        ]
        if message.reasoning and _REASONING not in dialect.left_out:
            sent[_REASONING] = _sendable(message.reasoning)
    return sent


def _as_object(arguments: str) -> str:
    """Return the arguments, or an empty object if they are invalid, because chat templates parse them."""
    return "{}" if json_object(arguments, MODEL_ANSWER) is None else _sendable(arguments)


def _response_format(dialect: Dialect, model: type[BaseModel]) -> dict[str, Any]:
    match dialect.form:
        case AnswerForm.JSON_SCHEMA:
            schema = json_schema(model, bounded=bool(dialect.bounds))
            return {"type": "json_schema", "json_schema": {"name": model.__name__, "schema": schema, "strict": True}}
        case AnswerForm.JSON_OBJECT_WITH_SCHEMA:
            return {"type": "json_object", "schema": json_schema(model, bounded=True)}
        case _:
            return {"type": "json_object"}


def cut_to_fit(messages: list[Message], tokens: int) -> list[Message]:
    """Return the messages, shortened to a number of tokens in total. The middle of the longest messages is left out.

    The middle, because a prompt begins with its subject and ends with the question.
    """
    room = max(tokens, _MIN_PROMPT) * _CHARACTERS_PER_TOKEN
    # Short messages are kept, and the others share the rest.
    for count, length in zip(range(len(messages), 0, -1), sorted(len(each.content) for each in messages), strict=True):
        if length * count > room:
            return [replace(each, content=_cut(each.content, room // count)) for each in messages]
        room -= length
    return messages


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = max(0, limit - len(_CUT))
    return text[: kept // 3] + _CUT + text[len(text) - (kept - kept // 3) :]


def _sendable(text: str) -> str:
    # A model can write lone surrogates in JSON, which UTF-8 can't encode.
    return _SURROGATES.sub("\ufffd", text)


def _without_system(messages: list[Message]) -> list[Message]:
    instructions = [message.content for message in messages if message.speaker == "system"]
    first, *others = [message for message in messages if message.speaker != "system"]
    return [Message(first.speaker, "\n\n".join([*instructions, first.content])), *others]


def adapted(dialect: Dialect, arguments: dict[str, Any], failure: Failure) -> Dialect | None:
    """Return the dialect to try after this failure. None if another form of the request can't help."""
    match failure.kind:
        case FailureKind.OVERFLOW:
            sent = sum(len(message["content"]) for message in arguments["messages"]) // _CHARACTERS_PER_TOKEN
            limit = arguments.get(dialect.limit_name) or _ANSWER_TOKENS
            return with_context(dialect, failure.tokens or sent // 2, limit)
        case FailureKind.ANSWER_LIMIT if failure.tokens and failure.tokens < arguments[dialect.limit_name]:
            return replace(dialect, max_answer=failure.tokens)
        case FailureKind.NO_SYSTEM_ROLE if dialect.system:
            return replace(dialect, system=False)
        case FailureKind.REFUSED_FIELD:
            return _without(dialect, arguments, failure)
    return None


def _without(dialect: Dialect, arguments: dict[str, Any], failure: Failure) -> Dialect | None:
    """Return the dialect without the refused fields, or with another form of them."""
    fields = failure.fields
    if dialect.limit_name in fields and dialect.limit_name == "max_tokens" and "max_completion_tokens" in failure.words:
        return replace(dialect, limit_name="max_completion_tokens")
    if "tools" in fields or (not fields and "tools" in arguments):
        return replace(dialect, tools=False)
    if "response_format" in fields and dialect.bounds:
        return replace(dialect, bounds=False)
    if "response_format" in fields and _ABOUT_ONE_FORM.search(failure.words):
        return replace(dialect, form=dialect.form.next())
    if "response_format" in fields or (not fields and "response_format" in arguments):
        return replace(dialect, form=AnswerForm.TEXT)
    if fields == {"stream"}:
        return replace(dialect, stream=False)
    return replace(dialect, left_out=dialect.left_out | fields) if fields - dialect.left_out else None


def with_context(dialect: Dialect, length: int, limit: int) -> Dialect | None:
    """Return the dialect with this context length. None if an answer of this limit leaves no room for a prompt.

    The length is reduced if a prompt shortened to it was rejected too.
    """
    known = dialect.context_length
    length = length if known is None or length < known else known * 3 // 4
    return replace(dialect, context_length=length) if length - limit >= _MIN_PROMPT else None


def ignores_schema(content: str, model: type[BaseModel]) -> bool:
    """Return whether an answer shows that the server ignored the schema, because a required field is missing."""
    try:
        value = parse_json(content, MODEL_ANSWER, lenient=True)
    except OutOfBounds:
        return True
    return not isinstance(value, dict) or not set(json_schema(model)["required"]) <= set(value)


class BrokenStream(MalformedResponse):
    """A stream without an answer or without its end.

    Some servers give the reason only if the answer isn't streamed. Others cut off a stream for the next request.
    """


def joined(chunks: Any, on_token: Callable[[int], None]) -> Any:
    """Join the chunks of a streamed response. A response that was not streamed is returned unchanged.

    Args:
        on_token: Called with the number of chunks so far. With most servers, a chunk is a token.

    Raises:
        MalformedResponse: If the stream is empty or incomplete.
    """
    if isinstance(chunks, str) or not isinstance(chunks, Iterable) or hasattr(chunks, "choices"):
        return chunks
    content, reasoning = list[str](), list[str]()
    usage, finish_reason, tokens, begun = None, None, 0, False
    calls: list[SimpleNamespace] = []
    for chunk in chunks:
        usage = getattr(chunk, "usage", None) or usage
        choices = getattr(chunk, "choices", None)
        if not choices:
            continue
        begun = True
        delta = getattr(choices[0], "delta", None)
        finish_reason = getattr(choices[0], "finish_reason", None) or finish_reason
        text = _text(getattr(delta, "content", None))
        thought = _text(getattr(delta, "reasoning_content", None)) or _text(getattr(delta, "reasoning", None))
        content.append(text)
        reasoning.append(thought)
        parts = getattr(delta, "tool_calls", None) or ()
        for part in parts:
            _add_part(calls, part)
        if text or thought or parts:
            tokens += 1
            on_token(tokens)
    message = SimpleNamespace(content="".join(content), reasoning_content="".join(reasoning), tool_calls=calls)
    if not begun:
        raise BrokenStream("an empty stream")
    if finish_reason is None:
        raise BrokenStream("a stream that was cut off")
    choice = SimpleNamespace(message=message, finish_reason=finish_reason)
    return SimpleNamespace(choices=[choice], usage=usage)


def _add_part(calls: list[SimpleNamespace], part: Any) -> None:
    """Add a part of a call to the call with its index. Some servers send no index, or the same one for all calls."""
    index, identity, function = (getattr(part, name, None) for name in ("index", "id", "function"))
    call = next((each for each in reversed(calls) if each.index == index), None)
    name, arguments = (getattr(function, name, None) for name in ("name", "arguments"))
    if call is None or (identity and call.id and identity != call.id):
        call = SimpleNamespace(index=index, id="", function=SimpleNamespace(name="", arguments=""))
        calls.append(call)
    call.id = call.id or _text(identity)
    call.function.name = call.function.name or _text(name)
    if isinstance(arguments, str):
        call.function.arguments += arguments
    elif arguments is not None:
        call.function.arguments = json.dumps(arguments)


def read(response: Any, arguments: Mapping[str, Any]) -> Completion:
    """Read a response leniently. In practice, any field can be missing or have the wrong type.

    Args:
        arguments: Those of the request. If they offer no tools, tool calls are ignored.
    """
    choices, choice, message = _first(response)
    text = _text(getattr(message, "content", None))
    content, thought = split_reasoning(text)
    truncated = getattr(choice, "finish_reason", None) == "length"
    field = _text(getattr(message, "reasoning_content", None)) or _text(getattr(message, "reasoning", None))
    calls = _calls(message) if "tools" in arguments else ()
    in_reasoning = not (text.strip() or calls or truncated) and bool(field.strip())
    if in_reasoning:
        content, field = split_reasoning(field)[0] or field.strip(), ""
    return Completion(
        content,
        usage=_usage(getattr(response, "usage", None)),
        reasoning="\n".join(filter(None, (field.strip(), thought))),
        truncated=truncated,
        tool_calls=calls,
        problem=None if content or calls else _instead(response, choices, message, text),
        in_reasoning=in_reasoning,
        limit=arguments.get("max_tokens") or arguments.get("max_completion_tokens"),
    )


def _first(response: Any) -> tuple[Any, Any, Any]:
    """Return the choices of a response, the first one, and its message. None for what is missing."""
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list | tuple) and choices else None
    return choices, choice, getattr(choice, "message", None)


def _calls(message: Any) -> tuple[ToolCall, ...]:
    tool_calls = []
    calls = getattr(message, "tool_calls", None)
    for number, call in enumerate(calls if isinstance(calls, list | tuple) else (), 1):
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
        identity = _text(getattr(call, "id", None)) or f"call_{number}"
        tool_calls.append(ToolCall(identity, _text(getattr(function, "name", None)), text))
    return tuple(tool_calls)


def _instead(response: Any, choices: Any, message: Any, text: str) -> str:
    """Describe a response without an answer, with the fix if known."""
    complaint = _text(getattr(message, "refusal", None)) or _complaint(getattr(response, "error", None))
    if complaint:
        return complaint
    calls = getattr(message, "tool_calls", None)
    if isinstance(calls, list) and calls:
        name = getattr(getattr(calls[0], "function", None), "name", None)
        return f"a call of the tool {name!r}, which was not offered; choose another chat template or model"
    if text.strip():
        return "unfinished reasoning; raise max_tokens of the role, or turn off the model's reasoning"
    if message is not None:
        return "null" if getattr(message, "content", None) is None else "an empty text"
    return "an empty list of choices" if choices == [] else "no choices"


class ErrorInBody(MalformedResponse):
    """A response with the status 200 that is an error of the server, or has nothing that is known."""

    def __init__(self, response: Any, reason: str) -> None:
        super().__init__(reason)
        error = getattr(response, "error", None)
        self.body = {"error": error} if error else None


def check_completion(response: Any) -> None:
    """Check that a response is a chat completion, whatever its content.

    Raises:
        MalformedResponse: If it is something else.
        OutOfBounds: If the answer is too long.
    """
    if isinstance(response, str):
        raise MalformedResponse(response)
    choices, _, message = _first(response)
    if message is None:
        raise ErrorInBody(response, _instead(response, choices, None, ""))
    MODEL_ANSWER.check_size(len(_text(getattr(message, "content", None))))


def _complaint(error: Any) -> str:
    # Some gateways return the upstream error with status 200.
    return _text(error.get("message")) if isinstance(error, dict) else _text(error)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    details = getattr(usage, "prompt_tokens_details", None)
    # DeepSeek uses its own name for cached tokens.
    cached = getattr(details, "cached_tokens", None), getattr(usage, "prompt_cache_hit_tokens", None)
    counts.append(next((count for count in cached if count is not None), None))
    known = [count if isinstance(count, int) and count >= 0 else None for count in counts]
    return Usage(known[0], known[1], known[2])


def served_context(connection: Any, base_url: str, model: str, listed: Mapping[str, int | None]) -> int | None:
    """Return the context length of a model. None if unknown.

    A server that lists a single model answers to any name.
    """
    name = model if model in listed else next(iter(listed)) if len(listed) == 1 else None
    if name is None:
        return None
    if (length := listed[name]) is not None:
        return length
    try:
        # llama.cpp: the context of one of several parallel requests.
        properties = connection.get(f"{base_url.removesuffix('/v1')}/props", cast_to=object)
        length = properties["default_generation_settings"]["n_ctx"]
    # Other servers have no such page, and other clients no such method.
    except Exception:
        return None
    return length if isinstance(length, int) and length > 0 else None


def listed_models(connection: Any) -> dict[str, int | None] | None:
    """Return the models of a server with their context lengths. None if the server has no list.

    Raises:
        Exception: If there is no server, or it rejects the key.
    """
    if not hasattr(connection, "models"):
        return None
    try:
        return {model.id: _listed_context(model) for model in connection.models.list()}
    # The exception types depend on the SDK. Other errors will appear with the first request.
    except Exception as error:
        if failure_of(error).kind in (FailureKind.ABSENT, FailureKind.REJECTED_KEY):
            raise
        return None


def _listed_context(model: Any) -> int | None:
    meta = getattr(model, "meta", None)
    values = [getattr(model, name, None) for name in _CONTEXT_FIELDS]
    values += [meta.get(name) for name in _CONTEXT_FIELDS] if isinstance(meta, dict) else []
    return next((value for value in values if isinstance(value, int) and value > 0), None)

"""The wire format of the chat-completions API: requests, responses and errors."""

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from zorkgpt.bounded import MODEL_ANSWER, json_object, parse_json
from zorkgpt.errors import LLMError, LLMUnreachable, MalformedResponse, OutOfBounds
from zorkgpt.llm.messages import Message, ToolCall, Usage
from zorkgpt.llm.settings import RoleSettings
from zorkgpt.llm.structured import BARE_OBJECT, bounded_schema, json_schema, with_form, with_instruction
from zorkgpt.llm.tools import Toolbox
from zorkgpt.text import printable

_SAMPLING = ("temperature", "top_p")
# The API of OpenAI has no such parameters; most local servers do.
_EXTRA_SAMPLING = ("top_k", "min_p")
_REDIRECTS = range(300, 400)
_REFUSALS = {400, 415, 422, 501}
"""Statuses that tell of a request that the server does not take, whether or not the text says why."""
_ABOUT_FORM = re.compile(r"response_format|grammar|structured output|guided", re.IGNORECASE)
_ABOUT_ONE_FORM = re.compile(r"json_schema|json_object")
"""What a server names that takes another form: one that takes none names the parameter only."""
_ABOUT_TOOLS = re.compile(r"\btools?\b|tool_|\bfunctions?\b|\broles?\b|jinja|template|thought_signature", re.IGNORECASE)
"""What a server names that takes no tools, or no results of tools."""
_REASONING = "reasoning_content"
# "maximum context length is 8192 tokens", "exceed context window of 2048", "available context size (4096 tokens)",
# "prompt is too long: 210000 tokens > 200000 maximum".
_CONTEXT_LENGTH = re.compile(
    r"(?:context (?:length|window|size)|n_ctx)\D{0,40}?(\d{3,8})|> (\d{3,8}) maximum", re.IGNORECASE
)
_CONTEXT_FIELDS = ("max_model_len", "context_length", "max_context_length", "loaded_context_length", "context_window")
"""Where the list of models of vLLM, OpenRouter, LM Studio and Groq tells how long a context may be."""
_CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose, so that a prompt that was cut to fit does."""
_LEAST_PROMPT = 200
"""Tokens; a context that leaves less than that for the prompt can't be used."""
_ANSWER_TOKENS = 512
"""What is left for the answer of a role without a limit of its own."""
_ANSWER_SHARE = 4
"""An answer gets at most one part in so many of the context."""
_CUT = "\n[...]\n"
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_LONGEST_ERROR = 500

_TAGS = "think|thinking|reflection"
_OPENING = re.compile(rf"<({_TAGS})>", re.IGNORECASE)
_CLOSING = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in _TAGS.split("|")}
# Some chat templates open the block themselves, so that only its end is in the answer.
_ONLY_CLOSED = re.compile(rf"\A(?P<thought>.*?)</(?:{_TAGS})>", re.DOTALL | re.IGNORECASE)
# At the start of a line only, because inside a JSON string these letters are text.
_ONLY_OPENED = re.compile(rf"^[ \t]*<(?:{_TAGS})>(?P<thought>.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)


RequestForm = type[BaseModel] | Toolbox | None
"""The form of a typed answer, or the tools that may be called before an answer in words."""


class AnswerForm(StrEnum):
    """How the form of a typed answer is sent to the server, the strictest way first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT_WITH_SCHEMA = "json_object with a schema"
    """What the Python server of llama.cpp takes."""
    JSON_OBJECT = "json_object"
    """The schema stands in the prompt."""
    TEXT = "an instruction in the prompt"

    @property
    def carries_schema(self) -> bool:
        """Return whether the schema stands in the request's own parameter, and so not in the prompt."""
        return self in (AnswerForm.JSON_SCHEMA, AnswerForm.JSON_OBJECT_WITH_SCHEMA)

    def next(self) -> "AnswerForm":
        """Return the next, less strict way."""
        forms = list(AnswerForm)
        return forms[min(forms.index(self) + 1, len(forms) - 1)]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server accepts for one model, as far as its list of models and its refusals have shown."""

    form: AnswerForm = AnswerForm.JSON_SCHEMA
    limit_name: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    system: bool = True
    """Whether there is a system role; without one its text is put before the first message of the user."""
    stream: bool = True
    """Whether an answer comes in parts where that is asked for, with its tokens counted at the end."""
    tools: bool = True
    """Whether tools can be offered."""
    context_length: int | None = None
    """The tokens of prompt and answer together; None if the server did not report it."""

    def __str__(self) -> str:
        told = [f"typed answers by {self.form}"]
        if self.context_length is not None:
            told.append(f"a context of {self.context_length} tokens")
        if self.left_out:
            told.append(f"without {', '.join(sorted(self.left_out))}")
        if self.limit_name != "max_tokens":
            told.append(f"limits as {self.limit_name}")
        told += ["no system role"] * (not self.system) + ["no streaming"] * (not self.stream)
        return ", ".join(told + ["no tools"] * (not self.tools))


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The parts of a response; `content` is "" where there was none."""

    content: str
    reasoning: str
    usage: Usage
    truncated: bool
    instead: str = ""
    """What came in the place of an answer, for a person; "" if there is one."""
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.content or self.tool_calls)


def request(
    settings: RoleSettings,
    messages: list[Message],
    dialect: Dialect,
    *,
    limit: int | None,
    form: RequestForm,
    stream: bool = False,
) -> dict[str, Any]:
    """Return the arguments of `client.chat.completions.create`, without those that are not set.

    Where the tools can't be offered, what was exchanged with them is left out.
    """
    toolbox, response_model = (form, None) if isinstance(form, Toolbox) else (None, form)
    if toolbox is not None and not (dialect.tools and toolbox.fits(dialect.context_length)):
        toolbox, messages = None, [each for each in messages if each.speaker != "tool" and not each.tool_calls]
    if toolbox is not None:
        messages = [*with_instruction(messages[:1], toolbox.instruction), *messages[1:]]
    if response_model is not None:
        by_schema = dialect.form.carries_schema
        messages = with_instruction(messages, BARE_OBJECT) if by_schema else with_form(messages, response_model)
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
    if limit is not None:
        arguments[dialect.limit_name] = limit
    if response_model is not None and dialect.form is not AnswerForm.TEXT:
        arguments["response_format"] = _response_format(dialect.form, response_model)
    if stream and dialect.stream:
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
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
    """Return the arguments, or an empty object if they are no JSON object: chat templates parse them."""
    return "{}" if json_object(arguments, MODEL_ANSWER) is None else _sendable(arguments)


def _response_format(form: AnswerForm, model: type[BaseModel]) -> dict[str, Any]:
    match form:
        case AnswerForm.JSON_SCHEMA:
            schema = {"name": model.__name__, "schema": json_schema(model), "strict": True}
            return {"type": "json_schema", "json_schema": schema}
        case AnswerForm.JSON_OBJECT_WITH_SCHEMA:
            return {"type": "json_object", "schema": bounded_schema(model)}
        case _:
            return {"type": "json_object"}


def cut_to_fit(messages: list[Message], tokens: int) -> list[Message]:
    """Return the messages, the longest of them cut in their middle if all together are longer than so many tokens.

    What is asked stands at the end of a prompt, and what it is about at its beginning.
    """
    room = max(tokens, _LEAST_PROMPT) * _CHARACTERS_PER_TOKEN
    # Short messages stay whole; the others share what they leave.
    for count, length in zip(range(len(messages), 0, -1), sorted(len(each.content) for each in messages), strict=True):
        if length * count > room:
            return [replace(each, content=_cut(each.content, room // count)) for each in messages]
        room -= length
    return messages


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = max(0, most - len(_CUT))
    return text[: kept // 3] + _CUT + text[len(text) - (kept - kept // 3) :]


def _sendable(text: str) -> str:
    # JSON lets a model write a lone surrogate, which has no UTF-8.
    return _SURROGATES.sub("\ufffd", text)


def _without_system(messages: list[Message]) -> list[Message]:
    said = [message.content for message in messages if message.speaker == "system"]
    first, *others = [message for message in messages if message.speaker != "system"]
    return [Message(first.speaker, "\n\n".join([*said, first.content])), *others]


def adapted(dialect: Dialect, arguments: dict[str, Any], error: Exception) -> Dialect | None:
    """Return the dialect to try after this refusal; None if the refusal is about something else.

    A text that names a parameter is about that parameter, whatever the status: some servers report it as a fault of
    their own.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status in _REDIRECTS:
        return None
    complaint = f"{getattr(error, 'param', None)} {error}"
    about_tools = "tools" in arguments and bool(_ABOUT_TOOLS.search(complaint))
    # OpenRouter says 404 where no provider of the model takes tools.
    if not isinstance(status, int) or status in (401, 402, 403, 429) or (status == 404 and not about_tools):
        return None
    if length := _context_length(complaint, getattr(error, "code", None), arguments):
        return _with_context(dialect, length, arguments)
    if dialect.limit_name in arguments and "max_completion_tokens" in complaint and dialect.limit_name == "max_tokens":
        return replace(dialect, limit_name="max_completion_tokens")
    if dialect.system and "system role" in complaint.lower():
        return replace(dialect, system=False)
    if _REASONING in complaint and any(_REASONING in message for message in arguments["messages"]):
        return replace(dialect, left_out=dialect.left_out | {_REASONING})
    if about_tools:
        return replace(dialect, tools=False)
    sent = {*arguments, *arguments.get("extra_body", {})}
    named = {name for name in _SAMPLING + _EXTRA_SAMPLING if name in sent and re.search(rf"\b{name}\b", complaint)}
    if named:
        return replace(dialect, left_out=dialect.left_out | named)
    if "response_format" in arguments and _ABOUT_ONE_FORM.search(complaint):
        return replace(dialect, form=dialect.form.next())
    if "response_format" in arguments and _ABOUT_FORM.search(complaint):
        return replace(dialect, form=AnswerForm.TEXT)
    if "stream" in arguments and re.search(r"\bstream", complaint):
        return replace(dialect, stream=False)
    if "tools" in arguments and status in _REFUSALS:
        return replace(dialect, tools=False)
    if "response_format" in arguments and status in _REFUSALS:
        return replace(dialect, form=AnswerForm.TEXT)
    return None


def _context_length(complaint: str, code: object, arguments: dict[str, Any]) -> int | None:
    found = _CONTEXT_LENGTH.search(complaint)
    if found:
        return int(found[1] or found[2])
    if code != "context_length_exceeded":
        return None
    return sum(len(message["content"]) for message in arguments["messages"]) // _CHARACTERS_PER_TOKEN // 2


def _with_context(dialect: Dialect, length: int, arguments: dict[str, Any]) -> Dialect | None:
    """Return the dialect with this context, or with less if a prompt that was cut to it was refused all the same."""
    known = dialect.context_length
    length = length if known is None or length < known else known * 3 // 4
    asked = arguments.get(dialect.limit_name) or _ANSWER_TOKENS
    return replace(dialect, context_length=length) if length - asked >= _LEAST_PROMPT else None


def ignores_schema(content: str, model: type[BaseModel]) -> bool:
    """Return whether an answer can't have been made by the schema that was sent: it lacks one of its fields."""
    try:
        value = parse_json(content, MODEL_ANSWER, lenient=True)
    except OutOfBounds:
        return True
    return not isinstance(value, dict) or not set(json_schema(model)["required"]) <= set(value)


def joined(chunks: Any, on_token: Callable[[int], None]) -> Any:
    """Return the whole response of one that came in parts; one that came whole is returned as it is.

    Args:
        on_token: Called with the number of parts so far, which are tokens with most servers.
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
        said = _text(getattr(delta, "content", None))
        thought = _text(getattr(delta, "reasoning_content", None)) or _text(getattr(delta, "reasoning", None))
        content.append(said)
        reasoning.append(thought)
        parts = getattr(delta, "tool_calls", None) or ()
        for part in parts:
            _add_part(calls, part)
        if said or thought or parts:
            tokens += 1
            on_token(tokens)
    message = SimpleNamespace(content="".join(content), reasoning_content="".join(reasoning), tool_calls=calls)
    choice = SimpleNamespace(message=message, finish_reason=finish_reason)
    return SimpleNamespace(choices=[choice] if begun else None, usage=usage)


def _add_part(calls: list[SimpleNamespace], part: Any) -> None:
    """Add a part of a call to the call with its index. Some servers send no index, or the same one for all calls."""
    index, identity, function = (getattr(part, name, None) for name in ("index", "id", "function"))
    known = next((each for each in reversed(calls) if each.index == index), None)
    name, arguments = (getattr(function, name, None) for name in ("name", "arguments"))
    if known is None or (identity and known.id and identity != known.id):
        known = SimpleNamespace(index=index, id="", function=SimpleNamespace(name="", arguments=""))
        calls.append(known)
    known.id = known.id or _text(identity)
    known.function.name = known.function.name or _text(name)
    if isinstance(arguments, str):
        known.function.arguments += arguments
    elif arguments is not None:
        known.function.arguments = json.dumps(arguments)


def read(response: Any, *, takes_calls: bool = False) -> RawAnswer:
    """Read a response leniently: servers leave out and mistype every one of these fields.

    Args:
        takes_calls: Whether tools were offered; if not, calls are no answer.
    """
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list | tuple) and choices else None
    message = getattr(choice, "message", None)
    said = _text(getattr(message, "content", None))
    content, thought = split_reasoning(said)
    field = _text(getattr(message, "reasoning_content", None)) or _text(getattr(message, "reasoning", None))
    calls = _calls(message) if takes_calls else ()
    return RawAnswer(
        content=content,
        reasoning="\n".join(filter(None, (field.strip(), thought))),
        usage=_usage(getattr(response, "usage", None)),
        truncated=getattr(choice, "finish_reason", None) == "length",
        instead="" if content or calls else _instead(response, choices, message, said),
        tool_calls=calls,
    )


def _calls(message: Any) -> tuple[ToolCall, ...]:
    found = []
    calls = getattr(message, "tool_calls", None)
    for number, call in enumerate(calls if isinstance(calls, list | tuple) else (), 1):
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
        identity = _text(getattr(call, "id", None)) or f"call_{number}"
        found.append(ToolCall(identity, _text(getattr(function, "name", None)), text))
    return tuple(found)


def _instead(response: Any, choices: Any, message: Any, said: str) -> str:
    """Return what came instead of an answer, and the way out where one is known."""
    complaint = _text(getattr(message, "refusal", None)) or _complaint(getattr(response, "error", None))
    if complaint:
        return complaint
    calls = getattr(message, "tool_calls", None)
    if isinstance(calls, list) and calls:
        name = getattr(getattr(calls[0], "function", None), "name", None)
        return f"a call of the tool {name!r}, though none was offered; choose another chat template or model"
    if said.strip():
        return "reasoning that never came to its end; raise max_tokens of the role, or turn the model's reasoning off"
    if message is not None:
        return "null" if getattr(message, "content", None) is None else "an empty text"
    return "an empty list of choices" if choices == [] else "no choices"


def check_completion(response: Any) -> None:
    """Check that a response is a chat completion, whatever its content.

    Raises:
        MalformedResponse: If it is something else.
        OutOfBounds: If the answer is too long.
    """
    if isinstance(response, str):
        raise MalformedResponse(response)
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list | tuple) and choices else None
    message = getattr(choice, "message", None)
    if message is None:
        raise MalformedResponse(_instead(response, choices, None, ""))
    MODEL_ANSWER.check_size(len(_text(getattr(message, "content", None))))


def is_web_page(response: Any) -> bool:
    """Return whether a response, or the text in which no JSON was found, is HTML."""
    text = response if isinstance(response, str) else getattr(response, "doc", "")
    return isinstance(text, str) and bool(re.match(r"\s*<(?:!doctype|html|head|body)", text, re.IGNORECASE))


def _complaint(error: Any) -> str:
    # Some gateways answer 200 with the upstream error in the body.
    return _text(error.get("message")) if isinstance(error, dict) else _text(error)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    details = getattr(usage, "prompt_tokens_details", None)
    # DeepSeek reports what was in its cache under a name of its own.
    cached = getattr(details, "cached_tokens", None), getattr(usage, "prompt_cache_hit_tokens", None)
    counts.append(next((count for count in cached if count is not None), None))
    return Usage(*(count if isinstance(count, int) and count >= 0 else None for count in counts))


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a text with `<think>`, `<thinking>` or `<reflection>` blocks into the answer and the reasoning.

    A block that was never closed reaches to the end; one that was never opened begins at the start.
    """
    text, thoughts = _without_blocks(text)

    def take(found: re.Match[str]) -> str:
        thoughts.append(found["thought"].strip())
        return ""

    text = _ONLY_CLOSED.sub(take, text)
    text = _ONLY_OPENED.sub(take, text)
    return text.strip(), "\n".join(thought for thought in thoughts if thought)


def _without_blocks(text: str) -> tuple[str, list[str]]:
    """Return the text without its closed blocks, and the contents of these, in time linear in the text."""
    kept, thoughts, at = list[str](), list[str](), 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        tag = opening[1].lower()
        if opening.start() < at or tag in unclosed:
            continue
        if closing := _CLOSING[tag].search(text, opening.end()):
            kept.append(text[at : opening.start()])
            thoughts.append(text[opening.end() : closing.start()].strip())
            at = closing.end()
        else:
            unclosed.add(tag)
    return "".join((*kept, text[at:])), thoughts


def listed_models(connection: Any) -> dict[str, int | None] | None:
    """Return the models that a client of the OpenAI SDK's shape lists, with the context lengths it tells; None if none.

    Raises:
        Exception: If there is no server, or it refuses the key.
    """
    if not hasattr(connection, "models"):
        return None
    try:
        return {model.id: _listed_context(model) for model in connection.models.list()}
    # The exceptions are those of whichever SDK this is. Whether the server works shows in a request.
    except Exception as error:
        if _is_absent(error) or getattr(error, "status_code", None) in (401, 403):
            raise
        return None


def _listed_context(model: Any) -> int | None:
    meta = getattr(model, "meta", None)
    told = [getattr(model, name, None) for name in _CONTEXT_FIELDS]
    told.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next((value for value in told if isinstance(value, int) and value > 0), None)


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return the text with the secrets masked, cut to a length that a person reads."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    text = " ".join(printable(text).split())
    return text if len(text) <= _LONGEST_ERROR else text[:_LONGEST_ERROR] + " ..."


def as_llm_error(
    error: Exception, *, model: str, base_url: str, secrets: list[str], has_answered: bool = False
) -> LLMError:
    """Convert an error of the SDK to one of ours.

    `LLMUnreachable` means that a retry can't help: the server is absent, the key is refused, the model is unknown.

    Args:
        has_answered: Whether this server has answered before. A web page is then taken for a passing fault of a proxy.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status in _REDIRECTS:
        target = getattr(getattr(error, "response", None), "headers", {}).get("location", "another address")
        return LLMUnreachable(
            f"{base_url} redirects to {scrubbed(target, secrets)} (HTTP {status}). Prompts follow no redirect. "
            "Correct the URL."
        )
    if is_web_page(error) or is_web_page(str(error)):
        code = f" (HTTP {status})" if status else ""
        if has_answered:
            return MalformedResponse(f"{base_url} sent a web page instead of an answer of the model {model!r}{code}.")
        return LLMUnreachable(
            f"{base_url} sent a web page{code}. It is not a model server. Correct the URL: most end in /v1."
        )
    # Some versions of the SDK wrap what its transport raises.
    too_large = error.__cause__ if isinstance(error.__cause__, OutOfBounds) else error
    if isinstance(too_large, OutOfBounds):
        return MalformedResponse(f"The model {model!r} at {base_url} was not understood. {too_large}")
    said = scrubbed(str(error) or type(error).__name__, secrets)
    if status in (401, 403):
        return LLMUnreachable(
            f"{base_url} rejected the API key (HTTP {status}: {said}). "
            "Set OPENAI_API_KEY or client_api_key to a valid key."
        )
    if status == 404 or getattr(error, "code", None) == "model_not_found":
        return LLMUnreachable(
            f"{base_url} does not serve the model {model!r} (HTTP {status}: {said}). "
            "Correct the model name, download the model, or correct the URL: most end in /v1."
        )
    if status == 402 or getattr(error, "code", None) == "insufficient_quota":
        return LLMUnreachable(f"{base_url} requires payment (HTTP {status}: {said}).")
    if _is_absent(error):
        return LLMUnreachable(
            f"Can't connect to {base_url} for the model {model!r} ({said}). Start the server, or correct its URL "
            "(OPENAI_BASE_URL, client_base_url or the base URL of the role)."
        )
    kind = f"HTTP {status}" if status else type(error).__name__
    if isinstance(error, MalformedResponse | ValueError | RecursionError):
        return MalformedResponse(f"The model {model!r} at {base_url} sent a malformed response ({said}).")
    return LLMError(f"The model {model!r} at {base_url} failed ({kind}: {said}).")


def _is_absent(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False

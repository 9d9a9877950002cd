"""The failures of a model's server: the one place that decides what an error means.

Servers word the same problem differently, and put the text into different fields of the error's body. So a failure is
classified by its status, its code and key words of the whole body, never by the wording of one server.
"""

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from zorkgpt.errors import LLMError, LLMUnreachable, MalformedResponse, OutOfBounds
from zorkgpt.text import printable

_REDIRECTS = range(300, 400)
_REFUSALS = {400, 415, 422, 501}
"""HTTP statuses of a server that refuses a field, even if the message doesn't name it."""
_TRANSIENT = {408, 409}
_MAX_ERROR = 500
_MAX_BODY = 20_000
"""Characters of a body that are searched for key words."""
_CHARACTERS_PER_TOKEN = 3


class FailureKind(StrEnum):
    """What a failure means."""

    NO_MODEL = "no such model"
    WRONG_ADDRESS = "wrong address"
    REDIRECT = "redirect"
    REJECTED_KEY = "rejected key"
    NO_CREDIT = "no credit"
    ABSENT = "no server"
    OVERFLOW = "context overflow"
    ANSWER_LIMIT = "answer limit too high"
    NO_SYSTEM_ROLE = "no system role"
    REFUSED_FIELD = "refused field"
    LOADING = "loading"
    RATE_LIMIT = "rate limit"
    TRANSIENT = "transient"
    """A time-out, a lost connection or an error of the server, which may not happen again."""
    MALFORMED = "malformed response"
    OTHER = "other"


_WAITS = (FailureKind.LOADING, FailureKind.RATE_LIMIT, FailureKind.TRANSIENT)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request."""

    kind: FailureKind
    reason: str
    """The server's own words, or the name of the error."""
    status: int | None = None
    """The HTTP status. None if there was no response."""
    tokens: int | None = None
    """The limit on the context (`OVERFLOW`) or the answer (`ANSWER_LIMIT`). None if the server doesn't name it."""
    fields: frozenset[str] = frozenset()
    """The refused fields (`REFUSED_FIELD`). Empty if the server names none."""
    wait_s: float | None = None
    """How long the server asks to wait. None if it doesn't say."""
    words: str = ""
    """The whole body, for the choice between forms of a refused field."""
    error_type: str = ""
    is_page: bool = False
    """Whether the server sent a web page."""
    location: str = ""
    """The target of a redirect."""


def failure_of(error: Exception, sent: Mapping[str, Any] | None = None, *, secrets: Sequence[str] = ()) -> Failure:
    """Return what an error of the SDK, its transport or a custom client means.

    Args:
        sent: The arguments of the request. Defaults to those of a request without a prompt.
        secrets: Texts that the failure must not contain.
    """
    body = _body(error)
    is_page = is_web_page(body) or is_web_page(error)
    words = _title(body) if is_page else " ".join(_texts(body))[:_MAX_BODY] or _own_words(error)
    reason = words if is_page else "; ".join(dict.fromkeys(_sentences(body))) or words
    found = _Evidence(error, words, _fields(body), _headers(error), is_page, sent or {})
    kind = found.kind()
    return Failure(
        kind,
        scrubbed(reason or _own_words(error), secrets),
        found.status,
        tokens=found.limit() if kind in (FailureKind.OVERFLOW, FailureKind.ANSWER_LIMIT) else None,
        fields=found.refused_fields() if kind is FailureKind.REFUSED_FIELD else frozenset(),
        wait_s=found.wait_s() if kind in _WAITS else None,
        words=_masked(words, secrets),
        error_type=type(error).__name__,
        is_page=is_page,
        location=scrubbed(found.headers.get("location", ""), secrets),
    )


def is_web_page(value: Any) -> bool:
    """Return whether a text, or the text of an error in which no JSON was found, is HTML."""
    text = str(value) if isinstance(value, str | MalformedResponse) else getattr(value, "doc", None)
    return isinstance(text, str) and bool(re.match(r"\s*<(?:!doctype|html|head|body)", text, re.IGNORECASE))


# Reading an error


def _body(error: Exception) -> Any:
    """Return the whole body of an error: JSON values, text, or None.

    `body` of the SDK's errors lacks what stands beside the field `error`, so the response has priority.
    """
    response = getattr(error, "response", None)
    try:
        text = response.text if response is not None else None
    # The body of a stream may not have been read, and custom clients have their own responses.
    except Exception:
        text = None
    if isinstance(text, str) and text.strip():
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return getattr(error, "body", None)


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return {str(name).lower(): str(value) for name, value in headers.items()} if headers else {}
    except AttributeError:
        return {}


def _status(error: Exception, fields: list[tuple[str, Any]]) -> int | None:
    candidates = [getattr(error, "status_code", None)]
    # An error within a stream, or with the status 200, has its status only in the body.
    candidates += [value for name, value in fields if name in ("code", "status", "status_code")]
    for value in candidates:
        number = _integer(str(value)) if isinstance(value, int | str) else 0
        if 300 <= number < 600:
            return number
    return None


def _fields(value: Any, depth: int = 8) -> list[tuple[str, Any]]:
    """Return the names and values of all fields of a body."""
    if isinstance(value, str):
        value = _parsed(value)
    if depth and isinstance(value, list):
        return [field for each in value[:50] for field in _fields(each, depth - 1)]
    if not depth or not isinstance(value, dict):
        return []
    fields: list[tuple[str, Any]] = []
    for name, each in value.items():
        if name not in _ECHOED:
            fields += [(name.lower(), each), *_fields(each, depth - 1)]
    return fields


_SPOKEN = (
    "message",
    "detail",
    "details",
    "msg",
    "error",
    "error_description",
    "errors",
    "reason",
    "title",
    "metadata",
    "raw",
)
"""Fields with sentences for people, or with values that have such fields. The most specific first."""
_ECHOED = {"input", "inputs", "request", "body", "prompt", "messages", "ctx"}
"""Fields in which some servers repeat the request."""


def _sentences(value: Any, depth: int = 8) -> Iterator[str]:
    """Yield the sentences for people in a body."""
    if depth and isinstance(value, str) and value.strip():
        nested = _parsed(value)
        yield from _sentences(nested, depth - 1) if isinstance(nested, dict | list) else (value.strip(),)
    elif depth and isinstance(value, list):
        for each in value[:10]:
            yield from _sentences(each, depth - 1)
    elif depth and isinstance(value, dict):
        where = value.get("loc")
        prefix = f"{'.'.join(map(str, where))}: " if isinstance(where, list) else ""
        for name in _SPOKEN:
            for sentence in _sentences(value.get(name), depth - 1):
                yield prefix + sentence


def _texts(value: Any, depth: int = 8) -> Iterator[str]:
    """Yield all texts in a body, without those that repeat the request."""
    if depth and isinstance(value, str):
        nested = _parsed(value)
        yield from _texts(nested, depth - 1) if isinstance(nested, dict | list) else (value,)
    elif depth and isinstance(value, list):
        for each in value[:50]:
            yield from _texts(each, depth - 1)
    elif depth and isinstance(value, dict):
        for name, each in value.items():
            if name not in _ECHOED:
                yield from _texts(each, depth - 1)


def _parsed(text: str) -> Any:
    """Return the JSON value in a text, because some servers put the error of another one into theirs. Else None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _title(page: Any) -> str:
    match = re.search(r"<title[^>]*>([^<]{1,200})</title>", page, re.IGNORECASE) if isinstance(page, str) else None
    return " ".join(match[1].split()) if match else ""


def _own_words(error: Exception) -> str:
    return str(error) or type(error).__name__


# Key words

_CODES_OF_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context|context_window|(?:prompt|input|token|context)\w*_(?:exceed|too_l|limit_re)\w*"
    r"|too_many_tokens|request_too_large",
    re.IGNORECASE,
)
_ABOUT_TOO_LARGE = re.compile(r"request\b.{0,30}\btoo large|(?:payload|entity|body) too large", re.IGNORECASE)
_ABOUT_CONTEXT = re.compile(
    r"\bcontext\b|\bn_ctx\b|context[_ ](?:length|size|window)|\bprompts?\b|(?<!per )\btokens?\b"
    r"|\binput[_ ](?:length|size)|\binput is too|\bsequence[_ ]length|\bmessages\b",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"exceed|too (?:long|large|many|big)|(?:long|larg|great|high|bigg)er than|more than|\bover(?:flow|s)?\b|\bat most\b"
    r"|maximum|\bmax\b|(?<!rate )\blimit|<=|≤|> \d|\bfit\b|truncat|too small|beyond|\breduce|shorten|surpass|\babove\b"
    r"|not enough|holds|\bonly\b|\bbut\b|\brange\b",
    re.IGNORECASE,
)
_ABOUT_ANSWER_LIMIT = re.compile(
    r"max_(?:completion_|output_|new_)?tokens\W.{0,60}?(?:too (?:large|high|big)|at most|less than|<=|exceed|greater"
    r"|maximum|limit|range)|(?:completion|output) tokens\W",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_PROMPT = re.compile(r"\bcontext\b|\bprompts?\b|\binputs?\b|\bmessages?\b|\bn_ctx\b", re.IGNORECASE)
_ABOUT_SYSTEM = re.compile(
    r"(?:system|developer)[\W_]{0,4}(?:role|message|prompt|instruction)?s?\b.{0,60}?"
    r"(?:not|un)[ -]?(?:be )?(?:support|allow|enabl|accept|permit|known|recogni|expected|implemented)"
    r"|(?:not|n't|un)[ -]?(?:support|allow|accept|permit|known|recogni|expected|implement)\w*.{0,60}?"
    r"(?:role\b.{0,20}(?:system|developer)|(?:system|developer)\b.{0,20}(?:role|message|prompt|instruction))"
    r"|only\W.{0,20}\buser\b.{0,30}\bassistant\b|roles must alternate|invalid role\W.{0,20}system"
    r"|role\W.{0,40}(?:must|should) be.{0,40}\buser\b"
    r"|role\W.{0,20}not (?:support|accept|allow)\W.{0,20}(?:system|developer)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_LOADING = re.compile(
    r"\b(?:loading|being loaded|warming up|still starting|starting up|initiali[sz]ing)\b"
    r"|model is not (?:yet )?(?:ready|loaded yet)",
    re.IGNORECASE,
)
_ABOUT_RATE = re.compile(
    r"rate[ _-]?limit|too many requests|per (?:minute|second|hour|day)|requests? a (?:minute|second)"
    r"|\b[rt]p[md]\b|try again in|throttl|resource_exhausted",
    re.IGNORECASE,
)
_ABOUT_CREDIT = re.compile(
    r"insufficient[ _](?:quota|credit|balance|funds)|credit balance|billing|out of credit|not enough credit|no credit"
    r"|payment required|exceeded your current quota|add credits|top up",
    re.IGNORECASE,
)
_ABOUT_KEY = re.compile(
    r"(?:invalid|incorrect|missing|wrong|expired|no|bad|unauthori[sz]ed)\W{1,3}(?:\w+ )?api[ _-]?key"
    r"|api[ _-]?key\b.{0,30}(?:not valid|invalid|incorrect|missing|expired|required)",
    re.IGNORECASE,
)
_MODEL_CODES = ("model_not_found", "no_such_model", "model_not_available", "unknown_model", "invalid_model")
_ABSENT_MODEL = (
    r"not found|not exist|doesn't exist|no such|unknown|not available|unavailable|invalid|not a valid|not supported"
    r"|no endpoints|not served|not loaded|no access|not have access|not installed|\bpull\b|could not find"
)
_ABOUT_MODEL = re.compile(
    rf"\bmodels?\b.{{0,120}}?(?:{_ABSENT_MODEL})|(?:{_ABSENT_MODEL})\W.{{0,40}}?\bmodels?\b", re.IGNORECASE | re.DOTALL
)
_ABOUT_PATH = re.compile(
    r"(?:unexpected|unknown|no such|invalid) (?:endpoint|route|path|url)|cannot post"
    r"|(?:endpoint|route|path|url) not found",
    re.IGNORECASE,
)
_ABOUT_TOOLS = re.compile(r"\btools?\b|tool_|\bfunctions?\b|\broles?\b|jinja|template|thought_signature", re.IGNORECASE)
"""In the message of a server that accepts no tools or no tool results."""
_ABOUT_FORM = re.compile(r"response_format|json_schema|json_object|grammar|structured output|guided", re.IGNORECASE)
_NEVER_REFUSED = {"model", "messages", "extra_body", "timeout"}

_NUMBER = r"(\d{1,3}(?:[.,_\u2009\u202f \u2019']\d{3})+(?!\d)|\d+)(?:\.\d+)?\s?(k\b)?"
_NUMBERS = re.compile(rf"(?<![\w.-]){_NUMBER}", re.IGNORECASE)
_LIMIT = re.compile(
    r"(?:limit\w*|maximum|max\b|\bmax_(?:model|seq\w*|context|prompt|input)\w*|at most|up to|no more than|not more than"
    r"|context(?:[_ ](?:length|window|size))?|n_ctx|holds?|capacity|only|allowed|longest|takes|supports?|accepts?"
    rf"|exceeds?(?: the)?|over|above|than|<=?|≤|>|\[\d+,|(?<=\d)\s?/)\D{{0,40}}?(?<![\w.-]){_NUMBER}"
    rf"|(?<![\w.-]){_NUMBER}[\s)]*(?:tokens?)?[\s)]*(?:is the )?(?:maximum|limit|context)\b(?!\D{{0,6}}\d)",
    re.IGNORECASE,
)
_LIMIT_FIELDS = (
    *("n_ctx", "max_model_len", "max_context_length", "context_length", "context_window", "context_size"),
    *("max_prompt_tokens", "max_input_tokens", "max_tokens_allowed", "token_limit", "max_length", "limit"),
)
_WAIT = re.compile(
    r"\b(?:try|retry|available|wait|reset\w*)\b.{0,30}?((?:\d[\d.]*\s*(?:ms|m|h|s|sec\w*|min\w*|hour\w*)\b\s*|\d+m)+)",
    re.IGNORECASE,
)
_RATE = re.compile(r"\blimit\D{0,12}(\d[\d,]*)", re.IGNORECASE)
_REQUESTED = re.compile(
    r"\b(?:requested|request of|ask(?:s|ed) for|need(?:s|ed)|contains)\D{0,12}(\d[\d,]*)", re.IGNORECASE
)
_LEAST_LIMIT = 128
"""Smaller numbers in an error are no limits of tokens."""


class _Evidence:
    """What is known about a failure."""

    def __init__(
        self,
        error: Exception,
        words: str,
        fields: list[tuple[str, Any]],
        headers: Mapping[str, str],
        is_page: bool,
        sent: Mapping[str, Any],
    ) -> None:
        self.error, self.words, self.fields, self.headers = error, words, fields, headers
        self.is_page, self.sent = is_page, sent
        self.status = _status(error, fields)
        codes = [value for name, value in fields if name in ("code", "type", "error_type", "status")]
        self.codes = " ".join(map(str, [*codes, getattr(error, "code", None), getattr(error, "type", None)]))

    def kind(self) -> FailureKind:
        """Return the kind, the most certain first."""
        status = self.status
        if status in _REDIRECTS:
            return FailureKind.REDIRECT
        if self._is_absent():
            return FailureKind.ABSENT
        if self.is_page and status != 413 and (status is None or status < 500):
            return FailureKind.WRONG_ADDRESS
        if self._is_malformed():
            return FailureKind.MALFORMED
        if self.status is None and getattr(self.error, "body", None) is None:
            return FailureKind.TRANSIENT if self._is_lost() else FailureKind.OTHER
        kind = self._kind_of_refusal()
        is_malformed = kind is FailureKind.OTHER and isinstance(self.error, MalformedResponse)
        return FailureKind.MALFORMED if is_malformed else kind

    def _kind_of_refusal(self) -> FailureKind:
        status = self.status
        if status == 402 or "insufficient_quota" in self.codes:
            return FailureKind.NO_CREDIT
        if self._is_overflow():
            return FailureKind.OVERFLOW
        if status == 429 or "rate_limit" in self.codes or (status in (403, 503) and _ABOUT_RATE.search(self.words)):
            no_wait = self.wait_s() is None
            return FailureKind.NO_CREDIT if no_wait and _ABOUT_CREDIT.search(self.words) else FailureKind.RATE_LIMIT
        if _ABOUT_KEY.search(self.words):
            return FailureKind.REJECTED_KEY
        if status != 401 and _ABOUT_CREDIT.search(self.words):
            return FailureKind.NO_CREDIT
        if status == 503 or _ABOUT_LOADING.search(self.words):
            return FailureKind.LOADING
        if self._is_about_absent_model():
            return FailureKind.NO_MODEL
        if status in (401, 403):
            return FailureKind.REJECTED_KEY
        refused = self._kind_of_refused_part() if status not in (404, 405) or self._names_tools() else None
        if refused is not None:
            return refused
        if _ABOUT_PATH.search(self.words):
            return FailureKind.WRONG_ADDRESS
        if status in (404, 405):
            return FailureKind.NO_MODEL if re.search(r"\bmodel", self.words) else FailureKind.WRONG_ADDRESS
        if status in _TRANSIENT or (status is not None and status >= 500 and status != 501):
            return FailureKind.TRANSIENT
        return FailureKind.OTHER

    def _kind_of_refused_part(self) -> FailureKind | None:
        messages = self.sent.get("messages") or ()
        has_system = any(message.get("role") == "system" for message in messages)
        about_system = _ABOUT_SYSTEM.search(self.words)
        has_results = any(message.get("role") == "tool" for message in messages)
        if has_system and about_system and ("system" in about_system[0].lower() or not has_results):
            return FailureKind.NO_SYSTEM_ROLE
        if self._is_answer_limit():
            return FailureKind.ANSWER_LIMIT
        if self.refused_fields():
            return FailureKind.REFUSED_FIELD
        optional = "tools" in self.sent or "response_format" in self.sent
        return FailureKind.REFUSED_FIELD if optional and self.status in _REFUSALS else None

    # Kinds

    def _is_absent(self) -> bool:
        return any(
            isinstance(each, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError)
            for each in _chain(self.error)
        )

    def _is_malformed(self) -> bool:
        if isinstance(self.error, MalformedResponse):
            return getattr(self.error, "body", None) is None
        if any(isinstance(each, OutOfBounds) for each in _chain(self.error)):
            return True
        return self.status is None and isinstance(self.error, ValueError | RecursionError)

    def _is_lost(self) -> bool:
        """Return whether the request timed out or the connection was lost."""
        names = {base.__name__ for each in _chain(self.error) for base in type(each).__mro__}
        return bool(names & {"OSError", "TransportError", "APIConnectionError", "TimeoutError"})

    def _is_overflow(self) -> bool:
        status = self.status
        if status in (401, 402, 403, 404, 405) or (status is None and not self.words):
            return False
        if status == 429 or "rate_limit" in self.codes:
            return self._can_never_fit()
        if _CODES_OF_OVERFLOW.search(self.codes) or status == 413 or _ABOUT_TOO_LARGE.search(self.words):
            return True
        if self._is_answer_limit():
            return False
        return (
            bool(_ABOUT_CONTEXT.search(self.words) and _TOO_MUCH.search(self.words)) and not self._names_a_parameter()
        )

    def _can_never_fit(self) -> bool:
        """Return whether a request is larger than the limit for a period, so that waiting can't help."""
        if self.status == 413 or _ABOUT_TOO_LARGE.search(self.words):
            return True
        limit, size = _RATE.search(self.words), _REQUESTED.search(self.words)
        return limit is not None and size is not None and _integer(size[1]) > _integer(limit[1])

    def _is_answer_limit(self) -> bool:
        """Return whether only the limit of the answer is refused, because it is too high."""
        if not any(name in self.sent for name in ("max_tokens", "max_completion_tokens")):
            return False
        without_names = re.sub(r"max_\w+", "", self.words)
        return bool(_ABOUT_ANSWER_LIMIT.search(self.words)) and not _ABOUT_PROMPT.search(without_names)

    def _is_about_absent_model(self) -> bool:
        if any(code in self.codes.lower() for code in _MODEL_CODES):
            return True
        if self._names_tools() and re.search(r"support", self.words, re.IGNORECASE):
            return False
        model = str(self.sent.get("model") or "")
        if not model or model not in self.words:
            return False
        return self.status == 404 or (bool(_ABOUT_MODEL.search(self.words)) and not self._named_fields())

    def _names_tools(self) -> bool:
        return "tools" in self.sent and bool(_ABOUT_TOOLS.search(self.words))

    def _names_a_parameter(self) -> bool:
        """Return whether a sampling parameter or the form is named, so that the refusal is about that."""
        return bool(self._named_fields() - {"max_tokens", "max_completion_tokens", "tools", "stream", "model"})

    def _named_fields(self) -> frozenset[str]:
        extra = self.sent.get("extra_body")
        names = {*self.sent, *(extra if isinstance(extra, Mapping) else ())} - _NEVER_REFUSED
        spoken = f"{self.words} {getattr(self.error, 'param', '')}"
        named = {name for name in names if re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", spoken)}
        if any("reasoning_content" in message for message in self.sent.get("messages") or ()):
            named |= {"reasoning_content"} if "reasoning_content" in spoken else set()
        return frozenset(named)

    def refused_fields(self) -> frozenset[str]:
        """Return the sent fields that the refusal names, most specific first."""
        named = self._named_fields()
        if "reasoning_content" in named:
            return frozenset({"reasoning_content"})
        if self._names_tools():
            return frozenset({"tools"})
        if sampling := named - {"stream", "response_format", "tools"}:
            return sampling
        if "response_format" in self.sent and _ABOUT_FORM.search(self.words):
            return frozenset({"response_format"})
        if "stream" in self.sent and re.search(r"\bstream", self.words, re.IGNORECASE):
            return frozenset({"stream"})
        return named

    # Figures

    def limit(self) -> int | None:
        """Return the number of tokens that the refusal names as the limit, rather than as the size of the request."""
        for name, value in self.fields:
            if name in _LIMIT_FIELDS and isinstance(value, int | str) and _integer(str(value)) >= _LEAST_LIMIT:
                return _integer(str(value))
        numbers = {number for match in _NUMBERS.finditer(self.words) if (number := _matched(match)) >= _LEAST_LIMIT}
        numbers.discard(self.status or 0)
        limits = {_matched(match) for match in _LIMIT.finditer(self.words)} & numbers
        # 8,000 in the messages and 1,000 for the answer are 9,000 together.
        sums = [{one, other, one + other} for one in numbers for other in numbers if one + other in numbers]
        sums += [{each} for each in numbers if len(numbers) > 1 and each in self._sent_limits()]
        parts = set().union(*sums)
        if limits:
            limits = limits - parts or limits
            return max((limit for limit in limits if limit < max(numbers)), default=max(limits))
        others = (numbers - parts or numbers) - {max(numbers, default=0)}
        return max(others, default=None) or (min(numbers - parts, default=None) if parts else None)

    def _sent_limits(self) -> set[Any]:
        return {self.sent.get("max_tokens"), self.sent.get("max_completion_tokens")}

    def wait_s(self) -> float | None:
        """Return how long the server asks to wait. None if it doesn't say."""
        told = (*self._waits_in_headers(), *self._waits_in_body(), *self._resets_in_headers())
        return next((wait for wait in told if wait is not None and wait >= 0), None)

    def _waits_in_headers(self) -> Iterator[float | None]:
        if (milliseconds := _seconds(self.headers.get("retry-after-ms"))) is not None:
            yield milliseconds / 1000
        yield _until(self.headers.get("retry-after"))

    def _waits_in_body(self) -> Iterator[float | None]:
        for name, value in self.fields:
            if name in (
                "retry_after",
                "retryafter",
                "retrydelay",
                "retry_delay",
                "estimated_time",
                "retry_after_seconds",
            ):
                yield _seconds(value)
            elif name == "retry_after_ms":
                yield None if (milliseconds := _seconds(value)) is None else milliseconds / 1000
        for match in _WAIT.finditer(self.words):
            yield _seconds(match[1])

    def _resets_in_headers(self) -> Iterator[float | None]:
        resets = [
            (name, wait)
            for name, value in [*self.headers.items(), *((name, str(value)) for name, value in self.fields)]
            if re.fullmatch(r"(?:x-)?ratelimit-reset(?:-\w+)*|anthropic-ratelimit-\w+-reset", name)
            if (wait := _until(value)) is not None
        ]
        spent = [wait for name, wait in resets if self.headers.get(name.replace("reset", "remaining")) == "0"]
        if waits := spent or [wait for _, wait in resets]:
            yield max(waits)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _matched(match: re.Match[str]) -> int:
    """Return the number in a match: 4096, 4,096 or 4k."""
    digits, thousands = next(pair for pair in zip(match.groups()[::2], match.groups()[1::2], strict=True) if pair[0])
    return _integer(digits) * (1000 if thousands else 1)


def _integer(digits: str) -> int:
    plain = re.sub(r"\D", "", digits) if re.fullmatch(r"\d[\d\W_]*", digits.strip()) else ""
    return int(plain) if plain and len(plain) < 12 else 0


_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def _seconds(value: Any) -> float | None:
    """Return a duration such as 20, "20", "20s", "1m2.5s", "6ms" or "1.5 seconds" in seconds. None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    total, found = 0.0, False
    for number, unit in _DURATION.findall(str(value)):
        unit = unit.lower()
        factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s")) or (1 if not unit and not found else None)
        if factor is None:
            break
        total, found = total + float(number) * factor, True
    return total if found else None


def _until(value: str | None) -> float | None:
    """Return the seconds until a time: a duration, an HTTP date, an ISO time, or seconds or milliseconds since 1970."""
    if value is None or not value.strip():
        return None
    if re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", value) and float(value) > 1e9:
        moment = float(value)
        return max(0.0, (moment / 1000 if moment > 1e11 else moment) - time.time())
    if re.fullmatch(r"\s*[\d.][\d.a-zA-Z\s]*", value):
        return _seconds(value)
    try:
        moment_at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        try:
            moment_at = datetime.fromisoformat(value)
        except ValueError:
            return None
    if moment_at.tzinfo is None:
        moment_at = moment_at.replace(tzinfo=UTC)
    return max(0.0, moment_at.timestamp() - time.time())


# Our own errors


def scrubbed(text: str, secrets: Sequence[str]) -> str:
    """Return a text with the secrets masked, shortened to `_MAX_ERROR` characters."""
    text = " ".join(printable(_masked(text, secrets)).split())
    return text if len(text) <= _MAX_ERROR else text[:_MAX_ERROR] + " ..."


def _masked(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    return text


def as_llm_error(failure: Failure, *, model: str, base_url: str, has_answered: bool = False) -> LLMError:
    """Return the error of ours for a failure.

    `LLMUnreachable` means that asking again can't help: the server is absent, the key is rejected or the model is
    unknown.

    Args:
        has_answered: Whether the server has answered before. If so, a web page is treated as a temporary proxy error.
    """
    detail = failure.reason
    code = f"HTTP {failure.status}" if failure.status else failure.error_type
    match failure.kind:
        case FailureKind.REDIRECT:
            return LLMUnreachable(
                f"{base_url} redirects to {failure.location or 'another address'} ({code}). "
                "Redirects are not followed. Correct the URL."
            )
        case FailureKind.WRONG_ADDRESS if failure.is_page:
            status = f" ({code})" if failure.status else ""
            if has_answered:
                return MalformedResponse(
                    f"{base_url} sent a web page instead of an answer of the model {model!r}{status}."
                )
            return LLMUnreachable(
                f"{base_url} sent a web page{status}. It is not a model server. Correct the URL: most end in /v1."
            )
        case FailureKind.WRONG_ADDRESS:
            return LLMUnreachable(
                f"{base_url} has no chat completions ({code}: {detail}). Correct the URL: most end in /v1."
            )
        case FailureKind.NO_MODEL:
            return LLMUnreachable(
                f"{base_url} does not serve the model {model!r} ({code}: {detail}). "
                "Correct the model name, download the model, or correct the URL: most end in /v1."
            )
        case FailureKind.REJECTED_KEY:
            return LLMUnreachable(
                f"{base_url} rejected the API key ({code}: {detail}). "
                "Set OPENAI_API_KEY or client_api_key to a valid key."
            )
        case FailureKind.NO_CREDIT:
            return LLMUnreachable(f"{base_url} requires payment ({code}: {detail}).")
        case FailureKind.ABSENT:
            return LLMUnreachable(
                f"Can't connect to {base_url} for the model {model!r} ({detail}). Start the server, or correct its URL "
                "(OPENAI_BASE_URL, client_base_url or the base URL of the role)."
            )
        case FailureKind.MALFORMED:
            return MalformedResponse(f"The model {model!r} at {base_url} sent a malformed response ({detail}).")
        case _:
            return LLMError(f"The model {model!r} at {base_url} failed ({code}: {detail}).")

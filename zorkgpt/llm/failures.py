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
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from zorkgpt.errors import LLMError, LLMUnreachable, MalformedResponse, OutOfBounds
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.text import printable

_REFUSALS = {400, 415, 422, 501}
"""HTTP statuses of a server that refuses a field, even if the message doesn't name it."""
_MAX_ERROR = 500
_MAX_BODY = 20_000
"""Characters of a body that are searched for key words."""


class FailureKind(StrEnum):
    """What a failure means."""

    NO_MODEL = "no such model"
    WRONG_ADDRESS = "wrong address"
    WEB_PAGE = "web page"
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


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request."""

    kind: FailureKind
    reason: str
    """The server's own words, the name of the error, or the target of a redirect."""
    code: str
    """The HTTP status, such as `HTTP 429`, or the type of the error without a response."""
    tokens: int | None = None
    """The limit on the context (`OVERFLOW`) or the answer (`ANSWER_LIMIT`). None if the server doesn't name it."""
    fields: frozenset[str] = frozenset()
    """The refused fields (`REFUSED_FIELD`). Empty if the server names none."""
    wait_s: float | None = None
    """How long the server asks to wait. None if it doesn't say."""
    words: str = ""
    """The whole body, for the choice between forms of a refused field."""


def failure_of(error: Exception, sent: Mapping[str, Any] | None = None, *, secrets: Sequence[str] = ()) -> Failure:
    """Return what an error of the SDK, its transport or a custom client means.

    Args:
        sent: The arguments of the request. Defaults to those of a request without a prompt.
        secrets: Texts that the failure must not contain.
    """
    found = _Evidence(error, sent or {})
    kind = found.kind()
    reason = found.named.get("location", "another address") if kind is FailureKind.REDIRECT else found.reason
    return Failure(
        kind,
        scrubbed(reason, secrets),
        f"HTTP {found.status}" if found.status else type(error).__name__,
        tokens=found.limit() if kind in (FailureKind.OVERFLOW, FailureKind.ANSWER_LIMIT) else None,
        fields=found.refused_fields() if kind is FailureKind.REFUSED_FIELD else frozenset(),
        wait_s=found.wait_s(),
        words=_masked(found.words, secrets),
    )


# Reading an error

_SPOKEN = {
    *("message", "detail", "details", "msg", "error", "error_description", "errors", "reason", "title"),
    *("metadata", "raw"),
}
"""Fields with sentences for people, or with values that have such fields."""
_ECHOED = {"input", "inputs", "request", "body", "prompt", "messages", "ctx"}
"""Fields in which some servers repeat the request."""


def _body(error: Exception) -> Any:
    """Return the whole body of an error: JSON values, text, or None.

    `body` of the SDK's errors lacks what stands beside the field `error`, so the response has priority.
    """
    try:
        text = error.response.text  # type: ignore[attr-defined]
    # There may be no response, the body of a stream may not have been read, and custom clients have other responses.
    except Exception:
        text = None
    return text if isinstance(text, str) and text.strip() else getattr(error, "body", None)


def _headers(error: Exception) -> dict[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return {str(name).lower(): str(value) for name, value in headers.items()} if headers else {}
    except AttributeError:
        return {}


def _leaves(value: Any, path: tuple[str, ...] = (), depth: int = 8) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values in a body with the names of the fields around them, except those that repeat the request."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        # Some servers put the error of another one into theirs, as text.
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not depth:
        return
    if isinstance(value, list):
        for each in value[:50]:
            yield from _leaves(each, path, depth - 1)
    elif isinstance(value, dict):
        where = value.get("loc")
        for name, each in value.items():
            if name == "msg" and isinstance(where, list):
                each = f"{'.'.join(map(str, where))}: {each}"
            if name not in _ECHOED:
                yield from _leaves(each, (*path, str(name).lower()), depth - 1)
    else:
        yield path, value


def _is_page(value: Any) -> bool:
    """Return whether a text, or the text of an error in which no JSON was found, is HTML."""
    text = str(value) if isinstance(value, str | MalformedResponse) else getattr(value, "doc", None)
    return isinstance(text, str) and bool(re.match(r"\s*<(?:!doctype|html|head|body)", text, re.IGNORECASE))


def _title(page: Any) -> str:
    match = re.search(r"<title[^>]*>([^<]{1,200})</title>", page, re.IGNORECASE) if isinstance(page, str) else None
    return " ".join(match[1].split()) if match else ""


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
_WAIT_FIELDS = (
    *("retry-after-ms", "retry-after", "retry_after_ms", "retry_after", "retry_after_seconds", "retryafter"),
    *("retrydelay", "retry_delay", "estimated_time"),
)
"""Headers and fields of the body with a time to wait, the most exact first."""
_RESET = re.compile(r"(?:x-)?ratelimit-reset(?:-\w+)*|anthropic-ratelimit-\w+-reset")
_RATE = re.compile(r"\blimit\D{0,12}(\d[\d,]*)", re.IGNORECASE)
_REQUESTED = re.compile(
    r"\b(?:requested|request of|ask(?:s|ed) for|need(?:s|ed)|contains)\D{0,12}(\d[\d,]*)", re.IGNORECASE
)
_LEAST_LIMIT = 128
"""Smaller numbers in an error are no limits of tokens."""


class _Evidence:
    """What is known about a failure."""

    def __init__(self, error: Exception, sent: Mapping[str, Any]) -> None:
        self.error, self.sent = error, sent
        body = _body(error)
        leaves = list(_leaves(body))
        self.is_page = _is_page(body) or _is_page(error)
        own_words = str(error) or type(error).__name__
        if self.is_page:
            self.words = _title(body)
        else:
            self.words = " ".join(text for _, text in leaves if isinstance(text, str))[:_MAX_BODY] or own_words
        spoken = [text.strip() for path, text in leaves if isinstance(text, str) and _SPOKEN.issuperset(path)]
        sentences = [] if self.is_page else dict.fromkeys(filter(None, spoken))
        self.reason = "; ".join(sentences) or self.words or own_words
        self.fields = [(path[-1], value) for path, value in leaves if path]
        self.named = dict(reversed(self.fields)) | _headers(error)
        """The values of fields and headers by name, those of headers first."""
        statuses = [value for name, value in self.fields if name in ("code", "status", "status_code")]
        # An error within a stream, or with the status 200, has its status only in the body.
        numbers = [_integer(value) for value in (getattr(error, "status_code", None), *statuses)]
        self.status = next((number for number in numbers if 300 <= number < 600), None)
        codes = [value for name, value in self.fields if name in ("code", "type", "error_type", "status")]
        self.codes = " ".join(map(str, [*codes, getattr(error, "code", None), getattr(error, "type", None)]))

    def kind(self) -> FailureKind:
        """Return the kind in the first row that applies, the most certain first."""
        status, error, says = self.status, self.error, self._says
        has_answer = status is not None or getattr(error, "body", None) is not None
        is_rate = status == 429 or "rate_limit" in self.codes or (status in (403, 503) and says(_ABOUT_RATE))
        is_refusal = status not in (404, 405) or self._names_tools()
        rows = (
            (FailureKind.REDIRECT, status in range(300, 400)),
            (FailureKind.ABSENT, self._is_absent()),
            (FailureKind.WEB_PAGE, self.is_page and status != 413 and (status is None or status < 500)),
            (FailureKind.MALFORMED, self._is_malformed()),
            (FailureKind.TRANSIENT, not has_answer and self._is_lost()),
            (FailureKind.OTHER, not has_answer),
            (FailureKind.NO_CREDIT, status == 402 or "insufficient_quota" in self.codes),
            (FailureKind.OVERFLOW, self._is_overflow()),
            (FailureKind.NO_CREDIT, is_rate and says(_ABOUT_CREDIT) and self.wait_s() is None),
            (FailureKind.RATE_LIMIT, is_rate),
            (FailureKind.REJECTED_KEY, says(_ABOUT_KEY)),
            (FailureKind.NO_CREDIT, status != 401 and says(_ABOUT_CREDIT)),
            (FailureKind.LOADING, status == 503 or says(_ABOUT_LOADING)),
            (FailureKind.NO_MODEL, self._is_about_absent_model()),
            (FailureKind.REJECTED_KEY, status in (401, 403)),
            (FailureKind.NO_SYSTEM_ROLE, is_refusal and self._is_about_system_role()),
            (FailureKind.ANSWER_LIMIT, is_refusal and self._is_answer_limit()),
            (FailureKind.REFUSED_FIELD, is_refusal and self._is_refused_field()),
            (FailureKind.WRONG_ADDRESS, says(_ABOUT_PATH)),
            (FailureKind.NO_MODEL, status in (404, 405) and bool(re.search(r"\bmodel", self.words))),
            (FailureKind.WRONG_ADDRESS, status in (404, 405)),
            (FailureKind.TRANSIENT, status in (408, 409) or (status is not None and status >= 500 and status != 501)),
            (FailureKind.MALFORMED, isinstance(error, MalformedResponse)),
        )
        return next((kind for kind, applies in rows if applies), FailureKind.OTHER)

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(self.words))

    def _is_absent(self) -> bool:
        causes = ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError
        return any(isinstance(each, causes) for each in _chain(self.error))

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
        status, too_large = self.status, self.status == 413 or self._says(_ABOUT_TOO_LARGE)
        if status in (401, 402, 403, 404, 405) or (status is None and not self.words):
            return False
        if status == 429 or "rate_limit" in self.codes:
            # Waiting can't help if a request is larger than the limit for a period.
            limit, size = _RATE.search(self.words), _REQUESTED.search(self.words)
            return too_large or (limit is not None and size is not None and _integer(size[1]) > _integer(limit[1]))
        if _CODES_OF_OVERFLOW.search(self.codes) or too_large:
            return True
        # If a sampling parameter or the form is named, the refusal is about that.
        others = self._named_fields() - {"max_tokens", "max_completion_tokens", "tools", "stream", "model"}
        return self._says(_ABOUT_CONTEXT) and self._says(_TOO_MUCH) and not (self._is_answer_limit() or others)

    def _is_answer_limit(self) -> bool:
        """Return whether only the limit of the answer is refused, because it is too high."""
        without_names = re.sub(r"max_\w+", "", self.words)
        is_limited = any(self._sent_limits())
        return is_limited and self._says(_ABOUT_ANSWER_LIMIT) and not _ABOUT_PROMPT.search(without_names)

    def _is_about_absent_model(self) -> bool:
        if any(code in self.codes.lower() for code in _MODEL_CODES):
            return True
        if self._names_tools() and "support" in self.words.lower():
            return False
        model = str(self.sent.get("model") or "")
        is_named = bool(model) and model in self.words
        return is_named and (self.status == 404 or (self._says(_ABOUT_MODEL) and not self._named_fields()))

    def _is_about_system_role(self) -> bool:
        roles = {message.get("role") for message in self.sent.get("messages") or ()}
        about = _ABOUT_SYSTEM.search(self.words)
        return "system" in roles and about is not None and ("system" in about[0].lower() or "tool" not in roles)

    def _is_refused_field(self) -> bool:
        optional = "tools" in self.sent or "response_format" in self.sent
        return bool(self.refused_fields()) or (optional and self.status in _REFUSALS)

    def _names_tools(self) -> bool:
        return "tools" in self.sent and self._says(_ABOUT_TOOLS)

    def _named_fields(self) -> frozenset[str]:
        names = {*self.sent, *(self.sent.get("extra_body") or ())} - _NEVER_REFUSED
        if any("reasoning_content" in message for message in self.sent.get("messages") or ()):
            names.add("reasoning_content")
        spoken = f"{self.words} {getattr(self.error, 'param', '')}"
        return frozenset(name for name in names if re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", spoken))

    def refused_fields(self) -> frozenset[str]:
        """Return the sent fields that the refusal names, most specific first."""
        named = self._named_fields()
        if "reasoning_content" in named:
            return frozenset({"reasoning_content"})
        if self._names_tools():
            return frozenset({"tools"})
        if sampling := named - {"stream", "response_format", "tools"}:
            return sampling
        if "response_format" in self.sent and self._says(_ABOUT_FORM):
            return frozenset({"response_format"})
        if "stream" in self.sent and re.search(r"\bstream", self.words, re.IGNORECASE):
            return frozenset({"stream"})
        return named

    def limit(self) -> int | None:
        """Return the number of tokens that the refusal names as the limit, rather than as the size of the request."""
        for name, value in self.fields:
            if name in _LIMIT_FIELDS and _integer(value) >= _LEAST_LIMIT:
                return _integer(value)
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
        waits = [_until(self.named[name], ms=name.endswith("ms")) for name in _WAIT_FIELDS if name in self.named]
        waits += [_seconds(match[1]) for match in _WAIT.finditer(self.words)]
        resets = {name: _until(value) for name, value in self.named.items() if _RESET.fullmatch(name)}
        spent = [
            wait for name, wait in resets.items() if str(self.named.get(name.replace("reset", "remaining"))) == "0"
        ]
        waits.append(max((wait for wait in spent or resets.values() if wait is not None), default=None))
        return next((wait for wait in waits if wait is not None and wait >= 0), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _matched(match: re.Match[str]) -> int:
    """Return the number in a match: 4096, 4,096 or 4k."""
    digits, thousands = next(pair for pair in zip(match.groups()[::2], match.groups()[1::2], strict=True) if pair[0])
    return _integer(digits) * (1000 if thousands else 1)


def _integer(value: Any) -> int:
    """Return a number, or that in a text such as 4,096. 0 if it is none."""
    digits = str(value).strip() if isinstance(value, int | str) else ""
    plain = re.sub(r"\D", "", digits) if re.fullmatch(r"\d[\d\W_]*", digits) else ""
    return int(plain) if plain and len(plain) < 12 else 0


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd]?)[a-z]*", re.IGNORECASE)
_UNITS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def _seconds(text: str) -> float | None:
    """Return a duration such as 20, 20s, 1m2.5s, 6ms or 1.5 seconds in seconds. None if it is none."""
    parts = _DURATION.findall(text)
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts) if parts else None


def _until(value: Any, *, ms: bool = False) -> float | None:
    """Return the seconds until a time: a duration, an HTTP date, an ISO time, or seconds or milliseconds since 1970.

    Args:
        ms: Whether a number is in milliseconds.
    """
    text = str(value).strip()
    if re.fullmatch(r"\d+(?:\.\d*)?|\.\d+", text):
        number = float(text)
        if number > 1e9:
            return max(0.0, (number / 1000 if number > 1e11 else number) - time.time())
        return number / 1000 if ms else number
    if re.fullmatch(r"[\d.][\d.a-zA-Z\s]*", text):
        return _seconds(text)
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (TypeError, ValueError):
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - time.time())
    return None


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


_UNREACHABLE = {
    FailureKind.REDIRECT: "{url} redirects to {reason} ({code}). Redirects are not followed. Correct the URL.",
    FailureKind.WEB_PAGE: (
        "{url} sent a web page ({code}). It is not a model server. Correct the URL: most end in /v1."
    ),
    FailureKind.WRONG_ADDRESS: ("{url} has no chat completions ({code}: {reason}). Correct the URL: most end in /v1."),
    FailureKind.NO_MODEL: (
        "{url} does not serve the model {model!r} ({code}: {reason}). "
        "Correct the model name, download the model, or correct the URL: most end in /v1."
    ),
    FailureKind.REJECTED_KEY: (
        "{url} rejected the API key ({code}: {reason}). Set OPENAI_API_KEY or client_api_key to a valid key."
    ),
    FailureKind.NO_CREDIT: "{url} requires payment ({code}: {reason}).",
    FailureKind.ABSENT: (
        "Can't connect to {url} for the model {model!r} ({reason}). Start the server, or correct its URL "
        "(OPENAI_BASE_URL, client_base_url or the base URL of the role)."
    ),
}
"""The messages of failures that don't end by asking again."""


def as_llm_error(failure: Failure, *, model: str, base_url: str, has_answered: bool = False) -> LLMError:
    """Return the error of ours for a failure.

    `LLMUnreachable` means that asking again can't help: the server is absent, the key is rejected or the model is
    unknown.

    Args:
        has_answered: Whether the server has answered before. If so, a web page is treated as a temporary proxy error.
    """
    kind, code, reason = failure.kind, failure.code, failure.reason
    if kind is FailureKind.MALFORMED:
        return MalformedResponse(f"The model {model!r} at {base_url} sent a malformed response ({reason}).")
    if kind is FailureKind.WEB_PAGE and has_answered:
        return MalformedResponse(f"{base_url} sent a web page instead of an answer of the model {model!r} ({code}).")
    if kind in _UNREACHABLE:
        return LLMUnreachable(_UNREACHABLE[kind].format(url=base_url, model=model, code=code, reason=reason))
    return LLMError(f"The model {model!r} at {base_url} failed ({code}: {reason}).")


_MAX_DELAY_S = 8.0
_REPEATED = (FailureKind.TRANSIENT, FailureKind.ABSENT)


def backoff_s(settings: LLMSettings, failures: int) -> float:
    """Return the delay after this many earlier failures."""
    return min(settings.retry_delay_s * 2.0**failures, _MAX_DELAY_S)


class Retries:
    """The repetitions of one request.

    Args:
        max_retries: Maximum repetitions after time-outs, lost connections and errors of the server.
    """

    def __init__(self, settings: LLMSettings, max_retries: int) -> None:
        self._settings = settings
        self._max_retries = max_retries
        self._waits: dict[FailureKind, list[float]] = {}
        self.repeats = 0
        """How often the request was sent again after a failure other than a wait that the server asked for."""

    def delay_s(self, failure: Failure) -> float | None:
        """Return the time until the request is sent again. None if it isn't."""
        kind = failure.kind
        waits = self._waits.setdefault(kind, [])
        grown = backoff_s(self._settings, len(waits))
        if kind is FailureKind.LOADING or (kind is FailureKind.RATE_LIMIT and failure.wait_s is not None):
            # A server that is wrong about the time is not asked ever more often.
            delay = grown if failure.wait_s is None else max(failure.wait_s, grown if waits else 0)
            is_loading = kind is FailureKind.LOADING
            patience = self._settings.loading_wait_s if is_loading else self._settings.rate_limit_wait_s
            if sum(waits) + delay > patience:
                return None
        elif kind in (*_REPEATED, FailureKind.RATE_LIMIT) and self.repeats < self._max_retries:
            self.repeats += 1
            delay = grown if failure.wait_s is None else min(failure.wait_s, self._settings.loading_wait_s)
        else:
            return None
        waits.append(delay)
        return delay

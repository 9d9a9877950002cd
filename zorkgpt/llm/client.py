"""The client for models on servers with OpenAI's chat-completions API."""

import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

from pydantic import BaseModel, SecretStr

from zorkgpt import telemetry
from zorkgpt.errors import (
    BudgetExceeded,
    ConfigurationError,
    InvalidAnswer,
    LLMError,
    LLMUnreachable,
    MalformedResponse,
)
from zorkgpt.extras import require
from zorkgpt.llm import wire
from zorkgpt.llm.background_work import asked_for
from zorkgpt.llm.connection import connect_openai
from zorkgpt.llm.failures import Failure, FailureKind, Retries, as_llm_error, backoff_s, failure_of, scrubbed
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.llm.structured import ask_for, with_value
from zorkgpt.llm.tools import Toolbox
from zorkgpt.llm.usage import CallRecord, Ledger, cost_of, estimated, price_of
from zorkgpt.log import get_logger
from zorkgpt.timeouts import with_timeout

log = get_logger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
_RETRY_LIMIT_FACTOR = 4
_CHECK_TOKENS = 16
_LEAST_ANNOUNCED_S = 2.0
_WAITS_FOR = {
    FailureKind.LOADING: "the server is loading the model",
    FailureKind.RATE_LIMIT: "the server limits the rate of requests",
}
"""The waits that are shown to the user, in words."""

Connect = Callable[[str, SecretStr | None, LLMSettings], Any]
"""Creates a client with the interface of the OpenAI SDK for a base URL."""
Endpoint = tuple[str, str]
"""Base URL and model."""
Reader = Callable[[Completion, wire.RequestForm], bool]
"""Returns whether an answer has what its role expects."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model that has answered a check."""

    base_url: str
    model: str
    roles: tuple[Role, ...]
    listed: tuple[str, ...] | None
    """The models that the server lists. None if it has no list."""
    dialect: wire.Dialect = field(default_factory=wire.Dialect)
    """The parameters that the server accepts."""
    spent: tuple[int, float] = field(default=(0, 0.0), compare=False)
    """The tokens and the cost of the check."""


class _Ready(BaseModel):
    """The form of the answer to a check."""

    ready: bool


class LLMClient:
    """An `LLM` with a model, server and sampling for each role. It counts usage and failures.

    Thread-safe.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        on_call: Callable[[CallRecord], None] | None = None,
        connect: Connect | None = None,
        known: Iterable[ModelStatus] = (),
        observer: CurrentCall | None = None,
        readers: Mapping[Role, Reader] | None = None,
    ) -> None:
        """
        Args:
            on_call: Called after every request with its prompt and answer. Records never contain a key.
            connect: Creates connections. Defaults to the OpenAI SDK.
            known: Results of an earlier check. Its tokens count against the ceilings.
            observer: Notified of each call while it runs, except in background work. If given, answers are streamed if
                the server supports it.
            readers: Tells whether an answer in words is understood, for roles that expect something in it.

        Raises:
            ConfigurationError: If there is a ceiling on cost but a model has no price, or the SDK is not installed.
        """
        if connect is None:
            require("model")
        self.settings = settings
        self.usage = Ledger(settings)
        self._on_call = on_call
        self._connect = connect or connect_openai
        # A client of the user's repeats requests by itself.
        self._max_retries = settings.max_retries if connect is None else 0
        self._foreground, self._background = observer or CurrentCall(), CurrentCall()
        self._readers = readers or {}
        self._streams = observer is not None
        self._connections: dict[str, Any] = {}
        self._dialects = {(status.base_url, status.model): status.dialect for status in known}
        self._lock = RLock()
        self._limits: dict[Role, int] = {}
        """The limits of the answers of roles that needed more than the configured ones."""
        self._failures: dict[Endpoint, int] = {}
        """Consecutive failed calls."""
        self._answered = set(self._dialects)
        self._reported: set[Endpoint] = set()
        """Servers that send answers as reasoning, which was reported."""
        for status in known:
            self.usage.add_spent(*status.spent)

    def complete(
        self,
        messages: list[Message],
        *,
        role: Role,
        response_model: type[Answer] | None = None,
        tools: Toolbox | None = None,
    ) -> Completion:
        """Ask the model of this role.

        Raises:
            LLMUnreachable: If the server is absent, rejects the key or the model, or failed too many times in a row.
            BudgetExceeded: If an earlier call reached a ceiling.
            InvalidAnswer: If two answers in a row are unusable.
            LLMError: If this call failed. A later one may succeed.
        """
        form = response_model or tools
        return ask_for(lambda question: self._ask(question, role, form), messages, response_model)

    def base_url(self, role: Role) -> str:
        """Return the base URL of the server of a role.

        Raises:
            ConfigurationError: If it contains a password, which the SDK's transport would log.
        """
        own = self.settings.of(role).base_url
        url = own or self.settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        if "@" in url:
            raise ConfigurationError(
                f"The URL of the role {str(role)!r} contains a user name or password, which would appear in logs. "
                "Remove it, and set the key as OPENAI_API_KEY or client_api_key."
            )
        return url.rstrip("/")

    def check(self) -> tuple[ModelStatus, ...]:
        """Check that every configured model answers.

        Each gets a short request for a typed answer, which also determines the dialect of its server.

        Raises:
            LLMUnreachable: If a model doesn't answer.
            BudgetExceeded: If a ceiling is reached.
        """
        roles: dict[Endpoint, list[Role]] = {}
        for role in self.settings.roles:
            roles.setdefault(self._endpoint(role), []).append(role)
        return tuple(self._check(*endpoint, tuple(served)) for endpoint, served in roles.items())

    def _check(self, base_url: str, model: str, roles: tuple[Role, ...]) -> ModelStatus:
        tokens, cost = self.usage.spent
        try:
            listed = wire.listed_models(self._connection(roles[0]))
        except ConfigurationError:
            raise
        except Exception as error:
            raise self._failed(roles[0], failure_of(error, secrets=self._secrets())) from None
        told = wire.served_context(self._connection(roles[0]), base_url, model, listed or {})
        if told is not None:
            self._dialects[base_url, model] = wire.Dialect(context_length=told)
        try:
            self._call([Message("user", "Are you ready?")], roles[0], _Ready, _CHECK_TOKENS)
        except BudgetExceeded:
            raise
        except LLMError as error:
            models = f"The server lists: {', '.join(sorted(listed))}." if listed else "The server lists no models."
            raise LLMUnreachable(f"{error} {models}") from None
        names = None if listed is None else tuple(sorted(listed))
        now_tokens, now_cost = self.usage.spent
        spent = now_tokens - tokens, now_cost - cost
        return ModelStatus(base_url, model, roles, names, self._dialect((base_url, model)), spent)

    def _ask(self, messages: list[Message], role: Role, form: wire.RequestForm) -> Completion:
        configured = self.settings.of(role).max_tokens
        limit = self._limits.get(role, configured)
        try:
            raw = self._call(messages, role, form, limit)
        except MalformedResponse as error:
            log.warning("malformed response, asking again", extra={"role": str(role), "problem": str(error)})
            raw = self._call(messages, role, form, limit)
        if raw.tokens_at_early_end is not None:
            raw = self._ask_with_room(raw, messages, role, form, limit)
        dialect = self._dialect(self._endpoint(role))
        if raw.truncated and not raw.reasoning and isinstance(form, type) and dialect.may_bound:
            # Small models don't end strings and lists that nothing limits.
            self._adopt(self._endpoint(role), replace(dialect, bounds=True))
            raw = self._call(messages, role, form, limit)
        # Longer answers in words don't end by themselves.
        needs_more = raw.truncated and (raw.is_empty or raw.reasoning or raw.tool_calls or isinstance(form, type))
        if needs_more or raw.is_empty:
            more = configured * _RETRY_LIMIT_FACTOR if configured and raw.truncated else limit
            log.info("model answer truncated or empty, asking again", extra={"role": str(role), "max_tokens": more})
            try:
                raw = self._call(messages, role, form, more)
            except (LLMUnreachable, BudgetExceeded):
                raise
            except LLMError as error:
                # Some servers reject a limit beyond their context window. Keep the first answer.
                log.warning("second request failed", extra={"role": str(role), "problem": str(error)})
            else:
                if more and not raw.truncated and not raw.is_empty:
                    self._limits[role] = more
        if raw.is_empty:
            raise InvalidAnswer(self._empty_answer_message(role, raw))
        if isinstance(form, type) and raw.problem is not None:
            self._check_schema(self._endpoint(role), raw, form)
        return replace(raw, context_length=self._dialect(self._endpoint(role)).context_length)

    def _ask_with_room(
        self, raw: Completion, messages: list[Message], role: Role, form: wire.RequestForm, limit: int | None
    ) -> Completion:
        """Learn from an answer that was cut off below its limit, and ask again.

        The context is full, so its length is the sum of the prompt and the answer. If an answer to a shortened prompt
        is cut off at the same length, the server has a lower limit for answers instead.
        """
        endpoint = self._endpoint(role)
        before, tokens = self._dialect(endpoint), raw.tokens_at_early_end or 0
        shorter = wire.with_context(before, (raw.usage.prompt_tokens or 0) + tokens, raw.limit or 0)
        if shorter is None:
            return raw
        log.info("answer cut off below its limit, shortening the prompt", extra={"tokens": shorter.context_length})
        self._adopt(endpoint, shorter)
        again = self._call(messages, role, form, limit)
        if again.tokens_at_early_end is not None and abs(again.tokens_at_early_end - tokens) <= 1:
            self._adopt(endpoint, replace(before, max_answer=tokens))
        return again

    def _empty_answer_message(self, role: Role, raw: Completion) -> str:
        name = f"The model {self.settings.of(role).model!r} at {self.base_url(role)}"
        if raw.truncated:
            return f"{name} reached its token limit before it answered. Raise max_tokens of the role {str(role)!r}."
        return f"{name} sent an empty answer twice: {raw.problem}."

    def _check_schema(self, endpoint: Endpoint, answer: Completion, model: type[BaseModel]) -> None:
        """Put the schema into the prompt from now on if the answer shows that the server ignores it in the request."""
        dialect = self._dialect(endpoint)
        if not answer.truncated and dialect.form.carries_schema and wire.ignores_schema(answer.content, model):
            self._adopt(endpoint, replace(dialect, form=wire.AnswerForm.JSON_OBJECT))

    def _dialect(self, endpoint: Endpoint) -> wire.Dialect:
        return self._dialects.get(endpoint, wire.Dialect())

    def _adopt(self, endpoint: Endpoint, dialect: wire.Dialect) -> None:
        if dialect != self._dialect(endpoint):
            log.info("server rejected parameters", extra={"model": endpoint[1], "now": str(dialect)})
            self._dialects[endpoint] = dialect

    def _call(self, messages: list[Message], role: Role, form: wire.RequestForm, limit: int | None) -> Completion:
        self.usage.check_ceiling()
        endpoint, observer, episode = self._endpoint(role), self._observer, self.usage.episode
        if failures := self._failures.get(endpoint):
            time.sleep(backoff_s(self.settings, failures - 1))
        started, retries = time.monotonic(), Retries(self.settings, self._max_retries)
        observer.call_began(role, endpoint[1])
        try:
            with telemetry.model_call(role, endpoint[1], endpoint[0], messages) as answered:
                raw = self._negotiate(messages, role, form, limit, retries)
                answered(raw)
        except LLMError as error:
            self._record(role, messages, Completion(""), started, episode, retries, error)
            raise
        finally:
            observer.call_ended()
        if raw.in_reasoning:
            self._report_reasoning(endpoint)
        raw = self._judged(raw, role, form)
        self._record(role, messages, raw, started, episode, retries)
        return raw

    def _report_reasoning(self, endpoint: Endpoint) -> None:
        """Tell the user once that the server sends answers as reasoning."""
        if endpoint not in self._reported:
            self._reported.add(endpoint)
            message = (
                f"{endpoint[0]} sends the answers of the model {endpoint[1]!r} as reasoning. They are read from there. "
                "To correct it, switch off the reasoning parser of the server (llama.cpp: --reasoning-format none, "
                "vLLM: without --reasoning-parser) or the model's reasoning."
            )
            log.warning(message)
            self._foreground.notify(message)

    def _judged(self, raw: Completion, role: Role, form: wire.RequestForm) -> Completion:
        """Return the answer with its typed value, or with the problem if it is not understood."""
        if isinstance(form, type):
            return with_value(raw, form)
        understands = self._readers.get(role)
        is_understood = raw.problem is not None or understands is None or understands(raw, form)
        return raw if is_understood else replace(raw, problem="it has none of the expected parts")

    def _negotiate(
        self, messages: list[Message], role: Role, form: wire.RequestForm, limit: int | None, retries: Retries
    ) -> Completion:
        """Send the request until it is answered. Leave out what the server refuses, and wait if it asks for that."""
        role_settings, endpoint = self.settings.of(role), self._endpoint(role)
        known = dialect = self._dialect(endpoint)
        # Importing the SDK may take seconds, which don't count.
        self._connection(role)
        ends = time.monotonic() + self.settings.deadline_s
        while True:
            arguments = wire.request(role_settings, messages, dialect, limit=limit, form=form, stream=self._streams)
            try:
                response = self._send(role, arguments, ends)
            except ConfigurationError:
                raise
            # The SDK, its transport or a custom client may raise anything. `from None`, because their exceptions
            # contain the request with the key.
            except Exception as error:
                failure = failure_of(error, arguments, secrets=self._secrets())
                change = wire.adapted(dialect, arguments, failure)
                if change is not None:
                    dialect = change
                elif "stream" in arguments and self._hides_reason(error, endpoint):
                    dialect = replace(dialect, stream=False)
                elif not self._wait(failure, retries, ends):
                    raise self._failed(role, failure) from None
                continue
            # If unchanged, keep the dialect that another thread may have adopted meanwhile.
            if dialect != known:
                self._adopt(endpoint, dialect)
            self._failures[endpoint] = 0
            self._answered.add(endpoint)
            raw = wire.read(response, arguments)
            if raw.usage.prompt_tokens is None or raw.usage.completion_tokens is None:
                raw = replace(raw, usage=estimated(messages, raw.content + raw.reasoning))
            return raw if raw.problem is None else replace(raw, problem=scrubbed(raw.problem, self._secrets()))

    @property
    def _observer(self) -> CurrentCall:
        """The observer of the present call. Nobody sees the one of background work."""
        return self._foreground if asked_for() is None else self._background

    def _hides_reason(self, error: Exception, endpoint: Endpoint) -> bool:
        """Return whether the same request may be answered as a whole, or refused with a reason."""
        is_malformed = isinstance(error, MalformedResponse) and getattr(error, "body", None) is None
        return isinstance(error, wire.BrokenStream) or (is_malformed and endpoint not in self._answered)

    def _wait(self, failure: Failure, retries: Retries, ends: float) -> bool:
        """Wait until the request can be sent again. Return whether it can."""
        delay = retries.delay_s(failure)
        if delay is None or time.monotonic() + delay >= ends:
            return False
        if failure.kind in _WAITS_FOR:
            self._observer.waiting(_WAITS_FOR[failure.kind], delay)
            log.info("waiting for the server", extra={"reason": failure.reason, "seconds": round(delay, 1)})
            if delay >= _LEAST_ANNOUNCED_S:
                self._foreground.notify(f"{_WAITS_FOR[failure.kind]}: asking again in {delay:.0f} s ({failure.reason})")
        else:
            log.warning("request failed, sending it again", extra={"reason": failure.reason, "retry": retries.repeats})
        time.sleep(delay)
        if failure.kind not in _WAITS_FOR:
            self._observer.retry_began(retries.repeats, self.settings.max_retries, self.settings.timeout_s)
        return True

    def _send(self, role: Role, arguments: dict[str, Any], ends: float) -> Any:
        create, observer = self._connection(role).chat.completions.create, self._observer

        def answered() -> Any:
            response = wire.joined(create(**arguments), observer.tokens_received)
            wire.check_completion(response)
            return response

        try:
            return with_timeout(max(0.0, ends - time.monotonic()), answered)
        except TimeoutError:
            raise TimeoutError(f"no complete answer within {self.settings.deadline_s} s") from None

    def _connection(self, role: Role) -> Any:
        base_url = self.base_url(role)
        with self._lock:
            if base_url not in self._connections:
                self._connections[base_url] = self._connect(base_url, self._key(), self.settings)
            return self._connections[base_url]

    def _failed(self, role: Role, failure: Failure) -> LLMError:
        endpoint = self._endpoint(role)
        with self._lock:
            self._failures[endpoint] = failures = self._failures.get(endpoint, 0) + 1
        ours = as_llm_error(failure, model=endpoint[1], base_url=endpoint[0], has_answered=endpoint in self._answered)
        if isinstance(ours, LLMUnreachable) or failures < self.settings.max_failures:
            return ours
        return LLMUnreachable(f"{failures} calls in a row failed. The last error: {ours}")

    def _record(
        self,
        role: Role,
        messages: list[Message],
        answer: Completion,
        started: float,
        episode: str,
        retries: Retries,
        error: LLMError | None = None,
    ) -> None:
        model, usage = self.settings.of(role).model, answer.usage
        record = CallRecord(
            role=role,
            model=model,
            messages=tuple(messages),
            answer=answer.content,
            reasoning=answer.reasoning,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost=cost_of(usage, price_of(model, self.settings.prices)),
            latency_s=round(time.monotonic() - started, 6),
            error=str(error) if error else None,
            cached_tokens=usage.cached_tokens,
            truncated=answer.truncated,
            context_length=self._dialect(self._endpoint(role)).context_length,
            tool_calls=answer.tool_calls,
            repeats=retries.repeats,
            is_estimated=usage.is_estimated,
            problem=answer.problem,
            clipped=answer.clipped,
        )
        with self.usage.lock:
            self.usage.add(record, episode=episode)
            if self._on_call:
                self._on_call(record)

    def _endpoint(self, role: Role) -> Endpoint:
        return self.base_url(role), self.settings.of(role).model

    def _key(self) -> SecretStr | None:
        key = self.settings.api_key or os.environ.get("OPENAI_API_KEY")
        return SecretStr(key) if isinstance(key, str) else key

    def _secrets(self) -> list[str]:
        key = self._key()
        return [key.get_secret_value()] if key else []


def as_llm(
    client: Any,
    *,
    model: str | None = None,
    settings: LLMSettings | None = None,
    on_call: Callable[[CallRecord], None] | None = None,
) -> LLM:
    """Return the client itself if it is an `LLM`, or wrap a client with the interface of the OpenAI SDK.

    Args:
        model: The model for every role. Ignored if `settings` are given.

    Raises:
        ConfigurationError: If it is neither, or no model is given.
    """
    if callable(getattr(client, "complete", None)):
        llm: LLM = client
        return llm
    if not hasattr(getattr(getattr(client, "chat", None), "completions", None), "create"):
        raise ConfigurationError(
            f"{type(client).__name__} is not a model client: it has neither complete() nor chat.completions.create(). "
            "Pass a client with the interface of the OpenAI SDK, such as openai.OpenAI(), or an LLMClient."
        )
    if inspect.iscoroutinefunction(inspect.unwrap(client.chat.completions.create)):
        raise ConfigurationError(
            f"{type(client).__name__} is asynchronous, but the memory asks in its own thread. Pass the synchronous "
            "client with the same arguments (OpenAI for AsyncOpenAI). AsyncMemory doesn't block the event loop."
        )
    if settings is None:
        if not model:
            raise ConfigurationError(f"Name the model for {type(client).__name__}: pass model= or settings=.")
        key = getattr(client, "api_key", None)
        base_url = str(getattr(client, "base_url", "")) or type(client).__name__
        settings = LLMSettings.single(model, base_url=base_url, api_key=key if isinstance(key, str) else None)
    return LLMClient(settings, on_call=on_call, connect=lambda *_: client)

"""OpenTelemetry spans and metrics of model calls and the memory. Nothing is recorded before `switch_on`.

Names, attributes and units follow OpenTelemetry's semantic conventions for generative AI.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar
from urllib.parse import urlsplit

from zorkgpt.extras import missing_extra
from zorkgpt.log import get_logger

# OpenTelemetry is in the optional extra `otel`, so it is imported on use.
if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

log = get_logger(__name__)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
MemoryOperation = Literal["remember", "recall", "search", "update", "supersede", "invalidate", "delete", "reset"]

_CONVENTIONAL: dict[MemoryOperation, str] = {
    "remember": "upsert_memory",
    "recall": "search_memory",
    "search": "search_memory",
    "update": "update_memory",
    "supersede": "update_memory",
    "invalidate": "update_memory",
    "delete": "delete_memory",
    "reset": "delete_memory",
}
"""The name of an operation in the conventions. A span's name contains both."""
_DURATION_BUCKETS_S = [0.01 * 2**power for power in range(14)]
_TOKEN_BUCKETS = [4**power for power in range(14)]
_PORTS = {"http": 80, "https": 443}


Answered = Callable[..., None]
"""Records the answer to a model call: `answered(content, input_tokens, output_tokens, truncated=...)`.

Token counts are None if not reported.
"""


def switch_on(
    *,
    content: bool = False,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
) -> bool:
    """Record spans and metrics from now on. Return False if opentelemetry-api is not installed.

    Args:
        content: Whether spans include prompts, answers, search queries and memories.
        tracer_provider: Receives the spans. Defaults to OpenTelemetry's global provider.
        meter_provider: Receives the metrics. Defaults to the global provider.
    """
    global _recorder
    try:
        from opentelemetry import metrics, trace
    except ModuleNotFoundError as error:
        log.warning(str(missing_extra("otel", error.name)))
        return False
    tracer = trace.get_tracer("zorkgpt", tracer_provider=tracer_provider)
    _recorder = _Recorder(tracer, metrics.get_meter("zorkgpt", meter_provider=meter_provider), content=content)
    return True


def switch_off() -> None:
    """Stop recording."""
    global _recorder
    _recorder = None


@contextmanager
def model_call(role: str, model: str, base_url: str, messages: Iterable[Any]) -> Iterator[Answered]:
    """Record a model call. The context yields a function that records the answer."""
    recorder = _recorder
    if recorder is None:
        yield _unrecorded
        return
    with recorder.model_call(role, model, base_url, messages) as answered:
        yield answered


@contextmanager
def memory_operation(operation: MemoryOperation, place: object, *texts: str) -> Iterator[None]:
    """Record this context as an operation of the memory.

    Args:
        place: The key of the place. Text, such as a URL, is treated as content.
        texts: The texts of the memories.
    """
    recorder = _recorder
    if recorder is None:
        yield
        return
    with recorder.memory_operation(operation, place) as span:
        recorder.record_texts(span, texts)
        yield


def traced(
    operation: MemoryOperation, shown: Callable[[Any], list[str]] = lambda result: []
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Record each call of a method as an operation of the memory.

    Args:
        shown: Returns the texts in the method's result.
    """

    def decorate(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(method)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            recorder = _recorder
            if recorder is None:
                return method(*args, **kwargs)
            arguments = [*args[1:], *kwargs.values()]
            is_search = operation == "search"
            with recorder.memory_operation(operation, arguments[0] if arguments and not is_search else None) as span:
                if is_search and recorder.content:
                    span.set_attribute("gen_ai.memory.query.text", str(arguments[0]))
                result = method(*args, **kwargs)
                if isinstance(result, bool):
                    span.set_attribute("zorkgpt.memory.changed", result)
                elif isinstance(result, list):
                    span.set_attribute("gen_ai.memory.record.count", len(result))
                texts = [text for each in arguments if isinstance(text := getattr(each, "text", None), str)]
                recorder.record_texts(span, [*texts, *shown(result)])
                return result

        return call

    return decorate


class _Recorder:
    """Creates the spans and the instruments of the metrics."""

    def __init__(self, tracer: "Tracer", meter: "Meter", *, content: bool) -> None:
        self.content = content
        self._tracer = tracer
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_DURATION_BUCKETS_S,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        )

    @contextmanager
    def model_call(self, role: str, model: str, base_url: str, messages: Iterable[Any]) -> Iterator[Answered]:
        measured = {
            "gen_ai.operation.name": "chat",
            # The API, whoever serves it. `server.address` names the server.
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
            **_server(base_url),
        }
        with self._operation(f"chat {model}", measured, {"zorkgpt.role": role}, is_remote=True) as span:
            if self.content:
                asked = [_message(each.speaker, each.content) for each in messages]
                span.set_attribute("gen_ai.input.messages", json.dumps(asked, ensure_ascii=False))

            def answered(content: str, input_tokens: int | None, output_tokens: int | None, *, truncated: bool) -> None:
                reason = "length" if truncated else "stop"
                span.set_attribute("gen_ai.response.finish_reasons", [reason])
                for kind, count in (("input", input_tokens), ("output", output_tokens)):
                    if count is not None:
                        span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
                        self._tokens.record(count, measured | {"gen_ai.token.type": kind})
                if self.content:
                    answer = [_message("assistant", content) | {"finish_reason": reason}]
                    span.set_attribute("gen_ai.output.messages", json.dumps(answer, ensure_ascii=False))

            yield answered

    @contextmanager
    def memory_operation(self, operation: MemoryOperation, place: object) -> Iterator["Span"]:
        name = _CONVENTIONAL[operation]
        where: dict[str, Any] = {"zorkgpt.memory.location_id": place} if isinstance(place, int) else {}
        if isinstance(place, str) and self.content:
            where = {"zorkgpt.memory.place": place}
        with self._operation(f"{name} {operation}", {"gen_ai.operation.name": name}, where, is_remote=False) as span:
            yield span

    def record_texts(self, span: "Span", texts: Iterable[str]) -> None:
        """Add the texts of memories to a span if content is recorded."""
        records = [{"content": text} for text in texts] if self.content else []
        if records:
            span.set_attribute("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))

    @contextmanager
    def _operation(
        self, name: str, measured: dict[str, Any], further: dict[str, Any], *, is_remote: bool
    ) -> Iterator["Span"]:
        """Create a span and measure its duration.

        Args:
            measured: Attributes of the span and of its duration.
            further: Attributes of the span only.
        """
        from opentelemetry.trace import SpanKind, StatusCode

        kind, failed = SpanKind.CLIENT if is_remote else SpanKind.INTERNAL, {}
        started = time.perf_counter()
        # Without the exception, because its message may contain text of the prompt.
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=measured | further, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                failed = {"error.type": type(error).__name__}
                span.set_attributes(failed)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                self._durations.record(time.perf_counter() - started, measured | failed)


def _unrecorded(content: str, input_tokens: int | None, output_tokens: int | None, *, truncated: bool) -> None:
    pass


def _message(speaker: str, content: str) -> dict[str, Any]:
    return {"role": speaker, "parts": [{"type": "text", "content": content}]}


def _server(base_url: str) -> dict[str, str | int]:
    """Return address and port. Empty if unknown, as with a client passed by the caller."""
    try:
        parts = urlsplit(base_url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return {}
    if parts.hostname is None or port is None:
        return {}
    return {"server.address": parts.hostname, "server.port": port}


_recorder: _Recorder | None = None
"""None if switched off."""

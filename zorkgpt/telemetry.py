"""OpenTelemetry spans and metrics of model calls and the memory. Nothing is recorded before `switch_on`.

Names, attributes and units follow OpenTelemetry's semantic conventions for generative AI.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar
from urllib.parse import urlsplit

from zorkgpt.extras import missing_extra
from zorkgpt.log import get_logger

# OpenTelemetry is in the optional extra `otel`, so it is imported on use.
if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
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


Answered = Callable[[Any], None]
"""Records the `Completion` of a model call, with the numbers of tokens if the server reported them."""


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Where spans and metrics go."""

    tracer: "Tracer"
    durations: "Histogram"
    tokens: "Histogram"
    content: bool
    """Whether texts are recorded."""


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
    meter = metrics.get_meter("zorkgpt", meter_provider=meter_provider)
    durations = meter.create_histogram(
        "gen_ai.client.operation.duration",
        unit="s",
        description="GenAI operation duration.",
        explicit_bucket_boundaries_advisory=_DURATION_BUCKETS_S,
    )
    tokens = meter.create_histogram(
        "gen_ai.client.token.usage",
        unit="{token}",
        description="Number of input and output tokens used.",
        explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
    )
    _recorder = _Recorder(trace.get_tracer("zorkgpt", tracer_provider=tracer_provider), durations, tokens, content)
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
        yield lambda completion: None
        return
    measured = {
        "gen_ai.operation.name": "chat",
        # The API, whoever serves it. `server.address` names the server.
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
        **_server(base_url),
    }
    with _operation(recorder, f"chat {model}", measured, {"zorkgpt.role": role}, is_remote=True) as span:
        if recorder.content:
            asked = [_message(each.speaker, each.content) for each in messages]
            span.set_attribute("gen_ai.input.messages", json.dumps(asked, ensure_ascii=False))

        def answered(completion: Any) -> None:
            reason, usage = "length" if completion.truncated else "stop", completion.usage
            span.set_attribute("gen_ai.response.finish_reasons", [reason])
            for kind, count in (("input", usage.prompt_tokens), ("output", usage.completion_tokens)):
                if count is not None and not usage.is_estimated:
                    span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
                    recorder.tokens.record(count, measured | {"gen_ai.token.type": kind})
            if recorder.content:
                answer = [_message("assistant", completion.content) | {"finish_reason": reason}]
                span.set_attribute("gen_ai.output.messages", json.dumps(answer, ensure_ascii=False))

        yield answered


@contextmanager
def memory_operation(operation: MemoryOperation, place: object, *texts: str) -> Iterator["Span | None"]:
    """Record this context as an operation of the memory. Yields its span, or None if nothing is recorded.

    Args:
        place: The key of the place. Text, such as a URL, is treated as content.
        texts: The texts of the memories.
    """
    recorder = _recorder
    if recorder is None:
        yield None
        return
    name = _CONVENTIONAL[operation]
    where: dict[str, Any] = {"zorkgpt.memory.location_id": place} if isinstance(place, int) else {}
    if isinstance(place, str) and recorder.content:
        where = {"zorkgpt.memory.place": place}
    measured = {"gen_ai.operation.name": name}
    with _operation(recorder, f"{name} {operation}", measured, where, is_remote=False) as span:
        _record_texts(recorder, span, texts)
        yield span


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
            arguments, is_search = [*args[1:], *kwargs.values()], operation == "search"
            with memory_operation(operation, arguments[0] if arguments and not is_search else None) as span:
                assert span is not None
                if is_search and recorder.content:
                    span.set_attribute("gen_ai.memory.query.text", str(arguments[0]))
                result = method(*args, **kwargs)
                if isinstance(result, bool):
                    span.set_attribute("zorkgpt.memory.changed", result)
                elif isinstance(result, list):
                    span.set_attribute("gen_ai.memory.record.count", len(result))
                texts = [text for each in arguments if isinstance(text := getattr(each, "text", None), str)]
                _record_texts(recorder, span, [*texts, *shown(result)])
                return result

        return call

    return decorate


@contextmanager
def _operation(
    recorder: _Recorder, name: str, measured: dict[str, Any], further: dict[str, Any], *, is_remote: bool
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
    with recorder.tracer.start_as_current_span(
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
            recorder.durations.record(time.perf_counter() - started, measured | failed)


def _record_texts(recorder: _Recorder, span: "Span", texts: Iterable[str]) -> None:
    """Add the texts of memories to a span if content is recorded."""
    records = [{"content": text} for text in texts] if recorder.content else []
    if records:
        span.set_attribute("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))


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

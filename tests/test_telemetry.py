"""Tests of OpenTelemetry data, with in-memory exporters."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from benchmarks.frames import Answers, Settings, answer
from tests.fixtures.chat_server import Answer, ChatServer, Status
from zorkgpt import telemetry
from zorkgpt.errors import LLMError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory, ZMachineContext

PAGE = Path(__file__).resolve().parents[1] / "docs" / "telemetry.md"
QUESTION = [Message("system", "You play."), Message("user", "a secret question")]
HALL = 5, "Hall"


class Recorded:
    """Exported spans and metrics."""

    def __init__(self) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def points(self, metric: str) -> list:
        data = self._reader.get_metrics_data()
        found = [] if data is None else data.resource_metrics[0].scope_metrics[0].metrics
        return [point for each in found if each.name == metric for point in each.data.data_points]

    @property
    def text(self) -> str:
        return "".join(span.to_json() for span in self.spans)


@pytest.fixture
def recorded():
    recorded = Recorded()
    assert telemetry.switch_on(tracer_provider=recorded.tracers, meter_provider=recorded.meters)
    yield recorded
    telemetry.switch_off()


@pytest.fixture
def with_content(recorded) -> Recorded:
    telemetry.switch_on(content=True, tracer_provider=recorded.tracers, meter_provider=recorded.meters)
    return recorded


def note(title: str, text: str, persistence: str = "permanent") -> Memory:
    return Memory("NOTE", title, 1, "1", 0, text, persistence)


def ask(server: ChatServer) -> None:
    LLMClient(LLMSettings.single(server.model, base_url=server.url, max_retries=0)).complete(QUESTION, role="critic")


def test_model_call_is_a_span(recorded):
    with ChatServer(Answer("a secret answer")) as server:
        ask(server)
    [span] = recorded.spans
    port = int(re.search(r":(\d+)/", server.url)[1])
    host = re.search(r"//([^:]+):", server.url)[1]
    assert (span.name, span.kind.name, span.status.status_code.name) == ("chat test-model", "CLIENT", "UNSET")
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "test-model",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "server.address": host,
        "server.port": port,
        "zorkgpt.role": "critic",
    }
    assert "secret" not in recorded.text


def test_tokens_and_durations_are_histograms(recorded):
    with ChatServer(lambda asked: Answer("hello")) as server:
        ask(server)
        ask(server)
    tokens = {point.attributes["gen_ai.token.type"]: point for point in recorded.points("gen_ai.client.token.usage")}
    assert {kind: (point.count, point.sum) for kind, point in tokens.items()} == {"input": (2, 20), "output": (2, 10)}
    assert tokens["input"].explicit_bounds == tuple(4**power for power in range(14))
    [duration] = recorded.points("gen_ai.client.operation.duration")
    assert (duration.count, duration.attributes["gen_ai.request.model"]) == (2, "test-model")
    assert duration.explicit_bounds[:3] == (0.01, 0.02, 0.04)


def test_missing_token_counts_are_not_invented(recorded):
    with ChatServer(Answer("hello", usage=None)) as server:
        ask(server)
    [span] = recorded.spans
    assert not [name for name in span.attributes if "usage" in name]
    assert recorded.points("gen_ai.client.token.usage") == []


def test_failed_call_has_an_error_type_without_message(recorded):
    with ChatServer(lambda asked: Status(500, "can't read 'a secret question'")) as server, pytest.raises(LLMError):
        ask(server)
    [span] = recorded.spans
    assert (span.status.status_code.name, span.status.description, span.events) == ("ERROR", None, ())
    [duration] = recorded.points("gen_ai.client.operation.duration")
    assert span.attributes["error.type"] == duration.attributes["error.type"] == "LLMError"
    assert "secret" not in recorded.text


def test_memory_operations_are_spans_without_texts(recorded, tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(*HALL, note("Rug", "A secret rug."))
        memory.supersede_memory(*HALL, "Rug", note("Carpet", "A secret carpet."))
        memory.invalidate_memory(5, "Carpet", reason="a secret reason")
        memory.invalidate_memory(location_id=5, memory_title="Table", reason="there is none")
        memory.get_location_memory(5)
        memory.search("secret rug")
    spans = [{"name": span.name} | dict(span.attributes) for span in recorded.spans]
    changed, here = "zorkgpt.memory.changed", {"zorkgpt.memory.location_id": 5}
    update = {"gen_ai.operation.name": "update_memory"} | here
    search = {"gen_ai.operation.name": "search_memory"}
    assert spans == [
        {"name": "upsert_memory remember", "gen_ai.operation.name": "upsert_memory", changed: True} | here,
        {"name": "update_memory supersede", changed: True} | update,
        {"name": "update_memory invalidate", changed: True} | update,
        {"name": "update_memory invalidate", changed: False} | update,
        {"name": "search_memory recall"} | search | here,
        {"name": "search_memory search", "gen_ai.memory.record.count": 0} | search,
        {"name": "delete_memory reset", "gen_ai.operation.name": "delete_memory"},
    ]
    assert "secret" not in recorded.text
    durations = recorded.points("gen_ai.client.operation.duration")
    assert {point.attributes["gen_ai.operation.name"]: point.count for point in durations} == {
        "upsert_memory": 1,
        "update_memory": 3,
        "search_memory": 2,
        "delete_memory": 1,
    }


def test_learning_is_a_span(recorded, tmp_path):
    answers = [
        answer("Bar holds the door", "An iron bar holds the door shut."),
        answer("Bar lifts out", "The iron bar lifts out.", supersedes_memory_titles={"Bar holds the door"}),
        answer(
            "Door opens",
            "The door opens now.",
            invalidate_memory_titles={"Bar lifts out"},
            invalidation_reason="It is gone.",
        ),
    ]
    memory = SimpleMemoryManager(config=Settings(), synthesizer=Answers(*answers), path=tmp_path / "Memories.md")
    for turn in (1, 2, 3):
        context = ZMachineContext(turn=turn, inventory_changed=True)
        memory.record_action_outcome(*HALL, f"try way {turn}", "Something happens.", context)
    assert set(recorded.names) == {"upsert_memory remember", "update_memory supersede", "update_memory invalidate"}
    assert {span.attributes["zorkgpt.memory.location_id"] for span in recorded.spans} == {5}
    assert "iron" not in recorded.text


def test_failed_operation_is_marked(recorded, tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory, pytest.raises(ValueError, match="18 digits"):
        memory.add_memory(10**18, "Nowhere", note("Rug", "A rug."))
    assert [span.attributes.get("error.type") for span in recorded.spans] == ["ValueError", None]


def test_model_call_belongs_to_the_callers_span(recorded):
    with recorded.tracers.get_tracer("caller").start_as_current_span("turn"), ChatServer("hello") as server:
        ask(server)
    call, turn = recorded.spans
    assert call.parent.span_id == turn.context.span_id


def test_texts_are_recorded_on_request(with_content, tmp_path):
    with ChatServer(Answer("a secret answer")) as server:
        ask(server)
    [call] = with_content.spans
    assert json.loads(call.attributes["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "You play."}]},
        {"role": "user", "parts": [{"type": "text", "content": "a secret question"}]},
    ]
    assert json.loads(call.attributes["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "a secret answer"}], "finish_reason": "stop"}
    ]
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(*HALL, note("Rug", "A rug."))
        shown = memory.get_location_memory(5)
        memory.search(query="rug")
    remembered, recalled, searched, _ = with_content.spans[1:]
    assert json.loads(remembered.attributes["gen_ai.memory.records"]) == [{"content": "A rug."}]
    assert json.loads(recalled.attributes["gen_ai.memory.records"]) == [{"content": shown}]
    assert json.loads(searched.attributes["gen_ai.memory.records"]) == [{"content": "A rug."}]
    assert searched.attributes["gen_ai.memory.query.text"] == "rug"


def test_text_key_counts_as_content(recorded, tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory("https://shop/secret", "Cart", note("Rug", "A rug."))
        assert "secret" not in recorded.text
        telemetry.switch_on(content=True, tracer_provider=recorded.tracers, meter_provider=recorded.meters)
        memory.get_location_memory("https://shop/secret")
    assert recorded.spans[1].attributes["zorkgpt.memory.place"] == "https://shop/secret"


def test_nothing_is_recorded_by_default(recorded, tmp_path):
    telemetry.switch_off()
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(*HALL, note("Rug", "A rug."))
    with ChatServer("hello") as server:
        ask(server)
    assert recorded.names == []


def test_package_is_imported_only_if_enabled():
    code = (
        "import sys, zorkgpt\nfrom zorkgpt import LLMClient, SimpleMemoryManager\nprint('opentelemetry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_missing_package_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from zorkgpt import Memory, SimpleMemoryManager, telemetry\n"
        "print(telemetry.switch_on())\n"
        "with SimpleMemoryManager.open('Memories.md') as memory:\n"
        "    print(memory.add_memory(5, 'Hall', Memory('NOTE', 'Rug', 1, '1', 0, 'A rug.', 'permanent')))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(PAGE.parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\nTrue\n"
    assert "uv sync --inexact --extra otel" in done.stderr


@pytest.mark.slow
def test_documented_command_prints_spans(tmp_path):
    [lines] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    programs = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ZORKGPT_"))}
    environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", f"{lines.rstrip()} --episodes 1 --max-turns 5 --quiet"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert '"name": "search_memory recall"' in done.stdout
    assert '"name": "gen_ai.client.operation.duration"' in done.stdout

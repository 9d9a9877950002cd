"""Tests of what the client makes of the failures of servers, which word and place the same reason in many ways.

The table also runs with the oldest supported release of the SDK, so this file imports only what that environment has.
"""

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fixtures.chat_server import ChatServer, Request, Status
from zorkgpt.errors import LLMError, LLMUnreachable
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.settings import LLMSettings, RoleSettings

ROOT = Path(__file__).resolve().parents[2]
MODEL = "small-7b"
LONG = [Message("system", "You play."), Message("user", "First. " + "word " * 8_000 + "What now?")]
SAMPLING = {"temperature": 0.3, "top_k": 40, "max_tokens": 600}


def refusal(code: int, body: object, headers: dict[str, str] | None = None) -> Status:
    return Status(code, body=body, headers=headers or {})


@dataclass
class Watching(CurrentCall):
    """Records the waits and messages that a user sees."""

    waits: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def waiting(self, reason, seconds):
        self.waits.append((reason, round(seconds, 3)))


def client_of(server: ChatServer, observer: CurrentCall | None = None, **settings) -> LLMClient:
    limits = {"max_retries": 0, "retry_delay_s": 0.01, "loading_wait_s": 0.3, "rate_limit_wait_s": 0.3, "timeout_s": 5}
    role = RoleSettings(MODEL, **SAMPLING)
    return LLMClient(LLMSettings.single(role, base_url=server.url, **(limits | settings)), observer=observer)


def ask(server: ChatServer, messages: list[Message] = LONG, **settings):
    return client_of(server, **settings).complete(messages, role="agent")


def error(message: str, **more) -> dict:
    return {"error": {"message": message} | more}


OVERFLOWS = {
    "the limit before the size": refusal(400, error("The context is limited to 2048 tokens, you sent 10600.")),
    "the size before the limit": refusal(400, error("Your 10,600 tokens exceed the maximum of 2,048 tokens.")),
    "parts and their sum": refusal(400, error("10600 tokens (10000 prompt + 600 answer) do not fit into 2048 tokens")),
    "parts without their sum": refusal(422, {"error": "inputs and new tokens must be <= 2048; got 10000 and 600"}),
    "without the word token": refusal(500, {"detail": "a prompt of 10000 is longer than 2048"}),
    "a fraction": refusal(500, {"detail": {"error": "context exceeded: 10000/2048"}}),
    "a range": refusal(400, error("Range of input length should be [1, 2048]")),
    "fields": refusal(400, error("too large for the context", n_prompt_tokens=10000, n_ctx=2048)),
    "an array": refusal(400, [{"error": {"code": 400, "message": "10000 input tokens exceed the limit (2048)"}}]),
    "validation": refusal(
        422, {"detail": [{"loc": ["body"], "msg": "prompt of 10000 tokens, at most 2048", "input": "x"}]}
    ),
    "nested": refusal(
        400, error("The provider failed", metadata={"raw": '{"error": {"message": "prompt: 10000 tokens > 2048"}}'})
    ),
    "plain text": refusal(400, "the input is too long: 10000 tokens, maximum 2048"),
    "larger than a minute's rate": refusal(
        413, error("too large: limit 2048 tokens a minute, requested 10000", code="rate_limit_exceeded")
    ),
    "larger than the rate, as 429": refusal(429, error("TPM limit 2048, requested 10000", code="rate_limit_exceeded")),
    "names max_tokens too": refusal(
        400,
        error("max_tokens is too large: 600. The context has 2048 tokens and the prompt 10000 (600 > 2048 - 10000)"),
    ),
    "code": refusal(400, error("10000, over the limit of 2048", code="model_max_prompt_tokens_exceeded")),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("reply", OVERFLOWS.values(), ids=OVERFLOWS)
def test_overflow_shortens_the_prompt(reply, streamed):
    with ChatServer(lambda request: "fine" if len(request.prompt) < 8_000 else reply, models=None) as server:
        completion = ask(server, observer=CurrentCall() if streamed else None)
    assert (completion.content, completion.context_length, len(server.requests)) == ("fine", 2048, 2)


@pytest.mark.parametrize(
    "reply",
    [
        refusal(400, error("Input is too long for the requested model.")),
        refusal(400, error("more than the available context size", type="exceed_context_size_error")),
        refusal(413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    ],
    ids=lambda reply: str(reply.body)[:40],
)
def test_overflow_without_figures_halves_the_prompt(reply):
    with ChatServer(lambda request: "fine" if len(request.prompt) < 10_000 else reply, models=None) as server:
        assert ask(server).content == "fine"
    lengths = [len(request.prompt) for request in server.requests]
    assert all(later < earlier * 3 / 4 + 1_000 for earlier, later in pairwise(lengths))


TERMINAL = {
    "no model, by code": (refusal(404, error("no", code="model_not_found")), "does not serve the model 'small-7b'"),
    "no model, as 400": (refusal(400, error("small-7b is not a valid model")), "does not serve the model 'small-7b'"),
    "no model, as text": (refusal(404, {"error": "model 'small-7b' not found"}), "does not serve the model 'small-7b'"),
    "no model, as 500": (refusal(500, {"error": "no such model: small-7b"}), "does not serve the model 'small-7b'"),
    "no access to a model": (refusal(403, error("no access to model small-7b")), "does not serve the model 'small-7b'"),
    "no such path": (refusal(404, {"detail": "Not Found"}), "has no chat completions .*most end in /v1"),
    "no such path, as text": (refusal(404, "404 page not found"), "has no chat completions .*most end in /v1"),
    "wrong method": (refusal(405, {"detail": "Method Not Allowed"}), "has no chat completions .*most end in /v1"),
    "an error with status 200": (refusal(200, {"error": "Unexpected endpoint"}), "has no chat completions"),
    "a web page": (refusal(404, "<!doctype html><title>Hello</title>"), "sent a web page .*most end in /v1"),
    "a web page of a gate": (refusal(403, "<html><title>Wait</title></html>"), "sent a web page"),
    "key, as 401": (refusal(401, {"message": "who are you?"}), r"rejected the API key \(HTTP 401: who are you\?\)"),
    "key, as 400": (refusal(400, [error("API key not valid.")]), "rejected the API key"),
    "credit, as 402": (refusal(402, {"error": {"message": "Insufficient Balance"}}), "requires payment .*Balance"),
    "credit, as 400": (refusal(400, error("Your credit balance is too low")), "requires payment"),
    "credit, as 429": (
        refusal(429, error("quota", code="insufficient_quota"), {"retry-after": "1"}),
        r"requires payment \(HTTP 429: quota\)",
    ),
    "a long wait": (refusal(429, error("slow down"), {"retry-after": "3600"}), r"failed \(HTTP 429: slow down\)"),
    "a proxy's page": (
        refusal(502, "<html><head><title>502 Bad Gateway</title></head></html>"),
        r"failed \(HTTP 502: 502 Bad Gateway\)",
    ),
    "detail": (refusal(500, {"detail": "out of memory"}), r"failed \(HTTP 500: out of memory\)"),
    "several": (
        refusal(418, {"errors": [{"msg": "one"}, {"msg": "two"}], "title": "teapot"}),
        r"failed \(HTTP 418: one; two; teapot\)",
    ),
}


@pytest.mark.parametrize(("reply", "message"), TERMINAL.values(), ids=TERMINAL)
def test_failure_is_reported_with_the_servers_reason(reply, message):
    with ChatServer(reply, models=None) as server, pytest.raises(LLMError, match=message) as caught:
        ask(server)
    assert isinstance(caught.value, LLMUnreachable) == ("failed (" not in message.replace("\\", ""))
    assert len(server.requests) == 1


NO_SYSTEM = {
    "plain": refusal(400, error("System role not supported")),
    "developer": refusal(400, error("Developer instruction is not enabled for this model")),
    "template": refusal(500, error("Jinja: only user and assistant roles are supported!")),
    "validation": refusal(422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "should be 'user'"}]}),
    "position": refusal(400, error("'messages[0].role' does not support 'system' with this model", param="x")),
}


@pytest.mark.parametrize("reply", NO_SYSTEM.values(), ids=NO_SYSTEM)
def test_system_prompt_is_merged_into_the_question(reply):
    def answer(request: Request):
        return reply if request.body["messages"][0]["role"] == "system" else "fine"

    with ChatServer(answer, models=None) as server:
        client = client_of(server)
        for _ in range(2):
            assert client.complete([LONG[0], Message("user", "Now?")], role="agent").content == "fine"
    assert [request.body["messages"] for request in server.requests[1:]] == [
        [{"role": "user", "content": "You play.\n\nNow?"}]
    ] * 2


FIELDS = {
    "param": ("temperature", refusal(400, error("not supported", param="temperature"))),
    "quoted": ("temperature", refusal(400, error("Unsupported parameter: 'temperature'"))),
    "validation": ("top_k", refusal(422, {"detail": [{"loc": ["body", "top_k"], "msg": "Extra inputs"}]})),
    "as 500": ("top_k", refusal(500, {"error": "unknown field top_k"})),
    "options of a stream": ("stream_options", refusal(400, error("property 'stream_options' is unsupported"))),
}


@pytest.mark.parametrize(("name", "reply"), FIELDS.values(), ids=FIELDS)
def test_refused_field_is_left_out_and_named(name, reply, caplog):
    caplog.set_level("INFO")
    with ChatServer(lambda request: reply if name in request.body else "fine", models=None) as server:
        client = client_of(server, CurrentCall())
        assert [client.complete(LONG[:1], role="agent").content for _ in range(2)] == ["fine"] * 2
    sent = {"temperature", "top_k", "max_tokens", "stream", "stream_options"}
    assert [sent - request.body.keys() for request in server.requests] == [set(), {name}, {name}]
    assert any(f"without {name}" in getattr(record, "now", "") for record in caplog.records)


@pytest.mark.parametrize(
    "message",
    ["max_tokens is too large: 600. At most 256 completion tokens are supported.", "max_tokens must be at most 256"],
)
def test_answer_limit_that_is_too_high_is_lowered(message):
    def answer(request: Request):
        return "fine" if request.body["max_tokens"] <= 256 else refusal(400, error(message, param="max_tokens"))

    with ChatServer(answer, models=None) as server:
        assert ask(server, LONG[:1]).content == "fine"
    assert [request.body["max_tokens"] for request in server.requests] == [600, 256]


def in_a_moment() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=0.2), usegmt=True)


LOADING, RATE = "the server is loading the model", "the server limits the rate of requests"
WAITS = {
    "503": (refusal(503, error("Loading model")), (LOADING, 0.01)),
    "503 with a time": (refusal(503, {"error": "busy", "estimated_time": 0.02}), (LOADING, 0.02)),
    "500": (refusal(500, {"error": "model is loading"}), (LOADING, 0.01)),
    "seconds": (refusal(429, error("slow down"), {"Retry-After": "0.02"}), (RATE, 0.02)),
    "milliseconds": (refusal(429, error("slow down"), {"Retry-After-Ms": "30"}), (RATE, 0.03)),
    "a date": (refusal(429, error("slow down"), {"Retry-After": in_a_moment()}), (RATE, 0.0)),
    "reset of requests": (refusal(429, {}, {"X-RateLimit-Reset-Requests": "40ms"}), (RATE, 0.04)),
    "the reset that is spent": (
        refusal(
            429,
            {},
            {"X-RateLimit-Reset-Requests": "9m", "X-RateLimit-Reset-Tokens": "0.05s"}
            | {"X-RateLimit-Remaining-Requests": "7", "X-RateLimit-Remaining-Tokens": "0"},
        ),
        (RATE, 0.05),
    ),
    "in words": (refusal(429, error("Limit 100, used 99. Please try again in 60ms.")), (RATE, 0.06)),
    "in units": (refusal(429, error("Try again in 0m0.07s")), (RATE, 0.07)),
    "a field": (refusal(429, [error("quota", details=[{"retryDelay": "0.08s"}])]), (RATE, 0.08)),
    "as 403": (refusal(403, error("rate limit exceeded, retry in 0.09 seconds")), (RATE, 0.09)),
}


@pytest.mark.parametrize(("reply", "wait"), WAITS.values(), ids=WAITS)
def test_wait_that_the_server_asks_for_is_kept_and_shown(reply, wait):
    observer = Watching()
    with ChatServer(reply, "fine", models=None) as server:
        client = client_of(server, observer)
        assert client.complete(LONG[:1], role="agent").content == "fine"
    assert observer.waits == [wait]
    assert client.usage.total.repeated == 0


@pytest.mark.parametrize("code", [503, 429])
def test_wait_has_an_end(code):
    observer = Watching()
    with (
        ChatServer(refusal(code, error("later"), {"Retry-After-Ms": "1"}), models=None) as server,
        pytest.raises(LLMError, match=f"failed .HTTP {code}: later"),
    ):
        client_of(server, observer).complete(LONG[:1], role="agent")
    assert 1 < len(observer.waits) < 10
    assert sum(seconds for _, seconds in observer.waits) <= 0.3


@pytest.mark.slow
def test_oldest_supported_release_gives_the_same_results(tmp_path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    [oldest] = (each.replace(">=", "==") for each in extras["model"])
    home = tmp_path / "venv"
    python = home / "bin" / "python"
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
    install = ["uv", "pip", "install", "--quiet", "--python", str(python), f"{ROOT}[model]", oldest]
    subprocess.run([*install, "pytest>=8", "pytest-timeout>=2.3"], check=True)
    alone = ["--noconftest", "-c", os.devnull, "--rootdir", str(ROOT), "-k", "not oldest"]
    command = [str(python), "-m", "pytest", "-q", *alone, __file__]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]

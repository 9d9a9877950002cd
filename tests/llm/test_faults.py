"""Tests that any fault of a server ends in an answer or one of our errors, with correct usage."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel, Field

from tests.fixtures.chat_server import Answer, Body, ChatServer, Disconnect, Endless, Silence, Status, Trickle
from zorkgpt.errors import InvalidAnswer, LLMError, LLMUnreachable, MalformedResponse
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Completion, Message, Usage
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.settings import LLMSettings, RoleSettings
from zorkgpt.llm.structured import json_schema

QUESTION = [Message("user", "What now?")]
LIMITS = {"timeout_s": 0.2, "deadline_s": 5.0, "retry_delay_s": 0.01, "loading_wait_s": 0.1, "rate_limit_wait_s": 0.1}


class Verdict(BaseModel):
    score: float
    reason: str


def client_of(server: ChatServer, *, sampling: dict | None = None, **settings) -> LLMClient:
    role = RoleSettings(server.model, **(sampling or {}))
    observer = settings.pop("observer", None)
    return LLMClient(LLMSettings.single(role, base_url=server.url, **(LIMITS | settings)), observer=observer)


@pytest.mark.parametrize(
    "fault", [Status(429), Status(500), Status(503), Disconnect(after=0), Disconnect(after=30), Silence()], ids=repr
)
def test_temporary_fault_is_retried(fault):
    with ChatServer(fault, "fine") as server:
        client = client_of(server)
        completion = client.complete(QUESTION, role="agent")
    total = client.usage.total
    assert completion == Completion("fine", usage=Usage(10, 5))
    assert len(server.requests) == 2
    assert (total.calls, total.failed, total.prompt_tokens, total.completion_tokens) == (1, 0, 10, 5)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Status(429, "slow down"), r"HTTP 429: .*slow down"),
        (Status(500, "oops"), r"HTTP 500: .*oops"),
        (Status(400, "maximum context length is 8192 tokens"), "HTTP 400: .*maximum context length"),
        (Disconnect(), "Connection error"),
        (Silence(), "timed out"),
    ],
    ids=repr,
)
def test_permanent_fault_names_model_and_address(fault, message):
    with ChatServer(fault) as server:
        client = client_of(server, max_retries=0)
        with pytest.raises(LLMError, match=rf"'test-model' at {server.url} failed \(.*{message}") as caught:
            client.complete(QUESTION, role="agent")
    total = client.usage.total
    assert type(caught.value) is LLMError
    assert (total.calls, total.failed, total.prompt_tokens) == (1, 1, 0)


@pytest.mark.slow
def test_slow_answer_ends_at_the_deadline():
    with ChatServer(Trickle(Answer("late"), delay_s=0.1), "in time") as server:
        client = client_of(server, deadline_s=2)
        with pytest.raises(LLMError, match="no complete answer within 2 s"):
            client.complete(QUESTION, role="agent")
        ends = time.monotonic() + 5
        while abandoned := [thread for thread in threading.enumerate() if thread.name == "call with a time limit"]:
            # The connection ends too, so that the server stops.
            assert time.monotonic() < ends
            abandoned[0].join(0.5)
        assert client.complete(QUESTION, role="agent").content == "in time"


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": 7}, "finish_reason": 7}]},
        {"choices": [{"message": {"content": "  "}}], "usage": {"prompt_tokens": "many"}},
    ],
    ids=json.dumps,
)
def test_response_without_an_answer_is_requested_again(body):
    with ChatServer(Body(body), "fine") as server:
        assert client_of(server).complete(QUESTION, role="agent").content == "fine"
    with ChatServer(Body(body)) as server:
        client = client_of(server)
        with pytest.raises(InvalidAnswer, match="sent an empty answer twice"):
            client.complete(QUESTION, role="agent")
    assert (len(server.requests), client.usage.total.calls) == (2, 2)


PAGE = b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"
MALFORMED = [
    PAGE,
    b'{"choices": [nope',
    b"[" * 200_000,
    {"choices": []},
    {"choices": None},
    {},
    [],
    "text",
    None,
    {"choices": "text"},
    {"choices": [None]},
    {"choices": [{"message": None}]},
    {"error": {"message": "upstream is down"}},
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:40])
@pytest.mark.parametrize("observer", [None, CurrentCall()], ids=["whole", "streamed"])
def test_malformed_response_is_transient(body, observer):
    # A stream without an answer is requested again whole, for the reason.
    requests = 1 if observer is None else 2
    with ChatServer("first", *[Body(body)] * 2 * requests, "second", Body(body)) as server:
        client = client_of(server, max_failures=5, observer=observer)
        seen = []
        for _ in range(5):
            try:
                seen.append(client.complete(QUESTION, role="agent").content)
            except LLMError as error:
                seen.append(type(error))
    # Each call asks twice. The fifth failure in a row is the last.
    assert seen == ["first", MalformedResponse, "second", MalformedResponse, MalformedResponse]
    with ChatServer("first", Body(body)) as server:
        client = client_of(server, max_failures=2, observer=observer)
        client.complete(QUESTION, role="agent")
        with pytest.raises(LLMUnreachable, match="2 calls in a row failed"):
            client.complete(QUESTION, role="agent")
    streamed = ["stream" in request.body for request in server.requests]
    assert streamed == ([False] * 3 if observer is None else [True, True, False, True, False])


@pytest.mark.parametrize(
    "answer", ["[" * 200_000, '{"score":' * 60_000, '{"score": [' * 2_000 + "}"], ids=lambda text: text[:9]
)
def test_deeply_nested_answer_is_unusable(answer):
    with ChatServer(answer) as server, pytest.raises(InvalidAnswer):
        client_of(server).complete(QUESTION, role="critic", response_model=Verdict)


ENDLESS_EVENTS = b'data: {"choices": [{"delta": {"content": "' + b"x" * 40_000 + b'"}}]}\n\n'


@pytest.mark.slow
@pytest.mark.parametrize("part", [b" " * 65536, ENDLESS_EVENTS], ids=["whole", "events"])
@pytest.mark.parametrize("observer", [None, CurrentCall()], ids=["whole", "streamed"])
def test_endless_body_is_refused_at_its_limit(part, observer):
    with ChatServer("first", Endless(part)) as server:
        client = client_of(server, max_retries=0, timeout_s=20, deadline_s=60, observer=observer)
        client.complete(QUESTION, role="agent")
        with pytest.raises(
            MalformedResponse, match="The response of the model's server has more than 33,554,432 bytes"
        ):
            client.complete(QUESTION, role="agent")


def test_answer_beyond_its_limit_is_refused():
    with ChatServer("first", "x" * 1_100_000) as server:
        client = client_of(server, timeout_s=5)
        client.complete(QUESTION, role="agent")
        with pytest.raises(
            MalformedResponse, match="The model's answer has more than 1,048,576 bytes. It is not used."
        ):
            client.complete(QUESTION, role="agent")


def test_redirects_are_not_followed():
    with ChatServer("stolen") as other:
        to = {"Location": f"{other.url}/chat/completions"}
        for code in (301, 302, 303, 307, 308):
            with ChatServer(Status(code, headers=to)) as server:
                message = rf"{server.url} redirects to {other.url}/chat/completions \(HTTP {code}\)"
                with pytest.raises(LLMUnreachable, match=message):
                    client_of(server).complete(QUESTION, role="agent")
    assert other.requests == []


def test_missing_usage_is_estimated():
    nothing = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
    with ChatServer(Answer("a", usage=nothing), Answer("b", usage=None)) as server:
        client = client_of(server)
        answers = [client.complete(QUESTION, role="agent") for _ in range(2)]
    assert [answer.usage for answer in answers] == [Usage(4, 1, is_estimated=True)] * 2
    assert client.usage.total.estimated == 2


@pytest.mark.parametrize(
    "content",
    [
        '```json\n{"score": 1, "reason": "fine"}\n```',
        'Sure, {happy} to help! {"score": 1, "reason": "fine"} Anything else?',
        '{"score": 1, "reason": "fine",}',
        "{'score': 1, 'reason': 'fine'}",
        '<think>{"score": 0, "reason": "draft"}</think>{"score": "1", "reason": "fine"}',
        '{"thought": "not this"} {"score": 1, "reason": "fine", "extra": null}',
    ],
)
def test_small_errors_in_an_answer_are_repaired(content):
    with ChatServer(content) as server:
        completion = client_of(server).complete(QUESTION, role="critic", response_model=Verdict)
    assert (completion.parsed, len(server.requests)) == (Verdict(score=1, reason="fine"), 1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("I would rather not.", "it contains no JSON object"),
        ('{"score": "high", "reason": "x"}', "score: Input should be a valid number"),
        ('{"score": null, "reason": null}', "reason: Input should be a valid string"),
        ('{"should_remember": true}', "score: Field required"),
        ('{"score": 1, "reason": "cut of', "it contains no JSON object"),
        ("[1, 2]", "it contains no JSON object"),
        ("{" * 100_000, "it contains no JSON object"),
        ("x" * 200_000, "it contains no JSON object"),
        ('{"score": "' + "x" * 200_000 + '", "reason": ""}', "score: Input should be a valid number"),
    ],
    ids=lambda value: value[:40],
)
def test_invalid_answer_is_requested_again_with_the_problem(content, problem):
    with ChatServer(content, '{"score": 1, "reason": "fine"}') as server:
        completion = client_of(server).complete(QUESTION, role="critic", response_model=Verdict)
    again = server.requests[1].body["messages"]
    assert completion.parsed == Verdict(score=1, reason="fine")
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert problem in again[2]["content"]
    assert len(server.requests[1].prompt) < 6_000


def test_two_invalid_answers_are_an_error():
    with ChatServer('{"score": "high"}') as server:
        client = client_of(server)
        with pytest.raises(InvalidAnswer, match="not a valid Verdict: score: Input should be"):
            client.complete(QUESTION, role="critic", response_model=Verdict)
    assert (len(server.requests), client.usage.total.calls) == (2, 2)


def test_truncated_typed_answer_is_requested_with_more_room():
    cut = Answer('{"score": 1, "reason": "fine, unl', finish_reason="length")
    with ChatServer(cut) as server, pytest.raises(InvalidAnswer):
        client_of(server, sampling={"max_tokens": 20}).complete(QUESTION, role="critic", response_model=Verdict)
    # First with limits of strings and lists in the schema, then with a higher limit of the answer.
    assert [request.body["max_tokens"] for request in server.requests] == [20, 20, 80, 20, 80]
    schemas = [request.body["response_format"]["json_schema"]["schema"] for request in server.requests]
    assert schemas == [json_schema(Verdict), *[json_schema(Verdict, bounded=True)] * 4]


def test_refused_limits_of_strings_are_left_out():
    def reply(request):
        if "maxLength" in json.dumps(request.body["response_format"]):
            return Status(400, "Invalid schema for response_format: 'maxLength' is not permitted")
        finished = request.body["max_tokens"] > 20
        return '{"score": 1, "reason": ""}' if finished else Answer('{"score', finish_reason="length", usage=None)

    with ChatServer(reply) as server:
        client = client_of(server, sampling={"max_tokens": 20})
        answers = [client.complete(QUESTION, role="critic", response_model=Verdict).parsed for _ in range(2)]
    assert answers == [Verdict(score=1, reason="")] * 2
    assert [request.body["max_tokens"] for request in server.requests] == [20, 20, 20, 80, 80]


def test_truncated_answer_in_words_is_not_requested_with_more_room():
    cut = Answer("It is dark and", finish_reason="length", usage={"prompt_tokens": 10, "completion_tokens": 100})
    with ChatServer(cut) as server:
        completion = client_of(server, sampling={"max_tokens": 100}).complete(QUESTION, role="agent")
    assert (completion.content, completion.truncated, len(server.requests)) == ("It is dark and", True, 1)


def test_room_that_reasoning_needed_is_kept():
    def reply(request):
        finished = request.body["max_tokens"] >= 400
        cut = Answer("<think>so much", finish_reason="length", usage=None)
        return "<think>so</think>ACTION: look" if finished else cut

    with ChatServer(reply) as server:
        client = client_of(server, sampling={"max_tokens": 100})
        assert [client.complete(QUESTION, role="agent").content for _ in range(2)] == ["ACTION: look"] * 2
    assert [request.body["max_tokens"] for request in server.requests] == [100, 400, 400]


LONG = [Message("user", "First. " + "word " * 1_200 + "What now?")]


def test_answer_cut_off_below_its_limit_reveals_the_context():
    def reply(request):
        tokens = len(request.prompt) // 4
        if tokens + 100 > 1_024:
            usage = {"prompt_tokens": tokens, "completion_tokens": 1_024 - tokens}
            return Answer("It is", finish_reason="length", usage=usage)
        return "It is dark."

    with ChatServer(reply) as server:
        client = client_of(server, sampling={"max_tokens": 200})
        # 1,500 tokens would not fit at all; a prompt of 1,000 leaves too little room for the answer.
        messages = [Message("user", LONG[0].content[:3_900])]
        completions = [client.complete(messages, role="agent") for _ in range(2)]
    assert [(each.content, each.context_length) for each in completions] == [("It is dark.", 1_024)] * 2
    assert len(server.requests) == 3


def test_lower_limit_of_the_server_for_answers_is_not_the_context():
    cut = Answer("It is", finish_reason="length", usage={"prompt_tokens": 900, "completion_tokens": 50})
    with ChatServer(cut) as server:
        client = client_of(server, sampling={"max_tokens": 200})
        completions = [client.complete(LONG, role="agent") for _ in range(2)]
    assert [(each.content, each.context_length) for each in completions] == [("It is", None)] * 2
    assert [request.body["max_tokens"] for request in server.requests] == [200, 200, 50]
    assert server.requests[-1].prompt == LONG[0].content


def test_server_that_cuts_off_streams_is_asked_for_whole_answers():
    running = []

    def reply(request):
        if "stream" not in request.body:
            return "whole"
        running.append(request)
        if len(running) > 1:
            running.clear()
            return Answer("It is", finish_reason=None)
        time.sleep(0.05)
        if running:
            running.pop()
        return "streamed"

    with ChatServer("first", reply) as server:
        client = client_of(server, observer=CurrentCall(), timeout_s=5)
        client.complete(QUESTION, role="agent")
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(client.complete, QUESTION, role="memory") for _ in range(4)]
            assert {answer.result().content for answer in answers} <= {"streamed", "whole"}
        asked = len(server.requests)
        assert client.complete(QUESTION, role="agent").content == "whole"
    assert ["stream" in request.body for request in server.requests[asked:]] == [False]


class Part(BaseModel):
    share: float = Field(ge=0, le=1)


class Share(BaseModel):
    score: float = Field(ge=0, le=1)
    parts: list[Part]


@pytest.mark.parametrize(("sent", "read"), [("10", 1), ("-3", 0), ('"8.5"', 1), ("1e300", 1)])
def test_number_out_of_its_bounds_is_clipped_and_counted(sent, read):
    with ChatServer(f'{{"score": {sent}, "parts": [{{"share": 0.5}}, {{"share": {sent}}}]}}') as server:
        client = client_of(server)
        parsed = client.complete(QUESTION, role="critic", response_model=Share).parsed
    total = client.usage.total
    assert parsed == Share(score=read, parts=[Part(share=0.5), Part(share=read)])
    assert (total.calls, total.used, total.clipped) == (1, 1, 1)


@pytest.mark.parametrize(("fault", "repeated"), [(Silence(), 1), (Status(500), 1), (Disconnect(), 1)], ids=repr)
def test_repeated_request_is_counted_and_logged(fault, repeated, caplog):
    with ChatServer(fault, "fine") as server:
        client = client_of(server)
        client.complete(QUESTION, role="agent")
    assert client.usage.total.repeated == repeated
    assert "request failed, sending it again" in caplog.messages


def test_answer_of_200_kilobytes_is_read():
    reason = "because " * 25_000
    with ChatServer(json.dumps({"score": 1, "reason": reason})) as server:
        completion = client_of(server).complete(QUESTION, role="critic", response_model=Verdict)
    assert completion.parsed == Verdict(score=1, reason=reason)


def test_repeated_failures_are_unreachable_and_an_answer_resets_the_count():
    script = [Status(500), Status(500), "fine", Status(500), Status(500), Status(500)]
    seen = []
    with ChatServer(*script) as server:
        client = client_of(server, max_retries=0, max_failures=3)
        for _ in script:
            try:
                seen.append(client.complete(QUESTION, role="agent").content)
            except LLMError as error:
                seen.append(type(error))
    assert seen == [LLMError, LLMError, "fine", LLMError, LLMError, LLMUnreachable]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Status(401, "bad key"), "rejected the API key"),
        (Status(403, "not yours"), "rejected the API key"),
        (Status(404, "no model"), "does not serve the model 'test-model'"),
        (Status(402, "no credit"), "requires payment"),
        (Status(429, "quota", error={"code": "insufficient_quota"}), "requires payment"),
    ],
    ids=repr,
)
def test_permanent_error_is_unreachable_at_once(fault, message):
    with ChatServer(fault) as server, pytest.raises(LLMUnreachable, match=message):
        client_of(server, max_retries=0).complete(QUESTION, role="agent")


def test_unknown_host_is_unreachable():
    client = LLMClient(LLMSettings.single("m", base_url="http://no-such-host.invalid/v1", max_retries=0))
    with pytest.raises(LLMUnreachable, match=r"Can't connect to http://no-such-host\.invalid/v1"):
        client.complete(QUESTION, role="agent")


def test_lone_surrogate_can_be_sent():
    with ChatServer("ACTION: wait \ud800") as server:
        client = client_of(server)
        answer = client.complete(QUESTION, role="agent").content
        client.complete([Message("user", f"You said: {answer}")], role="agent")
    assert server.requests[-1].body["messages"][0]["content"] == "You said: ACTION: wait \ufffd"

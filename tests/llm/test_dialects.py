"""Tests of what servers refuse, each in its own words, and of how the client adapts.

The refusals are quoted from the named servers. Lengths were shortened.
"""

import json

import pytest
from pydantic import BaseModel

from tests.fixtures.chat_server import Answer, Body, ChatServer, Request, Status
from zorkgpt.errors import InvalidAnswer, LLMUnreachable
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Completion, Message, Usage
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.settings import LLMSettings, RoleSettings
from zorkgpt.llm.structured import BARE_OBJECT, form_of, json_schema
from zorkgpt.llm.wire import AnswerForm

QUESTION = [Message("system", "You judge."), Message("user", "Well?")]
LLAMA_CPP_PYTHON = (
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "
    "\"Input should be 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or "
    '\'json_object\'"}}\n\n  File ".../llama_cpp/server/app.py", line 376, in create_chat_completion'
)


class Verdict(BaseModel):
    score: float
    reason: str


FINE = Verdict(score=1, reason="fine")
PAGE = b"<!DOCTYPE html><html><body>Welcome</body></html>"


def client_of(server: ChatServer, **settings) -> LLMClient:
    role = RoleSettings(server.model, **settings)
    return LLMClient(LLMSettings.single(role, base_url=server.url, max_retries=0, timeout_s=1, loading_wait_s=0.05))


def forms(requests: list[Request]) -> list[str]:
    return [request.body.get("response_format", {}).get("type", "text") for request in requests]


def llama_cpp_python(request: Request):
    if request.body.get("response_format", {}).get("type") == "json_schema":
        return Status(500, LLAMA_CPP_PYTHON, error={"type": "internal_server_error"})
    return FINE.model_dump_json()


def test_refusal_of_a_response_format_is_recognized_with_any_status():
    with ChatServer(llama_cpp_python) as server:
        client = client_of(server)
        answers = [client.complete(QUESTION, role="critic", response_model=Verdict).parsed for _ in range(2)]
    assert answers == [FINE, FINE]
    assert forms(server.requests) == ["json_schema", "json_object", "json_object"]
    assert server.requests[1].body["response_format"]["schema"] == json_schema(Verdict, bounded=True)
    assert server.requests[1].prompt == f"You judge.\n\nWell?\n\n{BARE_OBJECT}"


@pytest.mark.parametrize("refused", [("json_schema",), ("json_schema", "schema"), ("json_schema", "json_object")])
def test_schema_is_in_the_request_or_the_prompt(refused):
    def reply(request):
        asked = request.body.get("response_format", {})
        for name in refused:
            if asked.get("type") == name or (name in asked and asked["type"] == "json_object"):
                return Status(400, f"'response_format.type': {name} is not supported, use json_object or text")
        return FINE.model_dump_json()

    with ChatServer(reply) as server:
        assert client_of(server).complete(QUESTION, role="critic", response_model=Verdict).parsed == FINE
    last = server.requests[-1]
    in_request = "schema" in json.dumps(last.body.get("response_format", {}))
    assert in_request != (form_of(Verdict) in last.prompt)
    assert server.requests[-1].prompt.count("Answer with one JSON object") == 1


def test_server_that_ignores_the_schema_gets_it_in_the_prompt():
    def reply(request):
        return FINE.model_dump_json() if form_of(Verdict) in request.prompt else '{"verdict": "good"}'

    with ChatServer(reply) as server:
        client = client_of(server)
        answers = [client.complete(QUESTION, role="critic", response_model=Verdict).parsed for _ in range(2)]
    assert answers == [FINE, FINE]
    assert forms(server.requests) == ["json_schema", "json_object", "json_object"]


def test_newline_in_a_string_does_not_mean_the_schema_was_ignored():
    answers = iter(['{"score": "high", "reason": "one\ntwo"}', '{"score": 1, "reason": "fine"}'])
    with ChatServer(lambda request: next(answers)) as server:
        assert client_of(server).complete(QUESTION, role="critic", response_model=Verdict).parsed == FINE
    assert forms(server.requests) == ["json_schema", "json_schema"]


def test_check_results_are_kept_for_the_run():
    with ChatServer(llama_cpp_python) as server:
        found = client_of(server).check()
        settings = LLMSettings.single(server.model, base_url=server.url)
        assert LLMClient(settings, known=found).complete(QUESTION, role="critic", response_model=Verdict).parsed == FINE
    assert forms(server.requests) == ["json_schema", "json_object", "json_object"]
    assert str(found[0].dialect) == "typed answers by json_object with a schema"
    assert found[0].dialect.form is AnswerForm.JSON_OBJECT_WITH_SCHEMA


@pytest.mark.parametrize(
    "refusal",
    [
        "This model's maximum context length is 1024 tokens. However, you requested 18039 tokens (18031 in the "
        "messages, 8 in the completion). Please reduce the length of the messages or completion.",
        "Requested tokens (18031) exceed context window of 1024",
        "the request exceeds the available context size (1024 tokens), try increasing it",
        "prompt is too long: 18031 tokens > 1024 maximum",
    ],
)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_prompt_beyond_the_context_is_cut_in_its_middle(refusal, status):
    long = [Message("system", "You play."), Message("user", "First. " + "word " * 20_000 + "What now?")]

    def reply(request):
        return "fine" if len(request.prompt) < 4 * 1024 else Status(status, refusal)

    with ChatServer(reply) as server:
        client = client_of(server, max_tokens=100)
        completions = [client.complete(long, role="agent") for _ in range(2)]
    assert [(each.content, each.context_length) for each in completions] == [("fine", 1024)] * 2
    assert len(server.requests) == 3
    sent = server.requests[-1].body["messages"]
    assert sent[0]["content"] == "You play."
    assert sent[1]["content"].startswith("First. ")
    assert sent[1]["content"].endswith("What now?")
    assert "\n[...]\n" in sent[1]["content"]


def test_instructions_and_question_are_both_cut_if_necessary():
    def reply(request):
        return "fine" if len(request.prompt) < 4 * 1024 else Status(400, "maximum context length is 1024 tokens")

    both = [Message("system", "Rules. " * 1000), Message("user", "Now. " * 2000 + "What now?")]
    with ChatServer(reply) as server:
        assert client_of(server, max_tokens=600).complete(both, role="agent").content == "fine"
    sent = server.requests[-1].body
    assert sent["max_tokens"] == 256
    assert [len(each["content"]) for each in sent["messages"]] == [1152, 1152]
    assert sent["messages"][1]["content"].endswith("What now?")


def test_context_is_reduced_after_another_refusal():
    def reply(request):
        return "fine" if len(request.prompt) < 1500 else Status(400, "maximum context length is 1024 tokens")

    with ChatServer(reply) as server:
        completion = client_of(server, max_tokens=100).complete([Message("user", "word " * 5000)], role="agent")
    assert (completion.content, completion.context_length) == ("fine", 576)


def test_context_that_is_too_small_is_an_error():
    with (
        ChatServer(Status(400, "maximum context length is 512 tokens")) as server,
        pytest.raises(Exception, match="512"),
    ):
        client_of(server, max_tokens=400).complete(QUESTION, role="agent")
    assert len(server.requests) == 1


def test_web_page_is_recognized():
    with ChatServer(Body(PAGE)) as server, pytest.raises(LLMUnreachable, match="sent a web page.*most end in /v1"):
        client_of(server).complete(QUESTION, role="agent")


TOOL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (Body({"choices": [{"message": {"content": None, "tool_calls": [TOOL]}}]}), "the tool 'look'.*choose another"),
        (Answer("<think>It is dark and"), "unfinished reasoning; raise max_tokens"),
        (Answer(None), "null"),
        (Answer(""), "an empty text"),
    ],
    ids=str,
)
def test_unexpected_response_is_described(reply, named):
    with ChatServer(reply) as server, pytest.raises(InvalidAnswer, match=f"sent an empty answer twice: .*{named}"):
        client_of(server).complete(QUESTION, role="agent")


@pytest.mark.parametrize("fault", [Status(500), Status(503), Body(PAGE), Body(b"nonsense")], ids=str)
def test_model_that_fails_at_the_start_is_unreachable(fault):
    with ChatServer(fault) as server, pytest.raises(LLMUnreachable, match="The server lists: test-model"):
        client_of(server).check()


def test_context_size_is_read_from_the_list_of_models():
    with ChatServer('{"ready": true}', models={"test-model": {"max_model_len": 4096}}) as server:
        found = client_of(server).check()
    assert found[0].dialect.context_length == 4096


PATH = {"models/small.gguf": {"meta": {"n_ctx_train": 8192}}}
LOADED = {"models/small.gguf": {"meta": {"n_ctx_train": 8192, "n_ctx": 4096}}}


@pytest.mark.parametrize(
    ("models", "properties", "context_length"),
    [
        (LOADED, None, 4096),
        (PATH, {"default_generation_settings": {"n_ctx": 2048}}, 2048),
        (PATH, None, None),
        (LOADED | {"other": {}}, None, None),
    ],
    ids=["list", "properties", "unknown", "several models"],
)
def test_server_of_one_model_is_asked_for_its_context(models, properties, context_length):
    with ChatServer('{"ready": true}', models=models, properties=properties, serves_any=True) as server:
        client = LLMClient(LLMSettings.single("any-name", base_url=server.url))
        assert client.check()[0].dialect.context_length == context_length


class Watching(CurrentCall):
    """Records calls of the observer."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def retry_began(self, retry, retries, seconds_left):
        self.calls.append(("retry", retry, retries))

    def tokens_received(self, tokens):
        self.calls.append(("tokens", tokens))


def watched(server: ChatServer, observer: CurrentCall) -> LLMClient:
    return LLMClient(LLMSettings.single(server.model, base_url=server.url), observer=observer)


def test_streamed_tokens_are_counted():
    observer = Watching()
    with ChatServer("It is\ndark.\nACTION: wait") as server:
        completion = watched(server, observer).complete(QUESTION, role="agent")
    assert completion == Completion("It is\ndark.\nACTION: wait", usage=Usage(10, 5))
    assert observer.calls == [("tokens", 1), ("tokens", 2), ("tokens", 3)]
    assert len(server.requests) == 1


def test_stream_without_usage_stays_a_stream():
    with ChatServer(Answer("fine", usage=None)) as server:
        client = watched(server, Watching())
        usages = [client.complete(QUESTION, role="agent").usage for _ in range(2)]
    assert usages == [Usage(6, 2, is_estimated=True)] * 2
    assert ["stream" in request.body for request in server.requests] == [True, True]


@pytest.mark.parametrize("reply", [Body({"choices": [{"message": {"content": "fine"}}]}), Body(PAGE)], ids=str)
def test_invalid_stream_is_requested_whole(reply):
    with ChatServer(reply) as server:
        client = watched(server, Watching())
        if reply.content == PAGE:
            with pytest.raises(LLMUnreachable, match="web page"):
                client.complete(QUESTION, role="agent")
        else:
            assert client.complete(QUESTION, role="agent").content == "fine"
    assert ["stream" in request.body for request in server.requests] == [True, False]


def test_each_retry_is_reported():
    observer = Watching()
    with ChatServer(Status(500), Status(500), "fine") as server:
        assert watched(server, observer).complete(QUESTION, role="agent").content == "fine"
    assert [call for call in observer.calls if call[0] == "retry"] == [("retry", 1, 2), ("retry", 2, 2)]


def test_escape_sequences_in_server_errors_are_removed():
    with (
        ChatServer(Status(500, "out\x1b]0;title\x07 of\x1b[31m memory")) as server,
        pytest.raises(LLMUnreachable) as error,
    ):
        client_of(server).check()
    assert "memory" in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_answer_that_is_sent_as_reasoning_is_read_and_reported_once(streamed):
    observer, messages = CurrentCall(), []
    observer.on_notice = messages.append
    body = {
        "choices": [{"message": {"content": "", "reasoning_content": "Dark.\nACTION: wait"}, "finish_reason": "stop"}]
    }
    with ChatServer(Answer("", reasoning_content="Dark.\nACTION: wait") if streamed else Body(body)) as server:
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url), observer=observer)
        answers = [client.complete(QUESTION, role="agent").content for _ in range(2)]
    assert answers == ["Dark.\nACTION: wait"] * 2
    (message,) = messages
    assert message.startswith(f"{server.url} sends the answers of the model 'test-model' as reasoning.")
    assert "--reasoning-format none" in message

"""Tests of responses in the formats of real servers."""

import pytest

from tests.fixtures.chat_server import Body, ChatServer
from zorkgpt.errors import LLMError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Completion, Message, Usage
from zorkgpt.llm.settings import LLMSettings

QUESTION = [Message("user", "What now?")]
HEAD = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}

OPENAI = HEAD | {
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "ACTION: look", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 30,
        "completion_tokens": 7,
        "total_tokens": 37,
        "completion_tokens_details": {"reasoning_tokens": 0},
    },
    "service_tier": "default",
    "system_fingerprint": "fp",
}
OLLAMA = HEAD | {
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "ACTION: look", "reasoning": "It is dark.\n"},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37},
    "system_fingerprint": "fp_ollama",
}
LLAMA_CPP = HEAD | {
    "choices": [
        {
            "finish_reason": "stop",
            "index": 0,
            "message": {"role": "assistant", "reasoning_content": "It is dark.", "content": "ACTION: look"},
        }
    ],
    "usage": {"completion_tokens": 7, "prompt_tokens": 30, "total_tokens": 37},
    "timings": {"prompt_n": 30, "predicted_per_second": 20.5},
}
VLLM = HEAD | {
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": None,
                "content": "<think>It is dark.</think>\n\nACTION: look",
                "tool_calls": [],
            },
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": {"prompt_tokens": 30, "total_tokens": 37, "completion_tokens": 7, "prompt_tokens_details": None},
    "prompt_logprobs": None,
}
PARTS = HEAD | {
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "It is dark."}]},
                    {"type": "text", "text": "ACTION: look"},
                ],
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 30, "completion_tokens": 7},
}


def ask(body: dict) -> Completion:
    with ChatServer(Body(body)) as server:
        return LLMClient(LLMSettings.single(server.model, base_url=server.url)).complete(QUESTION, role="agent")


@pytest.mark.parametrize(
    ("body", "reasoning"),
    [(OPENAI, ""), (OLLAMA, "It is dark."), (LLAMA_CPP, "It is dark."), (VLLM, "It is dark."), (PARTS, "")],
    ids=["OpenAI", "Ollama", "llama.cpp", "vLLM", "content in parts"],
)
def test_answer_is_read_from_each_format(body, reasoning):
    assert ask(body) == Completion("ACTION: look", usage=Usage(30, 7), reasoning=reasoning)


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 20}}, 20),
        ({"prompt_cache_hit_tokens": 12, "prompt_cache_miss_tokens": 18}, 12),
        ({"prompt_tokens_details": {"cached_tokens": "many"}}, None),
        ({}, None),
    ],
)
def test_cached_tokens_are_counted_if_reported(usage, cached):
    body = OPENAI | {"usage": {"prompt_tokens": 30, "completion_tokens": 7} | usage}
    assert ask(body).usage == Usage(30, 7, cached)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "not today", "code": "upstream"}},
        {"error": "not today"},
        HEAD | {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "refusal": "not today"}}]},
    ],
    ids=["error in the body", "error as text", "refusal"],
)
def test_refusal_in_the_body_is_passed_on(body):
    with pytest.raises(LLMError, match=r"(sent an empty answer twice: |sent a malformed response \()not today"):
        ask(body)

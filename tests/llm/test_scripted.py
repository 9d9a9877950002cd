"""Tests of the scripted model."""

import pytest
from pydantic import BaseModel

from zorkgpt.errors import InvalidAnswer, LLMError, LLMUnreachable
from zorkgpt.llm.messages import Completion, Message
from zorkgpt.llm.scripted import ScriptedLLM

QUESTION = [Message("user", "What now?")]


class Verdict(BaseModel):
    score: float


def test_answers_come_in_order_and_calls_are_recorded():
    llm = ScriptedLLM(["<think>hm</think>one", "two"])
    answers = [llm.complete(QUESTION, role=role) for role in ("agent", "critic")]
    assert answers == [Completion("one", reasoning="hm"), Completion("two")]
    assert [(call.role, call.prompt) for call in llm.calls] == [("agent", "What now?"), ("critic", "What now?")]


def test_each_role_has_its_own_answers():
    llm = ScriptedLLM({"agent": ["a", "b"], "critic": ["c"]})
    assert [llm.complete(QUESTION, role=role).content for role in ("agent", "critic", "agent")] == ["a", "c", "b"]


def test_answers_can_come_from_a_function():
    llm = ScriptedLLM(lambda messages, role: f"{role}: {messages[-1].content}")
    assert llm.complete(QUESTION, role="memory").content == "memory: What now?"


@pytest.mark.parametrize("answer", [Verdict(score=1), {"score": 1}, '{"score": 1}', 'Sure: {"score": 1}'])
def test_typed_answers_can_be_given_in_any_form(answer):
    assert ScriptedLLM([answer]).complete(QUESTION, role="critic", response_model=Verdict).parsed == Verdict(score=1)


def test_invalid_answer_is_followed_by_the_next():
    llm = ScriptedLLM(["no", {"score": 1}, "no", "no"])
    assert llm.complete(QUESTION, role="critic", response_model=Verdict).parsed == Verdict(score=1)
    with pytest.raises(InvalidAnswer):
        llm.complete(QUESTION, role="critic", response_model=Verdict)


def test_error_is_raised():
    with pytest.raises(LLMUnreachable, match="gone"):
        ScriptedLLM([LLMUnreachable("gone")]).complete(QUESTION, role="agent")


@pytest.mark.parametrize("answers", [[], {"critic": ["x"]}])
def test_exhausted_script_names_the_role(answers):
    with pytest.raises(LLMError, match="The script has no answer to question 1 of the role 'agent'"):
        ScriptedLLM(answers).complete(QUESTION, role="agent")

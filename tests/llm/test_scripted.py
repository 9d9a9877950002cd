"""The model that gives the answers it was given."""

import pytest
from pydantic import BaseModel

from zorkgpt.errors import InvalidAnswer, LLMError, LLMUnreachable
from zorkgpt.llm.messages import Completion, Message
from zorkgpt.llm.scripted import ScriptedLLM

QUESTION = [Message("user", "What now?")]


class Verdict(BaseModel):
    score: float


def test_answers_come_in_order_and_calls_are_kept():
    llm = ScriptedLLM(["<think>hm</think>one", "two"])
    answers = [llm.complete(QUESTION, role=role) for role in ("agent", "critic")]
    assert answers == [Completion("one", reasoning="hm"), Completion("two")]
    assert [(call.role, call.prompt) for call in llm.calls] == [("agent", "What now?"), ("critic", "What now?")]


def test_each_role_has_its_own_list():
    llm = ScriptedLLM({"agent": ["a", "b"], "critic": ["c"]})
    assert [llm.complete(QUESTION, role=role).content for role in ("agent", "critic", "agent")] == ["a", "c", "b"]


def test_a_function_answers_too():
    llm = ScriptedLLM(lambda messages, role: f"{role}: {messages[-1].content}")
    assert llm.complete(QUESTION, role="memory").content == "memory: What now?"


@pytest.mark.parametrize("answer", [Verdict(score=1), {"score": 1}, '{"score": 1}', 'Sure: {"score": 1}'])
def test_typed_answers_may_be_given_in_any_form(answer):
    assert ScriptedLLM([answer]).complete(QUESTION, role="critic", response_model=Verdict).parsed == Verdict(score=1)


def test_an_answer_that_does_not_fit_takes_the_next_one():
    llm = ScriptedLLM(["no", {"score": 1}, "no", "no"])
    assert llm.complete(QUESTION, role="critic", response_model=Verdict).parsed == Verdict(score=1)
    with pytest.raises(InvalidAnswer):
        llm.complete(QUESTION, role="critic", response_model=Verdict)


def test_an_error_is_raised():
    with pytest.raises(LLMUnreachable, match="gone"):
        ScriptedLLM([LLMUnreachable("gone")]).complete(QUESTION, role="agent")


@pytest.mark.parametrize("answers", [[], {"critic": ["x"]}])
def test_a_script_that_runs_out_says_for_whom(answers):
    with pytest.raises(LLMError, match="The script has no answer to question 1 of the role 'agent'"):
        ScriptedLLM(answers).complete(QUESTION, role="agent")

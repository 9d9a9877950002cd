"""Tests of separating reasoning from an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.llm.wire import split_reasoning


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("look", "look", ""),
        ("<think>a</think>look", "look", "a"),
        ("<thinking>\na\n</thinking>\n\nlook\n", "look", "a"),
        ("<reflection>a</reflection>look<THINK>b</THINK>", "look", "a\nb"),
        ("<think></think>look", "look", ""),
        ("a</think>look", "look", "a"),
        ("<think>never closed", "", "never closed"),
        ("look\n<think>never closed", "look", "never closed"),
        ('{"text": "the sign says <think>"}', '{"text": "the sign says <think>"}', ""),
        ("<think>a <thinking>b</thinking></think>look", "look", "a <thinking>b</thinking>"),
    ],
)
def test_reasoning_blocks_are_removed(text, answer, reasoning):
    assert split_reasoning(text) == (answer, reasoning)


@given(st.text(), st.text())
def test_block_before_an_answer_is_separated(thought, answer):
    if "<" in thought + answer:
        return
    assert split_reasoning(f"<think>{thought}</think>{answer}") == (answer.strip(), thought.strip())


@given(st.text(alphabet="</>think reflo\n"))
def test_any_text_can_be_split(text):
    answer, reasoning = split_reasoning(text)
    assert len(answer) + len(reasoning) <= len(text)

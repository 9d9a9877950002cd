"""Tests of separating reasoning from an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.llm.cleaning import split_reasoning


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


BRACKETS = [
    *(("<" + name + ">", "</" + name + ">") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis", "assistantfinal"),
]


@pytest.mark.parametrize(("opening", "closing"), BRACKETS, ids=lambda bracket: bracket)
def test_reasoning_is_set_apart_in_any_brackets(opening, closing):
    assert split_reasoning(f"{opening}It is dark.\n{closing}\nACTION: look") == ("ACTION: look", "It is dark.")


@pytest.mark.parametrize("closing", [closing for _, closing in BRACKETS[:-1]])
def test_reasoning_may_lack_its_opening_bracket(closing):
    assert split_reasoning(f"It is dark.{closing}ACTION: look") == ("ACTION: look", "It is dark.")


@pytest.mark.parametrize("opening", [opening for opening, _ in BRACKETS[:-1]])
def test_reasoning_may_lack_its_closing_bracket(opening):
    assert split_reasoning(f"{opening}It is dark. ACTION: look") == ("", "It is dark. ACTION: look")


MARKS = [
    *("<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "<|end|>", "<|eom_id|>", "<|return|>"),
    *("<｜end▁of▁sentence｜>", "[/INST]", "<|call|>", "<|end_of_text|>", "<|im_end|>\n<|endoftext|>", "</s></s>\n"),
    *("<|im_end|>\n<|im_start|>user\nACTION: north", "</s><s>[INST] More? [/INST]"),
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nACTION: north",
]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_of_turns_are_cut(mark):
    assert split_reasoning(f"<think>a</think>I look.\nACTION: look{mark}") == ("I look.\nACTION: look", "a")


@pytest.mark.parametrize(
    "mark", ["<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n", "<s>"]
)
def test_marks_before_the_answer_are_cut(mark):
    assert split_reasoning(f"{mark}ACTION: look") == ("ACTION: look", "")


@pytest.mark.parametrize("text", ["say </s> aloud", "a | b", "<b>bold</b>", "ACTION: read <sign>", "x <| y |> z"])
def test_other_text_is_kept(text):
    assert split_reasoning(text) == (text, "")


@given(st.text(), st.text())
def test_block_before_an_answer_is_separated(thought, answer):
    if set("<[◁") & set(thought + answer):
        return
    assert split_reasoning(f"<think>{thought}</think>{answer}") == (answer.strip(), thought.strip())


@given(st.text(alphabet="</>think reflo\n|[]◁▷"))
def test_any_text_can_be_split(text):
    answer, reasoning = split_reasoning(text)
    assert len(answer) + len(reasoning) <= len(text)

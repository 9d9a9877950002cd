"""Tests of parsing untrusted bytes within limits."""

import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from zorkgpt.agent import parse_action
from zorkgpt.bounded import ReadLimits, lines_of, nests_deeply, parse_json, parse_json_at, read_file
from zorkgpt.errors import InvalidAnswer, OutOfBounds
from zorkgpt.llm.structured import read_answer
from zorkgpt.llm.wire import split_reasoning

LIMITS = ReadLimits("The letter", "It is sent back.", max_bytes=1000, max_depth=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Reply(BaseModel):
    score: float


def depth_of(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(VALUES)
def test_value_within_limits_is_read_unchanged(value):
    text = json.dumps(value)
    if len(text) > LIMITS.max_bytes or depth_of(value) > LIMITS.max_depth:
        with pytest.raises(OutOfBounds):
            parse_json(text, LIMITS)
    else:
        assert parse_json(text, LIMITS) == parse_json(text.encode(), LIMITS) == value
        assert parse_json_at(f"x{text} y", 1, LIMITS) == (value, 1 + len(text))


@given(st.text(alphabet='[]{}":,\\1e-.tN \n') | st.binary())
def test_other_bytes_raise_one_error_type(given_bytes):
    try:
        value = parse_json(given_bytes, LIMITS)
    except OutOfBounds:
        return
    assert depth_of(value) <= LIMITS.max_depth


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "is nested more than 5 deep"),
        ("[" * 6 + "]" * 6, "is nested more than 5 deep"),
        ('{"a":' * 200 + "1" + "}" * 200, "is nested more than 5 deep"),
        ("1" * 5001, "is not JSON: Exceeds the limit (4300 digits) for integer string conversion"),
        ("{", "is not JSON: Expecting property name enclosed in double quotes"),
        (b"\xff\xfe\xff", "is not JSON: "),
        ('"a\nb"', "is not JSON: Invalid control character"),
    ],
)
def test_error_names_the_reason(text, reason):
    with pytest.raises(OutOfBounds) as caught:
        parse_json(text, replace(LIMITS, max_bytes=200_000))
    assert caught.value.reason.startswith(reason)


def test_too_many_bytes_are_refused_before_parsing():
    with pytest.raises(OutOfBounds, match=r"^The letter has more than 1,000 bytes\. It is sent back\.$") as caught:
        parse_json("1" * 1001, LIMITS)
    assert (caught.value.subject, caught.value.reason) == ("The letter", "has more than 1,000 bytes")


def test_brackets_in_strings_are_not_nesting():
    assert parse_json(json.dumps(["[" * 500]), LIMITS) == ["[" * 500]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "[Infinity]", "1e999"])
def test_non_json_number_can_be_refused(number):
    parse_json(number, LIMITS)
    with pytest.raises(OutOfBounds, match=r"is not a JSON value"):
        parse_json(number, LIMITS, finite=True)


def test_file_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "letter"
    path.write_bytes(b"x" * 1000)
    assert read_file(path, LIMITS) == b"x" * 1000
    path.write_bytes(b"x" * 1001)
    with pytest.raises(OutOfBounds):
        read_file(path, LIMITS)


@given(st.lists(st.binary(max_size=12)))
def test_only_lines_beyond_the_limit_are_cut(lines):
    lines = [line.replace(b"\n", b"") for line in lines]
    cut = list(lines_of(io.BytesIO(b"".join(line + b"\n" for line in lines)), replace(LIMITS, max_bytes=8)))
    assert cut == [(line + b"\n")[:8] for line in lines]


@given(st.text(alphabet="[]{}ab"), st.integers(0, 5))
def test_depth_of_broken_json_is_that_of_its_brackets(text, most):
    depths = [
        sum(text[:end].count(each) for each in "[{") - sum(text[:end].count(each) for each in "]}")
        for end in range(len(text) + 1)
    ]
    assert nests_deeply(text, most) == (max(depths) > most)


# Each of these once took minutes or too much memory.
COSTLY = {
    "a fence and line breaks": "```" + "\n" * 900_000,
    "braces and quotes": "{'" * 6_000 + "}",
    "thoughts": "<think>" * 130_000,
    "thoughts that end": "<think></thinking>" * 50_000,
    "objects that do not fit": '{"a":1} ' * 20_000,
    "brackets": "[" * 900_000,
    "keys": '{"score":' * 100_000,
    "fences": "```json\n{a:1,}\n```\n" * 2_000,
}


@pytest.mark.parametrize("text", COSTLY.values(), ids=COSTLY)
def test_answer_is_parsed_in_linear_time(text):
    answer, thoughts = split_reasoning(text)
    assert len(answer) + len(thoughts) <= len(text)
    assert parse_action(text) is None
    with pytest.raises(InvalidAnswer):
        read_answer(text, Reply)


@given(st.text(alphabet="`{}[]\"':,json<think/>ACTION:\n 1"))
def test_any_answer_is_read_or_refused(text):
    split_reasoning(text)
    parse_action(text)
    try:
        read_answer(text, Reply)
    except InvalidAnswer:
        return

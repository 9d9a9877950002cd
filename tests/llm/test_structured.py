"""Tests of reading typed answers from text."""

import json
from contextlib import suppress
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from zorkgpt.errors import InvalidAnswer
from zorkgpt.llm.messages import Message
from zorkgpt.llm.structured import form_of, json_schema, read_answer, with_form


class Inner(BaseModel):
    name: str
    weight: int = 0


class Report(BaseModel):
    title: str = Field(max_length=200)
    kind: Literal["A", "B"] | None = None
    tags: set[str] = Field(default_factory=set, max_length=3)
    parts: list[Inner] = []


class Lenient(BaseModel):
    colour: str = "none"


reports = st.builds(
    Report,
    title=st.text(max_size=40),
    kind=st.sampled_from(["A", "B", None]),
    tags=st.sets(st.text(max_size=10), max_size=3),
    parts=st.lists(st.builds(Inner, name=st.text(max_size=10), weight=st.integers())),
)
wrappings = st.sampled_from(
    ["{}", "```json\n{}\n```", "```\n{}\n```", "Here it is: {} I hope so.", "{{a}} {}", "\n {}\n"]
)


@given(reports, wrappings, st.booleans())
def test_wrapped_answer_is_read_back(report, wrapping, escaped):
    answer = json.dumps(json.loads(report.model_dump_json()), ensure_ascii=escaped)
    assert read_answer(wrapping.replace("{}", answer), Report) == (report, 0)


@given(st.text() | st.text(alphabet="{}[]\":,'`\\ \nabtrue1"))
def test_any_text_is_an_answer_or_invalid(text):
    with suppress(InvalidAnswer):
        assert isinstance(read_answer(text, Report)[0], Report)


def test_part_of_a_broken_object_is_not_an_answer():
    with pytest.raises(InvalidAnswer):
        read_answer('{"colour": 3, "other": {"colour": "red"}, broken', Lenient)


def test_last_of_several_objects_counts():
    assert read_answer('First {"colour": "red"}, no, {"colour": "blue"}.', Lenient)[0] == Lenient(colour="blue")


def test_schema_is_strict_and_portable():
    inner = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
        "required": ["name", "weight"],
        "additionalProperties": False,
    }
    assert json_schema(Report) == {
        "$defs": {"Inner": inner},
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"anyOf": [{"enum": ["A", "B"], "type": "string"}, {"type": "null"}]},
            "tags": {"items": {"type": "string"}, "maxItems": 3, "type": "array"},
            "parts": {"items": {"$ref": "#/$defs/Inner"}, "type": "array"},
        },
        "required": ["title", "kind", "tags", "parts"],
        "additionalProperties": False,
    }


def test_field_named_like_a_schema_keyword_is_kept():
    class Odd(BaseModel):
        title: str
        default: int
        pattern: str = "x"

    assert list(json_schema(Odd)["properties"]) == ["title", "default", "pattern"]


def test_schema_is_in_the_stable_part_of_the_prompt():
    messages = [Message("system", "You play."), Message("user", "Well?")]
    reminder = "Answer with one JSON object and nothing else, of that schema."
    form = form_of(Lenient)
    assert with_form(messages, Lenient) == [
        Message("system", f"You play.\n\n{form}"),
        Message("user", f"Well?\n\n{reminder}"),
    ]
    assert with_form(messages[1:], Lenient) == [Message("user", f"Well?\n\n{form}\n\n{reminder}")]


def test_schema_for_a_grammar_limits_strings_and_lists():
    class Notes(BaseModel):
        title: str = Field(max_length=20)
        kind: Literal["a", "b"]
        lines: list[str]

    fields = json_schema(Notes, bounded=True)["properties"]
    assert fields["title"]["maxLength"] == 20
    assert "maxLength" not in fields["kind"]
    assert fields["lines"]["maxItems"] > 0
    assert fields["lines"]["items"]["maxLength"] > 0

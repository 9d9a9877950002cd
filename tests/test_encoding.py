"""Tests of encoding plain values as JSON."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zorkgpt.encoding import as_json

TEXTS = st.text(st.characters(codec=None))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    within: "Said | None" = None


@pytest.mark.slow
@given(PLAIN, st.booleans())
@example("\ud83d, half a pair", False)
@example(["\ud83d, half a pair"], True)
@example(2**64, False)
def test_plain_values_are_read_back(value, indented):
    assert json.loads(as_json(value, indented=indented)) == value


def test_event_stays_on_one_line():
    for text in ("two\nlines\u2028and\u0085more", "two\nlines, \ud83d"):
        assert b"\n" not in as_json({"text": text})


@given(TEXTS)
def test_dataclass_is_an_object_of_its_fields(text):
    told = json.loads(as_json({"said": Said(text, Said(text))}))
    assert told == {"said": {"text": text, "within": {"text": text, "within": None}}}

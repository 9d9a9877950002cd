"""Tests of prompt templates."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateNotFound, UndefinedError

from zorkgpt.prompts.render import cut, fence, one_line, render

TEMPLATES = [path for path in files("zorkgpt.prompts").iterdir() if path.name.endswith(".j2") and path.name[0] != "_"]
"""Without the parts that several templates share, whose names begin with an underscore."""


def test_missing_value_is_an_error():
    with pytest.raises(UndefinedError, match="is undefined"):
        render("agent", seen=None)


def test_unknown_template_is_an_error():
    with pytest.raises(TemplateNotFound):
        render("no_such_question")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_template_has_a_stable_and_a_variable_part(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("{% block system %}") == text.count("{% block user %}") == 1


@given(st.text(alphabet="`\n ab") | st.text())
def test_fence_is_longer_than_any_in_the_text(text):
    first, *inside, last = fence(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert "\n".join(inside) == text.strip()
    assert first not in "\n".join(inside)


@given(st.text())
def test_quoted_line_stays_on_one_line(text):
    line = one_line(text)
    assert line.count('"') == 2
    assert len(line.splitlines()) == 1


def test_long_text_loses_its_middle():
    text = "You open the chest. " + "It is old. " * 200 + "The thief takes the egg."
    shown = cut(text, 60)
    assert shown.startswith("You open the chest.")
    assert shown.endswith("The thief takes the egg.")
    assert (len(shown) <= 60 + len(" [...] "), cut("Taken.", 60)) == (True, "Taken.")


def test_text_is_cut_between_words():
    assert cut("The henchman riddles you with bullets.", 20) == "The [...] bullets."
    assert cut("A" * 50, 10) == "AAAAA [...] AAAAA"

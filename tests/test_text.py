"""Tests of functions on text."""

import pytest

from zorkgpt.text import with_article


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("brass lamp", "the brass lamp"),
        ("The Hall", "The Hall"),
        ("the bell", "the bell"),
        ("some water", "some water"),
        ("Alice", "Alice"),
        ("", ""),
    ],
)
def test_name_gets_an_article_if_it_has_none(name, expected):
    assert with_article(name) == expected

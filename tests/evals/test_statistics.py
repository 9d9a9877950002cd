"""Means and how sure they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zorkgpt.evals.results import Interval, interval

VALUES = st.lists(st.floats(-1000, 1000), min_size=1, max_size=12)


@settings(max_examples=30)
@given(VALUES)
def test_the_interval_lies_within_the_values_and_around_their_mean(values):
    found = interval(values)
    assert min(values) - 1e-6 <= found.low <= found.mean + 1e-6
    assert found.mean - 1e-6 <= found.high <= max(values) + 1e-6
    assert found.mean == pytest.approx(sum(values) / len(values), abs=1e-6)
    assert found.count == len(values)


@settings(max_examples=10)
@given(VALUES)
def test_the_same_values_have_the_same_interval(values):
    assert interval(values) == interval(list(values))


def test_no_values_have_no_mean():
    assert interval([]) is None


def test_a_known_case():
    # 2 of 4: the resampled mean is binomial, and its 2.5 % point is 0 (probability 1/16 > 0.025).
    assert interval([0.0, 0.0, 1.0, 1.0]) == Interval(0.5, 0.0, 1.0, 4)

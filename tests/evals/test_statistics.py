"""Tests of means and confidence intervals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zorkgpt.evals.results import Interval, interval

VALUES = st.lists(st.floats(-1000, 1000), min_size=1, max_size=12)


@settings(max_examples=30)
@given(VALUES)
def test_interval_is_within_the_values_around_their_mean(values):
    result = interval(values)
    assert min(values) - 1e-6 <= result.low <= result.mean + 1e-6
    assert result.mean - 1e-6 <= result.high <= max(values) + 1e-6
    assert result.mean == pytest.approx(sum(values) / len(values), abs=1e-6)
    assert result.count == len(values)


@settings(max_examples=10)
@given(VALUES)
def test_interval_is_deterministic(values):
    assert interval(values) == interval(list(values))


def test_no_values_have_no_interval():
    assert interval([]) is None


def test_known_interval():
    # The resampled mean is binomial, and its 2.5 % point is 0 (probability 1/16 > 0.025).
    assert interval([0.0, 0.0, 1.0, 1.0]) == Interval(0.5, 0.0, 1.0, 4)

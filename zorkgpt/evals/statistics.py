"""Means with their uncertainty: over runs with different seeds, and over pairs of runs with the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass

_DRAWS = 10_000
_LEVEL = 95
_SEED = 0
"""Of the draws: the same values have the same interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % percentile bootstrap interval."""

    mean: float
    low: float
    high: float
    count: int
    """The number of values; of a single one there is no interval, and `low` and `high` are the mean."""


def interval(values: Sequence[float]) -> Interval | None:
    """Return the mean of the values and how sure it is (Efron and Tibshirani, 1993); None: there are none."""
    import numpy as np

    if not values:
        return None
    given = np.array(values, dtype=float)
    draws = np.random.default_rng(_SEED).choice(given, (_DRAWS, len(given))).mean(axis=1)
    low, high = np.percentile(draws, ((100 - _LEVEL) / 2, (100 + _LEVEL) / 2))
    return Interval(float(given.mean()), float(low), float(high), len(given))

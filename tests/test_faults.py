"""Test of episodes in which disk, model, embeddings, interpreter and clock fail together."""

from collections import Counter

import pytest

from benchmarks.faults import check_run


@pytest.mark.slow
def test_run_with_faults_loses_nothing():
    counts: Counter[str] = Counter()
    assert check_run(101, 2, 15, 0.05, counts) == []
    assert counts["disk"] > 0
    assert counts["clock"] > 0
    assert counts["acknowledged memories compared"] > 0

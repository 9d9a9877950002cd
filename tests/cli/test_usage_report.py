"""Tests of the usage report in the summary."""

import pytest

from zorkgpt.cli.summary import usage_report

TOOK = {
    "calls": 3,
    "failed": 0,
    "uncounted": 0,
    "prompt_tokens": 9,
    "completion_tokens": 6,
    "cost": 0,
    "latency_s": 0.3,
}


def episode_with(**roles: dict) -> dict:
    learned = {"synthesized": 10, "core_validation_downgrade": 2}
    return {"model_usage": roles, "learning": learned, "deduplication": {"contradictions_kept": 1}}


def test_report_without_model_mentions_no_model():
    assert "model" not in " ".join(usage_report([episode_with()])).lower()


@pytest.mark.parametrize(("count", "subject"), [(1, "1 new memory contradicts"), (2, "2 new memories contradict")])
def test_contradictions_between_memories_are_reported(count, subject):
    assert list(usage_report([episode_with()] * count))[-1] == f"{subject} an existing one. Both were kept."


def test_wrong_core_memories_are_reported():
    lines = list(usage_report([episode_with(memory=TOOK)]))
    assert lines[0] == "Model (memory): 3 calls, 9 tokens in, 6 tokens out, 0.1 s per call"
    assert lines[1].startswith("2 of 10 memories were marked core on a later visit")
    assert lines[1].endswith("Try another memory_model.")


def test_share_of_cached_tokens_is_shown():
    line = next(usage_report([episode_with(agent=TOOK | {"cached_tokens": 6})]))
    assert line == "Model (agent): 3 calls, 9 tokens in (67% cached), 6 tokens out, 0.1 s per call"


def test_unreported_token_counts_are_not_zero():
    unreported = TOOK | {"calls": 6, "uncounted": 6, "prompt_tokens": 0, "completion_tokens": 0, "latency_s": 3}
    line = next(usage_report([episode_with(agent=unreported)]))
    assert line == "Model (agent): token counts not reported by the server (6 calls), 0.5 s per call"
    partly = next(usage_report([episode_with(agent=TOOK | {"uncounted": 1})]))
    assert "3 calls, 9 tokens in, 6 tokens out, token counts not reported by the server (1 call)" in partly

"""Tests of the usage report in the summary."""

import pytest

from zorkgpt.cli.summary import usage_report

TOOK = {
    "calls": 3,
    "failed": 0,
    "estimated": 0,
    "used": 3,
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
    assert lines[0] == "Model (memory): 3 calls, 3 used, 9 tokens in, 6 tokens out, 0.1 s per call"
    assert lines[1].startswith("2 of 10 memories were marked core on a later visit")
    assert lines[1].endswith("Try another memory_model.")


def test_share_of_cached_tokens_is_shown():
    line = next(usage_report([episode_with(agent=TOOK | {"cached_tokens": 6})]))
    assert line == "Model (agent): 3 calls, 3 used, 9 tokens in (67% cached), 6 tokens out, 0.1 s per call"


def test_estimated_token_counts_are_marked():
    line = next(usage_report([episode_with(agent=TOOK | {"estimated": 1})]))
    assert line == "Model (agent): 3 calls, 3 used, about 9 tokens in, about 6 tokens out, 0.1 s per call"


def test_what_became_of_the_answers_is_shown():
    outcomes = {"calls": 9, "used": 3, "refused": 2, "not_understood": 1, "failed": 3, "repeated": 4}
    (line,) = usage_report([{"model_usage": {"agent": TOOK | outcomes}, "learning": {}}])
    assert line.startswith(
        "Model (agent): 9 calls, 3 used, 2 refused, 1 not understood, 3 failed, 4 repeated, 9 tokens"
    )


def test_role_with_useless_answers_is_named():
    useless = TOOK | {"calls": 8, "used": 1, "not_understood": 7}
    _, line = usage_report([{"model_usage": {"objectives": useless}, "learning": {}}])
    assert line == (
        "The model gives no usable answers in the role 'objectives': 7 of 8 failed or were not understood. "
        "Choose another analysis_model."
    )

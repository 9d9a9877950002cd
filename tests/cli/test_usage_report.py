"""What the summary says of models and learning."""

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


def an_episode(**roles: dict) -> dict:
    learned = {"synthesized": 10, "core_validation_downgrade": 2}
    return {"model_usage": roles, "learning": learned, "deduplication": {"contradictions_kept": 1}}


def test_of_a_run_without_a_model_no_model_is_spoken_of():
    assert "model" not in " ".join(usage_report([an_episode()])).lower()


@pytest.mark.parametrize(("count", "subject"), [(1, "1 new memory contradicts"), (2, "2 new memories contradict")])
def test_contradictions_between_memories_are_reported(count, subject):
    assert list(usage_report([an_episode()] * count))[-1] == f"{subject} an existing one. Both were kept."


def test_a_memory_model_that_takes_later_visits_for_first_ones_is_told():
    said = list(usage_report([an_episode(memory=TOOK)]))
    assert said[0] == "Model (memory): 3 calls, 9 tokens in, 6 tokens out, 0.1 s per call"
    assert said[1].startswith("2 of 10 memories were marked core on a later visit")
    assert said[1].endswith("Try another memory_model.")


def test_the_share_of_cached_tokens_is_shown_where_it_is_known():
    said = next(usage_report([an_episode(agent=TOOK | {"cached_tokens": 6})]))
    assert said == "Model (agent): 3 calls, 9 tokens in (67% cached), 6 tokens out, 0.1 s per call"


def test_token_counts_that_the_server_does_not_report_are_not_zeros():
    unreported = TOOK | {"calls": 6, "uncounted": 6, "prompt_tokens": 0, "completion_tokens": 0, "latency_s": 3}
    said = next(usage_report([an_episode(agent=unreported)]))
    assert said == "Model (agent): token counts not reported by the server (6 calls), 0.5 s per call"
    partly = next(usage_report([an_episode(agent=TOOK | {"uncounted": 1})]))
    assert "3 calls, 9 tokens in, 6 tokens out, token counts not reported by the server (1 call)" in partly

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


@pytest.mark.parametrize("count", [1, 2])
def test_what_contradicted_a_known_memory_is_said(count):
    said = list(usage_report([an_episode()] * count))
    assert said[-1] == (
        f"{count} of the memories contradicted one that was known; both are kept, see `memories undo --list`."
    )


def test_a_memory_model_that_takes_later_visits_for_first_ones_is_told():
    said = list(usage_report([an_episode(memory=TOOK)]))
    assert said[0].startswith("Model as memory: 3 calls")
    assert said[1].startswith("2 of 10 memories were called core on a later visit")
    assert said[1].endswith("the prompt does not fit the memory model. Try another memory_model.")

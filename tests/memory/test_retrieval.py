"""Tests of which memories of a location are shown, and of the token budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.memory import memories, memory
from zorkgpt.memory.credit import Reliability, reliability
from zorkgpt.memory.retrieval import TENTATIVE_HEADING, Budget, estimated_tokens, line, shown


def titles(found):
    return [memory.title for memory in found.memories]


def test_order_is_dangers_then_frequent_then_new():
    persistent = [
        memory("Old", turns="3"),
        memory("New", turns="30"),
        memory("Often", turns="1", observation_count=4),
        memory("Newest", turns="2", episode=2),
        memory("Danger", category="DANGER", turns="1"),
    ]
    assert titles(shown(persistent, [], episodes=(1, 2))) == ["Danger", "Often", "Newest", "New", "Old"]


def test_successful_memories_rank_above_untried_and_failed_ones():
    persistent = [
        memory("Refuted", tried=4, worked=0, observation_count=9),
        memory("Tried once", tried=1, worked=0),
        memory("Untried", turns="2"),
        memory("Now and then", tried=4, worked=2, turns="1"),
        memory("Confirmed", tried=3, worked=3, turns="1"),
    ]
    assert titles(shown(persistent, [])) == ["Confirmed", "Tried once", "Untried", "Now and then", "Refuted"]


@pytest.mark.parametrize(
    ("worked", "tried", "expected"),
    [
        (0, 1, Reliability.OPEN),
        (0, 2, Reliability.REFUTED),
        (1, 2, Reliability.OPEN),
        (2, 2, Reliability.CONFIRMED),
        (6, 18, Reliability.OPEN),
        (6, 19, Reliability.REFUTED),
        (12, 18, Reliability.OPEN),
        (13, 18, Reliability.CONFIRMED),
    ],
)
def test_reliability_thresholds(worked, tried, expected):
    """Rates include one added success and one added failure."""
    assert reliability(memory(worked=worked, tried=tried)) is expected


def test_rate_is_shown_after_more_than_one_trial():
    assert line(memory("Once", tried=1, worked=1)) == "[NOTE] Once: The text of Once."
    assert line(memory("Often", "core", tried=9, worked=5)) == "[NOTE] Often: The text of Often. [spawn] (worked 5/9)"


def test_pinned_memories_come_first_and_ignore_limits():
    persistent = [memory(f"S{n}", category="SUCCESS", turns=str(n)) for n in range(7)]
    persistent += [memory("Danger", category="DANGER"), memory("Pin", category="SUCCESS", pinned=True)]
    persistent += [memory("Huge pin", text="long " * 400, pinned=True), memory("Forbidden", vetoed=True)]
    found = shown(persistent, [memory("Passing", "ephemeral")])
    assert titles(found) == ["Pin", "Danger", "S6", "S5", "S4", "Passing", "S3", "S2"]
    assert found.text.startswith("[SUCCESS] Pin: ")
    assert found.text.endswith("\n(3 more memories not shown)")


def test_at_most_five_successes_and_failures_are_shown():
    persistent = [memory(f"{kind} {n}", category=kind) for kind in ("SUCCESS", "FAILURE", "NOTE") for n in range(7)]
    found = shown(persistent, [], budget=Budget(tokens=10_000))
    counts = {
        kind: sum(memory.category == kind for memory in found.memories) for kind in ("SUCCESS", "FAILURE", "NOTE")
    }
    assert counts == {"SUCCESS": 5, "FAILURE": 5, "NOTE": 7}
    assert found.text.endswith("\n(4 more memories not shown)")
    fewer = shown(persistent, [], budget=Budget(tokens=10_000, successes=1, failures=0))
    assert fewer.text.endswith("\n(13 more memories not shown)")


def test_scoring_memories_ignore_limits_and_come_first():
    scored = [memory(f"Scored {n}", category="SUCCESS", action="pull", score_change=5, turns=str(n)) for n in range(6)]
    plain = [memory(f"Plain {n}", category="SUCCESS", action="pull", turns=str(n), tried=9, worked=9) for n in range(6)]
    found = titles(shown([*plain, *scored], [], budget=Budget(tokens=10_000)))
    assert found == [f"Scored {n}" for n in range(5, -1, -1)] + [f"Plain {n}" for n in range(5, 0, -1)]


def test_budget_is_used_to_the_last_token():
    persistent = [memory(f"M{n}", status="TENTATIVE", turns=str(9 - n)) for n in range(6)]
    whole = estimated_tokens(shown(persistent, []).text)
    fixed = estimated_tokens("(6 more memories not shown)\n") + estimated_tokens(f"\n{TENTATIVE_HEADING}\n")
    each = estimated_tokens(f"  {line(persistent[0])}\n")
    budgets = (whole, fixed + 2 * each, fixed + 2 * each - 1, fixed + each, fixed + each - 1)
    found = [len(shown(persistent, [], budget=Budget(tokens=tokens)).memories) for tokens in budgets]
    assert found == [6, 2, 1, 1, 0]


def test_omitted_memories_are_counted():
    persistent = [memory("Short", text="short"), memory("Long", text="long " * 400, observation_count=9)]
    assert shown(persistent, []).text == "[NOTE] Short: short\n(1 more memory not shown)"


@pytest.mark.slow
@given(st.lists(memories(), max_size=30), st.integers(12, 400))
def test_budget_is_never_exceeded(persistent, tokens):
    budget = Budget(tokens=tokens)
    found = shown(persistent, [], budget=budget)
    assert estimated_tokens(found.text) <= tokens
    assert found == shown(list(persistent), [], budget=budget)
    assert all(memory.status != "SUPERSEDED" and not memory.vetoed for memory in found.memories)
    assert all(line(memory) in found.text for memory in found.memories)


def test_tentative_memories_have_a_heading():
    found = shown([memory("Maybe", status="TENTATIVE", text="It may bite.")], [])
    assert found.text == f"{TENTATIVE_HEADING}\n  [NOTE] Maybe: It may bite."


def test_other_scripts_cost_more_tokens():
    assert estimated_tokens("A brass lamp is here.") == 6
    assert estimated_tokens("ランプがある") == 7
    assert estimated_tokens("ランプ: a brass lamp") == 7


def test_very_long_text_is_shortened():
    told = line(memory("Letter", text="Dear. " + "word " * 100 + "End.", kind="text"))
    assert told.startswith("[NOTE] Letter: Dear. word")
    assert "[...]" in told
    assert told.endswith("End. (510 characters in all)")

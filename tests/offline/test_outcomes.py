"""Tests of the outcomes that the rules read from the fields of a memory."""

from dataclasses import replace

import pytest

from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory
from zorkgpt.offline.outcomes import ActionOutcome, remembered_outcome
from zorkgpt.offline.phrases import is_dark

DARK = (Claim(Relation.DARK),)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"outcome": "died", "category": "DANGER"}, ActionOutcome.KILLS),
        ({"outcome": "died", "category": "DANGER", "when": DARK}, ActionOutcome.KILLS_UNLIT),
        ({"outcome": "changed", "score_change": 5}, ActionOutcome.SCORES),
        ({"outcome": "changed", "claims": (Claim(Relation.CARRIED, 7, "lamp"),)}, ActionOutcome.TAKES),
        ({"outcome": "changed"}, ActionOutcome.WORKS),
        ({"outcome": "to 12"}, ActionOutcome.LEADS),
        ({"outcome": "nothing", "category": "FAILURE"}, ActionOutcome.FAILS),
        ({"category": "FAILURE"}, ActionOutcome.FAILS),
        ({"category": "DANGER"}, ActionOutcome.KILLS),
        ({"category": "SUCCESS"}, ActionOutcome.WORKS),
        ({"category": "SUCCESS", "score_change": 5}, ActionOutcome.SCORES),
    ],
)
def test_outcome_is_read_from_the_fields_of_a_memory(fields, outcome):
    memory = Memory("NOTE", "In a model's own words", 1, "1", 0, "text", "permanent", action="Rub  LAMP")
    assert remembered_outcome(replace(memory, **fields)) == ("rub lamp", outcome)


@pytest.mark.parametrize("text", ["It is pitch black.", "It's too dark to see!", "It is now very dark in here."])
def test_darkness_is_recognized(text):
    assert is_dark(text)


@pytest.mark.parametrize("text", ["A staircase descends into darkness.", "You are in a dark and damp cellar."])
def test_mention_of_darkness_is_not_darkness(text):
    assert not is_dark(text)

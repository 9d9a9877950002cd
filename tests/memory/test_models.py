"""Tests of a model's answers and of facts given as a dictionary."""

import pickle
from copy import copy
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given as for_each
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.fixtures.memory import memory
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.asking import handled_numbers
from zorkgpt.memory.models import (
    MemoryKind,
    MemoryStatus,
    Persistence,
    ZMachineContext,
    episode_key,
    fields_of,
    memory_of,
    same_episode,
)
from zorkgpt.memory.objects import AttributeChange, ObjectMove

COMPLETE = {
    "should_remember": True,
    "category": "NOTE",
    "memory_title": "T",
    "memory_text": "The text.",
    "persistence": "core",
}


def test_complete_answer_is_accepted():
    answer = MemorySynthesisResponse(**COMPLETE, supersedes_memory_titles=["A", "A"])
    assert (answer.status, answer.supersedes_memory_titles, answer.reasoning) == ("ACTIVE", {"A"}, "")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({**COMPLETE, "memory_text": " "}, "these are required: memory_text"),
        ({"should_remember": True}, "category, memory_title, memory_text, persistence"),
        ({**COMPLETE, "persistence": "forever"}, "'core', 'permanent' or 'ephemeral'"),
        ({**COMPLETE, "category": "GOSSIP"}, "'SUCCESS', 'FAILURE', 'DISCOVERY', 'DANGER' or 'NOTE'"),
        (
            {"should_remember": False, "invalidate_memory_titles": ["A"], "invalidation_reason": " "},
            "needs an invalidation_reason that is not blank",
        ),
        (
            {
                **COMPLETE,
                "supersedes_memory_titles": ["A", "B"],
                "invalidate_memory_titles": ["B"],
                "invalidation_reason": "x",
            },
            "both superseded and invalidated: B",
        ),
        ({**COMPLETE, "supersedes_memory_titles": ["A", "B", "C", "D"]}, "at most 3 items"),
        ({}, "Field required"),
        ([COMPLETE], "valid dictionary"),
    ],
)
def test_incomplete_answer_is_explained(fields, message):
    with pytest.raises(ValidationError, match=message):
        MemorySynthesisResponse.model_validate(fields)


def test_answer_without_a_memory_needs_no_fields():
    nothing = MemorySynthesisResponse(should_remember=False)
    assert nothing.memory_title is None
    assert MemorySynthesisResponse(should_remember=False, category="none", persistence="", memory_text=5) == nothing


def test_facts_can_be_a_partial_dictionary():
    assert ZMachineContext.of({"turn": 3, "died": True, "weather": "fair"}) == ZMachineContext(turn=3, died=True)
    assert ZMachineContext.of(None) == ZMachineContext()


def test_enums_can_be_given_as_strings():
    given = memory(persistence="core", status="TENTATIVE", kind="text")
    assert (type(given.persistence), type(given.status), type(given.kind)) == (Persistence, MemoryStatus, MemoryKind)


@pytest.mark.parametrize(
    ("turns", "first", "last"),
    [
        ("25", 25, 25),
        ("23 - 24", 23, 24),
        ("25->48", 25, 48),
        ("1-5→9", 1, 9),
        ("dawn→9", None, 9),
        ("", None, None),
        ("9" * 18, 10**18 - 1, 10**18 - 1),
        ("9" * 19, None, None),
    ],
)
def test_turns_are_a_number_a_range_or_text(turns, first, last):
    given = memory(turns=turns)
    assert (given.first_turn, given.last_turn, given.turns) == (first, last, turns)


@for_each(st.one_of(st.text("0123456789->→ a", max_size=8), st.text()), st.sampled_from([None, 1, 2]))
def test_turns_keep_their_text(turns, first_episode):
    given = memory(turns=turns, first_episode=first_episode)
    assert given.turns == turns
    for copied in (replace(given, title="Other"), copy(given), pickle.loads(pickle.dumps(given))):
        assert (copied.turns, copied.first_turn, copied.last_turn) == (turns, given.first_turn, given.last_turn)
    assert replace(given, turns="7→9") == memory(turns="7→9", first_episode=first_episode)
    assert memory_of(fields_of(given)) == given


def test_memory_cannot_be_changed():
    given = memory()
    for name in ("title", "turns", "first_turn"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(given, name, None)


@pytest.mark.parametrize(
    ("episode", "key"),
    [(2, 2), ("2", 2), (" 2 ", 2), ("0", 0), ("-1", -1), ("02", "02"), ("ep_2", "ep_2"), ("9" * 19, "9" * 19)],
)
def test_episode_key_is_a_number_if_it_looks_like_one(episode, key):
    assert episode_key(episode) == key
    assert same_episode(episode, key)
    assert not same_episode(episode, 3)


def test_spontaneous_changes_are_not_effects_of_the_action():
    cat = ObjectMove(9, "cat", 1, "Hall", 2, "Yard", by_itself=True)
    lamp = AttributeChange(8, "lamp", "on", False, by_itself=True)
    by_itself = ZMachineContext(moved=(cat,), changed=(lamp,))
    assert (by_itself.acted, handled_numbers(by_itself)) == (False, set())
    box = AttributeChange(7, "box", "open", True)
    both = ZMachineContext(moved=(cat, replace(cat, number=6, by_itself=False)), changed=(lamp, box))
    assert (both.acted, handled_numbers(both)) == (True, {6, 7})

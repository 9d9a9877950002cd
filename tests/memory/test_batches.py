"""Tests of storing several memories in one write."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager

sentences = st.sampled_from(
    [
        "The lever opens the gate.",
        "The lever opens the iron gate.",
        "The lever doesn't open the gate.",
        "A rope.",
        "a rope",
    ]
)
items = st.lists(
    st.fixed_dictionaries(
        {"place": st.sampled_from([5, "hall", ("acme", 7)]), "text": sentences},
        optional={
            "title": st.sampled_from(["Lever", "Rope"]),
            "persistence": st.sampled_from(["core", "permanent", "ephemeral"]),
            "turn": st.integers(0, 3),
            "metadata": st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)),
        },
    ),
    max_size=8,
)


def fields(memory: AgentMemory) -> list[tuple]:
    return [(each.location_id, each.id, each.memory) for each in memory.find(limit=1000, status=None)]


@settings(max_examples=30)
@given(items, st.sampled_from([":memory:"]))
def test_many_are_stored_like_one_after_another(given_items, path):
    with AgentMemory.open(path) as one_by_one, AgentMemory.open(path) as together:
        ids = [one_by_one.remember(**item) for item in given_items]
        assert together.remember_many(given_items) == ids
        assert fields(together) == fields(one_by_one)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"place": 5}, "Item 2: There is no text."),
        ({"place": 5, "text": ""}, "Item 2: The text is ''; it must not be blank."),
        ({"place": 5, "text": "x", "tittle": "y"}, "Item 2: Unknown: tittle."),
        ({"place": [5], "text": "x"}, "Item 2: The place is [5]"),
        ("A lever.", "Item 2: 'A lever.' is not a mapping"),
    ],
)
def test_invalid_item_is_named_and_nothing_is_stored(home, bad, message):
    with AgentMemory.open(home.address) as memory:
        with pytest.raises((TypeError, ValueError), match=re.escape(message)):
            memory.remember_many([{"place": 5, "text": "A lever."}, bad])
        assert memory.find() == []
        assert memory.remember_many([]) == []


def test_vetoed_memory_stores_nothing(home):
    with SimpleMemoryManager.open(home.address) as memory:
        memory.remember(5, "A lever.", title="Lever")
        memory.edit_memory(5, "Lever", Edit(vetoed=True))
        with pytest.raises(MemoryEditError, match="hidden"):
            memory.remember_many([{"place": 5, "text": "A rope."}, {"place": 5, "text": "A lever.", "title": "Lever"}])
        assert memory.find() == []


def test_any_number_is_stored(home):
    with AgentMemory.open(home.address) as memory:
        memory.remember_many({"place": number % 40, "text": f"Fact number {number}."} for number in range(400))
        assert len(memory.find(limit=1000)) == 400


def test_ephemeral_fact_that_becomes_lasting_keeps_the_lasting_id(home):
    with AgentMemory.open(home.address) as memory:
        first = memory.remember(5, "A rope.")
        memory.remember(5, "A rope.", persistence="ephemeral")
        assert memory.remember(5, "A rope.", persistence="core") == first

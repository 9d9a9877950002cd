"""Tests of classifying memories without a persistence."""

import pytest

from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.upkeep.classification import mark, proposals

FILE = """Text of no place.

## Location 5: Hall

**[DISCOVERY] Sword** *(Ep1, T2)*
A sword hangs above the mantel.

**[NOTE] Lamp** *(Ep1, T11)*
I left the lamp here.

A note of my own.

**[DANGER - PERMANENT] Troll** *(Ep1, T12)*
The troll kills.

## Location 6: Attic

**[CORE] Rope** *(Ep1, T13)*
A rope lies here.
"""


@pytest.fixture
def store(tmp_path):
    (tmp_path / "Memories.md").write_text(FILE)
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        yield manager.store


def proposed(store, llm=None):
    return list(proposals(store.document, llm))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (['{"persistences": ["core", "permanent"]}', '{"persistences": ["core"]}'], ["core", "permanent", "core"]),
        (['{"persistences": ["core"]}', '{"persistences": ["core"]}'], ["permanent", "permanent", "core"]),
        (["no idea", "no idea", '{"persistences": ["core"]}'], ["permanent", "permanent", "core"]),
    ],
)
def test_model_classifies_each_place_with_permanent_as_fallback(store, answers, expected):
    llm = ScriptedLLM(answers)
    proposal_list = proposed(store, llm)
    assert [(proposal.located.memory.title, proposal.persistence) for proposal in proposal_list] == list(
        zip(("Sword", "Lamp", "Rope"), expected, strict=True)
    )
    assert "1. Sword: A sword hangs above the mantel.\n2. Lamp: I left the lamp here." in llm.calls[0].prompt
    assert {proposal.why == "the model's answer" for proposal in proposal_list if proposal.persistence == "core"} == {
        True
    }


def test_proposals_for_changed_memories_are_skipped(store):
    sword, lamp, rope = proposed(store)
    store.path.write_text(FILE.replace("I left", "You left"))
    store.refresh()
    with store.transaction() as draft:
        assert mark(draft, store.document, [sword, lamp, rope]) == 2
    for line in ("**[DISCOVERY - PERMANENT] Sword**", "**[NOTE] Lamp**", "**[CORE - PERMANENT] Rope**"):
        assert line in store.path.read_text()
    assert [proposal.located.memory.title for proposal in proposed(store)] == ["Lamp"]

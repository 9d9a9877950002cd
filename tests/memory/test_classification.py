"""Classification of memories whose header has no persistence."""

import pytest

from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.upkeep.classification import ModelClassifier, RuleClassifier, mark, proposals

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


def proposed(store, classifier):
    return list(proposals(store.lasting.document, classifier))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (['{"persistences": ["core", "permanent"]}', '{"persistences": ["core"]}'], ["core", "permanent", "core"]),
        (['{"persistences": ["core"]}', '{"persistences": ["core"]}'], ["permanent", "permanent", "core"]),
        (["no idea", "no idea", '{"persistences": ["core"]}'], ["permanent", "permanent", "core"]),
    ],
)
def test_a_model_is_asked_for_each_place_and_the_rules_if_its_answer_is_invalid(store, answers, expected):
    llm = ScriptedLLM(answers)
    found = proposed(store, ModelClassifier(llm))
    assert [(each.located.memory.title, each.persistence) for each in found] == list(
        zip(("Sword", "Lamp", "Rope"), expected, strict=True)
    )
    assert "1. Sword: A sword hangs above the mantel.\n2. Lamp: I left the lamp here." in llm.calls[0].prompt
    assert {each.why == "the model's answer" for each in found if each.persistence == "core"} == {True}


def test_accepted_proposals_are_written_unless_the_memory_was_changed_since(store):
    sword, lamp, rope = proposed(store, RuleClassifier())
    store.path.write_text(FILE.replace("I left", "You left"))
    store.refresh()
    with store.transaction() as draft:
        assert mark(draft, [sword, lamp, rope]) == 2
    for line in ("**[DISCOVERY - PERMANENT] Sword**", "**[NOTE] Lamp**", "**[CORE - PERMANENT] Rope**"):
        assert line in store.path.read_text()
    assert [each.located.memory.title for each in proposed(store, RuleClassifier())] == ["Lamp"]

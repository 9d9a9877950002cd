"""Core memories held against a fresh world."""

import pytest

from tests.memory.parts import memory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.recall.search import LocatedMemory
from zorkgpt.memory.upkeep.audit import Thing, Verdict, held_against

HALL, KITCHEN, ATTIC = 5, 6, 7
SWORD = Thing("elvish sword", HALL, "Hall", True)
TABLE = Thing("table", KITCHEN, "Kitchen", False)
WORLD = (SWORD, TABLE, Thing("lamp", KITCHEN, "Kitchen", True), Thing("rock", ATTIC, "Attic", False))


def verdict(title, text, *, place=KITCHEN, world=WORLD, persistence="core", **fields):
    name = {HALL: "Hall", KITCHEN: "Kitchen"}[place]
    checked = LocatedMemory(place, name, memory(title, persistence, text=text, **fields))
    known = [LocatedMemory(other, "", memory("Known")) for other in (HALL, KITCHEN, ATTIC)]
    findings = held_against([checked, *known], world)
    return [(finding.verdict, finding.evidence) for finding in findings]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Sword here", "A sword lies here."),
        ("Sword", "The elvish sword is in the Kitchen."),
        ("Sword on the table", "There is a sword on the table."),
    ],
)
def test_what_lies_elsewhere_in_a_fresh_world_is_contradicted(title, text):
    assert verdict(title, text) == [(Verdict.CONTRADICTED, "In a fresh world the elvish sword is in Hall (5)")]


def test_what_lies_there_in_a_fresh_world_is_confirmed():
    assert verdict("Lamp", "A lamp is on the table.")[0][0] == Verdict.CONFIRMED


@pytest.mark.parametrize(
    ("title", "text", "more"),
    [
        ("Sword glows", "The sword glows near trolls.", {}),
        ("Sword above", "A sword hangs above the mantel.", {}),
        ("Rock", "A rock lies here.", {}),
        ("Sword", "The sword is not here.", {}),
        ("Sword", "The sword is in the Hall.", {}),
        ("Sword", "A sword lies here.", {"world": (*WORLD, Thing("old sword", ATTIC, "Attic", True))}),
        ("Sword", "A sword lies here.", {"world": (Thing("sword", 99, "Nowhere known", True),)}),
    ],
    ids=["no place", "place not named", "not portable", "a denial", "another place", "two swords", "unknown room"],
)
def test_what_is_not_unmistakable_is_left_alone(title, text, more):
    assert verdict(title, text, **more)[0][0] == Verdict.NOT_CHECKABLE


def test_only_current_core_memories_are_held_against_the_world():
    assert verdict("Sword", "A sword lies here.", persistence="permanent") == []
    assert verdict("Sword", "A sword lies here.", status="SUPERSEDED") == []


def test_what_is_contradicted_is_invalidated_with_the_evidence_and_counted(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        manager.add_memory(HALL, "Hall", memory("Hall"))
        manager.add_memory(KITCHEN, "Kitchen", memory("Sword", "core", text="A sword lies here."))
        manager.add_memory(KITCHEN, "Kitchen", memory("Lamp", "core", text="A lamp lies here."))
        manager.audit(WORLD, apply=False)
        assert "Sword" in manager.get_location_memory(KITCHEN)
        manager.audit(WORLD)
        assert manager.get_location_memory(KITCHEN) == "[NOTE] Lamp: A lamp lies here. [spawn]"
        sword, _ = manager.memory_cache[KITCHEN]
        assert sword.invalidation_reason == "In a fresh world the elvish sword is in Hall (5)"
        counts = manager.get_status()["metrics"]["audit"]
        assert counts == {"confirmed": 1, "contradicted": 1, "not checkable": 0}

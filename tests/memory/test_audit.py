"""Tests of the audit, which checks core memories at the start of a game."""

from dataclasses import replace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Thing
from zorkgpt.memory.objects import PlacedObject
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.audit import AuditVerdict, audit

HALL, KITCHEN = 5, 6
SWORD = PlacedObject(1, "elvish sword", HALL, "Hall", movable=True)
CASE = PlacedObject(2, "case", KITCHEN, "Kitchen", states=("closed",))
LAMP = PlacedObject(3, "lamp", KITCHEN, "Kitchen", holder=2, movable=True, states=("unlit",))
ROCK = PlacedObject(4, "rock", HALL, "Hall")
COIN = PlacedObject(5, "coin", None, movable=True)
WORLD = (SWORD, CASE, LAMP, ROCK, COIN)


def verdict(*claims, place=KITCHEN, persistence="core", **fields):
    checked = LocatedMemory(place, "", memory("Seen", persistence, claims=claims, **fields))
    return [(finding.verdict, finding.evidence) for finding in audit([checked], WORLD)]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        (Claim(Relation.HERE, 1), "the elvish sword is in Hall (5)"),
        (Claim(Relation.IN, 1, other=2), "the elvish sword is in Hall (5)"),
        (Claim(Relation.IN, 1), "the elvish sword is in Hall (5)"),
        (Claim(Relation.IN, 3, other=1), "the lamp is in Kitchen (6) and unlit"),
        (Claim(Relation.ON, 3, other=3), "the lamp is in Kitchen (6) and unlit"),
        (Claim(Relation.HERE, 5), "the coin is in no location"),
        (Claim(Relation.LIT, 3), "the lamp is in Kitchen (6) and unlit"),
        (Claim(Relation.OPEN, 2), "the case is in Kitchen (6) and closed"),
    ],
)
def test_false_claim_is_contradicted_with_evidence(claim, evidence):
    assert verdict(claim) == [(AuditVerdict.CONTRADICTED, f"In a fresh world {evidence}")]
    assert verdict(Claim(Relation.HERE, 99), Claim(Relation.HERE, 3), claim)[0][0] == AuditVerdict.CONTRADICTED


def test_claim_about_a_thing_without_location_is_not_checkable():
    assert verdict(Claim(Relation.HERE, 1), place=HALL - 1)[0][0] == AuditVerdict.CONTRADICTED
    assert verdict(Claim(Relation.HERE, 1), place=Thing(HALL))[0][0] == AuditVerdict.NOT_CHECKABLE


@pytest.mark.parametrize(
    "claim",
    [
        Claim(Relation.HERE, 3),
        Claim(Relation.IN, 3, other=2),
        Claim(Relation.UNLIT, 3),
        Claim(Relation.CLOSED, 2),
    ],
)
def test_true_claim_is_confirmed(claim):
    assert verdict(claim)[0][0] == AuditVerdict.CONFIRMED


@pytest.mark.parametrize(
    "claims",
    [
        (),
        (Claim(Relation.HERE, 4),),
        (Claim(Relation.HERE, 99),),
        (Claim(Relation.OPEN, 1),),
        (Claim(Relation.DARK),),
        (Claim(Relation.LEADS, None, "west", HALL),),
    ],
    ids=["no claims", "may be in several places", "no such thing", "a state it has not", "darkness", "a way"],
)
def test_claims_outside_the_object_tree_are_not_checkable(claims):
    assert verdict(*claims)[0][0] == AuditVerdict.NOT_CHECKABLE


def test_text_is_not_checked():
    assert verdict(text="The elvish sword lies here in the Kitchen.")[0][0] == AuditVerdict.NOT_CHECKABLE


def test_only_current_core_memories_are_audited():
    claim = Claim(Relation.HERE, 1)
    assert verdict(claim, persistence="permanent") == []
    assert verdict(claim, status="SUPERSEDED") == []


def audited(tmp_path, **fields):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    wrong = memory("Sword", "core", text="A sword lies here.", claims=(Claim(Relation.HERE, 1),), **fields)
    manager.add_memory(KITCHEN, "Kitchen", wrong)
    lamp = memory("Lamp", "core", text="A lamp lies here.", claims=(Claim(Relation.HERE, 3),))
    manager.add_memory(KITCHEN, "Kitchen", lamp)
    manager.add_memory(KITCHEN, "Kitchen", replace(wrong, title="Blade", text="A blade lies here.", pinned=False))
    return manager


def test_contradicted_memories_are_invalidated_and_counted(tmp_path):
    with audited(tmp_path) as manager:
        manager.audit(WORLD, apply=False)
        assert "Sword" in manager.get_location_memory(KITCHEN)
        manager.audit(WORLD)
        assert manager.get_location_memory(KITCHEN) == "[NOTE] Lamp: A lamp lies here. [spawn]"
        sword, _, blade = manager.memory_cache[KITCHEN]
        for wrong in (sword, blade):
            assert wrong.invalidation_reason == "In a fresh world the elvish sword is in Hall (5)"
        counts = manager.get_status()["metrics"]["audit"]
        assert counts == {"confirmed": 1, "contradicted": 2, "not checkable": 0}


def test_pinned_memory_is_not_invalidated(tmp_path):
    with audited(tmp_path, pinned=True) as manager:
        manager.audit(WORLD)
        assert "A sword lies here." in manager.get_location_memory(KITCHEN)


@pytest.mark.parametrize("by", ["command", "hand"])
def test_edited_memory_is_not_invalidated(tmp_path, by):
    path = tmp_path / "Memories.md"
    with audited(tmp_path) as manager:
        if by == "command":
            manager.edit_memory(KITCHEN, "Sword", Edit(text="A sword was seen here by me."))
            assert manager.memory_cache[KITCHEN][0].claims == ()
    if by == "hand":
        path.write_text(path.read_text().replace("A sword lies here.", "A sword was seen here by me."))
    with SimpleMemoryManager.open(path) as manager:
        manager.audit(WORLD)
        assert "seen here by me" in manager.get_location_memory(KITCHEN)

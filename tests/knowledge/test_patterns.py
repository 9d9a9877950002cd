"""What is known at several places in the same form becomes one line, and leaves the places short."""

import pytest

from managers.knowledge_manager import is_way
from tests.fixtures.knowledge import places
from tests.fixtures.memory import memory
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.line import KnowledgeSection
from zorkgpt.knowledge.patterns import Pattern, find_patterns, record_patterns, withdrawn
from zorkgpt.knowledge.revision import Revision
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import LocatedMemory

PUSH = "push wall: tells more"


def at(number: int, *memories: Memory, name: str = "") -> list[LocatedMemory]:
    return [LocatedMemory(number, name or f"Room {number}", one) for one in memories]


def told(title: str = PUSH, text: str = "It is warm.", **fields) -> Memory:
    return memory(title, **{"category": "DISCOVERY"} | fields, text=text)


def found(*located: list[LocatedMemory]) -> list[Pattern]:
    return find_patterns([one for some in located for one in some], is_way)


def test_the_same_at_three_places_is_a_pattern_with_its_places():
    [pattern] = found(at(3, told()), at(1, told()), at(2, told(), told()))
    assert pattern == Pattern(KnowledgeSection.LESSONS, f"{PUSH}: It is warm.", places(1, 2, 3))


def test_the_places_own_name_is_no_difference():
    names = ("Kitchen", "Hall", "North Attic")
    located = [
        at(number, memory("Echo", text=f"The {name} echoes when you sing."), name=name)
        for number, name in enumerate(names)
    ]
    [pattern] = found(*located)
    assert pattern.text == "Echo: The this place echoes when you sing."


@pytest.mark.parametrize(
    "others",
    [
        [at(2, told())],
        [at(2, told()), at(3, told(text="It is cold."))],
        [at(2, told()), at(3, told(persistence="core"))],
        [at(2, told()), at(3, told(persistence="ephemeral"))],
        [at(2, told()), at(3, told(status="TENTATIVE"))],
        [at(2, told()), at(3, told(status="SUPERSEDED"))],
        [at(2, told()), at(3, told(category="FAILURE"))],
        [at(2, told()), at(3, told(pinned=True))],
        [at(2, told()), at(3, told(vetoed=True))],
    ],
    ids=[
        "two places",
        "other words",
        "as it began",
        "this episode's",
        "unconfirmed",
        "superseded",
        "failed",
        "pinned",
        "vetoed",
    ],
)
def test_less_is_no_pattern(others):
    assert found(at(1, told()), *others) == []


def test_where_ways_lead_is_of_the_place():
    up = told("up → Forest", "It is steep.", action="up")
    assert found(at(1, up), at(2, up), at(3, up)) == []


def taken_in(document: KnowledgeDocument, memories: list[LocatedMemory]) -> KnowledgeDocument:
    revision = Revision(document)
    record_patterns(revision, find_patterns(memories, is_way), withdrawn(memories), episode=1, turn=5)
    return revision.document


@pytest.mark.parametrize(
    "elsewhere",
    [
        memory("push wall: works", text="It opens."),
        memory("Wall", text="The wall is not warm."),
        told(status="SUPERSEDED"),
    ],
)
def test_what_came_about_elsewhere_strikes_no_pattern(elsewhere):
    same = [one for number in (1, 2, 3) for one in at(number, told())]
    known = taken_in(KnowledgeDocument(), same)
    assert [line.text for line in known.lines] == [f"{PUSH}: It is warm."]
    assert taken_in(known, [*same, *at(7, elsewhere)]) == known


@pytest.mark.parametrize("gone", [{"status": "SUPERSEDED"}, {"vetoed": True}], ids=["superseded", "vetoed"])
def test_a_place_where_it_is_believed_no_more_is_taken_out(gone):
    same = {number: at(number, told()) for number in (1, 2, 3)}
    known = taken_in(KnowledgeDocument(), [one for some in same.values() for one in some])
    same[2] = at(2, told(**gone))
    left = taken_in(known, [one for some in same.values() for one in some])
    assert [(line.places, line.struck) for line in left.lines] == [(places(1, 3), False)]
    nowhere = taken_in(left, [one for number in same for one in at(number, told(**gone))])
    assert [line.struck for line in nowhere.lines] == [True]

"""What is known at several places in the same form becomes one line, and leaves the places short."""

import pytest

from managers.knowledge_manager import is_way
from tests.knowledge.parts import places
from tests.memory.parts import memory
from zorkgpt.knowledge.document import Document
from zorkgpt.knowledge.line import Place
from zorkgpt.knowledge.patterns import Pattern, patterns, take_in
from zorkgpt.knowledge.revision import Revision
from zorkgpt.knowledge.sections import Section
from zorkgpt.memory.models import Memory
from zorkgpt.memory.recall.search import LocatedMemory

PUSH = "“push wall” does nothing"


def at(number: int, *memories: Memory, name: str = "") -> list[LocatedMemory]:
    return [LocatedMemory(number, name or f"Room {number}", one) for one in memories]


def failed(title: str = PUSH, text: str = "It does not move.", **fields) -> Memory:
    return memory(title, category="FAILURE", text=text, **fields)


def found(*located: list[LocatedMemory]) -> list[Pattern]:
    return patterns([one for some in located for one in some], is_way)


def test_the_same_at_three_places_is_a_pattern_with_its_places():
    [pattern] = found(at(3, failed()), at(1, failed()), at(2, failed(), failed()))
    assert pattern == Pattern(Section.SYNTAX, f"{PUSH}: It does not move.", places(1, 2, 3))


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
        [at(2, failed())],
        [at(2, failed()), at(3, failed(text="It moves a little."))],
        [at(2, failed()), at(3, failed(persistence="core"))],
        [at(2, failed()), at(3, failed(persistence="ephemeral"))],
        [at(2, failed()), at(3, failed(status="TENTATIVE"))],
        [at(2, failed()), at(3, failed(status="SUPERSEDED"))],
        [at(2, failed()), at(3, failed(pinned=True))],
        [at(2, failed()), at(3, failed(vetoed=True))],
    ],
    ids=["two places", "other words", "as it began", "this episode's", "unconfirmed", "superseded", "pinned", "vetoed"],
)
def test_less_is_no_pattern(others):
    assert found(at(1, failed()), *others) == []


def test_where_ways_lead_is_of_the_place():
    up = failed("“up” does nothing", "You can't go that way.")
    assert found(at(1, up), at(2, up), at(3, up)) == []


@pytest.mark.parametrize(
    ("known", "against"),
    [
        (failed(), memory("“push wall” works", text="It opens.")),
        (
            memory("Rats", text="The rats are afraid of light."),
            memory("Rats", text="The rats are not afraid of light."),
        ),
    ],
)
def test_a_place_where_it_is_otherwise_blocks_it(known, against):
    [pattern] = found(at(1, known), at(2, known), at(3, known), at(7, against, name="Yard"))
    assert pattern.otherwise == Place(7, "Yard")
    revision = Revision(Document())
    take_in(revision, [pattern], episode=1, turn=5)
    assert revision.document.lines == ()


def test_a_pattern_that_turns_out_otherwise_somewhere_is_struck_with_the_place():
    same = [at(number, failed()) for number in (1, 2, 3)]
    revision = Revision(Document())
    take_in(revision, found(*same), episode=1, turn=5)
    take_in(revision, found(*same, at(7, memory("“push wall” works"), name="Yard")), episode=1, turn=9)
    [line] = revision.document.lines
    assert (line.struck, line.reason) == (True, "otherwise at Yard (7)")

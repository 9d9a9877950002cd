"""Tests of revising existing lines with new lessons."""

from dataclasses import replace

import pytest

from tests.fixtures.knowledge import a_line
from zorkgpt.knowledge.document import KnowledgeDocument, parse, render
from zorkgpt.knowledge.line import KnowledgeSection, line_of
from zorkgpt.knowledge.revision import LineUpdates, Revision
from zorkgpt.memory.models import Memory

KEY = "The brass key unlocks the stone door."


def a_document(*lines: Memory) -> KnowledgeDocument:
    document = KnowledgeDocument()
    for line in lines:
        document = document.added(line)
    return document


def a_proposal(
    text: str, section: KnowledgeSection = KnowledgeSection.LESSONS, replaces: Memory | None = None
) -> tuple[Memory, Memory | None]:
    return line_of(section, text, 2, 5, 9), replaces


def taken_in(document: KnowledgeDocument, **lessons) -> Revision:
    return Revision(document).apply(LineUpdates(**lessons))


def test_new_line_is_added_with_its_evidence():
    revision = taken_in(a_document(), new=(a_proposal(f" {KEY}\n"),))
    assert revision.document.lines == (line_of(KnowledgeSection.LESSONS, KEY, 2, 5, 9),)
    assert (revision.added, revision.struck) == ([KEY], [])


def test_same_statement_confirms_the_line_in_any_section():
    proposal = a_proposal("A brass key unlocks the stone door", KnowledgeSection.PUZZLES)
    revision = taken_in(a_document(a_line(KEY)), new=(proposal, proposal))
    assert revision.document.lines == (a_line(KEY, confirmed=1),)
    assert revision.added == []


def test_longer_statement_replaces_the_line():
    more = "The brass key unlocks the stone door, which leads down."
    revision = taken_in(a_document(a_line(KEY)), new=(a_proposal(more),))
    assert revision.document.lines == (a_line(more, confirmed=1),)


def test_better_line_replaces_the_one_it_names():
    old, other = a_line("Open the sack, then eat.", confirmed=4), a_line(KEY)
    better = "Eat at once: the sack may stay closed."
    revision = taken_in(a_document(old, other), confirmed=(old,), new=(a_proposal(better, replaces=old),))
    assert revision.document.lines == (line_of(KnowledgeSection.LESSONS, better, 2, 5, 9), other)
    assert (revision.added, revision.struck) == ([better], [])


@pytest.mark.parametrize("state", [{"struck": True}, {"reason": "It broke."}], ids=["struck", "restored by a person"])
def test_struck_or_restored_line_is_not_replaced(state):
    old = a_line(KEY, contradicted=1, **state)
    revision = taken_in(a_document(old), new=(a_proposal("Eat at once.", replaces=old),))
    assert [line.text for line in revision.document.lines] == [KEY, "Eat at once."]


@pytest.mark.parametrize("confirmed", [0, 3])
def test_denial_is_kept_beside_the_line(confirmed):
    known, denial = a_line(KEY, confirmed=confirmed), "The brass key does not unlock the stone door."
    revision = taken_in(a_document(known), new=(a_proposal(denial),))
    assert revision.document.lines[0] == known
    assert (revision.added, revision.struck) == ([denial], [])


def test_longer_statement_than_a_struck_line_is_new():
    struck = a_line(KEY, contradicted=1, struck=True, reason="It broke.")
    more = "The brass key unlocks the stone door, which leads down."
    revision = taken_in(a_document(struck), new=(a_proposal(more),))
    assert revision.document.lines[0] == struck
    assert revision.added == [more]


def test_command_form_that_works_again_is_confirmed():
    line = a_line("The parser understands “put … in …”, for example “put bead in chest”.")
    again = "The parser understands “put … in …”, for example “put leaf in jar”."
    assert taken_in(a_document(line), new=(a_proposal(again),)).document.lines == (replace(line, tried=1, worked=1),)


def test_quoted_commands_are_compared_literally():
    revision = taken_in(
        a_document(a_line("“open door” at Hall (3) is deadly: Snap.")),
        new=(a_proposal("“close door” at Hall (3) is deadly: Snap."),),
    )
    assert [line.tried for line in revision.document.lines] == [0, 0]


def test_counts_increase_once_per_revision():
    line = a_line(KEY)
    revision = taken_in(a_document(line), confirmed=(line, line), contradicted=((line, "no"),))
    assert revision.document.lines == (a_line(KEY, confirmed=1),)


def test_contradiction_strikes_with_a_reason():
    updates = LineUpdates(contradicted=((a_line(KEY), "It broke."),))
    revision = Revision(a_document(a_line(KEY))).apply(updates)
    assert revision.document.lines == (a_line(KEY, contradicted=1, struck=True, reason="It broke."),)
    assert revision.struck == [KEY]


def test_removed_line_is_ignored():
    revision = taken_in(a_document(), confirmed=(a_line(KEY),), contradicted=((a_line("Other."), "no"),))
    assert revision.document.lines == ()


def test_persons_line_is_neither_repeated_nor_changed():
    data = f"## LESSONS LEARNED\n- {KEY}\n".encode()
    revision = taken_in(parse(data), new=(a_proposal(KEY),))
    assert render(revision.document) == data


def test_better_episode_replaces_the_best_so_far():
    def best(points: int, turns: int = 9) -> str:
        return f"Episode {points} scored {points} points in {turns} turns, in this order: “take gem”."

    document = a_document(a_line(best(5), KnowledgeSection.META_STRATEGIES, confirmed=2))
    better = taken_in(document, new=(a_proposal(best(12), KnowledgeSection.META_STRATEGIES),))
    assert better.document.lines == (line_of(KnowledgeSection.META_STRATEGIES, best(12), 2, 5, 9),)
    for no_better in (best(7, 3), best(12, 10)):
        assert taken_in(better.document, new=(a_proposal(no_better),)).document == better.document
    quicker = taken_in(better.document, new=(a_proposal(best(12, 8)),))
    assert [line.text for line in quicker.document.lines] == [best(12, 8)]

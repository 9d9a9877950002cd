"""What lessons make of the lines that are there."""

from dataclasses import replace

import pytest

from tests.fixtures.knowledge import a_line
from zorkgpt.knowledge.document import KnowledgeDocument, parse, render
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection
from zorkgpt.knowledge.revision import LineUpdates, ProposedLine, Revision

KEY = "The brass key unlocks the stone door."


def a_document(*lines: KnowledgeLine) -> KnowledgeDocument:
    document = KnowledgeDocument()
    for line in lines:
        document = document.added(line)
    return document


def a_proposal(text: str, section: KnowledgeSection = KnowledgeSection.LESSONS, **fields) -> ProposedLine:
    return ProposedLine(section, text, **{"episode": 2, "first_turn": 5, "last_turn": 9} | fields)


def taken_in(document: KnowledgeDocument, **lessons) -> Revision:
    return Revision(document).apply(LineUpdates(**lessons))


def test_something_new_is_added_with_its_evidence():
    revision = taken_in(a_document(), new=(a_proposal(f" {KEY}\n"),))
    assert revision.document.lines == (KnowledgeLine(KnowledgeSection.LESSONS, KEY, 2, 5, 9),)
    assert (revision.added, revision.struck) == ([KEY], [])


def test_what_says_the_same_bears_the_line_out_wherever_it_stands():
    said = a_proposal("A brass key unlocks the stone door", KnowledgeSection.PUZZLES)
    revision = taken_in(a_document(a_line(KEY)), new=(said, said))
    assert revision.document.lines == (a_line(KEY, confirmed=1),)
    assert revision.added == []


def test_what_says_more_takes_the_lines_place():
    more = "The brass key unlocks the stone door, which leads down."
    revision = taken_in(a_document(a_line(KEY)), new=(a_proposal(more),))
    assert revision.document.lines == (a_line(more, confirmed=1),)


def test_a_better_line_takes_the_place_of_the_one_that_it_replaces():
    old, other = a_line("Open the sack, then eat.", confirmed=4), a_line(KEY)
    better = "Eat at once: the sack may stay closed."
    revision = taken_in(a_document(old, other), confirmed=(old,), new=(a_proposal(better, replaces=old),))
    assert revision.document.lines == (KnowledgeLine(KnowledgeSection.LESSONS, better, 2, 5, 9), other)
    assert (revision.added, revision.struck) == ([better], [])


@pytest.mark.parametrize("state", [{"struck": True}, {"reason": "It broke."}], ids=["struck", "restored by a person"])
def test_a_line_that_is_not_believed_or_that_a_person_restored_is_not_replaced(state):
    old = a_line(KEY, contradicted=1, **state)
    revision = taken_in(a_document(old), new=(a_proposal("Eat at once.", replaces=old),))
    assert [line.text for line in revision.document.lines] == [KEY, "Eat at once."]


@pytest.mark.parametrize("confirmed", [0, 3])
def test_what_denies_a_line_stands_beside_it_and_contradicts_nothing(confirmed):
    known, denial = a_line(KEY, confirmed=confirmed), "The brass key does not unlock the stone door."
    revision = taken_in(a_document(known), new=(a_proposal(denial),))
    assert revision.document.lines[0] == known
    assert (revision.added, revision.struck) == ([denial], [])


def test_what_says_more_than_a_struck_line_is_a_line_of_its_own():
    struck = a_line(KEY, contradicted=1, struck=True, reason="It broke.")
    more = "The brass key unlocks the stone door, which leads down."
    revision = taken_in(a_document(struck), new=(a_proposal(more),))
    assert revision.document.lines[0] == struck
    assert revision.added == [more]


def test_a_form_of_commands_that_worked_again_confirms_its_line():
    line = a_line("The parser understands “put … in …”, for example “put bead in chest”.")
    again = "The parser understands “put … in …”, for example “put leaf in jar”."
    assert taken_in(a_document(line), new=(a_proposal(again),)).document.lines == (replace(line, confirmed=1),)


def test_commands_in_quotes_are_meant_to_the_letter():
    revision = taken_in(
        a_document(a_line("“open door” at Hall (3) is deadly: Snap.")),
        new=(a_proposal("“close door” at Hall (3) is deadly: Snap."),),
    )
    assert [(line.contradicted, line.confirmed) for line in revision.document.lines] == [(0, 0), (0, 0)]


def test_counts_rise_once_in_a_revision():
    line = a_line(KEY)
    revision = taken_in(a_document(line), confirmed=(line, line), contradicted=((line, "no"),))
    assert revision.document.lines == (a_line(KEY, confirmed=1),)


def test_a_contradiction_strikes_and_says_why():
    updates = LineUpdates(contradicted=((a_line(KEY), "It broke."),))
    revision = Revision(a_document(a_line(KEY))).apply(updates)
    assert revision.document.lines == (a_line(KEY, contradicted=1, struck=True, reason="It broke."),)
    assert revision.struck == [KEY]


def test_a_line_that_somebody_took_out_meanwhile_is_passed_over():
    revision = taken_in(a_document(), confirmed=(a_line(KEY),), contradicted=((a_line("Other."), "no"),))
    assert revision.document.lines == ()


def test_what_a_person_wrote_is_neither_repeated_nor_touched():
    data = f"## LESSONS LEARNED\n- {KEY}\n".encode()
    revision = taken_in(parse(data), new=(a_proposal(KEY),))
    assert render(revision.document) == data


def test_a_better_episode_takes_the_place_of_the_best_so_far():
    def best(points: int, turns: int = 9) -> str:
        return f"Episode {points} scored {points} points in {turns} turns, in this order: “take gem”."

    document = a_document(a_line(best(5), KnowledgeSection.META_STRATEGIES, confirmed=2))
    better = taken_in(document, new=(a_proposal(best(12), KnowledgeSection.META_STRATEGIES),))
    assert better.document.lines == (KnowledgeLine(KnowledgeSection.META_STRATEGIES, best(12), 2, 5, 9),)
    for no_better in (best(7, 3), best(12, 10)):
        assert taken_in(better.document, new=(a_proposal(no_better),)).document == better.document
    quicker = taken_in(better.document, new=(a_proposal(best(12, 8)),))
    assert [line.text for line in quicker.document.lines] == [best(12, 8)]

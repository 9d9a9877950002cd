"""What lessons make of the lines that are there."""

from tests.knowledge.parts import a_line, places
from zorkgpt.knowledge.document import Document, parse, render
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.revision import Lessons, Proposal, Revision
from zorkgpt.knowledge.sections import Section

KEY = "The brass key unlocks the stone door."


def a_document(*lines: KnowledgeLine) -> Document:
    document = Document()
    for line in lines:
        document = document.added(line)
    return document


def a_proposal(text: str, section: Section = Section.LESSONS, **fields) -> Proposal:
    return Proposal(section, text, **{"episode": 2, "first_turn": 5, "last_turn": 9} | fields)


def taken_in(document: Document, **lessons) -> Revision:
    return Revision(document).take_in(Lessons(**lessons))


def test_something_new_is_added_with_its_evidence():
    revision = taken_in(a_document(), new=(a_proposal(f" {KEY}\n"),))
    assert revision.document.lines == (KnowledgeLine(Section.LESSONS, KEY, 2, 5, 9),)
    assert (revision.added, revision.struck) == ([KEY], [])


def test_what_says_the_same_bears_the_line_out_wherever_it_stands():
    said = a_proposal("A brass key unlocks the stone door", Section.PUZZLES)
    revision = taken_in(a_document(a_line(KEY)), new=(said, said))
    assert revision.document.lines == (a_line(KEY, borne_out=1),)
    assert revision.added == []


def test_what_says_more_takes_the_lines_place():
    more = "The brass key unlocks the stone door, which leads down."
    revision = taken_in(a_document(a_line(KEY)), new=(a_proposal(more),))
    assert revision.document.lines == (a_line(more, borne_out=1),)


def test_what_denies_a_line_never_merges_with_it():
    denial = "The brass key does not unlock the stone door."
    revision = taken_in(a_document(a_line(KEY)), new=(a_proposal(denial),))
    old, new = revision.document.lines
    assert (old.text, old.contradicted, old.struck, old.reason) == (KEY, 1, True, f"later: {denial}")
    assert (new.text, new.struck) == (denial, False)
    assert (revision.added, revision.struck) == ([denial], [KEY])


def test_a_well_borne_out_line_stands_beside_its_denial():
    revision = taken_in(
        a_document(a_line(KEY, borne_out=3)), new=(a_proposal("The brass key does not unlock the stone door."),)
    )
    assert [line.struck for line in revision.document.lines] == [False, False]


def test_commands_in_quotes_are_meant_to_the_letter():
    revision = taken_in(
        a_document(a_line("“open door” at Hall (3) kills: Snap.")),
        new=(a_proposal("“close door” at Hall (3) kills: Snap."),),
    )
    assert [(line.contradicted, line.borne_out) for line in revision.document.lines] == [(0, 0), (0, 0)]


def test_counts_rise_once_in_a_revision():
    line = a_line(KEY)
    revision = taken_in(a_document(line), borne_out=(line, line), contradicted=((line, "no"),))
    assert revision.document.lines == (a_line(KEY, borne_out=1),)


def test_more_contradicted_than_borne_out_is_struck_and_says_why():
    line = a_line(KEY, borne_out=1, contradicted=1)
    revision = taken_in(a_document(line), contradicted=((line, "It broke."),))
    assert revision.document.lines == (a_line(KEY, borne_out=1, contradicted=2, struck=True, reason="It broke."),)
    assert revision.struck == [KEY]


def test_a_line_that_somebody_took_out_meanwhile_is_passed_over():
    revision = taken_in(a_document(), borne_out=(a_line(KEY),), contradicted=((a_line("Other."), "no"),))
    assert revision.document.lines == ()


def test_what_a_person_wrote_is_neither_repeated_nor_touched():
    data = f"## LESSONS LEARNED\n- {KEY}\n".encode()
    revision = taken_in(parse(data), new=(a_proposal(KEY),))
    assert render(revision.document) == data


def test_a_pattern_grows_by_places_which_bear_it_out():
    revision = Revision(a_document())
    revision.find(a_proposal("Pushing does nothing.", places=places(1, 2, 3)))
    revision = Revision(revision.document)
    revision.find(a_proposal("Pushing does nothing.", places=places(1, 2, 3)))
    assert revision.document.lines[0].borne_out == 0
    revision.find(a_proposal("Pushing does nothing.", places=places(2, 3, 4)))
    [line] = revision.document.lines
    assert (line.borne_out, [place.number for place in line.places]) == (1, [1, 2, 3, 4])

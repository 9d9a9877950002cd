"""Tests of merging the knowledge of episodes that started with the same document."""

from zorkgpt.knowledge.document import KnowledgeDocument, ProcessedTurns, parse, render
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection
from zorkgpt.knowledge.revision import merge_knowledge

PUZZLES = KnowledgeSection.PUZZLES


def a_line(text: str, episode: int = 1, **fields) -> KnowledgeLine:
    return KnowledgeLine(PUZZLES, text, episode, 2, 3, **fields)


def holding(*lines: KnowledgeLine) -> KnowledgeDocument:
    document = KnowledgeDocument()
    for line in lines:
        document = document.added(line)
    return parse(render(document))


def told(document: KnowledgeDocument) -> list[tuple[str, int, int, bool]]:
    return [(line.text, line.confirmed, line.contradicted, line.struck) for line in document.lines]


def test_line_of_two_episodes_is_confirmed_once():
    base = holding(a_line("The bell calls the ferry.", confirmed=4))
    one = holding(a_line("The bell calls the ferry.", confirmed=5), a_line("The key opens the cellar.", 2))
    other = holding(a_line("The bell calls the ferry.", confirmed=6), a_line("The key opens the cellar.", 3))
    merged = merge_knowledge(base, [(2, one), (3, other)])
    assert told(merged) == [("The bell calls the ferry.", 7, 0, False), ("The key opens the cellar.", 1, 0, False)]


def test_line_struck_in_one_episode_and_confirmed_in_another_stays():
    base = holding(a_line("The troll sleeps."))
    struck = holding(a_line("The troll sleeps.", contradicted=1, struck=True, reason="It woke up"))
    confirmed = holding(a_line("The troll sleeps.", confirmed=1))
    assert told(merge_knowledge(base, [(2, confirmed), (3, struck)])) == [("The troll sleeps.", 1, 1, False)]
    [line] = merge_knowledge(base, [(2, struck)]).lines
    assert (line.struck, line.reason) == (True, "It woke up")


def test_processed_episodes_are_merged():
    found = [
        (number, holding(a_line("The key opens the cellar.", number)).with_processed(number, ProcessedTurns(9, 9)))
        for number in (2, 3)
    ]
    assert merge_knowledge(KnowledgeDocument(), found).processed == {
        "2": ProcessedTurns(9, 9),
        "3": ProcessedTurns(9, 9),
    }

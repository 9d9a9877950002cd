"""Tests of revising existing lines with new lessons, in a real file."""

from pathlib import Path

import pytest

from tests.fixtures.knowledge import a_line, add
from zorkgpt.knowledge.lines import KnowledgeSection, Lessons, Revision, is_struck, line_of
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.memory.models import Memory

KEY = "The brass key unlocks the stone door."
MORE = "The brass key unlocks the stone door, which leads down."


@pytest.fixture
def store(tmp_path: Path) -> KnowledgeStore:
    return KnowledgeStore.open(tmp_path)


def a_proposal(
    text: str, section: KnowledgeSection = KnowledgeSection.LESSONS, replaces: Memory | None = None
) -> tuple[Memory, Memory | None]:
    return line_of(section, text, 2, 5, 9), replaces


def revised(store: KnowledgeStore, *lines: Memory, **lessons) -> Revision:
    """Return the revision of these lines with lessons."""
    if lines:
        add(store, *lines)
    return store.revise(Lessons(**lessons))


def test_new_line_is_added_with_its_evidence(store):
    revision = revised(store, new=(a_proposal(f" {KEY}\n"),))
    assert store.lines == (line_of(KnowledgeSection.LESSONS, KEY, 2, 5, 9),)
    assert (revision.added, revision.struck) == ([KEY], [])


def test_same_statement_confirms_the_line_in_any_section(store):
    proposal = a_proposal("A brass key unlocks the stone door", KnowledgeSection.PUZZLES)
    revision = revised(store, a_line(KEY), new=(proposal, proposal))
    assert (store.lines, revision.added) == ((a_line(KEY, confirmed=1),), [])


def test_longer_statement_replaces_the_line(store):
    revised(store, a_line(KEY), new=(a_proposal(MORE), a_proposal(MORE)))
    assert store.lines == (a_line(MORE, confirmed=1),)


def test_better_line_replaces_the_one_it_names(store):
    old, other = a_line("Open the sack, then eat.", confirmed=4), a_line(KEY)
    better = "Eat at once: the sack may stay closed."
    revision = revised(store, old, other, confirmed=(old,), new=(a_proposal(better, replaces=old),))
    assert store.lines == (line_of(KnowledgeSection.LESSONS, better, 2, 5, 9), other)
    assert (revision.added, revision.struck) == ([better], [])


def test_struck_line_is_not_replaced(store):
    old = a_line(KEY, contradicted=1, struck=True, reason="It broke.")
    revised(store, old, new=(a_proposal("Eat at once.", replaces=old), a_proposal(MORE)))
    assert store.lines[0] == old
    assert [line.text for line in store.lines] == [KEY, "Eat at once.", MORE]


@pytest.mark.parametrize("confirmed", [0, 3])
def test_denial_is_kept_beside_the_line(store, confirmed):
    known, denial = a_line(KEY, confirmed=confirmed), "The brass key does not unlock the stone door."
    revision = revised(store, known, new=(a_proposal(denial),))
    assert store.lines[0] == known
    assert (revision.added, revision.struck) == ([denial], [])


def test_quoted_commands_are_compared_literally(store):
    proposal = a_proposal("“close door” at Hall (3) is deadly: Snap.")
    revised(store, a_line("“open door” at Hall (3) is deadly: Snap."), new=(proposal,))
    assert [line.tried for line in store.lines] == [0, 0]


def test_counts_increase_once_per_revision(store):
    line = a_line(KEY)
    revised(store, line, confirmed=(line, line), contradicted=((line, "no"),))
    assert store.lines == (a_line(KEY, confirmed=1),)


def test_contradicted_line_is_struck_and_restored_by_evidence(store):
    revision = revised(store, a_line(KEY), contradicted=((a_line(KEY), "It broke."),))
    struck = a_line(KEY, contradicted=1, struck=True, reason="It broke.")
    assert (store.lines, revision.struck) == ((struck,), [KEY])
    store.revise(Lessons(contradicted=((struck, "Again."),)))
    assert store.lines[0].invalidation_reason == "It broke."
    store.revise(Lessons(confirmed=(struck,)))
    assert store.lines == (a_line(KEY, confirmed=1, contradicted=2),)
    store.revise(Lessons(contradicted=((struck, "Again."),)))
    assert store.lines == (a_line(KEY, confirmed=1, contradicted=3),)


def test_removed_line_is_ignored(store):
    revised(store, confirmed=(a_line(KEY),), contradicted=((a_line("Other."), "no"),))
    assert store.lines == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"- {KEY}\n"),
        (f"- {KEY} *(Ep1, T1)*\n", f"- ~~{KEY}~~ *(Ep1, T1)*\n"),
        (f'- ~~{KEY}~~ *(Ep1, T1; contradicted 1; because "x")*\n', f"- {KEY} *(Ep1, T1; contradicted 1)*\n"),
        ("- The key unlocks it. *(Ep1, T1)*\n", f"- {KEY} *(Ep1, T1)*\n"),
    ],
    ids=["written", "struck", "restored", "reworded"],
)
def test_persons_line_is_neither_counted_nor_changed(tmp_path, before, after):
    path, head = tmp_path / "knowledgebase.md", "# Knowledge\n\n## LESSONS LEARNED\n\n- Wait. *(Ep1, T1)*\n"
    path.write_text(head + before)
    KnowledgeStore.open(tmp_path)
    path.write_text(head + after)
    store = KnowledgeStore.open(tmp_path)
    [_, line] = store.lines
    proposals = (a_proposal(KEY), a_proposal("Eat at once.", replaces=line))
    store.revise(Lessons(new=proposals, confirmed=(line,), contradicted=((line, "No."),)))
    assert path.read_text() == head + after + "- Eat at once. *(Ep2, T5-T9)*\n"
    assert [is_struck(line) for line in store.lines] == ["~~" in row for row in path.read_text().splitlines()[4:]]

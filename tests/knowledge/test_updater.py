"""Tests of a line over several episodes, with rules and a real file."""

from dataclasses import replace

from session.history import TurnRecord
from tests.fixtures.knowledge import an_episode
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.line import contradictions, is_struck
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.memory.models import Memory
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer

REJECTED = a_turn(0, "xyzzy", "No such command.", refused="no")
ACCEPTED = a_turn(0, "xyzzy", "A hollow voice speaks.")


def over(tmp_path, *episodes: TurnRecord) -> Memory:
    """Return the line about the command after these episodes of one turn."""
    updater = KnowledgeUpdater(KnowledgeStore.open(tmp_path), RuleKnowledgeSynthesizer())
    for number, turn in enumerate(episodes, 1):
        updater.learn([replace(played, episode=number) for played in an_episode(turn)])
    [line] = updater.store.document.lines
    return line


def test_contradicted_line_is_struck_with_its_turn(tmp_path):
    line = over(tmp_path, REJECTED, ACCEPTED)
    assert (line.worked, contradictions(line), is_struck(line)) == (0, 1, True)
    assert line.invalidation_reason == "Ep2, T1: “xyzzy” gave: A hollow voice speaks."


def test_confirmed_line_is_not_struck(tmp_path):
    line = over(tmp_path, REJECTED, REJECTED, *[ACCEPTED] * 5)
    assert (line.worked, contradictions(line), is_struck(line)) == (1, 5, False)


def test_struck_line_is_restored_when_confirmed(tmp_path):
    line = over(tmp_path, REJECTED, ACCEPTED, REJECTED)
    assert (line.worked, contradictions(line), is_struck(line), line.invalidation_reason) == (1, 1, False, None)

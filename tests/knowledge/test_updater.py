"""What becomes of a line over episodes, by rules, in a real file."""

from dataclasses import replace

from game_interface.models import Item
from session.history import TurnRecord
from tests.fixtures.knowledge import an_episode
from tests.fixtures.turns import a_turn
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.knowledge.updater import KnowledgeUpdater
from zorkgpt.offline.knowledge import RuleKnowledgeSynthesizer

HIT = a_turn(0, "attack rat with stick", "It falls.", score=5)
MISS = a_turn(0, "attack rat with stick", "You miss.", effective=False)
ELSEWHERE = a_turn(0, "attack rat with stick", "There is no rat here.", effective=False, visible=[Item(3, "tree", 5)])


def over(tmp_path, *episodes: tuple[TurnRecord, ...]) -> KnowledgeLine:
    """The line about the points, after these episodes."""
    played = {
        number: tuple(replace(turn, episode=number) for turn in an_episode(*turns))
        for number, turns in enumerate(episodes, 1)
    }
    store = KnowledgeStore(tmp_path / "knowledgebase.md")
    keeper = KnowledgeUpdater(store, RuleKnowledgeSynthesizer(), turns_of=lambda episode: played.get(episode, ()))
    for turns in played.values():
        keeper.learn(turns)
    return next(line for line in store.document.lines if " scores " in line.text)


def test_what_never_comes_about_again_in_the_same_state_is_struck_with_the_turn_that_shows_it(tmp_path):
    line = over(tmp_path, (HIT,), (MISS,), (MISS,))
    assert (line.confirmed, line.contradicted, line.struck) == (0, 2, False)
    line = over(tmp_path / "longer", (HIT,), (MISS,), (MISS,), (MISS,))
    assert (line.confirmed, line.contradicted, line.struck) == (0, 3, True)
    assert line.reason == "Ep4, T1: “attack rat with stick” gave: You miss."


def test_what_came_about_again_even_once_is_never_struck_by_misses(tmp_path):
    line = over(tmp_path, (HIT,), (MISS, HIT), *[(MISS,)] * 5)
    assert (line.confirmed, line.contradicted, line.struck) == (1, 5, False)


def test_what_was_struck_comes_back_when_it_holds(tmp_path):
    line = over(tmp_path, (HIT,), *[(MISS,)] * 3, (HIT,))
    assert (line.confirmed, line.contradicted, line.struck, line.reason) == (1, 3, False, "")


def test_a_second_try_or_another_state_never_strikes(tmp_path):
    line = over(tmp_path, (HIT, MISS), *[(ELSEWHERE,)] * 5)
    assert (line.confirmed, line.contradicted, line.struck) == (0, 0, False)

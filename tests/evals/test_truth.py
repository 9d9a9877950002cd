"""Whether a memory is true of the world, by the object tree."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.evaluations import TO_THE_ORCHARD, a_run
from zorkgpt.evals.truth import ShownMemories, WorldNow, read_shown
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory

ORCHARD = 47


@pytest.fixture(scope="module")
def game():
    with JerichoInterface() as interface:
        yield interface


@pytest.fixture
def orchard(game):
    """The game in the orchard, where the pear and the clapper are."""
    game.reset()
    for command in TO_THE_ORCHARD:
        game.act(command)
    assert game.observe().location.num == ORCHARD
    return game


def number(game: JerichoInterface, name: str) -> int:
    return next(each.item.num for each in game.things() if each.item.name == name)


def saying(*claims: Claim, **more) -> Memory:
    return Memory("NOTE", "A title", 1, "1", 0, "A text.", "core", claims=claims, **more)


def test_a_thing_that_lies_there_bears_it_out_and_one_that_was_taken_denies_it(orchard):
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    lies, carried = saying(pear), saying(Claim(Relation.CARRIED, pear.number))
    absent = saying(Claim(Relation.ABSENT, pear.number))
    before = WorldNow.of(orchard)
    orchard.act("take pear")
    after = WorldNow.of(orchard)
    assert [before.bears_out(ORCHARD, one) for one in (lies, carried, absent)] == [True, False, False]
    assert [after.bears_out(ORCHARD, one) for one in (lies, carried, absent)] == [False, True, True]


def test_one_claim_that_does_not_hold_makes_it_untrue(orchard):
    pear, clapper = (Claim(Relation.HERE, number(orchard, name)) for name in ("pear", "wooden clapper"))
    orchard.act("take pear")
    world = WorldNow.of(orchard)
    assert world.bears_out(ORCHARD, saying(clapper)) is True
    assert world.bears_out(ORCHARD, saying(pear, clapper)) is False


def test_what_the_object_tree_does_not_tell_is_not_decided(orchard):
    world = WorldNow.of(orchard)
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    undecided = [
        saying(),
        saying(Claim(Relation.LEADS, None, "west", 36)),
        saying(Claim(Relation.DARK)),
        saying(Claim(Relation.HERE, 999)),
        saying(pear, when=(Claim(Relation.OPEN, pear.number),)),
    ]
    assert [world.bears_out(ORCHARD, one) for one in undecided] == [None] * len(undecided)


def test_each_turn_is_written_down_once(tmp_path):
    run = a_run(tmp_path, "learning-1x8", commands=(*TO_THE_ORCHARD, "take pear", "look", "west", "east", "look"))
    run.play()
    [files] = run.played()
    rows = list(read_shown(files.directory))
    assert [row.turn for row in rows] == list(range(9))
    # Here are the pear and the clapper: taken, and the memory says so; nothing is told that is untrue.
    assert (rows[5].shown, rows[5].decided, rows[5].untrue) == (1, 1, 0)


def test_of_a_turn_that_was_played_again_the_last_line_counts_and_a_line_cut_short_counts_nothing(tmp_path):
    (tmp_path / "shown_memories.jsonl").write_bytes(
        b'{"turn":1,"shown":1}\n{"turn":2,"shown":9}\n{"turn":2,"shown":3,"untrue":1}\n{"turn":3,"sho'
    )
    assert list(read_shown(tmp_path)) == [ShownMemories(1, shown=1), ShownMemories(2, shown=3, untrue=1)]
    assert list(read_shown(tmp_path / "nowhere")) == []

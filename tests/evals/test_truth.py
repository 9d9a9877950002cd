"""Whether a memory is true of the world, by the object tree."""

import json

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from orchestration.players import choose_player
from session.game_configuration import GameConfiguration
from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.evaluations import PEAR_LEFT, TO_THE_ORCHARD, a_run
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import TruthCounts, _untrue_spans, figures_of
from zorkgpt.evals.truth import ShownMemories, WorldSnapshot, read_shown
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
    return next(each.number for each in game.things() if each.name == name)


def saying(*claims: Claim, **more) -> Memory:
    return Memory("NOTE", "A title", 1, "1", 0, "A text.", "core", claims=claims, **more)


def test_a_thing_that_lies_there_bears_it_out_and_one_that_was_taken_denies_it(orchard):
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    lies, carried = saying(pear), saying(Claim(Relation.CARRIED, pear.number))
    absent = saying(Claim(Relation.ABSENT, pear.number))
    before = WorldSnapshot.of(orchard)
    orchard.act("take pear")
    after = WorldSnapshot.of(orchard)
    assert [before.confirms(ORCHARD, one) for one in (lies, carried, absent)] == [True, False, False]
    assert [after.confirms(ORCHARD, one) for one in (lies, carried, absent)] == [False, True, True]


def test_one_claim_that_does_not_hold_makes_it_untrue(orchard):
    pear, clapper = (Claim(Relation.HERE, number(orchard, name)) for name in ("pear", "wooden clapper"))
    orchard.act("take pear")
    world = WorldSnapshot.of(orchard)
    assert world.confirms(ORCHARD, saying(clapper)) is True
    assert world.confirms(ORCHARD, saying(pear, clapper)) is False


def test_what_the_object_tree_does_not_tell_is_not_decided(orchard):
    world = WorldSnapshot.of(orchard)
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    undecided = [
        saying(),
        saying(Claim(Relation.LEADS, None, "west", 36)),
        saying(Claim(Relation.DARK)),
        saying(Claim(Relation.HERE, 999)),
        saying(pear, when=(Claim(Relation.OPEN, pear.number),)),
    ]
    assert [world.confirms(ORCHARD, one) for one in undecided] == [None] * len(undecided)


def test_each_turn_is_written_down_once(tmp_path):
    run = a_run(tmp_path, "learning-1x8", commands=(*TO_THE_ORCHARD, "take pear", "look", "west", "east", "look"))
    run.play()
    [files] = run.played()
    rows = list(read_shown(files.directory))
    assert [row.turn for row in rows] == list(range(9))
    # "The pear is here" became stale when the pear was taken, and the player is not told it.
    assert (rows[5].stale, rows[5].shown, rows[5].untrue) == (1, 0, 0)


@pytest.mark.parametrize("ablation", [Ablation.ON, Ablation.NO_CLASSES])
def test_a_run_is_told_in_the_terms_of_halumem_and_stale(tmp_path, ablation):
    """By hand: what PEAR_LEFT does in two episodes, the pear dropped in the front yard in both."""
    run = a_run(tmp_path, f"learning-2x{len(PEAR_LEFT)}", ablation, commands=PEAR_LEFT)
    run.play()
    first, second = figures_of(run).episodes
    # Stored: what the lane and the orchard hold, and where the pear was dropped. Taking it makes "the pear is in the
    # orchard" stale. The player is told nothing about things that are in sight or were moved.
    counts = {"stored": 3, "stored_true": 3, "points": 5, "points_known": 5, "updates": 1}
    assert first.truth == TruthCounts(**counts, stale=1, resolved=1, stale_turns=1)
    assert first.truth.updates_correct == 1
    shown = int(ablation is Ablation.NO_CLASSES)
    assert [(episode.shown, episode.earlier) for episode in (first, second)] == [(0, 0), (shown, shown)]
    # The restart has undone "the pear is in the front yard", which is stale there on two turns, one of them the drop.
    assert (second.truth.stale, second.truth.stale_turns) == (3, 3)
    assert (second.truth.acted_on_stale, second.truth.failed_on_stale, second.truth.adapted) == (1, 0, 1)
    assert second.truth.resisted_turns == 3
    # Without the classes it is shown before the drop, with the note that the pear is gone.
    assert (second.truth.resolved, second.untrue, second.untrue_memories, second.untrue_turns) == (3, 0, 0, 0)
    assert second.undone_shown == shown


def test_how_long_an_untrue_memory_is_shown_is_counted_from_first_to_last():
    rows = [ShownMemories(3, untrue_ids=["a"]), ShownMemories(4), ShownMemories(5, untrue_ids=["a", "b"])]
    assert _untrue_spans([*rows, ShownMemories(9, untrue_ids=["b"])]) == [3, 5]


@pytest.mark.slow
def test_what_a_model_says_that_is_not_so_is_not_stored_and_costs_no_precision(tmp_path):
    with JerichoInterface() as game:
        game.reset()
        pear = next(each.number for each in game.all_objects() if each.name == "pear")
    commands, numbers = iter((*TO_THE_ORCHARD, "take pear", "west", "look")), iter(range(99))

    def answer(asked):
        """Play, and say at every place that the pear is there."""
        if "You keep the list of objectives" in asked.prompt:
            return Answer('{"new": []}')
        if "should_remember" not in asked.prompt:
            return Answer(f"ACTION: {next(commands, 'look')}")
        number = next(numbers)
        here = {"relation": "here", "number": pear, "name": "pear", "other": None, "other_name": ""}
        said = {"memory_title": f"Thing {number} seen", "memory_text": f"Something of kind {number} is here."}
        said |= {"should_remember": True, "category": "NOTE", "persistence": "permanent", "claims": [here]}
        return Answer(json.dumps(said))

    with ChatServer(answer) as server:
        given = {"agent_model": server.model, "client_base_url": server.url}
        off = {"enable_critic": False}
        config = GameConfiguration.load(arguments=given | off, environment={})
        run = a_run(tmp_path, "learning-1x6", choice=choose_player("model", config), config=config)
        run.play()
    [episode] = figures_of(run).episodes
    # True in the orchard when it is taken; elsewhere the guards refuse it or take the claim away. True are also the
    # ledger's entries of these two places.
    assert (episode.truth.stored, episode.truth.stored_true) == (3, 3)
    # The ledger knows all of them.
    assert (episode.truth.points, episode.truth.points_known) == (4, 4)


def test_of_a_turn_that_was_played_again_the_last_line_counts_and_a_line_cut_short_counts_nothing(tmp_path):
    (tmp_path / "shown_memories.jsonl").write_bytes(
        b'{"turn":1,"shown":1}\n{"turn":2,"shown":9}\n{"turn":2,"shown":3,"untrue":1}\n{"turn":3,"sho'
    )
    assert list(read_shown(tmp_path)) == [ShownMemories(1, shown=1), ShownMemories(2, shown=3, untrue=1)]
    assert list(read_shown(tmp_path / "nowhere")) == []

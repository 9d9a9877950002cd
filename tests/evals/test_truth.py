"""Tests of whether memories are true of the game, by the object tree."""

import json

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.evaluations import PEAR_LEFT, TO_THE_ORCHARD, a_run
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.metrics import TruthCounts, _untrue_spans, figures_of
from zorkgpt.evals.truth import ShownMemories, WorldSnapshot, read_shown
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory

pytestmark = pytest.mark.slow

ORCHARD = 47


@pytest.fixture(scope="module")
def game():
    with JerichoInterface() as interface:
        yield interface


@pytest.fixture
def orchard(game):
    """The game in the orchard, which contains the pear and the clapper."""
    game.reset()
    for command in TO_THE_ORCHARD:
        game.act(command)
    assert game.observe().location.num == ORCHARD
    return game


def number(game: JerichoInterface, name: str) -> int:
    return next(each.number for each in game.things() if each.name == name)


def claiming(*claims: Claim, **more) -> Memory:
    return Memory("NOTE", "A title", 1, "1", 0, "A text.", "core", claims=claims, **more)


def test_claims_are_checked_against_the_object_tree(orchard):
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    lies, carried = claiming(pear), claiming(Claim(Relation.CARRIED, pear.number))
    absent = claiming(Claim(Relation.ABSENT, pear.number))
    before = WorldSnapshot.of(orchard)
    orchard.act("take pear")
    after = WorldSnapshot.of(orchard)
    assert [before.confirms(ORCHARD, memory) for memory in (lies, carried, absent)] == [True, False, False]
    assert [after.confirms(ORCHARD, memory) for memory in (lies, carried, absent)] == [False, True, True]


def test_one_false_claim_makes_a_memory_untrue(orchard):
    pear, clapper = (Claim(Relation.HERE, number(orchard, name)) for name in ("pear", "wooden clapper"))
    orchard.act("take pear")
    world = WorldSnapshot.of(orchard)
    assert world.confirms(ORCHARD, claiming(clapper)) is True
    assert world.confirms(ORCHARD, claiming(pear, clapper)) is False


def test_claims_outside_the_object_tree_are_undecided(orchard):
    world = WorldSnapshot.of(orchard)
    pear = Claim(Relation.HERE, number(orchard, "pear"))
    undecided = [
        claiming(),
        claiming(Claim(Relation.LEADS, None, "west", 36)),
        claiming(Claim(Relation.DARK)),
        claiming(Claim(Relation.HERE, 999)),
        claiming(pear, when=(Claim(Relation.OPEN, pear.number),)),
    ]
    assert [world.confirms(ORCHARD, memory) for memory in undecided] == [None] * len(undecided)


def test_each_turn_is_recorded_once(tmp_path):
    run = a_run(tmp_path, "learning-1x8", commands=(*TO_THE_ORCHARD, "take pear", "look", "west", "east", "look"))
    run.play()
    [files] = run.played()
    rows = list(read_shown(files.directory))
    assert [row.turn for row in rows] == list(range(9))
    # "The pear is here" became stale when the pear was taken, and is no longer shown.
    assert (rows[5].stale, rows[5].shown, rows[5].untrue) == (1, 0, 0)


@pytest.mark.parametrize("ablation", [Ablation.ON, Ablation.NO_CLASSES])
def test_metrics_of_halumem_and_stale(tmp_path, ablation):
    """Expected values were counted by hand: PEAR_LEFT in two episodes drops the pear in the front yard in both."""
    run = a_run(tmp_path, f"learning-2x{len(PEAR_LEFT)}", ablation, commands=PEAR_LEFT)
    run.play()
    first, second = figures_of(run).episodes
    # Stored: contents of the lane and the orchard, and where the pear was dropped. Taking the pear makes its memory
    # in the orchard stale. Things that are in sight or were moved are not shown.
    counts = {"stored": 3, "stored_true": 3, "points": 5, "points_known": 5, "updates": 1}
    assert first.truth == TruthCounts(**counts, stale=1, resolved=1, stale_turns=1)
    assert first.truth.updates_correct == 1
    shown = int(ablation is Ablation.NO_CLASSES)
    assert [(episode.truth.shown, episode.truth.earlier) for episode in (first, second)] == [(0, 0), (shown, shown)]
    # The restart undid "the pear is in the front yard", which is stale there on two turns. One of them is the drop.
    assert (second.truth.stale, second.truth.stale_turns) == (3, 3)
    assert (second.truth.acted_on_stale, second.truth.failed_on_stale, second.truth.adapted) == (1, 0, 1)
    assert second.truth.resisted_turns == 3
    # Without the classes it is shown before the drop, with a note that the pear is gone.
    assert (second.truth.resolved, second.truth.untrue, second.untrue_memories, second.untrue_turns) == (3, 0, 0, 0)
    assert second.undone_shown == shown


def test_span_of_an_untrue_memory_is_first_to_last():
    rows = [ShownMemories(3, untrue_ids=["a"]), ShownMemories(4), ShownMemories(5, untrue_ids=["a", "b"])]
    assert _untrue_spans([*rows, ShownMemories(9, untrue_ids=["b"])]) == [3, 5]


def test_false_claims_of_a_model_are_not_stored(tmp_path):
    with JerichoInterface() as game:
        game.reset()
        pear = next(each.number for each in game.all_objects() if each.name == "pear")
    commands, numbers = iter((*TO_THE_ORCHARD, "take pear", "west", "look")), iter(range(99))

    def answer(asked):
        """Play, and claim at every place that the pear is there."""
        if "You keep the list of objectives" in asked.prompt:
            return Answer('{"new": []}')
        if "should_remember" not in asked.prompt:
            return Answer(f"ACTION: {next(commands, 'look')}")
        number = next(numbers)
        here = {"relation": "here", "number": pear, "name": "pear", "other": None, "other_name": ""}
        answer_fields = {"memory_title": f"Thing {number} seen", "memory_text": f"Something of kind {number} is here."}
        answer_fields |= {"should_remember": True, "category": "NOTE", "persistence": "permanent", "claims": [here]}
        return Answer(json.dumps(answer_fields))

    with ChatServer(answer) as server:
        given = {"agent_model": server.model, "client_base_url": server.url}
        off = {"enable_critic": False}
        config = GameConfiguration.load(arguments=given | off, environment={})
        run = a_run(tmp_path, "learning-1x6", choice=choose_player("model", config), config=config)
        run.play()
    [episode] = figures_of(run).episodes
    # The claim is true once, in the orchard. Elsewhere it is refused or removed. The ledger's entries of two places
    # are true too.
    assert (episode.truth.stored, episode.truth.stored_true) == (3, 3)
    # The ledger contains all of them.
    assert (episode.truth.points, episode.truth.points_known) == (4, 4)


def test_last_record_of_a_repeated_turn_counts(tmp_path):
    (tmp_path / "shown_memories.jsonl").write_bytes(
        b'{"turn":1,"shown":1}\n{"turn":2,"shown":9}\n{"turn":2,"shown":3,"untrue":1}\n{"turn":3,"sho'
    )
    assert list(read_shown(tmp_path)) == [ShownMemories(1, shown=1), ShownMemories(2, shown=3, untrue=1)]
    assert list(read_shown(tmp_path / "nowhere")) == []

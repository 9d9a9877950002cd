"""Tests of the facts about things in reach around an action."""

from dataclasses import replace

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Location
from session.ground_truth import ground_truth
from tests.fixtures.walkthrough import ZORK1_SEED, get_walkthrough_slice
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import ThingState

pytestmark = pytest.mark.slow

TO_THE_TROLL = 35


@pytest.fixture(scope="module")
def facts_by_command(zork1) -> list[tuple[str, ZMachineContext]]:
    """Return each command of the start of the walkthrough with its facts."""
    truths = []
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        for action in get_walkthrough_slice(0, TO_THE_TROLL):
            before = game.things()
            step = game.act(action)
            truth = ground_truth(step, turn=1, first_visit=False, before=before, after=game.things())
            truths.append((f"{action}, at {step.before.location.name}", truth))
    return truths


def things(facts_by_command, wanted: str) -> dict[str, ThingState]:
    truth = next(truth for action, truth in facts_by_command if action == wanted)
    return {thing.name: thing for thing in truth.things}


def test_things_that_close_behind_the_player(facts_by_command):
    trap_door = things(facts_by_command, "D, at Living Room")["trap door"]
    assert (trap_door.states, trap_door.out_of_sight) == (("closed",), True)


def test_things_left_behind_are_marked(facts_by_command):
    found = things(facts_by_command, "W, at Kitchen")
    assert [found[name].out_of_sight for name in ("kitchen table", "trophy case", "clove of garlic")] == [
        True,
        False,
        False,
    ]


def test_contents_of_a_closed_container_are_out_of_sight(zork1):
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.act("open mailbox")
        before = game.things()
        step = game.act("close mailbox")
        found = ground_truth(step, turn=2, first_visit=False, before=before, after=game.things()).things
    out_of_sight = {thing.name: thing.out_of_sight for thing in found}
    assert (out_of_sight["small mailbox"], out_of_sight["leaflet"]) == (False, True)


def test_removed_thing_is_not_in_reach(facts_by_command):
    found = things(facts_by_command, "Kill troll with sword, at The Troll Room")
    assert "troll" not in found
    assert "sword" in found


@pytest.mark.parametrize(
    ("otherwise", "in_sight"),
    [({}, True), ({"dark": True}, False), ({"visible": None}, False), ({"vehicle": Location(9, "chest")}, False)],
)
def test_everything_is_in_sight_in_the_light_and_outside_containers(bundled_story, otherwise, in_sight):
    with JerichoInterface(bundled_story, seed=1) as game:
        step = game.act("look")
    step = replace(step, after=replace(step.after, **otherwise))
    assert ground_truth(step, turn=1, first_visit=False).all_in_sight is in_sight

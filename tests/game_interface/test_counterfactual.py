"""Tests of separating the effects of an action from what would have happened without it."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.worker import Worker
from game_interface.models import Transition
from session.ground_truth import ground_truth
from session.outcome import failed, had_effect, worked
from tests.fixtures.stories import bare_story, build
from tests.fixtures.walkthrough import (
    ZORK1_SEED,
    get_bundled_walkthrough,
    get_walkthrough_slice,
    get_zork1_walkthrough,
    replay_walkthrough,
)
from zorkgpt.directions import DIRECTIONS


@pytest.fixture(scope="module")
def started_bundled(bundled_story):
    with JerichoInterface(bundled_story) as game:
        yield game


@pytest.fixture
def bundled(started_bundled):
    started_bundled.reset()
    return started_bundled


def until(game: JerichoInterface, action: str) -> Transition:
    """Play the walkthrough up to and including this command."""
    commands = get_zork1_walkthrough()
    number = commands.index(action)
    replay_walkthrough(game, commands[:number])
    return game.act(action)


def named(step: Transition) -> set[str]:
    return {change.name for change in (*step.moved, *step.changed) if not change.by_itself}


def by_itself(step: Transition) -> set[str]:
    return {change.name for change in (*step.moved, *step.changed) if change.by_itself}


# Effects that no object shows


@pytest.mark.parametrize("action", ["Press yellow button", "Turn bolt with wrench"])
def test_change_of_a_variable_is_an_effect(zork, action):
    step = until(zork, action)
    assert (named(step), step.unnamed_change, failed(step), had_effect(step)) == (set(), True, False, True)
    truth = ground_truth(step, turn=1, first_visit=False)
    assert (truth.nothing_changed, truth.unnamed_change, truth.acted) == (False, True, False)


def test_change_in_later_steps_is_an_effect(zork):
    until(zork, "Press red button")
    commands = get_zork1_walkthrough()
    first, last = commands.index("Press yellow button"), commands.index("Turn bolt with wrench")
    replay_walkthrough(zork, commands[first + 1 : last])
    too_early = zork.act("Turn bolt with wrench")
    assert "won't turn" in too_early.response
    assert failed(too_early)


def test_long_command_without_effect_failed(bundled):
    for command in ("north", "west", "north", "take bottle", "south"):
        bundled.act(command)
    steps = [bundled.act(f"{verb} brine pans with glass bottle") for verb in ("dig", "attack")]
    assert [(step.unnamed_change, failed(step)) for step in steps] == [(False, True)] * 2


@pytest.mark.parametrize("seed", range(1, 6))
def test_missed_blow_is_not_a_failure(zork1, seed):
    commands = get_zork1_walkthrough()
    fight = commands.index("Kill troll with sword")
    with JerichoInterface(zork1, seed=seed) as game:
        replay_walkthrough(game, commands[:fight])
        blows = []
        while not blows or not (named(blows[-1]) or blows[-1].died or len(blows) > 20):
            blows.append(game.act("kill troll with sword"))
    assert len(blows) > 0
    assert not any(failed(blow) for blow in blows)


# Refusals


_VAIN = ("qzxv lamp", "take qzxv", "take with of", "take me", "open me", "push me", "eat me", *DIRECTIONS)


def refused(game: JerichoInterface, commands: list[str], every: int) -> list[bool]:
    """Return for each of many commands without effect whether it is known to have none, along a walkthrough."""
    found = []
    for number, command in enumerate(commands):
        state = game.save_state()
        for action in _VAIN if number % every == 0 else ():
            step = game.act(action)
            if step.before.location == step.after.location and not named(step):
                found.append(failed(step))
            game.restore_state(state)
        game.act(command)
    return found


@pytest.mark.slow
def test_refusals_along_the_bundled_story_are_recognized(bundled):
    recognized = refused(bundled, get_bundled_walkthrough(), 12)
    assert len(recognized) > 100
    assert sum(recognized) / len(recognized) >= 0.99


@pytest.mark.slow
def test_refusals_along_zork_are_recognized(zork):
    recognized = refused(zork, get_zork1_walkthrough(), 36)
    assert len(recognized) > 150
    assert sum(recognized) / len(recognized) >= 0.95


@pytest.mark.parametrize(
    ("before", "action"),
    [
        ((), "open door"),
        ((), "take mailbox"),
        ((), "take house"),
        ((), "push mailbox"),
        ((), "close mailbox"),
        (("open mailbox",), "open mailbox"),
        (("open mailbox", "take leaflet"), "take leaflet"),
        (("open mailbox",), "take lantern"),
    ],
)
def test_varying_refusals_are_recognized(zork, before, action):
    replay_walkthrough(zork, before)
    assert [failed(zork.act(action)) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("action", ["dig", "climb", "swim", "put me", "sing", "take penny in penny"])
def test_question_back_has_no_effect(bundled, action):
    assert not worked(bundled.act(action))


# Spontaneous changes


def test_wandering_creature_moves_by_itself(zork):
    opened = zork.act("open mailbox")
    assert (by_itself(opened), named(opened)) == ({"thief"}, {"small mailbox"})
    taken = zork.act("take leaflet")
    assert "leaflet" in named(taken)
    vain = zork.act("take mailbox")
    assert (named(vain), failed(vain)) == (set(), True)


@pytest.mark.slow
def test_burning_lamp_changes_by_itself(zork):
    until(zork, "Kill troll with sword")
    burnt = [step for step in (zork.act("take me") for _ in range(400)) if "lantern" in " ".join(by_itself(step))]
    assert burnt
    assert not any("lantern" in " ".join(named(step)) for step in burnt)


@pytest.mark.slow
def test_bookkeeping_is_not_a_change(zork, bundled):
    steps = [zork.act(action) for action in get_walkthrough_slice(0, 30)]
    steps += [bundled.act(action) for action in get_bundled_walkthrough()[:40]]
    kept = {change.attribute for step in steps for change in step.changed}
    assert kept.isdisjoint({"visited", "moved", "workflag"})
    walks = [step for step in steps if step.before.location != step.after.location]
    assert {step.action for step in walks if ground_truth(step, turn=1, first_visit=True).acted} <= {
        "D"
    }  # a door that falls shut behind


# The game


@pytest.mark.slow
def test_counterfactuals_do_not_affect_the_game(zork1, bundled_story):
    for path, seed, commands in (
        (zork1, ZORK1_SEED, get_zork1_walkthrough()[:120]),
        (bundled_story, 1, get_bundled_walkthrough()),
    ):
        worker = Worker(path.read_bytes(), seed=seed, time_limit_s=20)
        worker.reset()
        with JerichoInterface(path, seed=seed) as game:
            for command in commands:
                game.act(command)
                assert game._state.snapshot.state == worker.step(command.encode()).state
        worker.kill()


@pytest.mark.slow
def test_hanging_counterfactual_leaves_the_effect_unknown(inform, tmp_path):
    # "Look" hangs in the second room, so the counterfactual hangs while the player's commands work.
    source = bare_story(3).replace(
        "if (word == 'look') {", "if (word == 'look') { while (place == barn) points = points;"
    )
    with JerichoInterface(build(inform, tmp_path, source, 3), time_limit_s=0.5) as game:
        vain = game.act("fly")
        assert failed(vain)
        game.act("north")
        unknown = game.act("fly")
        assert (unknown.response, unknown.unnamed_change, failed(unknown)) == ("What?", True, False)
        assert game.act("take").response == "Taken."
        assert (game.observe().score, game.observe().moves) == (5, 4)

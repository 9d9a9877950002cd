"""Tests of the cause of a loss, found by playing alternatives from saved states."""

import pytest

from game_interface.core import causes
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.transcript import last_words
from game_interface.core.worker import WorkerFailure
from game_interface.models import Transition
from tests.fixtures import own_stories
from zorkgpt.memory.losses import Loss, LossCause, LossKind

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def started_perils():
    with JerichoInterface(own_stories.compiled("perils")) as game:
        yield game


@pytest.fixture
def perils(started_perils):
    started_perils.reset()
    return started_perils


def played(game: JerichoInterface, *commands: str) -> Transition:
    """Play the commands up to the first that causes a loss. Return that turn."""
    for command in commands:
        step = game.act(command)
        if step.loss or step.finished:
            return step
    raise AssertionError("nothing was lost")


WAITS = ("wait",) * 60


def test_deadly_action_is_the_cause(perils):
    step = played(perils, "take toadstool", "eat toadstool")
    assert step.loss == Loss(LossKind.DEATH, LossCause.ACTION, "It burns all the way down. You die of the poison.")


@pytest.mark.parametrize("last", ["wait", "look", "take me"])
def test_deadly_place_is_the_cause(perils, last):
    step = played(perils, "north", "wait", "wait", last)
    assert step.loss == Loss(LossKind.DEATH, LossCause.PLACE, "The gas fills your lungs, and you choke.")


def test_leaving_a_deadly_place_in_time_loses_nothing(perils):
    assert all(perils.act(command).loss is None for command in ("north", "wait", "wait", "south", "wait", "wait"))


@pytest.mark.parametrize("action", ["attack wolf", "wait", "examine me"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_creature_that_kills_by_chance_is_the_cause(action, seed):
    with JerichoInterface(own_stories.compiled("perils"), seed=seed) as game:
        step = played(game, "east", *[action] * 60)
    loss = step.loss
    assert (loss.kind, loss.cause, loss.creature_name) == (LossKind.DEATH, LossCause.CREATURE, "grey wolf")
    assert loss.sentence.endswith("The wolf goes for your throat.")


@pytest.mark.parametrize("advances", [causes.RNG_ADVANCES, (0,)], ids=["by chance", "on every try"])
def test_creature_at_the_destination_is_the_cause_and_not_the_walk(monkeypatch, advances):
    monkeypatch.setattr(causes, "RNG_ADVANCES", advances)
    with JerichoInterface(own_stories.compiled("perils"), seed=5) as game:
        loss = played(game, "east").loss
    assert (loss.kind, loss.cause, loss.creature_name) == (LossKind.DEATH, LossCause.CREATURE, "grey wolf")
    assert loss.sentence == "The wolf goes for your throat."


@pytest.mark.parametrize(
    "commands",
    [
        WAITS,
        ("east", "west", *["look"] * 60),
        ("south", "north", "south", *["push me"] * 60),
        ("north", "south") * 30,
        ("north", "wait", "wait", "south", *WAITS),
    ],
    ids=["at the first place", "later", "elsewhere", "walking", "after another danger"],
)
def test_clock_is_the_cause_everywhere(perils, commands):
    step = played(perils, *commands)
    assert step.loss == Loss(LossKind.DEATH, LossCause.CLOCK, "You collapse from hunger.", clock=step.after.moves)


@pytest.mark.parametrize("ways", [(), ("down",), ("down", "south")], ids=["there", "one way on", "two ways on"])
def test_following_creature_is_the_cause_and_not_a_clock(perils, ways):
    loss = played(perils, "up", "attack hound", *ways, *WAITS).loss
    assert (loss.kind, loss.cause, loss.creature_name) == (LossKind.DEATH, LossCause.CREATURE, "black hound")
    assert loss.sentence == "The hound has you by the throat."


def test_action_that_costs_points(perils):
    step = played(perils, "south", "push idol")
    words = "You feel that this was wrong."
    assert step.loss == Loss(LossKind.POINTS, LossCause.ACTION, words, points=2, harmless_elsewhere=True)


def test_thing_taken_by_a_creature_is_lost(perils):
    for command in ("take all", "drop coin", "eat biscuit", "take coin", "drop all", "take coin"):
        assert perils.act(command).loss is None
    loss = played(perils, "west").loss
    assert (loss.kind, loss.cause, loss.creature_name) == (LossKind.THINGS, LossCause.CREATURE, "magpie")
    assert loss.things == ("coin",)


def test_explaining_a_loss_leaves_the_game_unchanged(perils):
    played(perils, "take coin", "west")
    with JerichoInterface(own_stories.compiled("perils")) as other:
        other.restore_state(perils.save_state())
        assert other.observe() == perils.observe()
        following = ("east", "take biscuit", "east", "wait", "wait", "wait")
        assert [perils.act(each) for each in following] == [other.act(each) for each in following]


def test_resumed_game_explains_a_loss_in_the_same_way(perils):
    for command in ("south", "north", "north", "wait", "wait"):
        perils.act(command)
    saved = perils.save_state()
    with JerichoInterface(own_stories.compiled("perils")) as resumed:
        resumed.restore_state(saved)
        assert resumed.save_state() == saved
        assert resumed.act("wait") == perils.act("wait")
    assert perils.act("wait").finished


def test_number_of_saved_states_is_limited(perils):
    sizes = []
    for _ in range(12):
        perils.act("examine me")
        sizes.append(len(perils.save_state()))
    assert max(sizes) < 1.3 * min(sizes)


def test_failed_counterfactual_leaves_the_cause_unknown(perils, monkeypatch):
    perils.act("take toadstool")
    monkeypatch.setattr(perils._worker, "compare", lambda *args, **more: None)
    loaded = perils._worker.load
    failures = iter([WorkerFailure("the interpreter died")])

    def fail_once(state: bytes):
        for failure in failures:
            raise failure
        return loaded(state)

    monkeypatch.setattr(perils._worker, "load", fail_once)
    step = perils.act("eat toadstool")
    assert (step.died, step.loss.kind, step.loss.cause) == (True, LossKind.DEATH, None)


def test_nothing_lost_has_no_cause(zork):
    for command in ("open mailbox", "take leaflet", "read leaflet", "drop leaflet", "take leaflet", "north"):
        assert zork.act(command).loss is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hall\nA room.\n\nA grue eats you.\n\n  *** You have died ***\n\nScore 0.", "A room. A grue eats you."),
        (
            "Hall\n\nThe grue that was waiting eats you.\n\n****  You have died  ****\n",
            "The grue that was waiting eats you.",
        ),
        ("You lose the game, and the ring.\n[Your score has gone down.]", "You lose the game, and the ring."),
        (f"{'Much is said. ' * 40}You fall.", f"{'Much is said. ' * 20}You fall."),
        (
            "Hall\nThe grue, tired of waiting, eats you.\n\n*** You have died ***",
            "The grue, tired of waiting, eats you.",
        ),
        ("You fall into a pit.\n\nOh dear, you are dead. Shall I help you?", "You fall into a pit."),
        ("Who goes there?", "Who goes there?"),
        ("", ""),
    ],
)
def test_last_words_end_before_the_death_message(text, expected):
    assert last_words(text) == expected

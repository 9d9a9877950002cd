"""Tests of the interface to the Z-machine: observations, faults, states and unknown stories."""

import os
import signal

import pytest

from game_interface.core import grammar
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Location
from tests.fixtures.stories import LIBRARY_STORY, bare_story, build
from tests.fixtures.walkthrough import ZORK1_SEED, get_walkthrough_slice, get_walkthrough_until_lamp, replay_walkthrough
from zorkgpt.errors import ConfigurationError, GameClosed, InterpreterError, StateError


@pytest.fixture(scope="session")
def library_story(inform, tmp_path_factory):
    return build(inform, tmp_path_factory.mktemp("library"), LIBRARY_STORY, 5)


@pytest.fixture(scope="module")
def started_tiny(library_story):
    with JerichoInterface(library_story) as game:
        yield game


@pytest.fixture
def tiny(started_tiny):
    started_tiny.reset()
    return started_tiny


def names(items: tuple[Item, ...]) -> list[str]:
    return [item.name for item in items]


# Zork I


def test_opening_shows_place_things_and_score(zork):
    assert zork.reset().endswith("There is a small mailbox here.")
    assert zork.observe().location == Location(180, "West of House")
    assert zork.observe().inventory == ()
    assert names(zork.observe().visible) == ["door", "small mailbox"]
    assert (zork.observe().score, zork.observe().moves) == (0, 0)
    assert zork.get_max_score() == 350


def test_transition_lists_moves_and_changes(zork):
    zork.act("open mailbox")
    taken = zork.act("Take leaflet.")
    (move,) = (move for move in taken.moved if move.number == 161)
    assert (move.name, move.origin, move.destination) == ("leaflet", "small mailbox", "cretin")
    assert taken.action == "Take leaflet."
    assert taken.response == "Taken."
    assert names(taken.after.inventory) == ["leaflet"]
    assert names(taken.before.visible) == ["door", "small mailbox", "leaflet"]
    opened = zork.act("close mailbox")
    assert ("small mailbox", "open", False) in {(it.name, it.attribute, it.value) for it in opened.changed}


def test_walking_is_not_a_move_of_the_player_object(zork):
    went = zork.act("north")
    assert went.after.location == Location(81, "North of House")
    assert zork.profile.player not in {move.number for move in went.moved}


def test_attributes_have_names(zork):
    mailbox, leaflet = 160, 161
    attributes = zork.get_object_attributes(mailbox)
    assert {key: attributes[key] for key in ("container", "openable", "open", "takeable", "readable", "light")} == {
        "container": True,
        "openable": True,
        "open": False,
        "takeable": False,
        "readable": False,
        "light": False,
    }
    zork.act("open mailbox")
    assert zork.get_object_attributes(mailbox)["open"]
    attributes = zork.get_object_attributes(Item(leaflet, "leaflet"))
    assert (attributes["readable"], attributes["takeable"], attributes["openable"]) == (True, True, False)


def test_hidden_things_are_not_visible(zork):
    replay_walkthrough(zork, get_walkthrough_slice(0, 21))
    assert zork.observe().location.name == "Living Room"
    assert "trap door" not in names(zork.observe().visible)
    zork.act("move rug")
    assert "trap door" in names(zork.observe().visible)


def test_contents_of_a_carried_sack_are_carried_but_not_held(zork):
    replay_walkthrough(zork, [*get_walkthrough_until_lamp(), "e", "take sack", "put garlic in sack"])
    now = zork.observe()
    assert "clove of garlic" not in names(now.inventory)
    assert "clove of garlic" in names(now.carried)


def test_contents_of_a_closed_container_are_not_listed(zork):
    replay_walkthrough(zork, ["s", "e", "open window", "w"])
    closed = zork.act("take sack").after
    assert names(closed.inventory) == names(closed.carried) == ["brown sack"]
    assert "lunch" not in names(closed.visible)
    opened = zork.act("open sack").after
    assert names(opened.carried) == ["brown sack", "lunch", "clove of garlic"]
    shut = zork.act("close sack").after
    assert names(shut.carried) == ["brown sack"]


def test_contents_of_a_transparent_container_are_visible(zork):
    replay_walkthrough(zork, ["s", "e", "open window", "w"])
    assert "quantity of water" in names(zork.act("take bottle").after.carried)


def test_verbs_and_words_come_from_the_parser(zork):
    verbs, words = grammar.verbs(zork.ram.machine), zork.language.words
    assert {"open", "take", "examin", "light"} <= set(verbs) <= set(words)
    assert not {"save", "restor", "quit", "q", "verbos", "lamp", "$ve", "#rand"} & set(verbs)
    assert "lanter" in words


def test_death_is_not_the_end_if_the_game_continues(zork):
    cellar = ["s", "e", "open window", "w", "w", "move rug", "open trapdoor", "d"]
    steps = [zork.act(action) for action in [*cellar, "wait", "n", "n", "wait", "n", "n"]]
    deaths = [step for step in steps if step.died]
    assert len(deaths) == 1
    assert "You have died" in deaths[0].response
    assert not any(step.finished for step in steps)
    after = zork.act("look")
    assert (after.died, after.finished) == (False, False)


def test_third_death_is_the_end(zork):
    to_the_edge, back = ["s", "e", "e", "e"], ["e", "s", "e", "e", "e"]
    steps = replay_walkthrough(zork, [*to_the_edge, "jump", *back, "jump", *back, "jump"])
    assert [(step.died, step.finished) for step in steps if step.action == "jump"] == [
        (True, False),
        (True, False),
        (True, True),
    ]
    assert zork.observe().score == -30
    assert not zork.act("look").victory


def test_location_in_a_vehicle_is_the_room(zork):
    steps = []
    for action in (step for step in get_walkthrough_slice(0, 396)):
        steps.append(zork.act(action).after)
        if steps[-1].vehicle:
            break
    assert steps[-1].vehicle.name == "magic boat"
    assert steps[-1].location == steps[-2].location


# The interpreter's faults


@pytest.mark.slow
def test_hanging_interpreter_is_replaced(inform, tmp_path):
    story = build(inform, tmp_path, bare_story(3), 3)
    with JerichoInterface(story, time_limit_s=0.5) as game:
        game.act("north")
        before = game.observe()
        hung = game.act("hang")
        assert "gave no answer within 0.5 s and was killed" in hung.fault
        assert "The game was returned to the state before it." in hung.fault
        assert (hung.response, hung.before, hung.after) == (hung.fault, before, before)
        assert (hung.moved, hung.changed, hung.refused) == ((), (), None)
        assert game.act("take").response == "Taken."
        assert (game.observe().score, game.observe().moves) == (5, 2)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP])
def test_dead_interpreter_is_replaced(zork1, how):
    with JerichoInterface(zork1, seed=ZORK1_SEED, time_limit_s=2) as game:
        commands = get_walkthrough_slice(0, 40)
        steps = replay_walkthrough(game, commands[:20])
        os.kill(game._worker.pid, how)
        faulty = game.act(commands[20])
        assert faulty.fault
        steps += replay_walkthrough(game, commands[20:])
    with JerichoInterface(zork1, seed=ZORK1_SEED) as undisturbed:
        assert replay_walkthrough(undisturbed, commands) == steps


@pytest.mark.slow
def test_kill_before_reset_or_restore_is_repaired(zork):
    opening, saved = zork.reset(), zork.save_state()
    os.kill(zork._worker.pid, signal.SIGKILL)
    zork.restore_state(saved)
    os.kill(zork._worker.pid, signal.SIGKILL)
    assert zork.reset() == opening


@pytest.mark.slow
def test_story_that_never_prompts_is_an_error(inform, tmp_path):
    source = "Global turns; [ Main; while (1) turns++; ];"
    with JerichoInterface(build(inform, tmp_path, source, 5), time_limit_s=0.5) as game:
        with pytest.raises(InterpreterError, match=r"story\.z5 can't be started: the interpreter"):
            game.reset()
        with pytest.raises(InterpreterError, match=r"story\.z5 can't be started"):
            game.act("look")


# States


def test_state_can_be_restored_in_another_process(zork, zork1):
    replay_walkthrough(zork, get_walkthrough_slice(0, 30))
    saved = zork.save_state()
    expected = replay_walkthrough(zork, get_walkthrough_slice(30, 60))
    zork.restore_state(saved)
    assert replay_walkthrough(zork, get_walkthrough_slice(30, 60)) == expected
    with JerichoInterface(zork1, seed=77) as other:
        other.restore_state(saved)
        assert replay_walkthrough(other, get_walkthrough_slice(30, 60)) == expected


def test_state_of_another_story_is_refused(zork, tiny):
    before = zork.save_state()
    with pytest.raises(StateError, match="another story"):
        zork.restore_state(tiny.save_state())
    assert zork.save_state() == before


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [lambda s: s[:-1], lambda s: s[:-9] + b"x" + s[-8:], lambda s: b"", lambda s: "text"])
def test_damaged_state_is_refused(tiny, spoil):
    with pytest.raises(StateError, match=r"damaged|not a saved state"):
        tiny.restore_state(spoil(tiny.save_state()))
    assert tiny.act("north").after.location.name == "Attic"


def test_state_of_a_finished_game_is_finished(tiny):
    tiny.act("north")
    tiny.act("enter pit")
    saved = tiny.save_state()
    tiny.reset()
    assert not tiny.act("look").finished
    tiny.restore_state(saved)
    after = tiny.act("look")
    assert (after.died, after.finished) == (False, True)


# A story without a profile


def test_unknown_library_story_is_understood(tiny):
    opening = tiny.reset()
    assert opening.startswith("Welcome.")
    assert opening.endswith("(which is closed) here.") or "crate" in opening
    assert tiny.observe().location.name == "Hall"
    assert tiny.observe().inventory == ()
    assert (tiny.observe().score, tiny.observe().moves) == (0, 0)
    assert tiny.get_max_score() is None


def test_visible_things_in_containers_and_on_supporters(tiny):
    assert names(tiny.observe().visible) == ["crate", "cart", "shelf", "vase"]
    tiny.act("open crate")
    assert names(tiny.observe().visible) == ["crate", "gold coin", "cart", "shelf", "vase"]
    taken = tiny.act("take coin")
    assert taken.response.startswith("Taken, golden.")
    assert (taken.after.score, names(taken.after.inventory)) == (5, ["gold coin"])
    assert "gold coin" not in names(taken.after.visible)


def test_shared_creature_does_not_determine_the_location(tiny):
    movable = {thing.name: thing.movable for thing in tiny.all_objects()}
    assert (movable["gold coin"], movable["crowd"], movable["shelf"]) == (True, False, False)


def test_vehicle_in_a_library_story_is_not_the_location(tiny):
    tiny.act("enter cart")
    now = tiny.observe()
    assert (now.location.name, now.vehicle.name) == ("Hall", "cart")


def test_location_is_known_and_nothing_visible_in_the_dark(tiny):
    tiny.act("north")
    dark = tiny.act("east")
    assert "Darkness" in dark.response
    assert (dark.after.location.name, dark.after.visible) == ("Cellar", ())


@pytest.mark.parametrize(
    ("action", "died", "victory"), [("enter pit", True, False), ("examine pit", False, True)], ids=["death", "victory"]
)
def test_end_of_a_library_story_is_read_from_its_flag(tiny, action, died, victory):
    tiny.act("north")
    last = tiny.act(action)
    assert (last.died, last.finished, last.victory) == (died, True, victory)
    after = tiny.act("look")
    assert "The game has ended" in after.refused
    assert (after.died, after.finished, after.victory) == (False, True, victory)
    tiny.reset()
    again = tiny.act("look")
    assert (again.died, again.finished, again.victory) == (False, False, False)


@pytest.mark.parametrize("version", [3, 4, 5, 7, 8])
def test_every_version_is_playable(version, inform, tmp_path):
    with JerichoInterface(build(inform, tmp_path, bare_story(version), version)) as game:
        assert game.reset() == "Welcome.\n\nMeadow"
        steps = replay_walkthrough(game, ["north", "take", "fly", "south"])
        assert [(it.response, it.location_name, it.score, it.inventory) for it in steps] == [
            ("Barn", "Barn", 0, ()),
            ("Taken.", "Barn", 5, ("straw hat",)),
            ("What?", "Barn", 5, ("straw hat",)),
            ("Meadow", "Meadow", 5, ("straw hat",)),
        ]
        assert game.get_object_attributes(1) == {}
        assert game.get_max_score() is None


@pytest.mark.slow
def test_zork_with_another_checksum_reads_the_same(zork, zork1, tmp_path):
    path = tmp_path / "unknown.z3"
    path.write_bytes(zork1.read_bytes() + b"\0")  # padding: jericho's table no longer knows it
    commands = get_walkthrough_slice(0, 60)
    with JerichoInterface(path, seed=ZORK1_SEED) as game:
        assert game.reset().endswith(zork.reset()[-60:])
        known, unknown = replay_walkthrough(zork, commands), replay_walkthrough(game, commands)
        assert [step.response for step in unknown] == [step.response for step in known]
        assert unknown == known


# Closing, and two games at once


def test_closed_game_raises(zork1):
    zork = JerichoInterface(zork1)
    zork.reset()
    zork.close()
    zork.close()
    questions = [
        zork.reset,
        zork.observe,
        zork.save_state,
        zork.get_max_score,
        lambda: zork.act("look"),
        lambda: zork.get_object_attributes(1),
        lambda: zork.restore_state(b""),
    ]
    for question in questions:
        with pytest.raises(GameClosed, match=r"is closed"):
            question()


def test_two_games_do_not_affect_each_other(zork, zork1, tiny):
    alone = replay_walkthrough(zork, get_walkthrough_slice(0, 50))
    zork.reset()
    with JerichoInterface(zork1, seed=ZORK1_SEED) as other:
        mixed = []
        for command in get_walkthrough_slice(0, 50):
            mixed += replay_walkthrough(zork, [command])
            assert replay_walkthrough(other, [command]) == mixed[-1:]
            tiny.act("north")
    assert mixed == alone


@pytest.mark.parametrize("seed", [0, -1, 2**31, 1.5, "1"])
def test_seed_that_means_the_clock_is_refused(bundled_story, seed):
    with pytest.raises(ConfigurationError, match="seed"):
        JerichoInterface(bundled_story, seed=seed)


def test_new_game_can_have_another_seed(zork1):
    def play(game: JerichoInterface) -> list[str]:
        return [game.act(command).response for command in ("north", "north", "up", *["wait"] * 12)]

    with JerichoInterface(zork1, seed=5) as first, JerichoInterface(zork1, seed=6) as other:
        first.reset(), other.reset()
        texts = play(other)
        assert play(first) != texts
        first.reset(seed=6)
        assert play(first) == texts
        first.reset()
        assert play(first) == texts
        with pytest.raises(ConfigurationError, match="The seed is 0"):
            first.reset(seed=0)


def test_time_limit_of_zero_is_refused(bundled_story):
    with pytest.raises(ConfigurationError, match="time limit"):
        JerichoInterface(bundled_story, time_limit_s=0)

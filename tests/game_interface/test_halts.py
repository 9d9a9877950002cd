"""Tests of an emulator that halts, and of stories that end themselves."""

import itertools

import pytest

from game_interface.core import worker
from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures import own_stories
from tests.fixtures.halting import halting_program
from tests.fixtures.stories import bare_story, build, of_another_build

pytestmark = pytest.mark.slow

COMMANDS = ("read letter", "north", "take penny", "examine me", "north", "south")


_serials = itertools.count(1)


@pytest.fixture
def story(bundled_story, tmp_path):
    """A story that was not explored in this process yet."""
    return of_another_build(bundled_story, tmp_path / "story.z5", serial=f"{next(_serials):06}")


@pytest.fixture(scope="module")
def expected(bundled_story, tmp_path_factory):
    """What the commands lead to if the interpreter never halts."""
    story = of_another_build(bundled_story, tmp_path_factory.mktemp("undisturbed") / "story.z5", serial="000000")
    with JerichoInterface(story) as game:
        return [_facts(game.act(command)) for command in COMMANDS]


def _facts(step):
    return step.response, step.after.location_id, step.after.score, step.after.moves, step.finished, step.fault


def test_halt_on_a_command_is_a_fault_and_the_game_goes_on(expected, story, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "PROGRAM", halting_program(tmp_path, ["sing"]))
    with JerichoInterface(story) as game:
        steps = []
        for command in COMMANDS:
            before = game.observe()
            halted = game.act("sing")
            assert halted.fault == (
                "On this command the interpreter died (exit code 1), saying: the emulator halted on a runtime error of "
                "the story. The game was returned to the state before it."
            )
            assert (halted.before, halted.after, halted.response) == (before, before, halted.fault)
            assert (halted.died, halted.finished, halted.refused) == (False, False, None)
            steps.append(_facts(game.act(command)))
    assert steps == expected


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(["wait", "qzxvj"], id="control"),
        pytest.param(["look"], id="peek"),
        pytest.param(["xyzzyx"], id="prompt"),
        pytest.param(["inventory"], id="settling"),
        pytest.param(["take me", "open me", "close"], id="bookkeeping"),
        pytest.param(["east", "west", "up", "northeast"], id="discovery"),
    ],
)
def test_halt_on_a_probe_does_not_change_the_game(commands, expected, story, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(worker, "PROGRAM", halting_program(tmp_path, commands))
    with JerichoInterface(story) as game:
        steps = [_facts(game.act(command)) for command in COMMANDS]
    assert steps == expected
    assert "interpreter replaced" in caplog.text


def test_answer_that_halts_is_tried_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(worker, "PROGRAM", halting_program(tmp_path, ["no"]))
    story = of_another_build(own_stories.compiled("questions"), tmp_path / "story.z5", serial=f"{next(_serials):06}")
    with JerichoInterface(story) as game:
        asked = [game.act(command).after.question for command in ("look", "look", "look")]
    assert [question.way_back for question in asked] == [("yes",)] * 3
    assert [vars(record)["answer"] for record in caplog.records if "answer" in vars(record)] == ["no"]


@pytest.mark.parametrize("version", [3, 5, 8])
def test_story_that_quits_is_finished(version, inform, tmp_path):
    leave = "if (word == 'leave') { print \"The end\"; quit; }"
    source = bare_story(version).replace("if (word == 'look')", f"{leave}\n    if (word == 'look')")
    with JerichoInterface(build(inform, tmp_path, source, version)) as game:
        game.act("north")
        start = game.save_state()
        left = game.act("leave")
        assert (left.response, left.finished, left.died, left.victory) == ("The end", True, False, False)
        assert game.act("look").refused == "The game has ended. Start a new episode."
        end = game.save_state()
        game.restore_state(start)
        assert game.act("take").response == "Taken."
        game.restore_state(end)
        assert game.act("look").refused == "The game has ended. Start a new episode."
        game.reset()
        assert game.act("north").response == "Barn"


@pytest.mark.parametrize("name", ["bundled_story", "zork1"])
def test_no_seed_ends_a_story_on_its_first_command(name, request):
    story = request.getfixturevalue(name)
    ended = []
    for seed in range(1, 21):
        with JerichoInterface(story, seed=seed) as game:
            step = game.act("look")
            if step.finished or step.died or step.fault:
                ended.append((seed, step.response))
    assert ended == []

"""Tests of the known hazards of the interpreter, through the public interface.

After every test the game continues: this process is alive, and the next command is answered.
"""

import contextlib
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures import own_stories
from tests.fixtures.walkthrough import get_bundled_walkthrough, replay_walkthrough
from zorkgpt.errors import InterpreterError

COMMANDS = {
    "backslash w": (r"\w", "backslash"),
    "backslash x": (r"\x", "backslash"),
    "backslash help": (r"\help", "backslash"),
    "backslash X": (r"\X", "backslash"),
    "backslash N": (r"\N", "backslash"),
    "backslash U": (r"\U", "backslash"),
    "backslash s": (r"look \s", "backslash"),
    "nul byte": ("look\0", "can't read the character"),
    "escape": ("\x1b[A", "can't read the character"),
    "bell": ("\a", "can't read the character"),
    "emoji": ("take 🏮", "can't read the character"),
    "two lines": ("look\nnorth", "2 lines"),
    "three commands": ("a. b. c", "3 commands"),
    "then": ("north then south", "2 commands"),
    "10,000 characters": ("take lamp " * 1000, "at most 80"),
    "empty": ("", "empty"),
    "blank": ("   ", "empty"),
    "save": ("save", "not part of the game"),
    "restore": ("restore", "not part of the game"),
    "script": ("script", "not part of the game"),
    "quit": ("quit", "not part of the game"),
    "restart": ("restart", "not part of the game"),
    "verbose": ("verbose", "not part of the game"),
    "undo": ("undo", "not part of the game"),
    "debugger": ("#comm", "debugger"),
}


@pytest.fixture(scope="module")
def started(bundled_story):
    with JerichoInterface(bundled_story, seed=1) as running:
        yield running


@pytest.fixture
def game(started, tmp_path, monkeypatch):
    """A new game, with an empty working directory that must stay empty."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    started.reset()
    yield started
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("hazard", COMMANDS)
def test_dangerous_command_is_refused_with_a_reason(game, hazard):
    command, reason = COMMANDS[hazard]
    before = game.save_state()
    refused = game.act(command)
    assert reason in refused.refused
    assert (refused.response, refused.action, refused.fault) == (refused.refused, command, None)
    assert (refused.before, refused.moved, refused.changed) == (refused.after, (), ())
    assert game.act(command).response == refused.response
    assert game.save_state() == before
    assert game.act("look").refused is None


def test_points_and_things_do_not_leak_into_the_next_episode(game):
    opening, beginning = game.reset(), game.save_state()
    replay_walkthrough(game, get_bundled_walkthrough()[:30])
    game.act("save")
    assert game.reset() == opening
    game.act("restore")
    assert game.save_state() == beginning


def test_story_file_can_be_deleted_while_open(bundled_story, tmp_path):
    path = tmp_path / "gone.z5"
    path.write_bytes(bundled_story.read_bytes())
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        with JerichoInterface("gone.z5") as game:
            opening = game.reset()
            path.unlink()
            os.chdir("/")
            assert game.reset() == opening
            assert game.act("look").fault is None
    finally:
        os.chdir(here)


@pytest.mark.parametrize("name", ["nodot", "story.html", "två ord.z5", "-rf", "a'b\"c.z5"])
def test_unusual_file_names(bundled_story, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(bundled_story.read_bytes())
    with JerichoInterface(path) as game:
        assert game.act("look").fault is None


def test_game_can_be_used_in_another_thread(game):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(game.act("look").response))
    thread.start()
    thread.join()
    assert answers == [game.act("look").response]


@pytest.mark.slow
def test_damaged_state_with_a_valid_checksum_does_not_crash(bundled_story, tmp_path):
    data = bytearray(bundled_story.read_bytes())
    static = int.from_bytes(data[0x0E:0x10], "big")
    for at in range(static + 2000, len(data), 97):  # strings and code
        data[at] ^= 0x55
    length = int.from_bytes(data[0x1A:0x1C], "big") * 4
    data[0x1C:0x1E] = (sum(data[0x40:length]) % 0x10000).to_bytes(2, "big")
    path = tmp_path / "damaged.z5"
    path.write_bytes(data)
    with JerichoInterface(path, time_limit_s=0.5) as game, contextlib.suppress(InterpreterError):
        game.reset()
    with JerichoInterface(bundled_story) as other:
        assert other.act("look").fault is None


@pytest.mark.slow
def test_noise_with_a_possible_header_is_an_error(tmp_path):
    path = tmp_path / "noise.z3"
    path.write_bytes(b"\x03" + random.Random(3).randbytes(200_000))
    with JerichoInterface(path) as game, pytest.raises(InterpreterError, match="can't be started.*Get a new copy"):
        game.reset()


@pytest.mark.slow
def test_stories_are_played_in_parallel_processes():
    """One thread per story. Each gets the same results as alone."""

    def played(name):
        with JerichoInterface(own_stories.compiled(name)) as game:
            game.reset()
            done = [game.act(step.command) for step in own_stories.walkthrough(name) if step.command]
            return [(each.response, each.after) for each in done]

    names = own_stories.names()[:6]
    with ThreadPoolExecutor(len(names)) as threads:
        together = list(threads.map(played, names))
    assert together == [played(name) for name in names]

"""Tests of credit: how often a memory was followed, and how often it worked."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.memory import FAILS, WORKS, Answers, Play, memory, remember
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.credit import outcome_in_words
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.memory.storage.history import Trial

ROOT = Path(__file__).parents[2]
LEVER = memory("Lever", category="SUCCESS", text="It opens the gate.", action="pull lever")
BELL = memory("Bell", category="SUCCESS", text="It calls the servant.", action="ring bell")

PULL = memory("Pull", category="SUCCESS", text="It rattles.", action="pull chain", episode=2, turns="9")


@pytest.fixture
def path(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        assert manager.add_memory(5, "Hall", LEVER)
        assert manager.add_memory(5, "Hall", BELL)
    return tmp_path / "Memories.md"


def test_results_of_followed_memories_are_in_the_file(path):
    play = Play(path)
    for number, facts in enumerate([WORKS, FAILS, WORKS], 1):
        play.turn(number, **facts)
        play.turn(number + 10, "ring bell", **FAILS)
    play.manager.reset_episode()
    assert "**[SUCCESS - PERMANENT] Lever** *(Ep1, T3, +0, worked 2/2, action: pull lever)*\n" in path.read_text()
    assert (
        "**[SUCCESS - PERMANENT - SUPERSEDED] Bell** *(Ep1, T3, +0, worked 0/2, action: ring bell)*\n"
        in path.read_text()
    )
    assert play.counts() == {"Lever": (2, 2), "Bell": (0, 2)}


def test_outcome_names_the_inventory_instead_of_the_player_object():
    taken = ObjectMove(7, "lamp", 5, "Kitchen", 1, "(self object)", False)
    dropped = ObjectMove(8, "key", 1, "(self object)", 5, "Kitchen", False)
    turn = ZMachineContext(inventory_before=("key",), inventory_after=("lamp",), moved=(taken, dropped))
    assert outcome_in_words(turn) == "lamp: Kitchen → inventory; key: inventory → Kitchen"


def test_only_memories_shown_at_the_place_are_credited(path):
    play = Play(path)
    play.turn(1, look=False, **WORKS)
    play.manager.get_location_memory(5)
    play.turn(2, place=6, look=False, **WORKS)
    play.turn(3, "pull rope", **WORKS)
    play.turn(0, **WORKS)
    play.manager.reset_episode()
    assert play.counts() == {}


def test_success_is_not_blamed_for_a_repetition_without_effect(path):
    play = Play(path)
    for number, facts in enumerate([WORKS, FAILS, FAILS], 1):
        play.turn(number, **facts)
    play.manager.reset_episode()
    assert play.counts() == {"Lever": (1, 1)}
    play.state.episode_id = 3
    play.turn(1, **FAILS)
    play.manager.reset_episode()
    assert play.counts() == {"Lever": (1, 2)}


def test_success_is_not_blamed_if_the_effect_happened_before_it_was_shown(path):
    play = Play(path)
    play.turn(1, look=False, **WORKS)
    play.turn(2, **FAILS)
    assert play.counts() == {}
    play.turn(3, "ring bell", look=False, died=True)
    play.turn(4, "ring bell", **FAILS)
    assert play.counts() == {"Bell": (0, 1)}


def test_new_memory_is_blamed_only_if_it_names_an_exit(path):
    play = Play(path)
    learned = {"category": "SUCCESS", "episode": 2, "turns": "1"}
    play.manager.add_memory(5, "Hall", memory("Box", text="It holds a coin.", action="open box", **learned))
    play.manager.add_memory(5, "Hall", memory("Way", text="A path.", action="north", **learned))
    for number, action in enumerate(["open box", "north"], 2):
        play.turn(number, action, **FAILS)
    play.turn(4, "north", location_changed=True)
    play.turn(5, "north", **FAILS)
    play.manager.reset_episode()
    assert play.counts() == {"Way": (1, 3)}


def test_repeated_turn_counts_once(path):
    for _ in range(3):
        play = Play(path)
        for number in range(1, 8):
            play.turn(number, **WORKS)
        assert play.manager.save_session(path.parent)
        play.turn(8, **WORKS)
    assert play.counts() == {"Lever": (8, 8)}


def test_turn_does_not_credit_the_memory_it_taught(path):
    play = Play(path)
    play.manager.add_memory(5, "Hall", PULL)
    play.turn(9, "pull chain", **WORKS)
    play.turn(10, "pull chain", **WORKS)
    play.manager.reset_episode()
    assert play.counts() == {"Pull": (1, 1)}


def test_trial_in_the_first_turn_counts(path):
    play = Play(path)
    fields = {"category": "DANGER", "action": "pull lever", "outcome": "died"}
    play.manager.add_memory(5, "Hall", memory("Danger", text="It bites.", **fields))
    play.turn(1, **WORKS)
    play.manager.reset_episode()
    assert play.counts() == {"Lever": (1, 1), "Danger": (0, 1)}


def test_danger_is_counted_except_in_the_turn_that_taught_it(path):
    play = Play(path)
    fields = {"category": "DANGER", "action": "pull lever", "outcome": "died"}
    play.manager.add_memory(5, "Hall", memory("New danger", text="It fell.", episode=2, turns="9", **fields))
    play.manager.add_memory(5, "Hall", memory("Danger", text="It bites.", **fields))
    dark = memory("Dark danger", text="It bites.", claims=(Claim(Relation.DARK),), **fields)
    play.manager.add_memory(5, "Hall", dark)
    play.turn(9, **WORKS)
    play.turn(10, **WORKS)
    play.manager.reset_episode()
    assert play.counts() == {"Lever": (2, 2), "Danger": (0, 2), "New danger": (0, 1)}


def test_counts_are_written_in_their_turn(path):
    play = Play(path)
    for number in range(1, 4):
        play.turn(number, **WORKS)
        assert play.counts() == {"Lever": (number, number)}


def test_counts_are_written_before_a_model_is_asked(path):
    class Reader(Answers):
        def synthesize(self, request):
            counts.append(play.counts())
            return super().synthesize(request)

    play, counts = Play(path), []
    play.manager = SimpleMemoryManager(game_state=play.state, path=path, synthesizer=Reader(remember("Rope")))
    play.turn(1, first_visit=True, **WORKS)
    assert counts == [{"Lever": (1, 1)}]


def test_credit_is_in_journal_and_trials(path):
    play = Play(path)
    play.turn(4, "pull lever", **WORKS)
    play.turn(6, "ring the bell", **FAILS)
    play.manager.reset_episode()
    *_, first, second = play.manager.store.journal.records()
    assert [(record.change.kind, record.change.after.title, record.change.reason) for record in (first, second)] == [
        ("credited", "Lever", "“pull lever” worked in turn 4: score +5"),
        ("credited", "Bell", "“ring the bell” did not work in turn 6: nothing changed"),
    ]
    assert list(play.manager.store.journal.trials()) == [
        Trial(2, 4, 5, "Lever", "pull lever", "score +5", True, (1, 1)),
        Trial(2, 6, 5, "Bell", "ring the bell", "nothing changed", False, (0, 1)),
    ]
    assert play.manager.drain_events() == []


KILLED = """
import os, sys
from tests.fixtures.memory import Play, WORKS
from zorkgpt import files

path, call = sys.argv[1:]
play = Play(path)
for number in range(1, 4):
    play.turn(number, **WORKS)
setattr(files.Disk, call, staticmethod(lambda *_, **__: os._exit(9)))
play.turn(4, **WORKS)
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ["create", "flush", "link", "replace"])
def test_kill_during_credit_loses_and_doubles_nothing(path, call):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), call], cwd=ROOT)
    assert done.returncode == 9
    play = Play(path)
    assert play.counts() == {"Lever": (4, 4)}, "the record has what the file does not show yet"
    for number in range(1, 6):
        play.turn(number, **WORKS)
    play.manager.reset_episode()
    assert play.counts() == {"Lever": (5, 5)}


def test_concurrent_players_are_counted_together(path):
    plays = [Play(path, episode) for episode in (2, 3, 4)]
    for number in range(1, 4):
        for play in plays:
            play.turn(number, **WORKS)
            play.manager.save_session(path.parent / str(play.state.episode_id))
    assert plays[0].counts() == {"Lever": (9, 9)}


def test_removed_memory_does_not_affect_others(path):
    play = Play(path)
    play.turn(1)
    play.manager.get_location_memory(5)
    path.write_text(path.read_text().replace("Lever", "Handle"))
    play.turn(2, look=False, **WORKS)
    play.turn(3, "ring bell", **WORKS)
    assert play.counts() == {"Bell": (1, 1)}


TURNS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from(["pull lever", "ring bell", "jump"]), st.booleans()), max_size=40
)


@settings(max_examples=40, deadline=None)
@given(turns=TURNS, cuts=st.sets(st.integers(0, 40)), reopened=st.sets(st.integers(0, 40)))
def test_counts_match_a_simple_model(tmp_path_factory, turns, cuts, reopened):
    path = tmp_path_factory.mktemp("evidence") / "Memories.md"
    play = Play(path)
    # Unpinned memories would be invalidated after two failures.
    play.manager.add_memory(5, "Hall", replace(LEVER, pinned=True))
    play.manager.add_memory(5, "Hall", replace(BELL, pinned=True))
    expected, seen, done = {}, set(), set()
    for at, (number, action, works) in enumerate(turns):
        play.turn(number, action, **(WORKS if works else FAILS))
        title = {"pull lever": "Lever", "ring bell": "Bell"}.get(action)
        is_blamed = works or title not in done
        done |= {title} if works else set()
        if title and (number, title) not in seen and is_blamed:
            seen.add((number, title))
            worked, tried = expected.get(title, (0, 0))
            expected[title] = worked + works, tried + 1
        if at in cuts or at in reopened:
            play.manager.save_session(path.parent)
        if at in reopened:
            play = Play(path)
            assert play.manager.restore_session(path.parent)
    play.manager.reset_episode()
    assert play.counts() == expected


OPEN = Claim(Relation.OPEN, 12, "gate")
DOWN = memory("Down", category="SUCCESS", text="Leads on.", action="down", outcome="to 6")


def status(play):
    kept = [memory for memory in play.manager.memory_cache[7] if memory.action]
    return [(memory.title, memory.status, memory.invalidation_reason) for memory in kept]


def test_memory_that_always_fails_is_invalidated(path):
    play = Play(path)
    play.manager.add_memory(7, "Attic", DOWN)
    play.turn(1, "down", place=7, **FAILS)
    play.turn(2, "up", place=7, **FAILS)
    play.manager.save_session(path.parent / "saved.json")
    assert status(play) == [("Down", "ACTIVE", None)]
    play.turn(3, "down", place=7, **FAILS)
    play.manager.reset_episode()
    reason = "It failed all 2 times that it was tried"
    assert status(play) == [("Down", "SUPERSEDED", reason)]


@pytest.mark.parametrize("marks", [{"pinned": True}, {"worked": 1, "tried": 1}, {"action": ""}])
def test_pinned_or_successful_memory_is_not_invalidated(path, marks):
    play = Play(path)
    kept = memory("Down", category="SUCCESS", text="Go down, it leads on.", **({"action": "down"} | marks))
    play.manager.add_memory(7, "Attic", kept)
    for number in (1, 2, 3):
        play.turn(number, "down", place=7, **FAILS)
    play.manager.reset_episode()
    assert [memory.status for memory in play.manager.memory_cache[7]] == ["ACTIVE"]


def test_trial_in_another_state_does_not_count(tmp_path):
    learned = remember("Down", category="SUCCESS", text="Leads on.")
    play = Play(tmp_path / "Memories.md", episode=1)
    play.manager = SimpleMemoryManager(
        game_state=play.state, path=tmp_path / "Memories.md", synthesizer=Answers(learned)
    )
    play.turn(1, "down", location_changed=True, location_after=6, state=(OPEN,))
    again = Play(tmp_path / "Memories.md", episode=2)
    for number in (1, 2, 3):
        again.turn(number, "down", **FAILS)
    again.manager.reset_episode()
    assert (again.counts(), [memory.status for memory in again.manager.memory_cache[5]]) == ({}, ["ACTIVE"])
    last = Play(tmp_path / "Memories.md", episode=3)
    for number in (1, 2):
        last.turn(number, "down", state=(OPEN,), **FAILS)
    last.manager.reset_episode()
    assert [memory.status for memory in last.manager.memory_cache[5]] == ["SUPERSEDED"]

"""Tests of the conditions of a memory: states that separate the observed outcomes."""

import logging
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.memory.claims import Claim, Relation, holds, separating
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.manager import SimpleMemoryManager

OPEN, CLOSED = (Claim(relation, 12, "trap door") for relation in (Relation.OPEN, Relation.CLOSED))
LOCKED, UNLOCKED = (Claim(relation, 12, "trap door") for relation in (Relation.LOCKED, Relation.UNLOCKED))
WINDOW_OPEN, WINDOW_CLOSED = (Claim(relation, 13, "small window") for relation in (Relation.OPEN, Relation.CLOSED))
TROLL, DARK = Claim(Relation.HERE, 20, "troll"), Claim(Relation.DARK)
ROPE, NEST, LEAVES = (
    Claim(Relation.CARRIED, number, name) for number, name in ((1, "rope"), (2, "bird's nest"), (3, "pile of leaves"))
)


@pytest.mark.parametrize(
    ("own", "others", "action", "expected"),
    [
        ([(OPEN, ROPE, NEST)], [(CLOSED,)], "down", ["12 open"]),
        ([(OPEN, WINDOW_OPEN)], [(CLOSED, WINDOW_CLOSED)], "look in window", ["13 open"]),
        ([(OPEN, UNLOCKED, WINDOW_OPEN)], [(CLOSED, LOCKED, WINDOW_CLOSED)], "down", ["12 open", "12 unlocked"]),
        ([(TROLL, ROPE)], [(DARK,)], "north", ["20 here"]),
        ([(ROPE, DARK)], [()], "north", ["dark"]),
        ([()], [(DARK,)], "north", ["light"]),
        ([(ROPE, NEST, LEAVES)], [()], "up", ["1 carried", "2 carried"]),
        ([(ROPE, NEST)], [()], "climb nest", ["2 carried"]),
        # A further observation excludes conditions.
        ([(ROPE, NEST), (NEST,)], [()], "up", ["2 carried"]),
        ([(ROPE,)], [(), (ROPE, NEST)], "up", []),
        ([(ROPE,)], [(ROPE,)], "up", []),
        # A door out of sight is neither open nor closed.
        ([(OPEN,)], [()], "down", []),
        ([], [(ROPE,)], "up", []),
        ([(ROPE,)], [], "up", []),
    ],
)
def test_conditions_separate_observed_outcomes(own, others, action, expected):
    assert [claim.short for claim in separating(own, others, action)] == expected


@pytest.mark.parametrize(
    ("claim", "state", "expected"),
    [
        (OPEN, (OPEN,), True),
        (OPEN, (CLOSED,), False),
        (OPEN, (LOCKED, WINDOW_OPEN), None),
        (ROPE, (NEST,), False),
        (Claim(Relation.NOT_CARRIED, 1), (NEST,), True),
        (Claim(Relation.NOT_CARRIED, 1), (ROPE,), False),
        (TROLL, (), False),
        (Claim(Relation.ABSENT, 20), (), True),
        (Claim(Relation.ABSENT, 20), (TROLL,), False),
        (DARK, (), False),
        (Claim(Relation.LIGHT), (), True),
        (Claim(Relation.LIGHT), (DARK,), False),
    ],
)
def test_claims_in_a_state(claim, state, expected):
    assert holds(claim, state) is expected


things = st.sampled_from([OPEN, CLOSED, LOCKED, UNLOCKED, WINDOW_OPEN, WINDOW_CLOSED, TROLL, DARK, ROPE, NEST])
states = st.lists(st.lists(things, max_size=5).map(tuple), max_size=4)


@given(states, states, st.sampled_from(["down", "open window", "open trap door", ""]))
def test_condition_holds_for_all_own_states_and_no_other(own, others, action):
    conditions_found = separating(own, others, action)
    assert len(conditions_found) <= 2
    for claim in conditions_found:
        assert all(holds(claim, state) is True for state in own)
        assert all(holds(claim, state) is False for state in others)


@pytest.fixture
def play(tmp_path):
    state = SimpleNamespace(episode_id=2, turn_count=0, action_history=[], action_reasoning_history=[])

    def made(*answers):
        config = SimpleNamespace(zork_game_workdir=tmp_path)
        return SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=Answers(*answers))

    return made


def climb(manager, turn, *carried, works=True, **more):
    outcome = {"location_changed": True, "location_after": 6} if works else {"nothing_changed": True}
    facts = outcome | {"turn": turn, "state": carried} | more
    manager.record_action_outcome(5, "Tree", "up", f"Response {turn}.", facts)


WORKS = remember("Up leads to the crown", category="SUCCESS")
FAILS = remember("Up is too hard", category="FAILURE")


def conditions(manager):
    kept = [*manager.memory_cache.get(5, ()), *manager.ephemeral_cache.get(5, ())]
    return {
        memory.title: [claim.short for claim in memory.when]
        for memory in kept
        if memory.status == "ACTIVE" and memory.action
    }


def test_further_observations_narrow_conditions(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, NEST, works=False)
    assert conditions(manager) == {
        "Up leads to the crown": ["1 not carried", "2 not carried"],
        "Up is too hard": ["1 carried", "2 carried"],
    }
    climb(manager, 3, ROPE, known_way=True)
    assert conditions(manager) == {"Up leads to the crown": ["2 not carried"], "Up is too hard": ["2 carried"]}


def test_observed_states_survive_a_restart(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, NEST, works=False)
    climb(manager, 3, ROPE, known_way=True)
    manager.close()
    later = play()
    climb(later, 4, NEST, TROLL, works=False)
    climb(later, 5, TROLL, known_way=True)
    assert conditions(later) == {"Up leads to the crown": ["2 not carried"], "Up is too hard": ["2 carried"]}


def test_newer_facts_win_if_no_state_separates_outcomes(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, NEST, works=False)
    climb(manager, 3, NEST, known_way=True)
    assert conditions(manager) == {"Up leads to the crown": []}
    assert manager.get_status()["metrics"]["contradictions_settled"] == 2


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        pytest.param({}, False, id="unknown state"),
        pytest.param({"when": (NEST,)}, True, id="separated by conditions"),
        pytest.param({"pinned": True}, True, id="pinned"),
    ],
)
def test_untested_memory_gives_way_to_facts(play, fields, stays):
    manager = play(WORKS)
    climb(manager, 1)
    manager.add_memory(5, "Tree", memory("Up is too hard", action="up", outcome="nothing", **fields))
    climb(manager, 2, known_way=True)
    assert ("Up is too hard" in conditions(manager)) == stays
    assert "Up leads to the crown" in conditions(manager)


def test_irrelevant_conditions_are_dropped(play):
    manager = play()
    manager.add_memory(5, "Tree", memory("Up", action="up", outcome="to 6", when=(ROPE, NEST)))
    climb(manager, 1, NEST, known_way=True)
    assert conditions(manager) == {"Up": ["2 carried"]}


def test_pinned_memory_is_counted_when_seen_again(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, works=False)
    manager.edit_memory(5, "Up leads to the crown", Edit(pinned=True))
    climb(manager, 3, known_way=True)
    seen = {memory.title: memory.observation_count for memory in manager.memory_cache[5]}
    assert seen == {"Up leads to the crown": 2, "Up is too hard": 1}


@pytest.mark.parametrize("first", ["way", "death"])
def test_conditions_separate_a_death_from_a_safe_exit(play, first):
    deadly = remember("Up kills", category="DANGER", action="up")
    died = {"nothing_changed": False, "died": True, "loss": Loss(LossKind.DEATH, LossCause.ACTION, "You fall.")}
    manager = play(*([WORKS, deadly] if first == "way" else [deadly, WORKS]))
    for turn, is_safe in enumerate([first == "way", first != "way"], 1):
        if is_safe:
            climb(manager, turn, ROPE)
        else:
            climb(manager, turn, works=False, **died)
    assert conditions(manager) == {"Up leads to the crown": ["1 carried"], "Up kills": ["1 not carried"]}


def test_pinned_memory_keeps_its_conditions(play):
    manager = play(FAILS)
    kept = memory("Up", action="up", outcome="to 6", when=(ROPE,), pinned=True)
    manager.add_memory(5, "Tree", kept)
    climb(manager, 1, NEST, known_way=True)
    assert conditions(manager) == {"Up": ["1 carried"]}

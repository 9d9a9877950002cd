"""In which states a memory holds: only what separates the outcomes that were observed."""

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
        # One more observation tells what does not matter.
        ([(ROPE, NEST), (NEST,)], [()], "up", ["2 carried"]),
        ([(ROPE,)], [(), (ROPE, NEST)], "up", []),
        ([(ROPE,)], [(ROPE,)], "up", []),
        # A door that is out of sight is neither open nor closed.
        ([(OPEN,)], [()], "down", []),
        ([], [(ROPE,)], "up", []),
        ([(ROPE,)], [], "up", []),
    ],
)
def test_only_what_separates_the_observed_outcomes_is_a_condition(own, others, action, expected):
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
def test_a_state_says_what_is_carried_present_and_dark_and_of_doors_what_was_seen(claim, state, expected):
    assert holds(claim, state) is expected


things = st.sampled_from([OPEN, CLOSED, LOCKED, UNLOCKED, WINDOW_OPEN, WINDOW_CLOSED, TROLL, DARK, ROPE, NEST])
states = st.lists(st.lists(things, max_size=5).map(tuple), max_size=4)


@given(states, states, st.sampled_from(["down", "open window", "open trap door", ""]))
def test_a_condition_is_true_of_all_states_of_one_outcome_and_false_of_all_of_the_other(own, others, action):
    found = separating(own, others, action)
    assert len(found) <= 2
    for claim in found:
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
    return {one.title: [claim.short for claim in one.when] for one in kept if one.status == "ACTIVE" and one.action}


def test_each_further_observation_narrows_the_conditions(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, NEST, works=False)
    assert conditions(manager) == {
        "Up leads to the crown": ["1 not carried", "2 not carried"],
        "Up is too hard": ["1 carried", "2 carried"],
    }
    climb(manager, 3, ROPE, known_way=True)
    assert conditions(manager) == {"Up leads to the crown": ["2 not carried"], "Up is too hard": ["2 carried"]}


def test_the_states_observed_survive_the_process(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, NEST, works=False)
    climb(manager, 3, ROPE, known_way=True)
    manager.close()
    later = play()
    climb(later, 4, NEST, TROLL, works=False)
    climb(later, 5, TROLL, known_way=True)
    assert conditions(later) == {"Up leads to the crown": ["2 not carried"], "Up is too hard": ["2 carried"]}


def test_where_no_state_separates_them_any_longer_the_newer_ground_truth_wins(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, NEST, works=False)
    climb(manager, 3, NEST, known_way=True)
    assert conditions(manager) == {"Up leads to the crown": []}
    assert manager.get_status()["metrics"]["contradictions_settled"] == 2


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        pytest.param({}, False, id="nothing is known of its state"),
        pytest.param({"when": (NEST,)}, True, id="its conditions separate it"),
        pytest.param({"pinned": True}, True, id="a person says so"),
    ],
)
def test_what_no_turn_has_taught_gives_way_to_what_a_turn_shows(play, fields, stays):
    manager = play(WORKS)
    climb(manager, 1)
    manager.add_memory(5, "Tree", memory("Up is too hard", action="up", outcome="nothing", **fields))
    climb(manager, 2, known_way=True)
    assert ("Up is too hard" in conditions(manager)) == stays
    assert "Up leads to the crown" in conditions(manager)


def test_the_conditions_of_a_memory_without_a_contrary_are_dropped_once_they_do_not_matter(play):
    manager = play()
    manager.add_memory(5, "Tree", memory("Up", action="up", outcome="to 6", when=(ROPE, NEST)))
    climb(manager, 1, NEST, known_way=True)
    assert conditions(manager) == {"Up": ["2 carried"]}


def test_a_pinned_memory_is_counted_when_its_outcome_occurs_again(play):
    manager = play(WORKS, FAILS)
    climb(manager, 1)
    climb(manager, 2, ROPE, works=False)
    manager.edit_memory(5, "Up leads to the crown", Edit(pinned=True))
    climb(manager, 3, known_way=True)
    seen = {memory.title: memory.observation_count for memory in manager.memory_cache[5]}
    assert seen == {"Up leads to the crown": 2, "Up is too hard": 1}


@pytest.mark.parametrize("first", ["way", "death"])
def test_the_conditions_of_a_death_and_of_a_safe_way_separate_them(play, first):
    deadly = remember("Up kills", category="DANGER", action="up")
    died = {"nothing_changed": False, "died": True, "loss": Loss(LossKind.DEATH, LossCause.ACTION, "You fall.")}
    manager = play(*([WORKS, deadly] if first == "way" else [deadly, WORKS]))
    for turn, is_safe in enumerate([first == "way", first != "way"], 1):
        if is_safe:
            climb(manager, turn, ROPE)
        else:
            climb(manager, turn, works=False, **died)
    assert conditions(manager) == {"Up leads to the crown": ["1 carried"], "Up kills": ["1 not carried"]}


def test_what_a_person_wrote_keeps_its_conditions(play):
    manager = play(FAILS)
    kept = memory("Up", action="up", outcome="to 6", when=(ROPE,), pinned=True)
    manager.add_memory(5, "Tree", kept)
    climb(manager, 1, NEST, known_way=True)
    assert conditions(manager) == {"Up": ["1 carried"]}

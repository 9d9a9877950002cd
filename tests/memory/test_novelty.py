"""What was judged before is not asked about again, as long as what it led to is believed."""

import json
import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.memory.parts import Answers, remember
from zorkgpt.errors import LLMError
from zorkgpt.memory.learning.novelty import Judged
from zorkgpt.memory.learning.triggers import Trigger
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import MemorySynthesisResponse, ObjectMoved, ZMachineContext

NOTHING = MemorySynthesisResponse(should_remember=False)
RUG = ("move rug", "A trap door!", {"score_delta": 5, "first_visit": False})


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=1, turn_count=4, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(tmp_path, state):
    def made(*answers, **settings):
        config = SimpleNamespace(zork_game_workdir=tmp_path, **settings)
        return SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=Answers(*answers))

    return made


def turn(manager, state, action, response, facts, *, place=5, number=None):
    state.turn_count = number or state.turn_count + 1
    manager.record_action_outcome(place, "Hall", action, response, facts)


def asked(manager):
    return [request.action for request in manager.synthesizer.requests]


def test_the_same_outcome_is_judged_once_and_then_counts_as_seen_again(play, state):
    manager = play(remember("Trap door"))
    turn(manager, state, *RUG)
    turn(manager, state, "Move  RUG", *RUG[1:])
    assert asked(manager) == ["move rug"]
    (kept,) = manager.memory_cache[5]
    assert (kept.observation_count, kept.turns) == (2, "5→6")
    metrics = manager.get_status()["metrics"]
    assert {name: metrics[name] for name in ("turns", "turns_asked", "judged_before")} == {
        "turns": 2,
        "turns_asked": 1,
        "judged_before": 1,
    }


@pytest.mark.parametrize(
    ("action", "response", "facts", "place"),
    [
        ("pull rug", *RUG[1:], 5),
        ("move rug", "It is too heavy.", RUG[2], 5),
        ("move rug", RUG[1], {"score_delta": 6, "first_visit": False}, 5),
        ("move rug", RUG[1], {"score_delta": 5, "died": True, "first_visit": False}, 5),
        ("move rug", RUG[1], RUG[2] | {"inventory_after": ("rug",), "inventory_changed": True}, 5),
        ("move rug", RUG[1], RUG[2] | {"moved": (ObjectMoved(7, "rug", 5, "Hall", 6, "Attic"),)}, 5),
        (*RUG, 6),
    ],
    ids=["action", "response", "score", "death", "inventory", "object tree", "place"],
)
def test_another_outcome_is_asked_about(play, state, action, response, facts, place):
    manager = play()
    turn(manager, state, *RUG)
    turn(manager, state, action, response, facts, place=place)
    assert asked(manager) == ["move rug", action]


def test_the_score_so_far_and_what_else_is_carried_make_no_difference(play, state):
    manager = play()
    turn(
        manager,
        state,
        "go",
        "Hm.",
        {"score_delta": 5, "score_before": 0, "inventory_before": ("a",), "inventory_after": ("a",)},
    )
    turn(
        manager,
        state,
        "go",
        "Hm.",
        {"score_delta": 5, "score_before": 9, "inventory_before": ("b",), "inventory_after": ("b",)},
    )
    assert asked(manager) == ["go"]


def test_a_later_episode_and_another_process_know_what_was_judged(play, state):
    first = play(remember("Trap door"), NOTHING)
    turn(first, state, *RUG)
    turn(first, state, "wait", "You hear something. " * 9, {"first_visit": False})
    later = play()
    state.episode_id = 2
    turn(later, state, *RUG, number=3)
    turn(later, state, "wait", "You hear something. " * 9, {"first_visit": False})
    assert asked(later) == []
    (kept,) = later.memory_cache[5]
    assert (kept.observation_count, kept.episode, kept.turns) == (2, 2, "5→3")


def test_two_processes_see_each_other_s_judgements(play, state):
    one, other = play(NOTHING), play()
    turn(one, state, *RUG)
    turn(other, state, *RUG)
    assert asked(other) == []


def test_what_is_not_believed_any_more_is_judged_anew(play, state):
    manager = play(remember("Trap door"), remember("Trap door, really"))
    turn(manager, state, *RUG)
    manager.invalidate_memory(5, "Trap door", "there is none")
    turn(manager, state, *RUG)
    turn(manager, state, *RUG)
    assert asked(manager) == ["move rug", "move rug"]
    assert manager.memory_cache[5][-1].observation_count == 2


def test_what_a_person_deleted_is_judged_anew(play, state, tmp_path):
    manager = play(remember("Trap door"), remember("Trap door"))
    turn(manager, state, *RUG)
    (tmp_path / "Memories.md").write_text("# Location Memories\n")
    turn(manager, state, *RUG)
    assert asked(manager) == ["move rug", "move rug"]


LAMP = {"moved": (ObjectMoved(7, "brass lamp", 4, "you", 5, "Hall"),), "inventory_changed": True}
DROPPED = ("drop lamp", "Dropped.", LAMP)


def in_a_new_episode(manager, state):
    manager.reset_episode()
    state.episode_id += 1


def shown(manager, place=5):
    return [memory.title for memory in manager.ephemeral_cache.get(place, []) if memory.status != "SUPERSEDED"]


def test_what_was_true_of_an_episode_only_is_true_again_when_the_same_comes_about(play, state):
    manager = play(remember("Lamp here", "ephemeral"))
    turn(manager, state, *DROPPED)
    in_a_new_episode(manager, state)
    assert shown(manager) == []
    turn(manager, state, *DROPPED, number=3)
    assert asked(manager) == ["drop lamp"]
    (kept,) = manager.ephemeral_cache[5]
    assert (kept.title, kept.text, kept.persistence) == ("Lamp here", "The text of Lamp here.", "ephemeral")
    assert (kept.episode, kept.turns, kept.observation_count) == (2, "3", 1)
    assert manager.memory_cache == {}


def test_what_a_guard_kept_for_the_episode_outlives_no_later_one(play, state):
    manager = play(remember("Lamp", "core", text="The brass lamp is here."))
    turn(manager, state, *DROPPED)
    in_a_new_episode(manager, state)
    turn(manager, state, *DROPPED)
    assert asked(manager) == ["drop lamp"]
    assert (shown(manager), manager.memory_cache) == (["Lamp"], {})
    assert manager.get_status()["metrics"]["synthesized"] == 0


def test_what_has_come_about_beside_something_else_is_judged_anew(play, state):
    """It was not judged what becomes of that: the one lamp would be in two places."""
    manager = play(
        remember("Lamp here", "ephemeral", text="The lamp is on the floor."),
        remember("Lamp up", "ephemeral", text="The lamp is on the shelf."),
        remember("Lamp down", "ephemeral", supersedes_memory_titles={"Lamp up"}),
    )
    turn(manager, state, *DROPPED)
    in_a_new_episode(manager, state)
    turn(manager, state, "put lamp on shelf", "Done.", LAMP)
    turn(manager, state, *DROPPED)
    assert asked(manager) == ["drop lamp", "put lamp on shelf", "drop lamp"]
    assert shown(manager) == ["Lamp down"]


def test_what_it_replaced_of_the_episode_it_replaces_again(play, state):
    manager = play(
        remember("Lamp up", "ephemeral", text="The lamp is on the shelf."),
        remember("Lamp down", "ephemeral", supersedes_memory_titles={"Lamp up"}),
    )
    for _ in range(2):
        turn(manager, state, "put lamp on shelf", "Done.", LAMP)
        turn(manager, state, *DROPPED)
        assert shown(manager) == ["Lamp down"]
        in_a_new_episode(manager, state)
    assert asked(manager) == ["put lamp on shelf", "drop lamp"]


def test_what_was_disproved_is_true_of_no_later_episode(play, state):
    wrong = {"invalidate_memory_titles": {"Lamp here"}, "invalidation_reason": "it fell through"}
    nothing = MemorySynthesisResponse(should_remember=False, **wrong)
    manager = play(remember("Lamp here", "ephemeral"), nothing, NOTHING)
    turn(manager, state, *DROPPED)
    turn(manager, state, "take lamp", "There is none.", {"nothing_changed": True})
    in_a_new_episode(manager, state)
    turn(manager, state, *DROPPED)
    assert asked(manager) == ["drop lamp", "take lamp", "drop lamp"]
    assert shown(manager) == []


def test_what_was_replaced_in_the_same_episode_is_judged_anew(play, state):
    closed = remember("Shut", "ephemeral", supersedes_memory_titles={"Open"})
    manager = play(remember("Open", "ephemeral"), closed, remember("Open", supersedes_memory_titles={"Shut"}))
    turn(manager, state, "open gate", "Opened.", {"inventory_changed": True})
    turn(manager, state, "close gate", "Closed.", {"inventory_changed": True})
    turn(manager, state, "open gate", "Opened.", {"inventory_changed": True})
    assert asked(manager) == ["open gate", "close gate", "open gate"]


@pytest.mark.parametrize("again", ["{}", "[]", '"x"', '{"answer": {"should_remember": true}, "beside": []}'])
def test_what_cannot_be_taken_over_is_judged_anew(play, state, tmp_path, again):
    manager = play(remember("Lamp here", "ephemeral"))
    turn(manager, state, *DROPPED)
    path = tmp_path / "Memories.judged.jsonl"
    row = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(row | {"again": json.loads(again)}) + "\n")
    state.episode_id = 2
    later = play(remember("Lamp here", "ephemeral"))
    turn(later, state, *DROPPED)
    assert (asked(later), shown(later)) == (["drop lamp"], ["Lamp here"])


@pytest.mark.parametrize("failure", [None, LLMError("down")])
def test_what_was_not_answered_is_asked_again(play, state, failure):
    manager = play(failure, NOTHING)
    turn(manager, state, *RUG)
    turn(manager, state, *RUG)
    assert asked(manager) == ["move rug", "move rug"]
    assert manager.get_status()["metrics"]["synthesis_failures"] == 1
    assert manager.get_status()["metrics"]["turn_failures"] == 0


def test_the_filter_can_be_switched_off(play, state, tmp_path):
    manager = play(ask_only_once=False)
    turn(manager, state, *RUG)
    turn(manager, state, *RUG)
    assert asked(manager) == ["move rug", "move rug"]
    assert not (tmp_path / "Memories.judged.jsonl").exists()


@pytest.mark.parametrize(
    "damage", [b"\xff\xfe nonsense\n", b'{"key": 1}\n[]\n{"key": "a", "led_to": [2]}\n', b'{"key": "ab']
)
def test_a_damaged_file_costs_questions_and_nothing_else(play, state, tmp_path, damage):
    path = tmp_path / "Memories.judged.jsonl"
    path.write_bytes(damage)
    manager = play(NOTHING)
    turn(manager, state, *RUG)
    assert asked(manager) == ["move rug"]
    assert path.read_bytes().startswith(damage)
    later = play()
    turn(later, state, *RUG)
    assert asked(later) == []


def test_a_file_that_can_not_be_used_is_said_once(tmp_path, caplog):
    judged = Judged(tmp_path, logging.getLogger("test"))
    judged.keep("key", ("Trap door",))
    judged.keep("other", ())
    assert judged.led_to("key") == ("Trap door",)
    assert judged.failures > 1
    assert len(caplog.records) == 1


def test_lines_of_many_processes_stay_whole(tmp_path):
    path = tmp_path / "Memories.judged.jsonl"
    writes = (
        "import sys, logging; from pathlib import Path; from zorkgpt.memory.learning.novelty import Judged\n"
        "judged = Judged(Path(sys.argv[1]), logging.getLogger('test'))\n"
        "for number in range(200): judged.keep(f'{sys.argv[2]}-{number}', ('Title ' * 20,))\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", writes, str(path), name]) for name in "abc"]
    assert [process.wait() for process in started] == [0, 0, 0]
    keys = {json.loads(line)["key"] for line in path.read_text().splitlines()}
    assert keys == {f"{name}-{number}" for name in "abc" for number in range(200)}


@pytest.mark.parametrize(
    ("switch", "facts", "reason"),
    [
        ("ask_on_score_change", {"score_delta": 1}, Trigger.SCORE),
        ("ask_on_move", {"location_changed": True}, Trigger.LOCATION),
        ("ask_on_inventory_change", {"inventory_changed": True}, Trigger.INVENTORY),
        ("ask_on_death", {"died": True}, Trigger.DEATH),
        ("ask_on_first_visit", {"first_visit": True}, Trigger.FIRST_VISIT),
        ("ask_on_long_response", {"response_length": 101}, Trigger.LONG_RESPONSE),
        ("ask_on_refusal", {"nothing_changed": True}, Trigger.NOTHING_CHANGED),
    ],
)
def test_every_trigger_can_be_switched_off_and_is_counted(play, state, switch, facts, reason):
    context = ZMachineContext(**facts)
    on, off = play(), play(**{switch: False})
    turn(on, state, "go", "Hm.", context)
    assert (asked(on), on.get_status()["metrics"]["triggers"]) == (["go"], {reason.value: 1})
    turn(off, state, "go on", "Hm.", context)
    assert (asked(off), off.get_status()["metrics"]["triggers"]) == ([], {})


def test_a_line_nested_beyond_reason_is_passed_over(tmp_path):
    path = tmp_path / "judged.jsonl"
    path.write_bytes(b"[" * 200_000 + b'\n{"key": "k", "led_to": ["Gate"]}\n')
    assert Judged(path, logging.getLogger("test")).led_to("k") == ("Gate",)

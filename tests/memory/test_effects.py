"""Tests of the effect of an action (refused, answered, none, changed), and of what is asked about it."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from session.ground_truth import ground_truth
from tests.fixtures.memory import NOTHING, Answers, memory, remember
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Effect, Thing, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.storage.lasting import EVERY, by_place
from zorkgpt.memory.synthesis import facts_in_words, prompt_for, signals
from zorkgpt.memory.things import is_attempts_entry
from zorkgpt.record.experience import Experience

NO_CHANGE = {"nothing_changed": True, "first_visit": False}
KNOWN_EXIT = {"nothing_changed": False, "known_way": True, "location_before": 5, "location_after": 6}
STORIES = Path(__file__).parents[1] / "stories"
DOOR_OPEN = Claim(Relation.OPEN, 3, "door")


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=1, turn_count=0, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(tmp_path, state):
    def made(*answers):
        config = SimpleNamespace(zork_game_workdir=tmp_path)
        synthesizer = Answers(*answers)
        manager = SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=synthesizer)
        manager.synthesizer = synthesizer
        return manager

    return made


def turn(manager, history, action, response, **facts):
    history.turn_count += 1
    manager.record_action_outcome(5, "Hall", action, response, NO_CHANGE | facts)


def requests(manager):
    return manager.synthesizer.requests


@pytest.mark.parametrize(
    ("facts", "effect"),
    [
        ({"nothing_changed": True}, Effect.ANSWERED),
        ({"nothing_changed": True, "refused_by_parser": True}, Effect.REFUSED),
        ({"nothing_changed": True, "refused_by_parser": True, "repeated": True}, Effect.REFUSED),
        ({"nothing_changed": True, "repeated": True}, Effect.NONE),
        ({"score_delta": 5}, Effect.CHANGED),
        ({"location_changed": True, "location_after": 6}, Effect.CHANGED),
        ({"died": True}, Effect.CHANGED),
        ({"unnamed_change": True}, Effect.CHANGED),
        ({}, None),
    ],
)
def test_effects_from_facts(facts, effect):
    assert ZMachineContext(**facts).effect == effect


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("qzxvj", Effect.REFUSED),
        ("blorf mailbox", Effect.REFUSED),
        ("hello", Effect.ANSWERED),
        ("what is a grue", Effect.ANSWERED),
        ("open mailbox", Effect.CHANGED),
        ("south", Effect.CHANGED),
        ("examine mailbox", None),
    ],
)
def test_refusals_by_the_parser_are_distinguished_from_responses(zork1, command, effect):
    with JerichoInterface(zork1) as game:
        step = game.act(command)
    assert ground_truth(step, turn=1, first_visit=False).effect == effect


def test_refusals_that_count_as_moves_are_not_recognized():
    with JerichoInterface(STORIES / "oldstyle.z3") as game:
        assert ground_truth(game.act("qzxvj"), turn=1, first_visit=False).effect == Effect.ANSWERED


def test_repeated_failure_in_the_same_state_is_permanent(play, state):
    manager = play()
    ask = "ask wizard about gem", "“It is in the cave.”"
    turn(manager, state, *ask)
    turn(manager, state, *ask)
    effects = [request.context.effect for request in requests(manager)]
    assert effects == [Effect.ANSWERED, Effect.NONE]
    assert [any("likely permanent" in hint for hint in signals(request)) for request in requests(manager)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "between",
    [
        {"action": "open door", "nothing_changed": False, "changed": (AttributeChange(3, "door", "open", True),)},
        {"action": "press button", "nothing_changed": False, "unnamed_change": True},
        {"action": "wait", "nothing_changed": False, "moved": (ObjectMove(9, "cat", 5, "Hall", 6, "Yard", True),)},
        {"action": "wait", "nothing_changed": False, "changed": (AttributeChange(9, "cat", "asleep", True, True),)},
        {"action": "pray", "nothing_changed": False, "inventory_changed": True},
        {"action": "pray", "nothing_changed": False, "score_delta": 1},
        {"action": "pray", "nothing_changed": False, "died": True},
    ],
    ids=["object", "unnamed", "moves by itself", "changes by itself", "inventory", "score", "death"],
)
def test_any_change_allows_another_attempt(play, state, between):
    manager = play()
    push = "push wall", "It stays where it is."
    turn(manager, state, *push)
    turn(manager, state, between.pop("action"), "Something happens to the cat.", **({"location_before": 5} | between))
    turn(manager, state, *push)
    assert [request.context.effect for request in requests(manager) if request.action == "push wall"] == [
        Effect.ANSWERED
    ]


def test_other_state_or_response_is_not_a_repetition(play, state):
    manager = play()
    turn(manager, state, "push wall", "No.")
    turn(manager, state, "push wall", "No.", state=(DOOR_OPEN,))
    turn(manager, state, "push wall", "Still no.")
    assert {request.context.effect for request in requests(manager)} == {Effect.ANSWERED}


def test_attempts_survive_an_interruption(play, state, tmp_path):
    manager = play()
    turn(manager, state, "push wall", "No.")
    manager.save_session(tmp_path / "session.json")
    manager.close()
    later = play()
    assert later.restore_session(tmp_path / "session.json")
    turn(later, state, "push wall", "No.")
    assert [request.context.effect for request in requests(later)] == [Effect.NONE]


def test_refusal_by_the_parser_is_not_asked_about(play, state):
    manager = play()
    turn(manager, state, "qzxvj", "I don't know the word.", refused_by_parser=True)
    assert requests(manager) == []


def test_only_a_new_response_is_asked_about(play, state):
    answers = [remember(f"Answer {n}", text=f"Text {n}.", category="NOTE", action="ask wizard") for n in (1, 2)]
    manager = play(*answers)
    gem, dog = "“The gem is in the cave.”", "“Beware of the dog.”"
    for response in (gem, gem, dog, dog):
        turn(manager, state, "ask wizard", response)
    assert [request.response for request in requests(manager)] == [gem, dog]
    assert [(memory.title, memory.observation_count) for memory in manager.memory_cache[5]] == [
        ("Answer 1", 2),
        ("Answer 2", 2),
    ]
    manager.close()
    later = play()
    turn(later, state, "ask wizard", gem)
    turn(later, state, "ask wizard", "“Go away.”")
    assert [request.response for request in requests(later)] == ["“Go away.”"]


@pytest.mark.parametrize("alive", [False, True])
def test_movement_on_a_known_exit_is_asked_about_unless_it_is_a_creature(play, state, alive):
    """A creature arrives on every other turn. A thing does not."""
    manager = play()
    thing = ThingState(9, "painting", alive=alive)
    moved = ObjectMove(9, "painting", 30, "thief", 6, "Cellar", by_itself=True)
    turn(manager, state, "down", "Cellar", **KNOWN_EXIT)
    turn(manager, state, "down", "Cellar", **KNOWN_EXIT, moved=(moved,), things=(thing,))
    assert [request.triggers for request in requests(manager)] == ([] if alive else [("objects changed",)])


def test_robbery_on_a_known_exit_is_asked_about(play, state):
    manager = play()
    robbed = {
        "moved": (ObjectMove(9, "painting", 1, "you", 30, "thief", by_itself=True),),
        "inventory_before": ("painting", "lamp"),
        "inventory_after": ("lamp",),
    }
    turn(manager, state, "down", "Cellar. A thief snatches the painting.", **KNOWN_EXIT, **robbed)
    (request,) = requests(manager)
    assert "objects changed" in request.triggers


def test_theft_during_a_known_refusal_is_asked_about(play, state):
    manager = play(remember("Wall", category="FAILURE", action="push wall"), NOTHING)
    turn(manager, state, "push wall", "No.")
    stolen = ObjectMove(9, "painting", 5, "Hall", 30, "thief", by_itself=True)
    turn(manager, state, "push wall", "No.", moved=(stolen,), location_before=5)
    assert len(requests(manager)) == 2
    facts = facts_in_words(requests(manager)[1])
    assert "The command itself changed nothing." in facts
    assert not any(fact.startswith("Nothing in the world changed") for fact in facts)


def test_success_without_a_change_is_questioned_once(play, state):
    slip = remember("Push the wall", category="SUCCESS")
    manager = play(slip, remember("The wall is fixed", category="FAILURE"))
    turn(manager, state, "push wall", "It won't budge.")
    (doubt,) = requests(manager)[1].doubts
    assert "“push wall” changed nothing" in doubt
    assert [(memory.title, memory.category) for memory in manager.memory_cache[5]] == [("The wall is fixed", "FAILURE")]
    metrics = manager.get_status()["metrics"]
    assert (metrics["asked_again"], metrics["synthesis_calls"], metrics["turns_asked"]) == (1, 2, 1)


def test_success_that_the_model_repeats_is_kept(play, state):
    answer = remember("Ask the wizard", category="SUCCESS")
    manager = play(answer, answer)
    turn(manager, state, "ask wizard", "“It is in the cave.”")
    assert len(requests(manager)) == 2
    assert [memory.title for memory in manager.memory_cache[5]] == ["Ask the wizard"]


def test_memory_without_a_known_response_is_counted(play, state):
    manager = play()
    manager.add_memory(5, "Hall", memory("Wall", action="push wall", outcome="nothing"))
    turn(manager, state, "push wall", "No.")
    assert requests(manager) == []


CONFIRMED = {"confirm_memory_titles": {"Bell"}}
DISPROVED = {"invalidate_memory_titles": {"Bell"}, "invalidation_reason": "It was an echo."}


@pytest.mark.parametrize(
    ("turns", "answer", "expected"),
    [
        (20, CONFIRMED, ("ACTIVE", None, None)),
        (21, CONFIRMED, ("TENTATIVE", None, None)),
        (20, DISPROVED, ("SUPERSEDED", "It was an echo.", 23)),
        (21, DISPROVED, ("TENTATIVE", None, None)),
    ],
)
def test_tentative_memory_elsewhere_can_be_judged_for_twenty_turns(play, state, turns, answer, expected):
    manager = play(MemorySynthesisResponse(should_remember=False, **answer))
    manager.add_memory(9, "Tower", memory("Bell", turns="3", status="TENTATIVE"))
    state.turn_count = 2 + turns
    turn(manager, state, "pull rope", "It was an echo.", nothing_changed=False, unnamed_change=True)
    assert [request.memory.title for request in requests(manager)[0].elsewhere] == (["Bell"] if turns == 20 else [])
    [bell] = manager.memory_cache[9]
    assert (bell.status, bell.invalidation_reason, bell.superseded_at_turn) == expected


LAMP = {"things": (ThingState(9, "lamp", carried=True),), "nothing_changed": False, "unnamed_change": True}


def test_question_lists_memories_of_things_in_reach_and_of_the_game(play, state):
    manager = play()
    manager.add_memory(Thing(9), "lamp", memory("Lamp burns out", text="After 300 turns."))
    manager.add_memory(Thing(8), "rug", memory("Rug is heavy"))
    manager.add_memory(GAME, "", memory("Lamp may be refilled", text="With oil.", status="TENTATIVE"))
    turn(manager, state, "rub lamp", "It glows.", **LAMP)
    prompt = prompt_for(requests(manager)[0], history_window=3)[1].content
    assert (
        '{"about": "lamp (thing 9)", "title": "Lamp burns out", "text": "After 300 turns."}\n'
        '{"about": "everywhere", "title": "Lamp may be refilled", "text": "With oil.", "status": "TENTATIVE"}\n'
    ) in prompt
    assert "Rug is heavy" not in prompt


@pytest.mark.parametrize("place", [None, 9])
def test_fact_replaces_the_memory_of_a_thing(play, state, place):
    answer = remember("Lamp burns out soon", supersedes_memory_titles={"Lamp burns out"}, place=place)
    manager = play(answer)
    manager.add_memory(Thing(9), "lamp", memory("Lamp burns out", text="After 300 turns."))
    turn(manager, state, "rub lamp", "It flickers.", **LAMP)
    kept = manager.store.document.by_place()[Thing(9)]
    assert [(memory.title, memory.status, memory.superseded_by) for memory in kept] == [
        ("Lamp burns out", "SUPERSEDED", "Lamp burns out soon"),
        ("Lamp burns out soon", "ACTIVE", None),
    ]


@pytest.mark.parametrize("subject", [Thing(9), GAME])
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"confirm_memory_titles": {"Glow"}}, "ACTIVE"),
        ({"invalidate_memory_titles": {"Glow"}, "invalidation_reason": "It is dark."}, "SUPERSEDED"),
    ],
)
def test_memories_of_things_and_game_are_confirmed_and_disproved(play, state, subject, answer, status):
    manager = play(MemorySynthesisResponse(should_remember=False, **answer))
    manager.add_memory(subject, "", memory("Glow", status="TENTATIVE"))
    turn(manager, state, "rub lamp", "Now you see.", **LAMP)
    assert [memory.status for memory in manager.store.document.by_place()[subject]] == [status]


def test_tentative_memory_elsewhere_does_not_cause_a_question(play, state):
    manager = play()
    manager.add_memory(9, "Tower", memory("Bell", turns="1", status="TENTATIVE"))
    turn(manager, state, "down", "Cellar", **KNOWN_EXIT)
    assert requests(manager) == []


@pytest.mark.parametrize(("place", "subject"), [(9, Thing(9)), ("everywhere", GAME), (7, 7), (5, 5), (None, 5)])
def test_model_refers_to_subjects_by_number(play, state, place, subject):
    manager = play(remember("Fact", kind="rule", place=place))
    manager.add_memory(7, "Tower", memory("Bell", turns="1", status="TENTATIVE"))
    facts = {"things": (ThingState(9, "lamp"),), "nothing_changed": False, "unnamed_change": True}
    turn(manager, state, "rub lamp", "It glows.", **facts)
    assert "Fact" in [memory.title for memory in manager.store.document.by_place()[subject]]


def test_fact_can_be_about_a_creature_that_just_left(play, state):
    manager = play(remember("Runs home", kind="insight", place=9))
    left = (ObjectMove(9, "dog", 5, "Yard", None, "nowhere", by_itself=True),)
    turn(manager, state, "wait", "The dog runs home.", moved=left, nothing_changed=False)
    assert "Runs home" in [memory.title for memory in by_place(manager.store.lasting.find(EVERY))[Thing(9)]]


def attempt_counts(manager, place=5):
    return [memory.observation_count for memory in manager.memory_cache.get(place, ()) if is_attempts_entry(memory)]


def leave(manager, state):
    turn(manager, state, "north", "You walk.", nothing_changed=False, location_changed=True, location_after=6)


def test_failed_commands_are_counted_once_per_episode(play, state):
    manager = play()
    for action in ("push wall", "pull wall", "Push  wall"):
        turn(manager, state, action, "No.")
    turn(manager, state, "qzxvj", "I don't know the word.", refused_by_parser=True)
    assert attempt_counts(manager) == []
    leave(manager, state)
    assert attempt_counts(manager) == [2]
    manager.reset_episode()
    state.episode_id += 1
    turn(manager, state, "push wall", "No.")
    manager.flush()
    assert attempt_counts(manager) == [3]
    shown = manager.get_location_memory(5).splitlines()
    assert shown[-1] == '[NOTE] Tried without effect: "pull wall", "push wall" changed nothing here.'
    assert not any(is_attempts_entry(memory) for request in requests(manager) for memory in request.memories)


def test_command_with_a_later_effect_is_removed_from_attempts(play, state):
    manager = play()
    for action in ("push wall", "pull wall"):
        turn(manager, state, action, "No.")
    leave(manager, state)
    turn(manager, state, "Push wall", "It moves.", nothing_changed=False, unnamed_change=True)
    turn(manager, state, "push wall", "No further.")
    leave(manager, state)
    assert manager.get_location_memory(5) == '[NOTE] Tried without effect: "pull wall" changed nothing here.'
    turn(manager, state, "pull wall", "It moves.", nothing_changed=False, unnamed_change=True)
    leave(manager, state)
    assert manager.get_location_memory(5) == ""


def resumed(play, manager, state):
    """Return a manager of the same game, which has processed its turns again."""
    saved, rows = json.loads(json.dumps(manager.snapshot())), list(state.experience.rows)
    manager.drop_episode()
    manager.close()
    later = play()
    later.restore(saved)
    for row in rows:
        state.experience.add(row)
    return later


def test_uncounted_attempts_are_counted_after_an_interruption(play, state):
    state.experience = Experience()
    manager = play()
    turn(manager, state, "push wall", "No.")
    later = resumed(play, manager, state)
    turn(later, state, "push wall", "No.")
    turn(later, state, "pull wall", "No.")
    leave(later, state)
    assert attempt_counts(later) == [2]


def test_counted_attempts_are_not_counted_again_after_an_interruption(play, state):
    state.experience = Experience()
    manager = play()
    for action in ("push wall", "pull wall", "turn wall"):
        turn(manager, state, action, "No.")
    leave(manager, state)
    later = resumed(play, manager, state)
    later.flush()
    assert attempt_counts(later) == [3]


def test_undone_turn_counts_attempts_and_visits_once(play, state):
    manager = play()
    for action in ("push wall", "pull wall", "turn wall"):
        turn(manager, state, action, "No.")
    before, visits = json.loads(json.dumps(manager.snapshot())), manager.get_visits(5)
    leave(manager, state)
    manager.undo_to(before)
    turn(manager, state, "push wall", "No.")
    assert manager.get_visits(5) == visits
    leave(manager, state)
    assert attempt_counts(manager) == [3]


def test_vetoed_attempts_entry_stays_hidden(play, state):
    manager = play()
    turn(manager, state, "push wall", "No.")
    leave(manager, state)
    manager.edit_memory(5, "Tried without effect", Edit(vetoed=True))
    turn(manager, state, "pull wall", "No.")
    leave(manager, state)
    assert "Tried" not in manager.get_location_memory(5)
    assert attempt_counts(manager) == [1]

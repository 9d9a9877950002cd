"""What an action did (refused, answered, no effect, changed), and what is asked about it."""

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

NO_CHANGE = {"nothing_changed": True, "first_visit": False}
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
def test_four_effects_are_kept_apart(facts, effect):
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
def test_the_interpreter_tells_what_the_parser_refused_from_what_the_game_answered(zork1, command, effect):
    with JerichoInterface(zork1) as game:
        step = game.act(command)
    assert ground_truth(step, turn=1, first_visit=False).effect == effect


def test_a_story_that_counts_refusals_as_moves_does_not_tell_them_apart():
    with JerichoInterface(STORIES / "oldstyle.z3") as game:
        assert ground_truth(game.act("qzxvj"), turn=1, first_visit=False).effect == Effect.ANSWERED


def test_only_what_did_nothing_again_in_the_same_state_is_called_permanent(play, state):
    manager = play()
    ask = "ask wizard about gem", "“It is in the cave.”"
    turn(manager, state, *ask)
    turn(manager, state, *ask)
    effects = [request.context.effect for request in requests(manager)]
    assert effects == [Effect.ANSWERED, Effect.NONE]
    assert [any("likely permanent" in hint for hint in signals(one)) for one in requests(manager)] == [False, True]


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
def test_any_change_clears_what_was_tried_in_vain(play, state, between):
    manager = play()
    push = "push wall", "It stays where it is."
    turn(manager, state, *push)
    turn(manager, state, between.pop("action"), "Something happens to the cat.", **({"location_before": 5} | between))
    turn(manager, state, *push)
    assert [one.context.effect for one in requests(manager) if one.action == "push wall"] == [Effect.ANSWERED]


def test_another_state_or_another_answer_is_no_repetition(play, state):
    manager = play()
    turn(manager, state, "push wall", "No.")
    turn(manager, state, "push wall", "No.", state=(DOOR_OPEN,))
    turn(manager, state, "push wall", "Still no.")
    assert {one.context.effect for one in requests(manager)} == {Effect.ANSWERED}


def test_what_was_tried_in_vain_is_known_after_an_interruption(play, state, tmp_path):
    manager = play()
    turn(manager, state, "push wall", "No.")
    manager.save_session(tmp_path / "session.json")
    manager.close()
    later = play()
    assert later.restore_session(tmp_path / "session.json")
    turn(later, state, "push wall", "No.")
    assert [one.context.effect for one in requests(later)] == [Effect.NONE]


def test_what_the_parser_refused_is_not_asked_about(play, state):
    manager = play()
    turn(manager, state, "qzxvj", "I don't know the word.", refused_by_parser=True)
    assert requests(manager) == []


def test_another_answer_of_the_wizard_is_asked_about_and_the_same_one_is_not(play, state):
    answers = [remember(f"Answer {n}", text=f"Text {n}.", category="NOTE", action="ask wizard") for n in (1, 2)]
    manager = play(*answers)
    said = ["“The gem is in the cave.”", "“The gem is in the cave.”", "“Beware of the dog.”", "“Beware of the dog.”"]
    for response in said:
        turn(manager, state, "ask wizard", response)
    assert [one.response for one in requests(manager)] == [said[0], said[2]]
    assert [(one.title, one.observation_count) for one in manager.memory_cache[5]] == [("Answer 1", 2), ("Answer 2", 2)]
    manager.close()
    later = play()
    turn(later, state, "ask wizard", said[0])
    turn(later, state, "ask wizard", "“Go away.”")
    assert [one.response for one in requests(later)] == ["“Go away.”"]


@pytest.mark.parametrize("alive", [False, True])
def test_what_moves_by_itself_on_a_known_way_is_asked_about_unless_it_is_a_creature(play, state, alive):
    """A creature arrives on every other turn; a thing does not."""
    manager = play()
    walk = {"nothing_changed": False, "known_way": True, "location_before": 5, "location_after": 6}
    thing = ThingState(9, "painting", alive=alive)
    moved = ObjectMove(9, "painting", 30, "thief", 6, "Cellar", by_itself=True)
    turn(manager, state, "down", "Cellar", **walk)
    turn(manager, state, "down", "Cellar", **walk, moved=(moved,), things=(thing,))
    assert [one.triggers for one in requests(manager)] == ([] if alive else [("objects changed",)])


def test_a_robbery_on_a_known_way_is_asked_about(play, state):
    manager = play()
    walk = {"nothing_changed": False, "known_way": True, "location_before": 5, "location_after": 6}
    robbed = {
        "moved": (ObjectMove(9, "painting", 1, "you", 30, "thief", by_itself=True),),
        "inventory_before": ("painting", "lamp"),
        "inventory_after": ("lamp",),
    }
    turn(manager, state, "down", "Cellar. A thief snatches the painting.", **walk, **robbed)
    (request,) = requests(manager)
    assert "objects changed" in request.triggers


def test_a_theft_during_a_known_refusal_is_asked_about_and_told(play, state):
    manager = play(remember("Wall", category="FAILURE", action="push wall"), NOTHING)
    turn(manager, state, "push wall", "No.")
    stolen = ObjectMove(9, "painting", 5, "Hall", 30, "thief", by_itself=True)
    turn(manager, state, "push wall", "No.", moved=(stolen,), location_before=5)
    assert len(requests(manager)) == 2
    told = facts_in_words(requests(manager)[1])
    assert "The command itself changed nothing." in told
    assert not any(fact.startswith("Nothing in the world changed") for fact in told)


def test_a_success_that_changed_nothing_goes_back_to_the_model_once(play, state):
    slip = remember("Push the wall", category="SUCCESS")
    manager = play(slip, remember("The wall is fixed", category="FAILURE"))
    turn(manager, state, "push wall", "It won't budge.")
    (doubt,) = requests(manager)[1].doubts
    assert "“push wall” changed nothing" in doubt
    assert [(one.title, one.category) for one in manager.memory_cache[5]] == [("The wall is fixed", "FAILURE")]
    metrics = manager.get_status()["metrics"]
    assert (metrics["asked_again"], metrics["synthesis_calls"], metrics["turns_asked"]) == (1, 2, 1)


def test_a_success_that_the_model_repeats_is_kept(play, state):
    answer = remember("Ask the wizard", category="SUCCESS")
    manager = play(answer, answer)
    turn(manager, state, "ask wizard", "“It is in the cave.”")
    assert len(requests(manager)) == 2
    assert [one.title for one in manager.memory_cache[5]] == ["Ask the wizard"]


def test_a_memory_without_a_known_response_counts_as_before(play, state):
    manager = play()
    manager.add_memory(5, "Hall", memory("Wall", action="push wall", outcome="nothing"))
    turn(manager, state, "push wall", "No.")
    assert requests(manager) == []


@pytest.mark.parametrize(("turns", "listed"), [(20, True), (21, False)])
def test_an_unconfirmed_memory_of_another_place_can_be_confirmed_for_twenty_turns(play, state, turns, listed):
    manager = play(MemorySynthesisResponse(should_remember=False, confirm_memory_titles={"Bell"}))
    manager.add_memory(9, "Tower", memory("Bell", turns="3", status="TENTATIVE"))
    state.turn_count = 2 + turns
    turn(manager, state, "pull rope", "A bell rings far off.", nothing_changed=False, unnamed_change=True)
    assert [one.memory.title for one in requests(manager)[0].elsewhere] == (["Bell"] if listed else [])
    assert [one.status for one in manager.memory_cache[9]] == ["ACTIVE" if listed else "TENTATIVE"]


@pytest.mark.parametrize(("turns", "listed"), [(20, True), (21, False)])
def test_an_unconfirmed_memory_of_another_place_can_be_disproved_for_twenty_turns(play, state, turns, listed):
    wrong = {"invalidate_memory_titles": {"Bell"}, "invalidation_reason": "It was an echo."}
    manager = play(MemorySynthesisResponse(should_remember=False, **wrong))
    manager.add_memory(9, "Tower", memory("Bell", turns="3", status="TENTATIVE"))
    state.turn_count = 2 + turns
    turn(manager, state, "pull rope", "It was an echo.", nothing_changed=False, unnamed_change=True)
    [bell] = manager.memory_cache[9]
    assert (bell.status, bell.invalidation_reason, bell.superseded_at_turn) == (
        ("SUPERSEDED", "It was an echo.", 3 + turns) if listed else ("TENTATIVE", None, None)
    )


LAMP = {"things": (ThingState(9, "lamp", carried=True),), "nothing_changed": False, "unnamed_change": True}


def test_the_question_lists_what_is_known_of_things_at_hand_and_of_the_game(play, state):
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
def test_a_fact_replaces_the_memory_of_a_thing_at_hand(play, state, place):
    answer = remember("Lamp burns out soon", supersedes_memory_titles={"Lamp burns out"}, place=place)
    manager = play(answer)
    manager.add_memory(Thing(9), "lamp", memory("Lamp burns out", text="After 300 turns."))
    turn(manager, state, "rub lamp", "It flickers.", **LAMP)
    kept = by_place(manager.store.lasting.document.find(EVERY))[Thing(9)]
    assert [(one.title, one.status, one.superseded_by) for one in kept] == [
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
def test_what_is_known_of_things_and_of_the_game_is_confirmed_and_disproved(play, state, subject, answer, status):
    manager = play(MemorySynthesisResponse(should_remember=False, **answer))
    manager.add_memory(subject, "", memory("Glow", status="TENTATIVE"))
    turn(manager, state, "rub lamp", "Now you see.", **LAMP)
    assert [one.status for one in by_place(manager.store.lasting.document.find(EVERY))[subject]] == [status]


def test_an_unconfirmed_memory_elsewhere_makes_no_question_of_a_known_way(play, state):
    manager = play()
    walk = {"nothing_changed": False, "known_way": True, "location_before": 5, "location_after": 6}
    manager.add_memory(9, "Tower", memory("Bell", turns="1", status="TENTATIVE"))
    turn(manager, state, "down", "Cellar", **walk)
    assert requests(manager) == []


@pytest.mark.parametrize(("place", "subject"), [(9, Thing(9)), ("everywhere", GAME), (7, 7), (5, 5), (None, 5)])
def test_the_model_says_by_number_what_a_fact_is_about(play, state, place, subject):
    manager = play(remember("Fact", kind="rule", place=place))
    manager.add_memory(7, "Tower", memory("Bell", turns="1", status="TENTATIVE"))
    facts = {"things": (ThingState(9, "lamp"),), "nothing_changed": False, "unnamed_change": True}
    turn(manager, state, "rub lamp", "It glows.", **facts)
    assert "Fact" in [one.title for one in by_place(manager.store.lasting.document.find(EVERY))[subject]]


def test_a_fact_can_be_about_a_creature_that_has_just_left(play, state):
    manager = play(remember("Runs home", kind="insight", place=9))
    left = (ObjectMove(9, "dog", 5, "Yard", None, "nowhere", by_itself=True),)
    turn(manager, state, "wait", "The dog runs home.", moved=left, nothing_changed=False)
    assert "Runs home" in [one.title for one in by_place(manager.store.lasting.find(EVERY))[Thing(9)]]


def tried(manager, place=5):
    return [one.observation_count for one in manager.memory_cache.get(place, ()) if is_attempts_entry(one)]


def leave(manager, state):
    turn(manager, state, "north", "You walk.", nothing_changed=False, location_changed=True, location_after=6)


def test_a_place_counts_each_command_that_changed_nothing_once_an_episode(play, state):
    manager = play()
    for action in ("push wall", "pull wall", "Push  wall"):
        turn(manager, state, action, "No.")
    turn(manager, state, "qzxvj", "I don't know the word.", refused_by_parser=True)
    assert tried(manager) == []
    leave(manager, state)
    assert tried(manager) == [2]
    manager.reset_episode()
    state.episode_id += 1
    turn(manager, state, "push wall", "No.")
    manager.flush()
    assert tried(manager) == [3]
    shown = manager.get_location_memory(5).splitlines()
    assert shown[-1] == '[NOTE] Tried without effect: "pull wall", "push wall" changed nothing here.'
    assert not any(is_attempts_entry(memory) for request in requests(manager) for memory in request.memories)


def test_what_has_an_effect_later_is_no_longer_among_what_had_none(play, state):
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


def test_what_was_not_counted_yet_is_counted_after_an_interruption(play, state):
    manager = play()
    turn(manager, state, "push wall", "No.")
    saved = json.loads(json.dumps(manager.snapshot()))
    manager.drop_episode()
    manager.close()
    later = play()
    later.restore(saved)
    turn(later, state, "push wall", "No.")
    turn(later, state, "pull wall", "No.")
    leave(later, state)
    assert tried(later) == [2]


def test_a_person_s_word_on_the_count_stands(play, state):
    manager = play()
    turn(manager, state, "push wall", "No.")
    leave(manager, state)
    manager.edit_memory(5, "Tried without effect", Edit(vetoed=True))
    turn(manager, state, "pull wall", "No.")
    leave(manager, state)
    assert "Tried" not in manager.get_location_memory(5)
    assert tried(manager) == [1]

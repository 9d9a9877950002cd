"""How a turn becomes memories: when it is asked about, what is kept of the answer, what is refused."""

from types import SimpleNamespace

import pytest

from tests.memory.parts import NOTHING, memory, remember
from zorkgpt.errors import LLMError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.learning.recent import checked_window, recent_turns
from zorkgpt.memory.learning.synthesis import RecentTurn
from zorkgpt.memory.learning.titles import meant
from zorkgpt.memory.learning.triggers import Trigger, reasons_to_remember
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import (
    AttributeChanged,
    MemoryEvent,
    ObjectMoved,
    ZMachineContext,
)


def kept(manager, location_id=5):
    both = (*manager.memory_cache.get(location_id, ()), *manager.ephemeral_cache.get(location_id, ()))
    return [(one.title, one.persistence, one.status) for one in both]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, []),
        ({"score_delta": -5}, [Trigger.SCORE]),
        ({"location_changed": True}, [Trigger.LOCATION]),
        ({"inventory_changed": True}, [Trigger.INVENTORY]),
        ({"died": True}, [Trigger.DEATH]),
        ({"first_visit": True}, [Trigger.FIRST_VISIT]),
        ({"response_length": 100}, []),
        ({"response_length": 101}, [Trigger.LONG_RESPONSE]),
        ({"died": True, "score_delta": -10}, [Trigger.SCORE, Trigger.DEATH]),
    ],
)
def test_a_turn_is_asked_about_for_a_reason(facts, expected):
    assert reasons_to_remember(ZMachineContext(**facts)) == expected


def test_a_turn_without_a_reason_costs_no_call(play):
    manager = play()
    manager.record_action_outcome(5, "Hall", "wait", "Time passes.", {"first_visit": False})
    assert manager.synthesizer.requests == []


def test_a_memory_is_kept_where_the_action_was_taken(play):
    manager = play(remember("Window leads in"))
    context = {"first_visit": False, "location_changed": True, "location_after": 6, "score_delta": 10}
    manager.record_action_outcome(5, "Behind House", "enter window", "Kitchen", context)
    expected = memory("Window leads in", category="DISCOVERY", episode=3, turns="12", score_change=10)
    assert manager.memory_cache == {5: [expected]}
    assert manager.drain_events() == [
        MemoryEvent("added", 5, "Window leads in", "permanent", "DISCOVERY", "", expected.text)
    ]


def test_the_question_holds_what_is_known(play, state):
    manager = play()
    manager.add_memory(5, "Hall", memory("Known"))
    manager.add_memory(5, "Hall", memory("Dropped", "ephemeral"))
    manager.add_memory(5, "Hall", memory("Wrong"))
    manager.invalidate_memory(5, "Wrong", "it is")
    state.action_history = [("north", "Hall"), ("look", "Dark."), ("light lamp", "Lit."), ("wait", "Time passes.")]
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", {"inventory_changed": True})
    (request,) = manager.synthesizer.requests
    assert [one.title for one in request.memories] == ["Known", "Dropped"]
    assert request.history == (
        RecentTurn(0, "", "look", "Dark."),
        RecentTurn(0, "", "light lamp", "Lit."),
        RecentTurn(0, "", "wait", "Time passes."),
    )
    assert request.triggers == ("inventory changed", "first visit")
    assert (request.action, request.context.turn, request.context.first_visit) == ("take sword", 12, True)


def test_core_on_a_later_visit_is_kept_as_permanent(play, caplog):
    manager = play(remember("Lamp here", "core"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"first_visit": False, "response_length": 200})
    assert kept(manager) == [("Lamp here", "permanent", "ACTIVE")]
    assert manager.get_status()["metrics"]["core_validation_downgrade"] == 1
    assert "core on a later visit kept as permanent" in caplog.text


@pytest.mark.parametrize(
    "facts",
    [
        {"moved": (ObjectMoved(4, "brass lantern", 5, "Hall", 1, "you"),)},
        {"changed": (AttributeChanged(4, "Lantern", "on", True),)},
    ],
)
def test_core_about_what_the_action_itself_moved_or_changed_is_kept_for_the_episode(play, facts):
    manager = play(remember("Lantern here", "core"), remember("Sword here", "core"))
    context = {"first_visit": True, "inventory_changed": True, **facts}
    manager.record_action_outcome(5, "Hall", "take lantern", "Taken.", context)
    manager.record_action_outcome(5, "Hall", "look", "x", context)
    assert kept(manager) == [("Sword here", "core", "ACTIVE"), ("Lantern here", "ephemeral", "ACTIVE")]


def test_what_a_turn_replaces_and_proves_wrong_is_marked(play):
    answer = remember(
        "Troll attacks",
        supersedes_memory_titles={"troll accepts lunch."},
        invalidate_memory_titles={"Troll is friendly"},
        invalidation_reason="It killed me",
    )
    manager = play(answer)
    manager.add_memory(5, "Hall", memory("Troll accepts lunch"))
    manager.add_memory(5, "Hall", memory("Troll is friendly"))
    manager.record_action_outcome(5, "Hall", "give axe", "You die.", {"died": True})
    assert kept(manager) == [
        ("Troll accepts lunch", "permanent", "SUPERSEDED"),
        ("Troll is friendly", "permanent", "SUPERSEDED"),
        ("Troll attacks", "permanent", "ACTIVE"),
    ]
    assert [one.superseded_at_turn for one in manager.memory_cache[5]] == [12, 12, None]


def test_unknown_titles_are_ignored(play, caplog):
    manager = play(remember("New", supersedes_memory_titles={"Sword"}))
    manager.add_memory(5, "Hall", memory("Sword hangs here"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"died": True})
    assert kept(manager) == [("Sword hangs here", "permanent", "ACTIVE"), ("New", "permanent", "ACTIVE")]
    assert "no memory of this title" in caplog.text
    assert manager.get_status()["metrics"]["unknown_titles"] == 1


def test_what_may_not_be_replaced_is_kept_beside_the_new(play):
    manager = play(remember("Sword taken", "ephemeral", supersedes_memory_titles={"Sword hangs here"}))
    manager.add_memory(5, "Hall", memory("Sword hangs here", "core"))
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", {"inventory_changed": True})
    assert kept(manager) == [("Sword hangs here", "core", "ACTIVE"), ("Sword taken", "ephemeral", "ACTIVE")]


@pytest.mark.parametrize("failure", [LLMError("no answer"), RuntimeError("somebody's bug"), None])
def test_nothing_that_fails_reaches_the_turn_loop(play, failure):
    manager = play(failure)
    manager.record_action_outcome(5, "Hall", "look", "x", {"died": True})
    metrics = manager.get_status()["metrics"]
    assert metrics["turn_failures"] + metrics["synthesis_failures"] == 1
    assert kept(manager) == []


def test_a_context_that_is_none_or_odd_is_no_reason_to_stop(play):
    manager = play()
    manager.record_action_outcome(5, "Hall", "look", "x", None)
    manager.record_action_outcome(5, "Hall", "look", "x", {"unknown": 1})
    assert manager.get_status()["metrics"]["turn_failures"] == 0
    manager.record_action_outcome(5, "Hall", "look", "x", "no context at all")
    assert manager.get_status()["metrics"]["turn_failures"] == 1


def test_a_first_visit_lasts_until_its_first_turn_has_been_processed(play, state):
    manager = play()
    assert manager.is_first_visit(5)
    manager.record_arrival(5, "Hall", "A hall.", {"turn": 12})
    assert manager.is_first_visit(5)
    state.turn_count = 13
    manager.record_action_outcome(5, "Hall", "look", "A hall.", {"turn": 13})
    assert manager.is_first_visit(5)
    state.turn_count = 14
    assert not manager.is_first_visit(5)
    manager.record_action_outcome(5, "Hall", "look", "A hall.", {"turn": 14})
    assert [request.context.first_visit for request in manager.synthesizer.requests] == [True, True]
    manager.reset_episode()
    assert manager.is_first_visit(5)


def test_an_arrival_is_kept_at_the_destination(play):
    manager = play(remember("Lamp here", "core"))
    manager.record_arrival(6, "Attic", "A lamp is here.", {"location_changed": True, "location_after": 6})
    (request,) = manager.synthesizer.requests
    assert (request.location_id, request.arrival, request.context.first_visit) == (6, True, True)
    assert kept(manager, 6) == [("Lamp here", "core", "ACTIVE")]


def test_an_arrival_knows_the_action_that_led_there(play, state):
    manager = play()
    manager.record_action_outcome(5, "Hall", "up", "Attic", {"location_changed": True})
    manager.record_arrival(6, "Attic", "Attic")
    state.turn_count += 1
    manager.record_arrival(7, "Cellar", "Cellar")
    assert [request.action for request in manager.synthesizer.requests] == ["up", "up", ""]


def test_pairs_of_action_and_response_get_their_turn_and_place_from_the_reasoning():
    actions = [("north", "Hall"), ("look", "Dark."), ("look", "Lit.")]
    reasoning = [
        {"turn": 2, "reasoning": "I must see", "action": "look", "location": "Hall"},
        {"turn": 3, "reasoning": "Again", "action": "look", "location": "Hall"},
    ]
    assert recent_turns(actions, reasoning, 3) == (
        RecentTurn(0, "", "north", "Hall"),
        RecentTurn(2, "Hall", "look", "Dark.", "I must see"),
        RecentTurn(3, "Hall", "look", "Lit.", "Again"),
    )


def test_lasting_memories_of_where_the_agent_put_a_thing_are_kept_for_the_episode(play, state, caplog):
    manager = play(NOTHING, NOTHING, remember("Sword here", text="The sword lies here."), remember("Sword cuts ropes"))
    taken = ObjectMoved(4, "short sword", 5, "Hall", 1, "you")
    put = ObjectMoved(4, "short sword", 1, "you", 6, "Attic")
    held = {"inventory_changed": True, "first_visit": False}
    manager.record_action_outcome(
        5,
        "Hall",
        "take sword",
        "Taken.",
        held | {"moved": (taken,), "location_before": 5, "inventory_after": ("short sword",)},
    )
    manager.record_action_outcome(
        6, "Attic", "drop sword", "Dropped.", held | {"moved": (put,), "inventory_before": ("short sword",)}
    )
    state.turn_count += 1
    manager.record_action_outcome(6, "Attic", "look", "Attic", {"response_length": 200, "first_visit": False})
    manager.record_action_outcome(6, "Attic", "cut rope", "It falls.", {"score_delta": 5, "first_visit": False})
    assert kept(manager, 6) == [("Sword cuts ropes", "permanent", "ACTIVE"), ("Sword here", "ephemeral", "ACTIVE")]
    assert manager.get_status()["metrics"]["persistence_corrected"] == 1
    assert "about where the agent has put something" in caplog.text
    manager.reset_episode()
    manager.synthesizer.answers.append(remember("Sword rests here", text="The sword lies here."))
    manager.record_action_outcome(6, "Attic", "look", "Attic, and a sword.", {"response_length": 200})
    assert kept(manager, 6)[-1] == ("Sword rests here", "permanent", "ACTIVE")


@pytest.mark.parametrize("title", ["Brass key", "What the brass key is for"])
def test_what_the_context_shows_of_elsewhere_is_not_learned_again(play, title):
    manager = play(*[remember(title, text="It opens the stone door.")] * 3)
    manager.mark_recalled(5, [memory("Brass key", text="It opens the stone door.")])
    manager.mark_lines_recalled(["- Keys of stone doors: it opens the stone door. (3 places)"])
    manager.record_action_outcome(6, "Attic", "look", "x", {"died": True})
    assert manager.synthesizer.requests[0].recalled[0] == "Brass key"
    assert kept(manager, 6) == []
    # At its own place, and said by the game itself, it is an observation.
    manager.record_action_outcome(5, "Hall", "look", "x", {"died": True})
    manager.record_action_outcome(7, "Shop", "ask about key", "It opens the stone door.", {"died": True})
    assert kept(manager, 5) == kept(manager, 7) == [(title, "permanent", "ACTIVE")]


def test_a_line_of_knowledge_is_not_learned_as_a_memory_of_a_place(play):
    manager = play(remember("Keys", text="It opens the stone door."), remember("Odd", text="It opens the box at noon."))
    line = "Keys of stone doors: it opens the stone door. (3 places)"
    manager.mark_lines_recalled([line])
    manager.record_action_outcome(6, "Attic", "look", "x", {"died": True})
    manager.record_action_outcome(6, "Attic", "jump", "y", {"died": True})
    assert manager.synthesizer.requests[0].recalled == (line,)
    assert [title for title, *_ in kept(manager, 6)] == ["Odd"]
    manager.reset_episode()
    manager.synthesizer.answers.append(remember("Keys", text="It opens the stone door."))
    manager.record_action_outcome(6, "Attic", "look", "z", {"died": True})
    assert [title for title, *_ in kept(manager, 6)] == ["Odd", "Keys"]


def test_what_the_agent_was_told_elsewhere_is_not_learned_again(play):
    manager = play(remember("Brass key", text="It opens the stone door."))
    manager.add_memory(5, "Hall", memory("Brass key", text="It opens the stone door."))
    manager.get_location_memory(5)
    manager.record_action_outcome(6, "Attic", "look", "x", {"died": True})
    assert manager.synthesizer.requests[0].recalled == ("Brass key",)
    assert kept(manager, 6) == []
    assert manager.drain_events()[-1].kind == "ignored"


@pytest.mark.parametrize(
    ("said", "titles", "expected"),
    [
        ("Troll", ["Troll", "troll"], "Troll"),
        ('"troll attacks."', ["Troll attacks", "Sword"], "Troll attacks"),
        ("Troll’s  axe", ["Troll's axe"], "Troll's axe"),
        ("TROLL", ["Troll", "troll"], None),
        ("Troll", ["Troll attacks"], None),
        ("", ["..."], None),
    ],
)
def test_a_title_means_a_memory_only_if_it_is_unmistakable(said, titles, expected):
    found = meant(said, [memory(title) for title in titles])
    assert (found and found.title) == expected


@pytest.mark.parametrize(("given", "used"), [(3, 3), (0, 3), (-1, 3), (10, 10), (50, 50), (None, 3), (True, 3)])
def test_the_window_is_at_least_one_turn(given, used):
    assert checked_window(given) == used


def test_recent_turns_are_taken_from_whatever_a_state_keeps():
    entry = SimpleNamespace(turn=4, location_name="Hall", action="look", response="Dark.")
    reasoning = [{"turn": 4, "reasoning": "I must see"}]
    expected = (RecentTurn(4, "Hall", "look", "Dark.", "I must see"),)
    assert recent_turns([entry], reasoning, 3) == expected
    assert recent_turns([vars(entry)], reasoning, 3) == expected
    assert recent_turns(list(expected), None, 3) == expected
    assert recent_turns(None, None, 3) == ()


def test_a_model_that_is_handed_in_decides_what_a_turn_teaches(tmp_path):
    said = {
        "should_remember": True,
        "category": "DANGER",
        "memory_title": "Troll bites",
        "memory_text": "It bites who comes near.",
        "persistence": "permanent",
    }
    model = ScriptedLLM([said])
    with SimpleMemoryManager.open(tmp_path, llm=model) as manager:
        manager.record_action_outcome(5, "Hall", "pet troll", "It bites.", {"died": True, "turn": 4})
        assert manager.get_location_memory(5) == "[DANGER] Troll bites: It bites who comes near."
    assert [call.role for call in model.calls] == ["memory"]

"""Tests of how a turn becomes memories: when a model is asked, and what is kept or refused."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import NOTHING, memory, remember
from zorkgpt.errors import LLMError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.asking import Trigger, should_ask
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.episode import recent_turns
from zorkgpt.memory.facts import match_by_title
from zorkgpt.memory.losses import Loss, LossCause, LossKind
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, MemoryEvent, Thing, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.synthesis import RecentTurn, SynthesisRequest, request_from
from zorkgpt.memory.things import is_ledger_entry


def kept(manager, location_id=5):
    both = (*manager.memory_cache.get(location_id, ()), *manager.ephemeral_cache.get(location_id, ()))
    return [(memory.title, memory.persistence, memory.status) for memory in both if not is_ledger_entry(memory)]


OPENED = AttributeChange(3, "door", "open", True)
STOLEN = ObjectMove(9, "painting", 5, "Hall", 30, "thief", by_itself=True)


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
        ({"first_look": True}, [Trigger.FIRST_VISIT]),
        ({"unnamed_change": True}, [Trigger.OBJECTS]),
        ({"changed": (OPENED,)}, [Trigger.OBJECTS]),
        ({"changed": (replace(OPENED, by_itself=True),)}, []),
        ({"moved": (STOLEN,)}, [Trigger.OBJECTS]),
        ({"moved": (STOLEN,), "things": (ThingState(9, "cat", alive=True),)}, []),
        ({"moved": (STOLEN,), "state": (Claim(Relation.HERE, 9, "cat"),)}, []),
        ({"nothing_changed": True}, [Trigger.NOTHING_CHANGED]),
        ({"nothing_changed": True, "refused_by_parser": True}, []),
    ],
)
def test_reasons_to_ask(facts, expected):
    turn = SynthesisRequest(5, "Hall", "wait", "Time passes.", ZMachineContext(**facts))
    assert should_ask(turn) == tuple(expected)
    long = Trigger.LONG_RESPONSE if "response_length" not in facts else None
    assert set(should_ask(replace(turn, response="x" * 101))) == {*expected, long} - {None}


def test_turn_without_a_reason_is_not_asked_about(play):
    manager = play()
    manager.record_action_outcome(5, "Hall", "wait", "Time passes.", {"first_visit": False})
    assert manager.synthesizer.requests == []


def test_memory_is_kept_where_the_action_was_taken(play):
    manager = play(remember("Window leads in"))
    context = {"first_visit": False, "location_changed": True, "location_after": 6, "score_delta": 10}
    manager.record_action_outcome(5, "Behind House", "enter window", "Kitchen", context)
    expected = memory("Window leads in", category="DISCOVERY", episode=3, turns="12", score_change=10)
    assert manager.memory_cache == {5: [expected]}
    assert manager.drain_events() == [
        MemoryEvent("added", 5, "Window leads in", "permanent", "DISCOVERY", "", expected.text)
    ]


def test_question_contains_known_memories(play, state):
    manager = play()
    manager.add_memory(5, "Hall", memory("Known"))
    manager.add_memory(5, "Hall", memory("Dropped", "ephemeral"))
    manager.add_memory(5, "Hall", memory("Wrong"))
    manager.invalidate_memory(5, "Wrong", "it is")
    state.action_history = [("north", "Hall"), ("look", "Dark."), ("light lamp", "Lit."), ("wait", "Time passes.")]
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", {"inventory_changed": True})
    (request,) = manager.synthesizer.requests
    assert [memory.title for memory in request.memories] == ["Known", "Dropped"]
    assert request.history == (
        RecentTurn(0, "", "look", "Dark."),
        RecentTurn(0, "", "light lamp", "Lit."),
        RecentTurn(0, "", "wait", "Time passes."),
    )
    assert request.triggers == ("inventory changed", "first visit")
    assert (request.action, request.context.turn, request.context.first_visit) == ("take sword", 12, True)


def test_core_memory_of_a_later_visit_becomes_permanent(play, caplog):
    manager = play(remember("Lamp here", "core"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"first_visit": False, "response_length": 200})
    assert kept(manager) == [("Lamp here", "permanent", "ACTIVE")]
    assert manager.get_status()["metrics"]["core_validation_downgrade"] == 1
    assert "core on a later visit kept as permanent" in caplog.text


@pytest.mark.parametrize(
    ("facts", "claim"),
    [
        ({"moved": (ObjectMove(4, "lantern", 7, "box", 5, "Hall"),)}, Claim(Relation.HERE, 4)),
        ({"changed": (AttributeChange(4, "lantern", "on", True),)}, Claim(Relation.LIT, 4)),
    ],
)
def test_core_memory_of_an_action_becomes_ephemeral(play, facts, claim):
    manager = play(remember("Lantern here", "core", claims=[claim]), remember("Sword here", "core"))
    context = {"first_visit": True, "inventory_changed": True, **facts}
    manager.record_action_outcome(5, "Hall", "take lantern", "Taken.", context)
    manager.record_action_outcome(5, "Hall", "look", "x", context)
    assert kept(manager) == [("Sword here", "core", "ACTIVE"), ("Lantern here", "ephemeral", "ACTIVE")]


def test_answer_supersedes_and_invalidates(play):
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
    assert [memory.superseded_at_turn for memory in manager.memory_cache[5]] == [12, 12, None]


def test_unknown_titles_are_ignored(play, caplog):
    manager = play(remember("New", supersedes_memory_titles={"Sword"}))
    manager.add_memory(5, "Hall", memory("Sword hangs here"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"died": True})
    assert kept(manager) == [("Sword hangs here", "permanent", "ACTIVE"), ("New", "permanent", "ACTIVE")]
    assert "no memory has this title" in caplog.text
    assert manager.get_status()["metrics"]["unknown_titles"] == 1


def test_protected_memory_is_kept_beside_the_new_one(play):
    slip = remember("Sword taken", "ephemeral", supersedes_memory_titles={"Sword hangs here"})
    manager = play(slip, slip)
    manager.add_memory(5, "Hall", memory("Sword hangs here", "core"))
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", {"inventory_changed": True})
    assert kept(manager) == [("Sword hangs here", "core", "ACTIVE"), ("Sword taken", "ephemeral", "ACTIVE")]


@pytest.mark.parametrize("failure", [LLMError("no answer"), RuntimeError("somebody's bug"), None])
def test_failures_do_not_reach_the_turn_loop(play, failure, caplog):
    manager = play(failure)
    manager.record_action_outcome(5, "Hall", "look", "x", {"died": True})
    metrics = manager.get_status()["metrics"]
    assert metrics["turn_failures"] + metrics["synthesis_failures"] == 1
    # For an error in code, the log contains its location.
    assert any(record.exc_info for record in caplog.records) == isinstance(failure, RuntimeError)
    assert kept(manager) == []


def test_unusual_context_is_accepted(play):
    manager = play()
    manager.record_action_outcome(5, "Hall", "look", "x", None)
    manager.record_action_outcome(5, "Hall", "look", "x", {"unknown": 1})
    assert manager.get_status()["metrics"]["turn_failures"] == 0
    manager.record_action_outcome(5, "Hall", "look", "x", "no context at all")
    assert manager.get_status()["metrics"]["turn_failures"] == 1


def test_first_visit_ends_with_its_first_turn(play, state):
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
    for turn, place in ((15, 5), (16, 6), (17, 5)):
        state.turn_count = turn
        manager.record_action_outcome(place, "Hall", "wait", "Time passes.", {"turn": turn, "score_delta": 1})
    assert [
        (request.location_id, request.context.first_visit, request.first_stay, request.visits)
        for request in manager.synthesizer.requests
    ] == [
        (5, True, True, (1, 1)),
        (5, True, True, (1, 1)),
        (5, False, True, (1, 1)),
        (6, True, True, (1, 1)),
        (5, False, False, (2, 1)),
    ]
    manager.reset_episode()
    assert manager.is_first_visit(5)


def test_arrival_is_kept_at_the_destination(play):
    manager = play(remember("Lamp here", "core"))
    manager.record_arrival(6, "Attic", "A lamp is here.", {"location_changed": True, "location_after": 6})
    (request,) = manager.synthesizer.requests
    assert (request.location_id, request.arrival, request.context.first_visit) == (6, True, True)
    assert kept(manager, 6) == [("Lamp here", "core", "ACTIVE")]


def test_first_look_is_asked_about_with_the_action(play, home):
    sight = {"category": "DISCOVERY", "memory_title": "Beams", "memory_text": "Low beams.", "persistence": "core"}
    manager = play(remember("Ladder holds", also=[sight | {"place": "arrival"}]))
    manager.add_memory(6, "Attic", memory("Owls"))
    context = {"first_look": True, "location_before": 5, "location_after": 6, "destination_name": "Attic"}
    manager.record_action_outcome(5, "Hall", "up", "Attic. Low beams.", context | {"first_visit": False})
    (request,) = manager.synthesizer.requests
    assert (request.reached.location_name, request.reached.context.first_visit) == ("Attic", True)
    assert [memory.title for memory in request.reached.memories] == ["Owls"]
    assert (kept(manager, 5), kept(manager, 6)) == (
        [("Ladder holds", "permanent", "ACTIVE")],
        [("Owls", "permanent", "ACTIVE"), ("Beams", "core", "ACTIVE")],
    )


def test_arrival_includes_the_action_before_it(play, state):
    manager = play()
    manager.record_action_outcome(5, "Hall", "up", "Attic", {"location_changed": True})
    manager.record_arrival(6, "Attic", "Attic")
    state.turn_count += 1
    manager.record_arrival(7, "Cellar", "Cellar")
    assert [request.action for request in manager.synthesizer.requests] == ["up", "up", ""]
    assert manager.get_status()["metrics"]["turn_failures"] == 0


def test_recent_turns_get_turn_and_place_from_the_reasoning():
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


HELD = {"inventory_changed": True, "first_visit": False}
TAKEN = HELD | {
    "moved": (ObjectMove(4, "short sword", 5, "Hall", 1, "you"),),
    "location_before": 5,
    "inventory_after": ("short sword",),
}
PUT = HELD | {
    "moved": (ObjectMove(4, "short sword", 1, "you", 6, "Attic"),),
    "inventory_before": ("short sword",),
    "location_before": 6,
}


def carried_to_the_attic(manager):
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", TAKEN)
    manager.record_action_outcome(6, "Attic", "drop sword", "Dropped.", PUT)


def test_lasting_memories_of_placed_things_become_ephemeral(play, state, caplog):
    here = Claim(Relation.HERE, 4, "short sword")
    seen = remember("Sword here", text="The sword lies here.", claims=[here])
    manager = play(NOTHING, NOTHING, seen, remember("Sword cuts ropes"))
    carried_to_the_attic(manager)
    state.turn_count += 1
    things = {"things": (ThingState(4, "short sword"),)}
    look = {"response_length": 200, "first_visit": False} | things
    manager.record_action_outcome(6, "Attic", "look", "Attic", look)
    manager.record_action_outcome(6, "Attic", "cut rope", "It falls.", {"score_delta": 5, "first_visit": False})
    assert kept(manager, 6) == [("Sword cuts ropes", "permanent", "ACTIVE"), ("Sword here", "ephemeral", "ACTIVE")]
    assert manager.get_status()["metrics"]["persistence_corrected"] == 1
    assert "its claim holds in this episode only" in caplog.text
    manager.reset_episode()
    manager.synthesizer.answers.append(remember("Sword rests here", text="The sword lies here.", claims=[here]))
    manager.record_action_outcome(6, "Attic", "look", "Attic, and a sword.", {"response_length": 200} | things)
    assert kept(manager, 6)[-1] == ("Sword rests here", "permanent", "ACTIVE")


@pytest.mark.parametrize(
    "text",
    [
        "Garlic placed here keeps the bat away.",
        "A sword left in the Treasure Room is stolen.",
        "Coal left in the machine becomes a diamond.",
        "The painting is worth points in the trophy case.",
        "With the sword lying here the troll does not come in.",
        "The sword on the altar opens the wall.",
        "Whoever leaves the sword here can't fight the troll below.",
        "The sword dropped here was gone a turn later.",
        "There is a sword on the pedestal once the gate is to open.",
        "Put the sword here, then ring the bell.",
    ],
)
def test_rule_that_names_a_placed_thing_stays_lasting(play, text):
    """A rule claims no position of a thing, so it stays lasting in any wording."""
    passing = remember("Sword here", "ephemeral", text="I left the sword here.")
    solution = remember("Solution", text=text, action="drop sword", supersedes_memory_titles={"Sword here"})
    manager = play(NOTHING, passing, solution)
    carried_to_the_attic(manager)
    manager.record_action_outcome(6, "Attic", "wait", "Something happens. " * 9, {"response_length": 170})
    assert kept(manager, 6)[0] == ("Solution", "permanent", "ACTIVE")
    manager.reset_episode()
    assert kept(manager, 6) == [("Solution", "permanent", "ACTIVE")]


@pytest.mark.parametrize("kind", [None, "location"])
def test_scoring_memory_is_never_demoted(play, kind):
    claim = Claim(Relation.IN, 4, "short sword", 6, "Attic")
    manager = play(NOTHING, remember("Sword in the attic: +6", claims=[claim], kind=kind))
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", TAKEN)
    manager.record_action_outcome(6, "Attic", "put sword in chest", "Done.", PUT | {"score_delta": 6})
    assert kept(manager, 6) == [("Sword in the attic: +6", "permanent", "ACTIVE")]
    assert manager.memory_cache[6][0].claims == ()


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        ({"claims": [Claim(Relation.LEADS, None, "north", 8, "Attic")], "kind": "rule"}, "north leads to Yard"),
        ({"claims": [Claim(Relation.HERE, 217, "troll")], "kind": "danger", "persistence": "core"}, "is not present"),
        ({"claims": [Claim(Relation.HERE, 4, "lamp")], "persistence": "core", "place": "arrival"}, "carried"),
        ({"claims": [Claim(Relation.DARK)], "kind": "location", "place": "arrival"}, "light"),
        ({"kind": "location"}, "the whereabouts of things are known"),
        ({"place": 201}, "unknown subject 201"),
    ],
    ids=[
        "another destination",
        "a start of what is not here",
        "a start of what is carried",
        "darkness",
        "no claim",
        "no subject",
    ],
)
def test_claim_refuted_by_the_game_state_is_refused(play, lie, reason):
    manager = play(remember("Lie", **lie), remember("Lie", **lie))
    went = {"location_changed": True, "location_after": 6, "destination_name": "Yard", "first_look": True}
    sees = {"all_in_sight": True, "things": (ThingState(4, "lamp", carried=True),), "first_visit": True}
    manager.record_action_outcome(5, "Hall", "north", "Yard. " * 30, went | sees)
    assert (kept(manager, 5), kept(manager, 6)) == ([], [])
    assert [reason in event.detail for event in manager.drain_events() if event.kind == "ignored"] == [True]


def test_fact_about_an_unknown_subject_is_skipped(play):
    lamp = {"category": "NOTE", "memory_title": "Lamp", "memory_text": "It is old.", "persistence": "permanent"}
    lie = remember("Lie", place=201, also=[lamp])
    manager = play(lie, lie)
    manager.record_action_outcome(5, "Hall", "rub lamp", "It shines.", {"score_delta": 1})
    assert kept(manager) == [("Lamp", "permanent", "ACTIVE")]


def test_edited_entry_is_not_rewritten(play):
    manager = play()
    box, rope = ThingState(9, "box"), ThingState(10, "rope", 9, "box")
    manager.record_arrival(5, "Hall", "Hall.", {"all_in_sight": True, "things": (box,)})
    assert [(memory.category, memory.text) for memory in manager.memory_cache[5]] == [("DISCOVERY", "Box.")]
    manager.edit_memory(5, "Starts here", Edit(text="A heavy box."))
    sees = {"all_in_sight": True, "things": (replace(box, states=("open",)), rope)}
    manager.record_action_outcome(5, "Hall", "open box", "A rope.", sees)
    assert [memory.text for memory in manager.memory_cache[5]] == ["A heavy box."]


@pytest.mark.parametrize(
    ("claim", "kept_as"),
    [
        (Claim(Relation.HERE, 9, "crate"), Claim(Relation.HERE, 9, "box")),
        (Claim(Relation.IN, 10, "", 9), Claim(Relation.IN, 10, "rope", 9, "box")),
        (Claim(Relation.IN, 10, "", 7), None),
        (Claim(Relation.IN, 10, "rope"), None),
        (Claim(Relation.HERE, 99, "ghost"), None),
        (Claim(Relation.HERE), None),
        (Claim(Relation.LEADS, None, " west ", 6, "Attic\n"), Claim(Relation.LEADS, None, "west", 6, "Attic")),
        (Claim(Relation.LEADS, None, " ", 6, "Attic"), None),
        (Claim(Relation.LEADS, None, "west"), None),
        (Claim(Relation.DARK, 9, "box"), Claim(Relation.DARK)),
    ],
)
def test_claims_get_the_names_of_the_game(play, claim, kept_as):
    way = Claim(Relation.LEADS, None, "east", 7, "Yard")
    manager = play(remember("Fact", kind="rule", claims=[claim, claim, way]))
    things = (ThingState(9, "box", fixed=True), ThingState(10, "rope", 9, "box"))
    manager.record_action_outcome(5, "Hall", "look", "Hall. " * 30, {"first_visit": False, "things": things})
    (fact,) = [memory for memory in manager.memory_cache[5] if memory.title == "Fact"]
    assert fact.claims == ((way,) if kept_as is None else (kept_as, way))


def test_core_memory_loses_only_its_false_claims(play):
    claims = [Claim(Relation.HERE, 4, "lamp"), Claim(Relation.HERE, 9, "box")]
    manager = play(remember("Lamp in the box", "core", kind="rule", claims=claims))
    sees = {"all_in_sight": True, "things": (ThingState(4, "lamp", carried=True), ThingState(9, "box"))}
    manager.record_action_outcome(5, "Hall", "look", "Hall. " * 30, sees | {"first_visit": True})
    assert kept(manager, 5) == [("Lamp in the box", "core", "ACTIVE")]
    assert manager.memory_cache[5][-1].claims == (claims[1],)


@pytest.mark.parametrize(
    ("fact", "is_doubted"),
    [
        ({}, True),
        ({"text": "It shines."}, False),
        ({"kind": "rule"}, False),
        ({"persistence": "ephemeral"}, False),
        ({"claims": [Claim(Relation.HERE, 4, "short sword")]}, False),
    ],
)
def test_lasting_memory_of_a_moved_thing_requires_a_kind(play, fact, is_doubted):
    answer = remember("What shines", **{"text": "A shining sword."} | fact)
    manager = play(answer, answer)
    rat = ObjectMove(9, "shining rat", 5, "Hall", 6, "Attic", by_itself=True)
    manager.record_action_outcome(5, "Hall", "take all", "Taken.", TAKEN | {"moved": (rat, *TAKEN["moved"])})
    doubts = [request.doubts for request in manager.synthesizer.requests]
    assert [bool(each) for each in doubts] == [False] + [True] * is_doubted
    if is_doubted:
        assert doubts[1][0].startswith("The restart puts the short sword back where it was. Is “What shines” true")


def test_fact_about_the_action_is_kept_where_it_was_taken(play):
    manager = play(remember("Ladder holds", place="action"))
    manager.add_memory(5, "Hall", memory("Known"))
    manager.record_arrival(6, "Attic", "Low beams.", {"location_before": 5, "location_after": 6})
    assert kept(manager, 5)[1:] == [("Ladder holds", "permanent", "ACTIVE")]


def test_question_is_read_back_from_json():
    rope = Claim(Relation.CARRIED, 4, "rope")
    known = memory("Known", "core", action="up", outcome="to 6", claims=(rope,), when=(rope,))
    context = ZMachineContext(
        turn=3,
        location_before=5,
        moved=(ObjectMove(4, "rope", 5, "Hall", 1, "you"),),
        changed=(AttributeChange(9, "box", "open", True),),
        things=(ThingState(9, "box", states=("open",)),),
        state=(rope,),
        loss=Loss(LossKind.THINGS, LossCause.CREATURE, creature=7, things=("lamp",)),
    )
    elsewhere = tuple(LocatedMemory(subject, "", known) for subject in (GAME, Thing(7), 8))
    request = SynthesisRequest(5, "Hall", "up", "Attic.", context, (known,), elsewhere=elsewhere, visits=(2, 1))
    request = replace(
        request, history=(RecentTurn(2, "Hall", "look", "Dark."),), reached=replace(request, elsewhere=(), arrival=True)
    )
    assert request_from(json.loads(json.dumps(asdict(request), default=str))) == request


def test_starting_position_of_a_taken_thing_stays_core(play):
    manager = play(remember("Sword hangs here", "core", claims=[Claim(Relation.HERE, 4, "short sword")]))
    manager.record_action_outcome(5, "Hall", "take sword", "Taken.", TAKEN | {"first_visit": True})
    assert kept(manager, 5) == [("Sword hangs here", "core", "ACTIVE")]


def test_taking_a_thing_does_not_invalidate_its_memory(play, caplog):
    wrong = {"invalidate_memory_titles": {"Sword hangs here"}, "invalidation_reason": "it is gone"}
    manager = play(MemorySynthesisResponse(should_remember=False, **wrong))
    sword = memory("Sword hangs here", "core", claims=(Claim(Relation.HERE, 4),))
    manager.add_memory(5, "Hall", sword)
    manager.record_action_outcome(5, "Hall", "take sword", "Taken. " + "The nail is bare now. " * 6, TAKEN)
    assert kept(manager, 5) == [("Sword hangs here", "core", "ACTIVE")]
    assert "the object tree confirms it" in caplog.text
    assert manager.get_status()["metrics"]["forbidden_by_ground_truth"] == 1


def test_outdated_ephemeral_memory_is_invalidated(play):
    carried, here = Claim(Relation.CARRIED, 4, "short sword"), Claim(Relation.HERE, 4, "short sword")
    taken = remember("I carry the sword", "ephemeral", claims=[carried])
    dropped = remember("I left the sword here", "ephemeral", claims=[here])
    manager = play(taken, dropped, NOTHING)
    manager.add_memory(6, "Attic", memory("Owl", "ephemeral"))
    manager.invalidate_memory(6, "Owl", "It flew away.")
    carried_to_the_attic(manager)
    assert kept(manager, 5) == [("I carry the sword", "ephemeral", "SUPERSEDED")]
    owl = ("Owl", "ephemeral", "SUPERSEDED")
    assert kept(manager, 6) == [owl, ("I left the sword here", "ephemeral", "ACTIVE")]
    again = {"moved": (ObjectMove(4, "short sword", 6, "Attic", 1, "you"),), "inventory_after": ("short sword",)}
    manager.record_action_outcome(6, "Attic", "take sword", "Taken.", HELD | again)
    assert kept(manager, 6) == [owl, ("I left the sword here", "ephemeral", "SUPERSEDED")]
    _, gone = manager.ephemeral_cache[6]
    assert gone.invalidation_reason == "contradicted by the game state: short sword carried"


def test_arrival_scores_nothing(play):
    manager = play(remember("Cellar", "core"))
    manager.record_arrival(6, "Cellar", "A cellar.", {"score_delta": 25})
    assert manager.memory_cache[6][0].score_change == 0


def test_turn_may_teach_several_facts(play, home):
    further = [
        {"category": "NOTE", "memory_title": "Troll dead", "memory_text": "I killed it.", "persistence": "ephemeral"},
        {
            "category": "NOTE",
            "memory_title": "Way back is shut",
            "memory_text": "The door falls shut behind.",
            "persistence": "permanent",
            "place": "arrival",
        },
    ]
    manager = play(remember("Sword kills the troll", also=further))
    context = {"first_visit": False, "location_changed": True, "location_after": 6, "destination_name": "Attic"}
    manager.record_action_outcome(5, "Hall", "attack troll with sword", "It dies.", context)
    assert kept(manager, 5) == [("Sword kills the troll", "permanent", "ACTIVE"), ("Troll dead", "ephemeral", "ACTIVE")]
    assert kept(manager, 6) == [("Way back is shut", "permanent", "ACTIVE")]
    assert "Attic" in home.text()


CLOSED, OPEN = Claim(Relation.CLOSED, 12, "trap door"), Claim(Relation.OPEN, 12, "trap door")


def test_exit_with_two_outcomes_gets_conditions(play, home):
    refused = remember("Down is shut", category="FAILURE", text="The trap door is closed.")
    works = remember("Down leads to the cellar", category="SUCCESS", text="A staircase descends.")
    manager = play(refused, works)
    manager.record_action_outcome(5, "Hall", "down", "It is shut.", {"nothing_changed": True, "state": (CLOSED,)})
    went = {"location_changed": True, "location_after": 6, "score_delta": 25, "state": (OPEN,)}
    manager.record_action_outcome(5, "Hall", "down", "Cellar", went)
    assert kept(manager, 5) == [
        ("Down is shut", "permanent", "ACTIVE"),
        ("Down leads to the cellar", "permanent", "ACTIVE"),
    ]
    shown = manager.get_location_memory(5)
    assert "The trap door is closed. (when the trap door is closed)" in shown
    assert "A staircase descends. (when the trap door is open)" in shown
    assert "when: trap door #12 open" in home.text()
    again = home.open()
    assert again.get_location_memory(5) == shown


def test_same_outcome_in_another_state_removes_the_condition(play):
    lamp, door = Claim(Relation.CARRIED, 4, "lamp"), Claim(Relation.OPEN, 12, "trap door")
    manager = play()
    for cache in ("permanent", "ephemeral"):
        down = memory(f"Down, {cache}", cache, action="down", outcome="to 6", when=(lamp, door))
        manager.add_memory(5, "Hall", down)
    went = {"location_changed": True, "location_after": 6, "known_way": True, "state": (door,)}
    manager.record_action_outcome(5, "Hall", "down", "Cellar", went)
    kept = (*manager.memory_cache[5], *manager.ephemeral_cache[5])
    assert [memory.when for memory in kept] == [(door,), (door,)]


def test_newer_facts_win_in_the_same_state(play, home):
    refused = remember("Down is shut", category="FAILURE", text="There is no way down.")
    works = remember("Down leads on", category="SUCCESS", text="A staircase descends.")
    manager = play(refused, works)
    manager.record_action_outcome(5, "Hall", "down", "No way.", {"nothing_changed": True, "state": (OPEN,)})
    went = {"location_changed": True, "location_after": 6, "state": (OPEN,)}
    manager.record_action_outcome(5, "Hall", "Down", "Cellar", went)
    assert kept(manager, 5) == [("Down is shut", "permanent", "SUPERSEDED"), ("Down leads on", "permanent", "ACTIVE")]
    assert "had another outcome in the same state in turn 12: to 6" in home.text()


def test_pinned_memory_wins_over_facts(play):
    manager = play(remember("Down leads on", category="SUCCESS", text="A staircase descends."))
    pinned = memory("Down is shut", action="down", outcome="nothing", pinned=True)
    manager.add_memory(5, "Hall", pinned)
    manager.record_action_outcome(5, "Hall", "down", "Cellar", {"location_changed": True, "location_after": 6})
    assert kept(manager, 5) == [("Down is shut", "permanent", "ACTIVE")]


def test_facts_with_the_same_title_are_distinguished(play):
    first = remember("Troll", text="The troll guards the passage.")
    second = remember("Troll", text="Its axe can be taken when it sleeps.")
    gone = {"invalidate_memory_titles": {"Troll (2)"}, "invalidation_reason": "it was broken"}
    manager = play(first, second, second, MemorySynthesisResponse(should_remember=False, **gone))
    for action in ("look at troll", "take axe", "take axe again", "break axe"):
        manager.record_action_outcome(5, "Hall", action, "x", {"score_delta": 1})
    assert kept(manager, 5) == [("Troll", "permanent", "ACTIVE"), ("Troll (2)", "permanent", "SUPERSEDED")]


def test_memory_named_twice_is_superseded_once(play):
    better = remember("Lever", text="It is stuck.", supersedes_memory_titles={"Old lever", "old LEVER", "Starts here"})
    manager = play(better)
    manager.add_memory(5, "Hall", memory("Old lever"))
    manager.record_arrival(5, "Hall", "Hall.", {"all_in_sight": True, "things": (ThingState(9, "box"),)})
    manager.record_action_outcome(5, "Hall", "pull lever", "Clunk.", {"score_delta": 5})
    assert {memory.title: memory.superseded_by for memory in manager.memory_cache[5]} == {
        "Old lever": "Lever",
        "Starts here": None,
        "Lever": None,
    }


def test_named_memory_is_superseded_despite_different_texts(play):
    better = remember("Ring the bell", text="Ringing summons a priest.", supersedes_memory_titles={"Lever opens gate"})
    manager = play(better)
    manager.add_memory(5, "Hall", memory("Lever opens gate", text="The lever opens the gate."))
    manager.record_action_outcome(5, "Hall", "ring bell", "Ding.", {"score_delta": 5})
    assert kept(manager, 5) == [
        ("Lever opens gate", "permanent", "SUPERSEDED"),
        ("Ring the bell", "permanent", "ACTIVE"),
    ]


def test_tentative_memories_elsewhere_are_shown_for_twenty_turns(play, state):
    manager = play()
    for turn, episode in ((4, 3), (5, 3), (20, 2), (6, 3), (24, 3)):
        maybe = memory(f"{turn} of {episode}", status="TENTATIVE", episode=episode, turns=str(turn))
        manager.add_memory(6, "Attic", maybe)
    state.turn_count = 25
    manager.record_action_outcome(5, "Hall", "look", "x", {"score_delta": 1})
    (request,) = manager.synthesizer.requests
    assert [located.memory.title for located in request.elsewhere] == ["24 of 3", "6 of 3", "5 of 3"]


def test_known_exit_is_not_asked_about(play):
    manager = play()
    walk = {"location_changed": True, "location_after": 6, "first_visit": False, "response_length": 300}
    manager.record_action_outcome(5, "Hall", "north", "Attic", walk | {"known_way": True})
    assert manager.synthesizer.requests == []
    manager.add_memory(5, "Hall", memory("North", action="north", outcome="to 6"))
    manager.record_action_outcome(5, "Hall", "North", "Attic", walk)
    assert manager.synthesizer.requests == []
    manager.record_action_outcome(5, "Hall", "north", "Cellar", walk | {"location_after": 7})
    manager.record_action_outcome(5, "Hall", "north", "Attic", walk | {"known_way": True, "score_delta": 5})
    assert [request.triggers for request in manager.synthesizer.requests] == [
        ("location changed", "long response"),
        ("score changed", "location changed", "long response"),
    ]
    assert [request.reached for request in manager.synthesizer.requests] == [None, None]


def test_same_direction_is_learned_at_every_place(play):
    leads = remember("West", category="SUCCESS", text="Leads to the Living Room.")
    manager = play(leads, leads)
    for place in (5, 6):
        walk = {"location_changed": True, "location_after": 9, "first_visit": False}
        manager.record_action_outcome(place, "Hall", "west", "Living Room", walk)
        manager.get_location_memory(place)
    assert [kept(manager, place) for place in (5, 6)] == [[("West", "permanent", "ACTIVE")]] * 2


def test_missing_facts_are_derived(play):
    manager = play()
    before = {"score_before": 5, "location_before": 5, "inventory_before": ("key",)}
    after = {"score_after": 10, "location_after": 6, "inventory_after": ()}
    manager.record_action_outcome(5, "Hall", "unlock door", "Click.", before | after)
    (request,) = manager.synthesizer.requests
    context = request.context
    assert (context.score_delta, context.location_changed, context.inventory_changed) == (5, True, True)
    assert request.triggers == ("score changed", "location changed", "inventory changed", "first visit")
    back = ZMachineContext.of({"location_before": 6, "location_after": 5, "score_before": 5, "score_after": 0})
    assert (back.location_changed, back.score_delta, back.inventory_changed) == (True, -5, False)


def test_right_and_wrong_key_are_both_learned(play):
    wrong = remember("Rusty key", category="FAILURE", text="The rusty key does not fit.")
    right = remember("Brass key", category="SUCCESS", text="The brass key opens it; the rusty one does not fit.")
    right = right.model_copy(update={"supersedes_memory_titles": {"Rusty key"}})
    manager = play(wrong, right)
    facts = {"score_before": 0, "score_after": 0, "location_before": 5, "location_after": 5, "nothing_changed": True}
    manager.record_action_outcome(5, "Hall", "unlock door with rusty key", "It does not fit.", facts)
    opened = facts | {"nothing_changed": False, "changed": (AttributeChange(3, "door", "locked", False),)}
    manager.record_action_outcome(5, "Hall", "unlock door with brass key", "Click.", opened)
    assert kept(manager, 5) == [("Rusty key", "permanent", "SUPERSEDED"), ("Brass key", "permanent", "ACTIVE")]


@pytest.mark.parametrize(
    ("title", "titles", "expected"),
    [
        ("Troll", ["Troll", "troll"], "Troll"),
        ('"troll attacks."', ["Troll attacks", "Sword"], "Troll attacks"),
        ("Troll’s  axe", ["Troll's axe"], "Troll's axe"),
        ("TROLL", ["Troll", "troll"], None),
        ("Troll", ["Troll attacks"], None),
        ("", ["..."], None),
    ],
)
def test_titles_are_matched_only_if_unambiguous(title, titles, expected):
    found = match_by_title(title, [LocatedMemory(5, "Hall", memory(title)) for title in titles])
    assert (found and found.memory.title) == expected


def test_recent_turns_are_read_from_any_state():
    entry = SimpleNamespace(turn=4, location_name="Hall", action="look", response="Dark.")
    reasoning = [{"turn": 4, "reasoning": "I must see"}]
    expected = (RecentTurn(4, "Hall", "look", "Dark.", "I must see"),)
    assert recent_turns([entry], reasoning, 3) == expected
    assert recent_turns([vars(entry)], reasoning, 3) == expected
    assert recent_turns(list(expected), None, 3) == expected
    assert recent_turns(None, None, 3) == ()


def test_custom_synthesizer_is_used(tmp_path):
    answer = {
        "should_remember": True,
        "category": "DANGER",
        "memory_title": "Troll bites",
        "memory_text": "It bites who comes near.",
        "persistence": "permanent",
    }
    model = ScriptedLLM([answer])
    with SimpleMemoryManager.open(tmp_path, llm=model) as manager:
        manager.record_action_outcome(5, "Hall", "pet troll", "It bites.", {"died": True, "turn": 4})
        assert manager.get_location_memory(5) == "[DANGER] Troll bites: It bites who comes near."
    assert [call.role for call in model.calls] == ["memory"]


def test_known_refusal_is_counted_and_not_asked_about(play):
    stuck = {"score_before": 0, "score_after": 0, "nothing_changed": True, "response_length": 200}
    manager = play(remember("Door is stuck", category="FAILURE", action="push door"), NOTHING, NOTHING)
    for turn in (1, 2):
        manager.record_action_outcome(5, "Hall", "push door", "It is stuck.", stuck | {"turn": turn})
    (known,) = manager.memory_cache[5]
    assert (len(manager.synthesizer.requests), known.observation_count) == (1, 2)
    manager.record_action_outcome(5, "Hall", "push door", "It is stuck.", stuck | {"turn": 3, "score_delta": 5})
    manager.record_action_outcome(5, "Hall", "pull door", "It is stuck.", stuck | {"turn": 4})
    assert len(manager.synthesizer.requests) == 3


def test_new_response_in_the_same_state_is_asked_about(play):
    wounds = (AttributeChange(9, "ogre", "attribute 6", True),)
    fight = {"changed": wounds, "state": (Claim(Relation.CARRIED, 4, "sword"),), "first_visit": False}
    hurt = remember("A blow hurts the ogre", category="SUCCESS", action="attack ogre", text="He bleeds.")
    dead = remember("Two blows kill the ogre", category="SUCCESS", action="attack ogre", text="He dies.")
    manager = play(hurt, dead)
    for turn, response in enumerate(("The ogre bleeds.", "The ogre bleeds.", "The ogre dies."), 1):
        manager.record_action_outcome(5, "Hall", "attack ogre", response, fight | {"turn": turn})
    assert [(memory.title, memory.observation_count) for memory in manager.memory_cache[5]] == [
        ("A blow hurts the ogre", 2),
        ("Two blows kill the ogre", 1),
    ]


@pytest.mark.parametrize(
    ("known", "facts", "reasons"),
    [
        ({"outcome": "to 6"}, {"location_changed": True, "location_after": 6}, ()),
        ({"outcome": "to 6"}, {"location_changed": True, "location_after": 7}, (Trigger.LOCATION,)),
        (
            {"outcome": "to 6"},
            {"location_changed": True, "location_after": 6, "inventory_changed": True},
            (Trigger.INVENTORY,),
        ),
        (
            {"outcome": "to 6", "status": "TENTATIVE"},
            {"location_changed": True, "location_after": 6},
            (Trigger.LOCATION,),
        ),
        ({"outcome": "to 6", "action": "East"}, {"location_changed": True, "location_after": 6}, (Trigger.LOCATION,)),
        ({"outcome": "died"}, {"died": True}, (Trigger.DEATH,)),
        ({"outcome": "changed"}, {"inventory_changed": True}, (Trigger.INVENTORY,)),
    ],
    ids=["same way", "another place", "something lost", "unconfirmed", "another action", "death", "some change"],
)
def test_further_effects_of_a_known_action_are_asked_about(known, facts, reasons):
    memories = (memory("North", **{"action": "North"} | known),)
    turn = SynthesisRequest(5, "Hall", "north", "Attic", ZMachineContext(**facts), memories)
    assert should_ask(turn) == reasons

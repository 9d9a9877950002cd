"""Tests of the judgment cache: a turn that was answered before is not asked about again."""

import logging
from types import SimpleNamespace

import pytest

from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.errors import LLMError
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.asking import AnswerCache, Trigger
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Thing, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.tables import AnswerTable
from zorkgpt.memory.synthesis import SynthesisRequest


def cached_answers(manager):
    """Return the cached answers."""
    return manager.store.database.rows("SELECT key FROM zorkgpt_judgments")


NOTHING = MemorySynthesisResponse(should_remember=False)
PULL = ("pull rug", "It moves a little, and back.", {"response_length": 101, "first_visit": False})


@pytest.fixture
def state():
    return SimpleNamespace(episode_id=1, turn_count=4, action_history=[], action_reasoning_history=[])


@pytest.fixture
def play(tmp_path, state):
    def made(*answers, **settings):
        config = SimpleNamespace(zork_game_workdir=tmp_path, **settings)
        synthesizer = Answers(*answers)
        manager = SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=synthesizer)
        manager.synthesizer = synthesizer
        return manager

    return made


def turn(manager, state, action, response, facts, *, place=5, number=None):
    state.turn_count = number or state.turn_count + 1
    manager.record_action_outcome(place, "Hall", action, response, facts)


def asked(manager):
    return [request.action for request in manager.synthesizer.requests]


def test_repeated_turn_is_asked_once_and_counted(play, state):
    manager = play(remember("Rug"))
    for _ in range(3):
        turn(manager, state, *PULL)
    turn(manager, state, "Pull  RUG", *PULL[1:])
    assert asked(manager) == ["pull rug"]
    metrics = manager.get_status()["metrics"]
    assert {name: metrics[name] for name in ("turns", "turns_asked", "judged_before")} == {
        "turns": 4,
        "turns_asked": 1,
        "judged_before": 3,
    }
    (kept,) = manager.memory_cache[5]
    assert kept.observation_count == 4


@pytest.mark.parametrize(
    ("action", "response", "facts", "place"),
    [
        ("push rug", *PULL[1:], 5),
        ("pull rug", "It is too heavy to move.", PULL[2], 5),
        ("pull rug", PULL[1], PULL[2] | {"score_before": 5, "score_after": 5}, 5),
        ("pull rug", PULL[1], PULL[2] | {"inventory_after": ("rug",), "inventory_before": ("rug",)}, 5),
        ("pull rug", PULL[1], PULL[2] | {"moved": (ObjectMove(7, "rug", 5, "Hall", 6, "Attic"),)}, 5),
        ("pull rug", PULL[1], PULL[2] | {"state": (Claim(Relation.OPEN, 3, "door"),)}, 5),
        ("pull rug", PULL[1], PULL[2] | {"first_visit": True}, 5),
        (*PULL, 6),
    ],
    ids=["action", "response", "score so far", "what is carried", "object tree", "a door", "first visit", "place"],
)
def test_any_difference_is_asked_about(play, state, action, response, facts, place):
    manager = play()
    turn(manager, state, *PULL)
    turn(manager, state, action, response, facts, place=place)
    assert asked(manager) == ["pull rug", action]


def test_other_preceding_turns_are_a_difference(play, state):
    manager = play()
    turn(manager, state, *PULL)
    state.action_history.append(("light lamp", "The lamp is lit."))
    turn(manager, state, *PULL)
    state.action_history[-1] = ("put out lamp", "It is dark.")
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug"] * 3


def taking(number, **facts):
    move = ObjectMove(number, f"thing {number}", 5, "Hall", None, "you")
    thing = ThingState(number, f"thing {number}", carried=True)
    return {"moved": (move,), "things": (thing,), "first_visit": False} | facts


def test_similar_uninstructive_turn_is_not_asked_about(play, state):
    manager = play(NOTHING, remember("Cold"))
    turn(manager, state, "take 1", "Taken.", taking(1))
    turn(manager, state, "take 2", "Taken.", taking(2))
    assert asked(manager) == ["take 1"]
    turn(manager, state, "take 3", "It is cold.", taking(3))
    turn(manager, state, "take 4", "It is cold.", taking(4))
    turn(manager, state, "take 5", "Taken.", taking(5, score_delta=5))
    turn(manager, state, "take 6", "Taken.", taking(6, unnamed_change=True))
    manager.add_memory(5, "Hall", memory("Thing 7 is stuck", action="take 7"))
    turn(manager, state, "take 7", "Taken.", taking(7))
    assert asked(manager) == ["take 1", "take 3", "take 4", "take 5", "take 6", "take 7"]
    assert manager.get_status()["metrics"]["judged_before"] == 1


@pytest.mark.parametrize(
    "answer", [{"confirm_memory_titles": {"Rug"}}, {"invalidate_memory_titles": {"Rug"}, "invalidation_reason": "no"}]
)
def test_answer_about_a_memory_is_not_used_for_similar_turns(play, state, answer):
    manager = play(MemorySynthesisResponse(should_remember=False, **answer))
    turn(manager, state, "take 1", "Taken.", taking(1))
    turn(manager, state, "take 2", "Taken.", taking(2))
    assert asked(manager) == ["take 1", "take 2"]


@pytest.mark.parametrize(("letters", "questions"), [(100, 1), (101, 2)])
def test_long_responses_are_not_similar(play, state, letters, questions):
    manager = play(NOTHING, NOTHING)
    for number in (1, 2):
        turn(manager, state, f"take {number}", "x" * letters, taking(number))
    assert len(asked(manager)) == questions


@pytest.mark.parametrize("facts", [{"died": True}, {"score_delta": 5}, {"score_delta": -1}])
def test_death_and_score_changes_are_always_asked_about(play, state, facts):
    manager = play()
    for _ in range(2):
        turn(manager, state, "open box", "A flash!", facts | {"first_visit": False})
    assert asked(manager) == ["open box", "open box"]


def test_tentative_memory_is_always_asked_about(play, state):
    manager = play()
    manager.add_memory(5, "Hall", memory("Rug may move", status="TENTATIVE"))
    for _ in range(2):
        turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]


def test_disproved_memory_of_a_thing_is_asked_about_again(play, state):
    manager = play()
    manager.add_memory(Thing(9), "rug", memory("Rug is heavy"))
    for _ in range(2):
        turn(manager, state, *PULL[:2], PULL[2] | {"things": (ThingState(9, "rug"),)})
    assert asked(manager) == ["pull rug"]
    manager.invalidate_memory(Thing(9), "Rug is heavy", "It is light.")
    turn(manager, state, *PULL[:2], PULL[2] | {"things": (ThingState(9, "rug"),)})
    assert asked(manager) == ["pull rug", "pull rug"]


def test_repeated_death_is_judged_with_its_history(play, state):
    """The cause is the gift before the axe, so the second death is asked about again."""
    axe = ("north", "The troll's axe falls.", {"died": True, "first_visit": False})
    gift = remember("Troll takes gifts", status="TENTATIVE")
    late = remember("A gift kills later", supersedes_memory_titles={"Troll takes gifts"})
    manager = play(remember("Troll kills"), gift, late)
    turn(manager, state, *axe)
    start_episode(manager, state)
    turn(manager, state, "give bread to troll", "It takes the bread.", {"inventory_changed": True})
    turn(manager, state, *axe)
    assert asked(manager) == ["north", "give bread to troll", "north"]
    assert [(memory.title, memory.status) for memory in manager.memory_cache[5]] == [
        ("Troll kills", "ACTIVE"),
        ("Troll takes gifts", "SUPERSEDED"),
        ("A gift kills later", "ACTIVE"),
    ]


def test_judgments_are_known_in_later_episodes_and_processes(play, state):
    first = play(remember("Rug"), remember("Rug"))
    turn(first, state, *PULL)
    turn(first, state, *PULL)
    later = play()
    state.episode_id = 2
    turn(later, state, *PULL, number=3)
    assert asked(later) == []
    (kept,) = later.memory_cache[5]
    assert (kept.observation_count, kept.episode) == (3, 2)


def test_unchanged_place_is_not_asked_about_again(play, state):
    manager = play(remember("Beams"), NOTHING, NOTHING, NOTHING)
    up = {"first_look": True, "known_way": True, "location_before": 5, "location_after": 6, "location_changed": True}
    manager.record_arrival(6, "Attic", "Low beams.")
    state.action_history.append(("light lamp", "The lamp is lit."))
    turn(manager, state, "up", "Low beams.", up)
    assert asked(manager) == [""]
    assert [memory.observation_count for memory in manager.memory_cache[6]] == [2]
    turn(manager, state, "climb", "Low beams.", up | {"known_way": False})
    turn(manager, state, "up", "Low beams. A bat!", up)
    manager.invalidate_memory(6, "Beams", "there are none")
    turn(manager, state, "up", "Low beams.", up)
    assert asked(manager) == ["", "climb", "up", "up"]


def test_processes_share_judgments(play, state):
    first, second = play(NOTHING), play()
    turn(first, state, *PULL)
    turn(second, state, *PULL)
    assert asked(second) == []


def test_disproved_answer_is_not_applied_again(play, state):
    manager = play(remember("Rug"), NOTHING)
    turn(manager, state, *PULL)
    manager.invalidate_memory(5, "Rug", "there is none")
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]
    assert [memory.status for memory in manager.memory_cache[5]] == ["SUPERSEDED"]


@pytest.mark.parametrize(
    ("known", "answer"),
    [
        (memory("Rug", pinned=True), remember("Rug", text="It hides a trap door.")),
        (memory("Rug", vetoed=True), remember("Rug")),
        (memory("Rug", pinned=True, action="pull rug", outcome="nothing"), remember("Rug moves", action="pull rug")),
        (memory("Rug"), remember("Lamp here", kind="location")),
    ],
    ids=["of the same title", "vetoed", "contradicted", "refused by the ledger"],
)
def test_ignored_answer_is_not_asked_for_again(play, state, known, answer):
    manager = play(answer)
    manager.add_memory(5, "Hall", known)
    for _ in range(2):
        turn(manager, state, *PULL[:2], PULL[2] | {"changed": (AttributeChange(3, "door", "open", True),)})
    assert asked(manager) == ["pull rug"]
    assert [memory.title for memory in manager.memory_cache[5]] == ["Rug"]


def test_deleted_memory_is_learned_again(play, state, tmp_path):
    manager = play(remember("Rug"), remember("Rug"))
    turn(manager, state, *PULL)
    (tmp_path / "Memories.md").write_text("# Location Memories\n")
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]
    assert [memory.title for memory in manager.memory_cache[5]] == ["Rug"]


def test_only_lost_memories_invalidate_a_judgment(play, state):
    manager = play(remember("Rug"), remember("Rug"))
    turn(manager, state, *PULL)
    manager.add_memory(5, "Hall", memory("Lamp"))
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug"]
    manager.edit_memory(5, "Rug", Edit(text="It is nailed down."))
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]


def test_superseding_answer_is_not_applied_to_its_own_result(play, state):
    known = remember("Rug can be moved", text="It moves a little.")
    manager = play(remember("Rug moves", supersedes_memory_titles={"Rug"}), known)
    manager.add_memory(5, "Hall", memory("Rug", text="It is too heavy."))
    for _ in range(3):
        turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]
    assert manager.get_status()["metrics"]["unknown_titles"] == 0


LAMP = {"moved": (ObjectMove(7, "brass lamp", 4, "you", 5, "Hall"),), "inventory_changed": True}
DROPPED = ("drop lamp", "Dropped.", LAMP)


def start_episode(manager, state):
    manager.reset_episode()
    state.episode_id += 1


def shown(manager, place=5):
    return [memory.title for memory in manager.ephemeral_cache.get(place, []) if memory.status != "SUPERSEDED"]


def test_ephemeral_answer_is_applied_in_a_new_episode(play, state):
    manager = play(remember("Lamp here", "ephemeral"))
    turn(manager, state, *DROPPED)
    start_episode(manager, state)
    assert shown(manager) == []
    turn(manager, state, *DROPPED, number=3)
    assert asked(manager) == ["drop lamp"]
    (kept,) = manager.ephemeral_cache[5]
    assert (kept.title, kept.text, kept.persistence) == ("Lamp here", "The text of Lamp here.", "ephemeral")
    assert (kept.episode, kept.turns, kept.observation_count) == (2, "3", 1)
    assert manager.memory_cache == {}


def test_rules_are_asked_every_time(tmp_path, state):
    class Rule(Answers):
        asks_a_model = False

    config = SimpleNamespace(zork_game_workdir=tmp_path)
    rule = Rule()
    manager = SimpleMemoryManager(logging.getLogger("test"), config, state, synthesizer=rule)
    for _ in range(2):
        turn(manager, state, *PULL)
    assert [request.action for request in rule.requests] == ["pull rug", "pull rug"]
    assert not cached_answers(manager)


@pytest.mark.parametrize("failure", [None, LLMError("down")])
def test_failed_question_is_asked_again(play, state, failure):
    manager = play(failure, NOTHING)
    turn(manager, state, *PULL)
    turn(manager, state, *PULL)
    assert asked(manager) == ["pull rug", "pull rug"]
    assert manager.get_status()["metrics"]["synthesis_failures"] == 1
    assert manager.get_status()["metrics"]["turn_failures"] == 0


def test_unusable_cache_is_logged_once(tmp_path, caplog):
    (tmp_path / "Memories.md.sqlite").mkdir()
    judgments = AnswerCache(AnswerTable(sidecar(tmp_path / "Memories.md")), "judge", logging.getLogger("test"))
    question = SynthesisRequest(5, "Hall", "pull rug", "It moves.", ZMachineContext())
    for _ in range(3):
        judgments.keep(question, NOTHING, [()])
    assert judgments.same(question) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"score_delta": 1}, Trigger.SCORE),
        ({"location_changed": True}, Trigger.LOCATION),
        ({"inventory_changed": True}, Trigger.INVENTORY),
        ({"died": True}, Trigger.DEATH),
        ({"first_visit": True}, Trigger.FIRST_VISIT),
        ({"response_length": 101}, Trigger.LONG_RESPONSE),
        ({"changed": (AttributeChange(3, "door", "open", True),)}, Trigger.OBJECTS),
        ({"nothing_changed": True}, Trigger.NOTHING_CHANGED),
    ],
)
def test_triggers_are_counted(play, state, facts, reason):
    manager = play()
    turn(manager, state, "go", "Hm.", ZMachineContext(**facts))
    assert (asked(manager), manager.get_status()["metrics"]["triggers"]) == (["go"], {reason.value: 1})


UNREADABLE = '{"answer": {"should_remember": true}, "memories": []}'


@pytest.mark.parametrize("answer", ["{}", "[]", '"x"', UNREADABLE, "[" * 200_000, "half a li"])
def test_unreadable_cached_answer_is_asked_for_again(play, state, answer):
    manager = play(NOTHING)
    turn(manager, state, *PULL)
    database = sidecar(manager.store.path)
    database.put("UPDATE zorkgpt_judgments SET answer = %s", [(answer,)])
    later = play(NOTHING)
    turn(later, state, *PULL)
    assert asked(later) == ["pull rug"]

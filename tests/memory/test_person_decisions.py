"""Tests that answers of a model never change what a person decided."""

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.models import GAME, Thing, ZMachineContext, fields_of
from zorkgpt.memory.objects import ThingState

OPEN, SURE = ("core", "TENTATIVE"), ("permanent", "ACTIVE")
TEXT = "The lever opens the gate."
LEVER = ThingState(181, "lever")
NO = MemorySynthesisResponse(should_remember=False, invalidate_memory_titles={"Lever"}, invalidation_reason="No.")
YES = MemorySynthesisResponse(should_remember=False, confirm_memory_titles={"Lever"})


def answers(place):
    about = {"place": place}
    return {
        "superseded": remember("Gate", text="Nothing opens it.", supersedes_memory_titles={"Lever"}, **about),
        "invalidated": NO,
        "confirmed": YES,
        "refined": remember("Lever", text="The lever opens the gate with a loud click.", **about),
        "made permanent": remember("Lever", text=TEXT, **about),
        "demoted": remember("Lever", "ephemeral", text=TEXT, **about),
        "contradicted": remember("Lever fails", text="The lever does not open the gate.", **about),
        "doubted": remember("Lever", text=TEXT, status="TENTATIVE", **about),
        "both": remember(
            "Gate shut", text="Shut.", invalidate_memory_titles={"Lever"}, invalidation_reason="No", **about
        ),
    }


@pytest.mark.parametrize(("persistence", "status"), [OPEN, SURE])
@pytest.mark.parametrize("decision", ["edited", "pinned", "vetoed"])
@pytest.mark.parametrize(("subject", "place"), [(5, None), (Thing(181), 181), (GAME, "everywhere")])
def test_answer_does_not_change_a_persons_decision(home, state, subject, place, decision, persistence, status):
    given = answers(place)
    manager = opened(home, state, *given.values())
    marks = {} if decision == "edited" else {decision: True}
    manager.add_memory(subject, "", memory("Lever", persistence, text=TEXT, status=status, **marks))
    if decision == "edited":
        manager.edit_memory(subject, "Lever", Edit(category="SUCCESS"))
    [before] = map(decided, manager.store.document.memories(subject))
    for number, change in enumerate(given, 13):
        state.turn_count = number
        learn(manager, number)
        kept = [decided(memory) for memory in manager.store.document.memories(subject)]
        assert before in kept, change
    manager.close()


@pytest.mark.parametrize("change", sorted(answers(None).keys() - {"demoted", "contradicted"}))
def test_answer_changes_an_unmarked_memory(home, state, change):
    with opened(home, state, answers(None)[change]) as manager:
        persistence, status = SURE if change == "refined" else OPEN
        manager.add_memory(5, "Hall", memory("Lever", persistence, text=TEXT, status=status))
        [before] = map(decided, manager.store.document.memories(5))
        learn(manager, 13)
        assert before not in map(decided, manager.store.document.memories(5))


def opened(home, state, *given):
    return home.open(game_state=state, synthesizer=Answers(*given), embeddings=HashingEmbeddings())


def learn(manager, number):
    context = ZMachineContext(turn=number, score_delta=1, things=(LEVER,))
    manager.record_action_outcome(5, "Hall", f"pull lever {number}", "Click.", context)


def decided(kept):
    """Return the memory without observation counts."""
    counted = ("episode", "first_episode", "turns", "observation_count", "tried", "worked", "id")
    return {name: value for name, value in fields_of(kept).items() if name not in counted}

"""Tests of the guards: they decide over the memories at the time of the write, and say why they refuse."""

import pickle

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.errors import MemoryEditError, MemoryRefused
from zorkgpt.memory.editing import Edit

GATE = "The lever opens the gate."
SCORED = {"score_delta": 5}


class HidingJudge:
    """A judge during whose answer a person adds a memory and hides it."""

    def __init__(self, home):
        self._home = home
        self.asked = 0

    def judge(self, place, new, known):
        self.asked += 1
        with self._home.open() as other:
            other.add_memory(5, "Hall", memory("Lever", text=GATE))
            other.edit_memory(5, "Lever", Edit(vetoed=True))
        return {}


@pytest.mark.parametrize("home", ["file", "sqlite"], indirect=True)
@pytest.mark.parametrize("is_learned", [True, False])
def test_memory_hidden_while_the_judge_answers_is_not_stored(home, is_learned):
    judge = HidingJudge(home)
    answers = Answers(remember("Gate lever", text=GATE))
    manager = home.open(embeddings=HashingEmbeddings(), judge=judge, synthesizer=answers)
    manager.add_memory(5, "Hall", memory("Gate", text="Pulling the lever in the hall makes the gate open."))
    manager.drain_events()
    if is_learned:
        manager.record_action_outcome(5, "Hall", "pull lever", "Clunk.", SCORED)
    else:
        assert not manager.add_memory(5, "Hall", memory("Gate lever", text=GATE))
    assert judge.asked == 1
    assert [kept.title for kept in manager.memory_cache[5]] == ["Gate", "Lever"]
    assert manager.get_status()["metrics"]["vetoes_obeyed"] == 1
    ignored = [(event.title, event.detail) for event in manager.drain_events() if event.kind == "ignored"]
    assert ignored == [("Gate lever", "a person has hidden 'Lever'")]


def test_learned_memory_is_stored_beside_what_it_cannot_replace(play, caplog):
    answer = remember("Rope is tied", "ephemeral", supersedes_memory_titles={"Bolt", "Chain", "Rope"})
    # After a doubt, the second answer is the same.
    manager = play(answer, answer)
    manager.add_memory(5, "Hall", memory("Bolt"))
    manager.add_memory(5, "Hall", memory("Chain"))
    manager.edit_memory(5, "Chain", Edit(pinned=True))
    manager.add_memory(5, "Hall", memory("Rope", "ephemeral"))
    manager.record_action_outcome(5, "Hall", "tie rope", "Tied.", SCORED)
    assert [(kept.title, kept.status) for kept in manager.memory_cache[5]] == [("Bolt", "ACTIVE"), ("Chain", "ACTIVE")]
    assert [(kept.title, kept.superseded_by) for kept in manager.ephemeral_cache[5]] == [
        ("Rope", "Rope is tied"),
        ("Rope is tied", None),
    ]
    assert manager.get_status()["metrics"]["person_edits_kept"] == 1
    assert "'Bolt' was not replaced: the restart would lose it, because 'Rope is tied' is ephemeral." in caplog.messages


@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_stated_memory_is_refused_whole(home):
    manager = home.open()
    rope = manager.remember(5, "The rope is short.", title="Rope")
    manager.update(rope, pinned=True)
    with pytest.raises(MemoryRefused, match="'Rope' was not replaced: it is pinned, or edited by a person") as refusal:
        manager.supersede(rope, "The rope is long.")
    assert isinstance(refusal.value, MemoryEditError)
    assert pickle.loads(pickle.dumps(refusal.value)).args == refusal.value.args
    with pytest.raises(MemoryRefused, match="'Rope' was not changed"):
        manager.invalidate(rope, "It is long.")
    assert [kept.title for kept in manager.memory_cache[5]] == ["Rope"]
    assert manager.get_status()["metrics"]["person_edits_kept"] == 2


def test_guard_counts_continue_after_a_restart(home, play, state):
    manager = play(remember("Lamp here", "core"))
    manager.record_action_outcome(5, "Hall", "look", "x", {"first_visit": False, "response_length": 200})
    resumed = home.open(game_state=state)
    resumed.restore(manager.snapshot())
    assert resumed.get_status()["metrics"]["core_validation_downgrade"] == 1

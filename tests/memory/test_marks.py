"""Tests of pinned and vetoed memories."""

from types import SimpleNamespace

import pytest

from tests.fixtures.dedup import ConstantJudge
from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import Answers, memory, remember
from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager

GATE = "The lever opens the gate."
MORE = "The lever opens the gate, which squeaks loudly when it moves."
CONTRARY = "The lever does not open the gate."


@pytest.fixture(params=["plain", "discerning"])
def open_(request, home):
    def opened(*answers, judge=None):
        embeddings = HashingEmbeddings() if request.param == "discerning" else None
        state = SimpleNamespace(episode_id=2, turn_count=20)
        synthesizer = Answers(*answers) if answers else None
        manager = home.open(game_state=state, embeddings=embeddings, judge=judge, synthesizer=synthesizer)
        manager.synthesizer = synthesizer
        return manager

    return opened


def lever(text=GATE, **fields):
    return memory(**{"title": "Lever", "text": text, "turns": "25", "episode": 2} | fields)


def marked(open_, wanted, kept=None, **options):
    """Return a manager with one memory that has this mark."""
    open_().add_memory(5, "Hall", kept or lever(turns="3", episode=1))
    open_().edit_memory(5, "Lever", wanted)
    return open_(**options) if options else open_()


def on_file(manager):
    manager.all_memories()
    return [(memory.text, memory.status, memory.observation_count) for memory in manager.memory_cache[5]]


def test_pinned_memory_is_neither_superseded_nor_invalidated(open_):
    manager = marked(open_, Edit(pinned=True))
    assert not manager.supersede_memory(5, "Hall", "Lever", lever("The chain does it.", title="Chain"))
    assert not manager.invalidate_memory(5, "Lever", "wrong")
    assert on_file(manager) == [(GATE, "ACTIVE", 1)]


def test_pin_by_another_process_counts(open_, home):
    manager = open_()
    manager.add_memory(5, "Hall", lever(episode=1))
    open_().edit_memory(5, "Lever", Edit(pinned=True))
    assert not manager.invalidate_memory(5, "Lever", "wrong")
    assert "pinned)*" in home.text()


def test_pinned_memory_is_counted_when_seen_again(open_):
    manager = marked(open_, Edit(pinned=True))
    assert manager.add_memory(5, "Hall", lever())
    assert on_file(manager) == [(GATE, "ACTIVE", 2)]
    assert manager.memory_cache[5][0].pinned


def test_longer_memory_is_kept_beside_a_pinned_one(open_):
    manager = marked(open_, Edit(pinned=True))
    assert manager.add_memory(5, "Hall", lever(MORE))
    assert on_file(manager) == [(GATE, "ACTIVE", 1), (MORE, "ACTIVE", 1)]
    if manager.enable_deduplication:
        assert manager.consolidate() == []


def test_contradiction_of_a_pinned_memory_is_kept_superseded(home):
    with home.open(embeddings=HashingEmbeddings()) as manager:
        manager.add_memory(5, "Hall", lever(episode=1))
        manager.edit_memory(5, "Lever", Edit(pinned=True))
        for turn in ("30", "31", "32"):
            assert manager.add_memory(5, "Hall", lever(CONTRARY, turns=turn, observation_count=9))
        assert on_file(manager) == [(GATE, "ACTIVE", 1), (CONTRARY, "SUPERSEDED", 9)]


def test_consolidation_merges_into_pinned_memories_only(home):
    with home.open() as manager:
        for text in ("The lever opens the gate!", GATE):
            manager.add_memory(5, "Hall", lever(text, title=text))
        manager.edit_memory(5, GATE, Edit(pinned=True))
    with home.open(embeddings=HashingEmbeddings()) as manager:
        assert manager.consolidate() == []
        manager.edit_memory(5, GATE, Edit(pinned=False))
        manager.edit_memory(5, "The lever opens the gate!", Edit(pinned=True))
        assert len(manager.consolidate()) == 1
        assert on_file(manager) == [("The lever opens the gate!", "ACTIVE", 2), (GATE, "SUPERSEDED", 1)]


@pytest.mark.parametrize("persistence", ["core", "permanent", "ephemeral"])
@pytest.mark.parametrize("text", [GATE, "the LEVER  opens the gate", MORE])
def test_vetoed_memory_is_not_learned_again(open_, persistence, text):
    manager = marked(open_, Edit(vetoed=True))
    assert manager.add_memory(5, "Hall", lever(text, persistence=persistence)) is False
    assert on_file(manager) == [(GATE, "ACTIVE", 1)]
    assert manager.ephemeral_cache == {}
    assert manager.get_location_memory(5) == ""
    assert manager.get_status()["metrics"]["vetoes_obeyed"] == 1
    [event] = manager.drain_events()
    assert (event.kind, event.detail, event.text) == ("ignored", "a person has hidden 'Lever'", text)


def test_vetoed_memory_does_not_supersede_another(open_):
    manager = marked(open_, Edit(vetoed=True))
    assert manager.add_memory(5, "Hall", lever("A chain hangs here.", title="Chain"))
    assert not manager.supersede_memory(5, "Hall", "Chain", lever())
    assert on_file(manager)[1:] == [("A chain hangs here.", "ACTIVE", 1)]


def test_veto_does_not_apply_to_other_texts_or_places(open_):
    manager = marked(open_, Edit(vetoed=True))
    assert manager.add_memory(5, "Hall", lever(CONTRARY))
    assert manager.add_memory(6, "Attic", lever())


def test_judge_recognizes_a_vetoed_memory_in_other_words(home):
    with home.open() as manager:
        manager.add_memory(5, "Hall", lever(episode=1))
        manager.edit_memory(5, "Lever", Edit(vetoed=True))
    other = remember("Handle", text="The gate swings open once the lever is pulled down.")
    for relation, kept in (("same", 1), ("distinct", 2)):
        judge = ConstantJudge(relation)
        with home.open(embeddings=HashingEmbeddings(), judge=judge, synthesizer=Answers(other)) as manager:
            manager.record_action_outcome(5, "Hall", relation, "Click.", {"score_delta": 1, "turn": 3})
            assert judge.asked
            assert len(on_file(manager)) == kept


@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_marks_written_in_the_file_count(open_, tmp_path):
    open_().add_memory(5, "Hall", lever(turns="3", episode=1))
    path = tmp_path / "Memories.md"
    manager = open_()
    path.write_text(path.read_text().replace("T3, +0)*", "T3, +0, vetoed)*"))
    assert manager.get_location_memory(5) == ""
    assert not manager.add_memory(5, "Hall", lever())
    path.write_text(path.read_text().replace("vetoed", "pinned"))
    assert not manager.invalidate_memory(5, "Lever", "wrong")
    assert manager.get_location_memory(5) == f"[NOTE] Lever: {GATE}"


@pytest.mark.parametrize("change", [{"vetoed": True}, {"status": "SUPERSEDED"}])
def test_message_names_a_memory_that_is_no_longer_current(home, change):
    with SimpleMemoryManager.open(home.address) as memory:
        id = memory.remember(5, "A lamp.", title="Lamp")
        memory.edit_memory(5, "Lamp", Edit(**change))
        why = "a person has hidden it" if "vetoed" in change else "it is superseded"
        with pytest.raises(MemoryEditError, match=f"^'Lamp' was not changed: {why}.$"):
            memory.supersede(id, "A brass lamp.")
        with pytest.raises(MemoryEditError, match=f"^'Lamp' was not changed: {why}.$"):
            memory.invalidate(id, "It is a lantern.")

"""Tests of the file after memories that repeat, refine or contradict others."""

from types import SimpleNamespace

import pytest

from tests.fixtures.dedup import ConstantJudge, fact, lines
from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import Answers, remember
from zorkgpt import AgentMemory
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors
from zorkgpt.text import key_of

GATE = "The lever opens the gate."


@pytest.fixture
def open_(home):
    def opened(judge=None, **options):
        return home.open(embeddings=HashingEmbeddings(), judge=judge, **options)

    return opened


def metrics(manager):
    return manager.get_status()["metrics"]["deduplication_metrics"]


def history(manager):
    return [record.change for record in manager.store.journal.records()]


def test_duplicate_changes_only_metadata(open_, home):
    with open_() as manager:
        assert manager.add_memory(1, "Gate", fact(GATE))
        assert manager.add_memory(1, "Gate", fact("the lever opened the gate", turns="48", episode=2))
        assert lines(manager) == [(GATE, "ACTIVE", "25→48", 2)]
        found = metrics(manager)
        assert (found["duplicates_prevented"], found["metadata_updates"], found["compared"]) == (1, 1, 2)
        row = history(manager)[-1]
        assert (row.kind, row.other.text) == ("merged", "the lever opened the gate")
        assert row.reason.startswith("says the same (cosine 0.")
    assert "*(Ep1→Ep2, T25→T48, +0, seen 2x)*" in home.text()
    with open_() as again:
        assert lines(again) == [(GATE, "ACTIVE", "25→48", 2)]


def test_near_duplicates_exceed_the_threshold(open_):
    with open_() as manager:
        same = "the lever opened the gate", "The lever opens a gate.", "A lever opens the gate."
        for turn, text in enumerate((GATE, *same, GATE)):
            manager.add_memory(1, "Gate", fact(text, turns=str(turn)))
        found = metrics(manager)
        assert (found["duplicates_prevented"], found["near_duplicates"], found["compared"]) == (4, 2, 5)


def test_same_turn_counts_once(open_):
    with open_() as manager:
        for _ in range(3):
            assert manager.add_memory(1, "Gate", fact(GATE))
        assert manager.add_memory(1, "Gate", fact("the lever opened the gate"))
        assert lines(manager) == [(GATE, "ACTIVE", "25", 1)]


def test_superseding_with_the_same_statement_counts_as_repetition(open_):
    again = remember("The lever opens it", text="the lever opened the gate", supersedes_memory_titles={"Lever"})
    with open_(synthesizer=Answers(again)) as manager:
        manager.add_memory(1, "Gate", fact(GATE, "Lever"))
        manager.record_action_outcome(1, "Gate", "pull lever", "Click.", {"score_delta": 5, "turn": 30})
        assert lines(manager) == [(GATE, "ACTIVE", "25→30", 2)]


def test_same_statement_supersedes_only_the_other_memory(open_):
    titles = {"Lever", "Rope"}
    again = remember("The lever opens it", text="the lever opened the gate", supersedes_memory_titles=titles)
    with open_(synthesizer=Answers(again)) as manager:
        manager.add_memory(1, "Gate", fact(GATE, "Lever"))
        manager.add_memory(1, "Gate", fact("A rope opens the gate.", "Rope"))
        manager.record_action_outcome(1, "Gate", "pull lever", "Click.", {"score_delta": 5, "turn": 30})
        assert [status for _, status, *_ in lines(manager)[:2]] == ["ACTIVE", "SUPERSEDED"]


def test_refinement_supersedes_and_keeps_the_persistence(open_):
    more = "The lever opens the gate, which squeaks loudly when it moves."
    with open_() as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact(GATE, turns="30"))
        manager.add_memory(1, "Gate", fact(more, turns="30", persistence="core"))
        assert lines(manager) == [(GATE, "SUPERSEDED", "25→30", 2), (more, "ACTIVE", "25→30", 3)]
        assert metrics(manager)["supersessions_from_near_duplicates"] == 1
        assert [memory.persistence for memory in manager.memory_cache[1]] == ["permanent", "permanent"]


def test_fact_that_flips_back_is_an_open_contradiction(open_):
    shut, open_fact = "The window is shut.", "The window is open."
    with open_() as manager:
        manager.add_memory(1, "Hall", fact(open_fact))
        manager.add_memory(1, "Hall", fact(shut, turns="30"))
        assert [(text, status) for text, status, *_ in lines(manager)] == [(open_fact, "SUPERSEDED"), (shut, "ACTIVE")]
        manager.add_memory(1, "Hall", fact(open_fact, turns="31"))
        assert [(text, status) for text, status, *_ in lines(manager)] == [
            (open_fact, "SUPERSEDED"),
            (shut, "TENTATIVE"),
            (open_fact, "TENTATIVE"),
        ]
        assert metrics(manager)["contradictions_kept"] == 2
        for turn in (32, 33, 34):
            manager.add_memory(1, "Hall", fact("The window is open!" if turn == 33 else open_fact, turns=str(turn)))
        assert lines(manager)[1:] == [(shut, "SUPERSEDED", "30", 1), (open_fact, "ACTIVE", "31→34", 4)]
        assert manager.memory_cache[1][1].superseded_by == manager.memory_cache[1][2].title
        assert manager.memory_cache[1][1].invalidation_reason.endswith("; observed 4 times")
        assert "says the contrary" in manager.memory_cache[1][0].invalidation_reason


def test_frequent_observation_wins_over_its_contradiction(open_):
    with open_() as manager:
        manager.add_memory(1, "Hall", fact("The window is open.", observation_count=6))
        manager.add_memory(1, "Hall", fact("The window is shut.", turns="30"))
        assert lines(manager) == [
            ("The window is open.", "ACTIVE", "25", 6),
            ("The window is shut.", "SUPERSEDED", "30", 1),
        ]
        assert metrics(manager)["deduplication_error_count"] == 0


def test_flipping_fact_stays_open_and_every_observation_counts(open_):
    with open_() as manager:
        for turn in range(1, 11):
            text = "The window is shut." if turn % 2 else "The window is open."
            manager.add_memory(1, "Hall", fact(text, "Window", turns=str(turn)))
        current = [(text, status) for text, status, *_ in lines(manager) if status != "SUPERSEDED"]
        assert sorted(current) == [("The window is open.", "TENTATIVE"), ("The window is shut.", "TENTATIVE")]
        assert sum(count for *_, count in lines(manager)) == 10


def test_all_memories_of_the_place_are_compared(open_):
    with open_() as manager:
        for text in ("The grating does not open with the key.", "The grating opens with the key."):
            with manager.store.transaction() as draft:
                draft.add(1, "Grating", fact(text))
        manager.add_memory(1, "Grating", fact("The grating opened with the key.", turns="40"))
        assert [(text, count) for text, _, _, count in lines(manager)] == [
            ("The grating does not open with the key.", 1),
            ("The grating opens with the key.", 2),
        ]


def test_every_memory_of_a_large_place_is_compared():
    with AgentMemory.open(":memory:") as memory:
        known = memory.remember(1, GATE)
        memory.remember_many([{"place": 1, "text": f"Coin {number} lies in box {number}."} for number in range(600)])
        assert memory.remember(1, "the lever opened the gate") == known


def test_judge_is_asked_once_about_all_unsure_memories(open_):
    judge = ConstantJudge("same")
    with open_(judge) as manager:
        manager.add_memory(1, "Gate", fact("Pull the lever to open the iron gate."))
        manager.add_memory(1, "Gate", fact("To open the iron gate, use the lever.", turns="30"))
        assert lines(manager) == [("Pull the lever to open the iron gate.", "ACTIVE", "25→30", 2)]
        assert history(manager)[-1].reason.startswith("because (cosine 0.")
        assert history(manager)[-1].reason.endswith("by the model)")
    assert judge.asked == [
        ("Gate", "To open the iron gate, use the lever.", ["Pull the lever to open the iron gate."]),
    ]


@pytest.mark.parametrize("judge", [None, ConstantJudge("distinct"), ConstantJudge(RuntimeError("no answer"))])
def test_both_memories_are_kept_without_agreement(open_, judge):
    with open_(judge) as manager:
        manager.add_memory(1, "Gate", fact("Pull the lever to open the iron gate."))
        manager.add_memory(1, "Gate", fact("To open the iron gate, use the lever."))
        assert [status for _, status, *_ in lines(manager)] == ["ACTIVE", "ACTIVE"]


def test_other_places_and_ephemeral_memories_are_not_compared(open_):
    with open_() as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(2, "Yard", fact("the lever opened the gate"))
        manager.add_memory(1, "Gate", fact("the lever opened the gate!", persistence="ephemeral"))
        manager.add_memory(1, "Gate", fact("the lever opened the gate!", persistence="ephemeral", turns="26"))
        assert (len(manager.memory_cache[1]), len(manager.memory_cache[2])) == (1, 1)
        assert [memory.observation_count for memory in manager.ephemeral_cache[1]] == [2]
        assert [title for title, _ in manager.embedding_cache[1]] == [manager.memory_cache[1][0].title]


def test_blank_texts_are_not_duplicates(open_):
    with open_() as manager:
        manager.add_memory(1, "Gate", fact("", "One"))
        manager.add_memory(1, "Gate", fact(" ", "Two"))
        assert len(manager.memory_cache[1]) == 2
        assert manager.check_semantic_duplicate("  ", 1) is None


def test_nearest_memories_are_reported(open_):
    with open_() as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        memory, cosine = manager.check_semantic_duplicate("the lever opened the gate", 1)
        assert (memory.text, 0.55 <= cosine <= 1) == (GATE, True)
        assert manager.check_semantic_duplicate("The lever does not open the gate.", 1) is None
        ((title, embedded),) = manager.get_location_embeddings(1)
        assert (title, embedded.tolist()) == (memory.title, manager.calculate_embedding(GATE).tolist())
        assert manager.get_location_embeddings(9) == []
        vector = manager.calculate_embedding(GATE)
        assert manager.cosine_similarity(vector, vector) == pytest.approx(1)
        # Rounding errors could exceed 1 and -1.
        assert manager.cosine_similarity([0.3, 0.5], [0.3, 0.5]) == 1
        assert manager.cosine_similarity([0.3, 0.5], [-0.3, -0.5]) == -1
        assert manager.cosine_similarity(vector, vector * 0) == 0
        assert manager.cosine_similarity([3.0, 4.0], [1.0, 0.0]) == pytest.approx(0.6)
        assert manager.rebuild_embedding_cache()
        assert list(manager.embedding_cache) == [1]
        assert manager.search("lever and gates")[0].located.memory.text == GATE


def test_vectors_are_computed_only_if_words_leave_it_open(open_):
    with open_() as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact("The bell rings at noon."))
        assert metrics(manager)["embedding_cache_size"] == 0
        manager.add_memory(1, "Gate", fact(GATE, title="Of the gate", turns="30"))
        assert metrics(manager)["embedding_cache_size"] == 1


@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_vectors_of_current_memories_are_cached_beside_the_file(open_, tmp_path):
    with open_(judge=ConstantJudge("distinct")) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact("The bell rings at noon."))
        manager.invalidate_memory(1, "…", "It does not")
    known = SqliteVectors(sidecar(tmp_path / "Memories.md")).known("hashing-256")
    assert known == {key_of("The bell rings at noon.")}
    with open_() as again:
        current = [memory.title for memory in again.memory_cache[1] if memory.status == "ACTIVE"]
        assert [title for title, _ in again.embedding_cache[1]] == current
        assert metrics(again)["embedding_cache_size"] == 1


@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_vectors_are_not_cached_if_disabled(open_, tmp_path):
    with open_(judge=ConstantJudge("distinct"), config=SimpleNamespace(cache_embeddings=False)) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact("The bell rings at noon."))
        assert metrics(manager)["embedding_cache_size"] == 2
    assert SqliteVectors(sidecar(tmp_path / "Memories.md")).known("hashing-256") == set()


@pytest.mark.parametrize("lever", [{"action": "ring bell"}, {"persistence": "ephemeral"}])
def test_superseding_the_same_action_is_not_questioned(open_, lever):
    bell = remember("Bell", text="Ringing summons a priest.", action="ring bell", supersedes_memory_titles={"Lever"})
    with open_(synthesizer=Answers(bell)) as manager:
        manager.add_memory(1, "Gate", fact(GATE, "Lever", **lever))
        manager.record_action_outcome(1, "Gate", "ring bell", "Ding.", {"score_delta": 5, "turn": 7})
        assert manager.get_status()["metrics"]["asked_again"] == 0


@pytest.mark.parametrize("confirmed", [True, False])
def test_superseding_an_unrelated_fact_is_questioned_once(open_, confirmed):
    """The second answer is applied."""
    doubts = []

    class Synthesizer:
        def synthesize(self, request):
            doubts.append(request.doubts)
            return MemorySynthesisResponse(
                should_remember=True,
                category="NOTE",
                memory_title="Bell",
                memory_text="Ringing summons a priest.",
                persistence="permanent",
                supersedes_memory_titles={"Bolt", "Lever"} if confirmed or len(doubts) == 1 else set(),
            )

    with open_(synthesizer=Synthesizer()) as manager:
        manager.add_memory(1, "Gate", fact(GATE, "Lever"))
        manager.record_action_outcome(1, "Gate", "ring bell", "Ding.", {"score_delta": 5, "turn": 7})
        assert [(text, status) for text, status, *_ in lines(manager)] == [
            (GATE, "SUPERSEDED" if confirmed else "ACTIVE"),
            ("Ringing summons a priest.", "ACTIVE"),
        ]
        assert manager.get_status()["metrics"]["asked_again"] == 1
    assert doubts[0] == ()
    assert "“Bell” would replace “Lever”" in doubts[1][0]

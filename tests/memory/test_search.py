"""Tests of search by words and by meaning."""

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import memories, memory, texts
from tests.memory.test_processes import ROOT
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.places import place_order
from zorkgpt.memory.retrieval import LocatedMemory, Method
from zorkgpt.memory.search import best_matches
from zorkgpt.memory.storage.lasting import Filters
from zorkgpt.memory.storage.versions import is_current
from zorkgpt.memory.storage.words import words
from zorkgpt.memory.upkeep.exchange import add_missing

OLD = {"first_episode": 3, "episode": 5, "text": "It may open a chest."}


@pytest.fixture
def manager(path):
    with SimpleMemoryManager.open(path) as opened:
        opened.add_memory(5, "Hall", memory("Brass key", category="DISCOVERY", text="It opens the stone door."))
        opened.add_memory(6, "Attic", memory("Rusty key", "core", episode=2, text="It fits nothing."))
        opened.add_memory(7, "Cellar", memory("Old key", status="TENTATIVE", **OLD))
        opened.add_memory(7, "Cellar", memory("Bad key", text="It breaks."))
        opened.invalidate_memory(7, "Bad key", "It does not")
        yield opened


def titles(manager: SimpleMemoryManager, query: str = "key", k: int = 10, **filters) -> list[str]:
    return sorted(found.located.memory.title for found in manager.search(query, k, **filters))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["Brass key", "Old key", "Rusty key"]),
        ({"place": 5}, ["Brass key"]),
        ({"place": 99}, []),
        ({"persistence": "core"}, ["Rusty key"]),
        ({"persistence": "ephemeral"}, ["Iron key"]),
        ({"status": "TENTATIVE"}, ["Old key"]),
        ({"status": "superseded"}, ["Bad key"]),
        ({"category": "discovery"}, ["Brass key"]),
        ({"episode": "2"}, ["Rusty key"]),
        ({"episode": 3}, ["Old key"]),
        ({"episode": 4}, []),
        ({"episode": 5, "place": 7}, ["Old key"]),
        ({"episode": 2, "place": 7}, []),
        ({"category": "DANGER"}, []),
    ],
)
@pytest.mark.parametrize("embeddings", [None, HashingEmbeddings()])
def test_search_filters(manager, path, filters, expected, embeddings):
    with SimpleMemoryManager.open(path, embeddings=embeddings) as searching:
        if "Iron key" in expected or not filters:
            searching.add_memory(5, "Hall", memory("Iron key", "ephemeral", text="I dropped it."))
            expected = sorted({*expected, "Iron key"})
        assert titles(searching, **filters) == expected


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("status", ("ACTIVE", "SUPERSEDED", "TENTATIVE")),
        ("persistence", ("core", "ephemeral", "permanent")),
        ("category", ("DANGER", "NOTE", "SUCCESS")),
        ("kind", ("location", "rule", "text")),
        ("episode", (1, 2, 3)),
        ("metadata", ({"user": 1}, {"user": 2}, {"team": 1})),
    ],
)
def test_each_filter_finds_only_its_value(home, field, values):
    with home.open() as manager:
        for value in values:
            manager.add_memory(5, "Hall", memory(f"With {value}", **{field: value}))
        found = [[located.memory.title for located in manager.find(5, **{field: value})] for value in values]
    assert found == [[f"With {value}"] for value in values]


FIELDS = {
    "persistence": st.sampled_from(["core", "permanent"]),
    "status": st.sampled_from(["ACTIVE", "TENTATIVE", "SUPERSEDED"]),
    "category": st.sampled_from(["NOTE", "DANGER"]),
    "kind": st.sampled_from([None, "rule", "text"]),
    "episode": st.integers(1, 3),
    "metadata": st.sampled_from([{}, {"user": 1}, {"user": 2, "team": 1}]),
}
TITLES, PLACES = ("Lamp", "lamp", "Rope", "Old bell"), (5, 6, "cart", ("acme", 1), ("acme", 2))
LATER = "2050-01-01T00:00:00.000000+00:00"
TIMES = st.sampled_from([None, LATER.replace("50", "20", 1), LATER, LATER.replace("50", "80", 1)])
stored = st.builds(memory, st.sampled_from(TITLES), expires_at=TIMES, vetoed=st.booleans(), **FIELDS)
filters = st.builds(
    Filters,
    st.sampled_from([None, None, *PLACES]),
    named=st.sampled_from([None, None, *TITLES]),
    prefix=st.sampled_from([None, None, "c", ("acme",), ("acme", 1)]),
    expires_by=TIMES,
    with_past=st.booleans(),
    **{name: st.none() | values if name != "metadata" else values for name, values in FIELDS.items()},
)


@given(
    st.lists(st.tuples(st.sampled_from(PLACES), stored), max_size=8),
    filters,
    st.none() | st.integers(1, 3),
    st.integers(0, 2),
)
@example([(5, memory("Lamp")), (5, memory("Rope")), (6, memory("Lamp"))], Filters(), 1, 1)
@example([(5, memory("Lamp", expires_at=LATER))], Filters(expires_by=LATER), None, 0)
@example([(5, memory("Lamp", vetoed=True)), (5, memory("Rope", status="TENTATIVE"))], Filters(status="ACTIVE"), None, 0)
def test_database_finds_what_passes_the_filters(located, wanted, limit, offset):
    with SimpleMemoryManager.open(":memory:") as database:
        with database.store.transaction() as draft:
            for place, each in located:
                draft.add(place, "", each)
        lasting = database.store.lasting
        every = [(place, each) for place in sorted(PLACES, key=place_order) for each in lasting.memories(place)]
        assert len(every) == len(located)
        passing = [(place, each) for place, each in every if wanted.passes(place, each)]
        end = None if limit is None else offset + limit
        assert lasting.find(wanted, limit=limit, offset=offset) == passing[offset:end]


def test_filters_find_current_memories_by_default(home):
    with home.open() as manager:
        for title in ("Lamp", "Rope"):
            manager.add_memory(5, "Hall", memory(title, kind="rule", category="FAILURE"))
        manager.invalidate_memory(5, "Rope", "It was cut.")
        for status, title in ((None, "Lamp"), ("SUPERSEDED", "Rope")):
            found = manager.find(kind="rule", category="FAILURE", persistence="permanent", status=status)
            assert [hit.memory.title for hit in found] == [title]


@pytest.mark.parametrize("k", [10, 10**18, 10**30])
def test_any_number_of_results_can_be_requested(home, k):
    with home.open(embeddings=HashingEmbeddings()) as manager:
        manager.add_memory(5, "Hall", memory("Rusty key"))
        assert [result.method for result in manager.search("rusty key", k)] == [Method.BOTH]


def test_result_names_its_method(path):
    with SimpleMemoryManager.open(path, embeddings=HashingEmbeddings()) as manager:
        manager.add_memory(5, "Hall", memory("A", text="The brass key opens the stone door."))
        manager.add_memory(6, "Attic", memory("B", text="A rope lies beside the table."))
        manager.add_memory(7, "Key room", memory("C", text="Nothing is here at all."))
        found = {hit.located.memory.title: hit.method for hit in manager.search("the brass key opens the stone door")}
    assert found["A"] == Method.BOTH
    assert found["C"] == Method.WORDS
    with SimpleMemoryManager.open(path) as manager:
        assert [hit.method for hit in manager.search("brass key")] == ["words", "words"]


@pytest.mark.parametrize("data", [None, b"", b"no database at all" * 1000], ids=["missing", "empty", "another file"])
def test_search_index_is_rebuilt(manager, path, data):
    manager.close()
    index = Path(f"{path}.sqlite")
    index.unlink()
    if data is not None:
        index.write_bytes(data)
    with SimpleMemoryManager.open(path) as again:
        assert titles(again) == ["Brass key", "Old key", "Rusty key"]


def test_edited_memory_is_found(manager, path):
    assert titles(manager, "chest") == ["Old key"]
    path.write_text(path.read_text().replace("It may open a chest.", "It may open a coffin.").replace("Hall", "Foyer"))
    assert titles(manager, "chest") == []
    assert titles(manager, "coffin") == ["Old key"]
    assert titles(manager, "foyer") == ["Brass key"]


def test_vetoed_memory_is_never_found(manager):
    manager.edit_memory(5, "Brass key", Edit(vetoed=True))
    assert titles(manager, status="ACTIVE") == ["Rusty key"]
    assert titles(manager) == ["Old key", "Rusty key"]


def test_ephemeral_memories_are_found_until_the_episode_ends(manager):
    manager.add_memory(5, "Hall", memory("Iron key", "ephemeral", text="xyzzy"))
    assert titles(manager, "xyzzy") == ["Iron key"]
    manager.reset_episode()
    assert titles(manager, "xyzzy") == []


@pytest.mark.parametrize(
    "query",
    ['"', "key AND", "NEAR(key", "key*", "said: key", "- key", "^key", "key\x00", "key\ud800", "(", "key " * 5000],
)
def test_query_syntax_is_ignored(manager, query):
    assert titles(manager, query) in ([], ["Brass key", "Old key", "Rusty key"])
    assert bool(titles(manager, query)) is ("key" in query)


@pytest.mark.parametrize(
    ("name", "count"), [("Memories.md", 500), pytest.param("memories.sqlite", 10_500, marks=pytest.mark.slow)]
)
def test_rare_words_rank_first(tmp_path, name, count):
    with SimpleMemoryManager.open(tmp_path / name) as manager:
        many = [LocatedMemory(n % 50, "Room", memory(f"Number {n}", text="Common words.")) for n in range(count)]
        with manager.store.transaction() as draft:
            add_missing(
                draft, [LocatedMemory(1, "Room", memory("Rare", category="DISCOVERY", text="A common zebra.")), *many]
            )
        assert next(hit.located.memory.title for hit in manager.search("common zebra", 3)) == "Rare"
        assert len(manager.search("common", 5)) == 5
        assert titles(manager, "zebra") == ["Rare"]
        assert titles(manager, "common", category="discovery") == ["Rare"]


SEARCHING = """
import sys
{before}
from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager
with SimpleMemoryManager.open(sys.argv[1]) as manager:
    print([found.located.memory.title for found in manager.search("brass door")])
    manager.add_memory(9, "Yard", memory("Door key", text="Of the brass door."))
"""


def test_memories_of_another_process_are_found(manager, path):
    assert titles(manager, "brass") == ["Brass key"]
    done = subprocess.run(
        [sys.executable, "-c", SEARCHING.format(before=""), path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['Brass key']\n"
    assert titles(manager, "brass") == ["Brass key", "Door key"]


def test_forked_process_can_search(manager):
    manager.search("key")
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, ",".join(titles(manager)).encode())
        os._exit(0)
    os.wait()
    assert os.read(reading, 1000) == b"Brass key,Old key,Rusty key"
    assert titles(manager) == ["Brass key", "Old key", "Rusty key"]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(1, 3), memories()), max_size=6),
    st.one_of(texts, st.sampled_from(["a b c", "forged text", "1"])),
)
def test_search_matches_a_full_scan(given_memories, query):
    with tempfile.TemporaryDirectory() as folder, SimpleMemoryManager.open(Path(folder) / "Memories.md") as manager:
        for place, memory in given_memories:
            with manager.store.transaction() as draft:
                add_missing(draft, [LocatedMemory(place, "Room", memory)])
            manager.search(query)
        everything = [located for located in manager.all_memories() if is_current(located.memory)]
        _, counts = manager.store.matching(words(query), Filters(), 0)
        expected = {(hit.located.location_id, hit.located.id) for hit in best_matches(query, everything, 100, counts)}
        assert {(hit.located.location_id, hit.located.id) for hit in manager.search(query, 100)} == expected


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["add", "mark", "edit"])), max_size=8))
def test_vectors_follow_the_file(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Memories.md"
        with SimpleMemoryManager.open(path, embeddings=HashingEmbeddings()) as manager:
            for number, (place, step) in enumerate(steps):
                kept = manager.memory_cache.get(place, [])
                if step == "add" or not kept:
                    manager.add_memory(place, "Room", memory(f"M{number}", text=f"The {number}th lever opens a gate."))
                elif step == "mark":
                    manager.invalidate_memory(place, kept[0].title, "wrong")
                else:
                    path.write_text(path.read_text().replace("opens a gate", "shuts a gate", 1))
                with SimpleMemoryManager.open(path, embeddings=HashingEmbeddings()) as fresh:
                    wanted = [(hit.located.memory.text, hit.method) for hit in fresh.search("lever shuts a gate", 50)]
                found = [(hit.located.memory.text, hit.method) for hit in manager.search("lever shuts a gate", 50)]
                assert sorted(found) == sorted(wanted)


@pytest.mark.slow
def test_many_vectors_are_computed_in_the_background(path):
    with SimpleMemoryManager.open(path, embeddings=HashingEmbeddings()) as manager:
        with manager.store.transaction() as draft:
            add_missing(draft, [LocatedMemory(n, "Room", memory(f"Number {n}")) for n in range(1200)])
        assert {hit.method for hit in manager.search("number 77")} == {Method.WORDS}
        deadline = time.monotonic() + 60
        while (found := manager.search("number 77"))[0].method != Method.BOTH and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (found[0].located.memory.title, found[0].method) == ("Number 77", Method.BOTH)
        manager.add_memory(5, "Room", memory("Zebra", text="A zebra stands here."))
        assert [(hit.located.memory.title, hit.method) for hit in manager.search("a zebra stands here", 1)] == [
            ("Zebra", Method.BOTH)
        ]


def test_place_filter_can_be_text(path):
    with SimpleMemoryManager.open(path) as manager:
        for number in range(20):
            manager.add_memory(f"https://shop/{number}", "Shop", memory(f"Item {number}"))
            manager.add_memory(number, "Room", memory(f"Item {number}"))
        assert [hit.located.location_id for hit in manager.search("item 7", place="https://shop/7")] == [
            "https://shop/7"
        ]
        assert {hit.located.location_id for hit in manager.search("item 7", 2)} == {7, "https://shop/7"}
        assert list(SimpleMemoryManager.open(path).memory_cache) == [
            *range(20),
            *sorted(f"https://shop/{n}" for n in range(20)),
        ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["a b c", "a a a", "b", "c d", "The lever.", "A lever and a rope."]), max_size=6),
    st.sampled_from(["a", "a b", "lever rope", "lever xylophone", "d c b a"]),
    st.booleans(),
    st.floats(0, 1),
)
def test_scores_are_sorted_and_cut_by_threshold(texts, query, by_meaning, threshold):
    with AgentMemory.open(":memory:", embeddings=HashingEmbeddings() if by_meaning else None) as memory:
        memory.remember_many({"place": number, "text": text} for number, text in enumerate(texts))
        found = memory.search(query, 10)
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert memory.search(query, 10, threshold=threshold) == [each for each in found if each.score >= threshold]


def test_score_is_normalized_bm25(home):
    """Constants of Okapi BM25: 1.2 and 0.75. A title counts twice, and the memories have 5 words."""
    with home.open() as manager:
        manager.remember(1, "Red lever.", title="One")
        manager.remember(2, "Blue lever, gate, lever.", title="Two")
        manager.remember(3, "Silver lever.", title="Three", persistence="ephemeral")
        scores = {each.located.memory.title: each.score for each in manager.search("lever gate")}
    lever, gate = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5)

    def weight(count, length):
        return count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 5))

    expected = {
        "One": lever * weight(1, 4),
        "Two": lever * weight(2, 6) + gate * weight(1, 6),
        "Three": lever * weight(1, 4),
    }
    assert scores == pytest.approx({title: score / (2.2 * (lever + gate)) for title, score in expected.items()})


def test_covering_more_of_the_query_ranks_higher():
    with AgentMemory.open(":memory:") as memory:
        memory.remember(1, "The lever opens the gate.")
        memory.remember(2, "The lever is made of brass.")
        both, one = memory.search("lever gate")
        assert (both.located.location_id, one.located.location_id) == (1, 2)
        assert both.score > 0.5 > one.score
        # The word three times, two of them in the title, at about the average length.
        assert [found.score for found in memory.search("lever")] == pytest.approx([3 / (3 + 1.2)] * 2, rel=0.05)
        for threshold, error in ((1.5, ValueError), (-1, ValueError), ("0.5", TypeError), (True, TypeError)):
            with pytest.raises(error, match="The threshold is"):
                memory.search("lever", threshold=threshold)

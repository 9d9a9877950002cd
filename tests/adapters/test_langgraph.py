"""Tests of the memory as a LangGraph store."""

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.adapters.langgraph_encoding import key_of_title, namespace_of, place_of, title_of_key
from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.places import checked_place, is_text_of_place
from zorkgpt.memory.storage.escaping import single_spaced

PAST = datetime(2020, 1, 1, tzinfo=UTC)
PREFERENCES = ("users", "7")


@pytest.fixture
def memory(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        yield memory


@pytest.fixture
def store(memory) -> MemoryBaseStore:
    return MemoryBaseStore(memory)


def test_item_is_put_read_replaced_and_deleted(store):
    begun = datetime.now(UTC)
    assert store.get(PREFERENCES, "theme") is None
    store.put(PREFERENCES, "theme", {"colour": "dark", "sizes": [1, 2.5, None]})
    first = store.get(PREFERENCES, "theme")
    assert (first.namespace, first.key) == (PREFERENCES, "theme")
    assert first.value == {"colour": "dark", "sizes": [1, 2.5, None]}
    assert begun.replace(microsecond=0) <= first.created_at == first.updated_at <= datetime.now(UTC)
    store.put(PREFERENCES, "theme", {"colour": "light"})
    second = store.get(PREFERENCES, "theme")
    assert second.value == {"colour": "light"}
    assert second.created_at == first.created_at <= second.updated_at
    store.delete(PREFERENCES, "theme")
    store.delete(PREFERENCES, "theme")
    assert store.get(PREFERENCES, "theme") is None
    assert store.list_namespaces() == []


def test_text_is_stored_unchanged_and_shown_at_its_place(store, memory):
    store.put(("shop", "cart"), "Coupon", {"text": "The coupon field takes one code only."})
    assert memory.get_location_memory(("shop", "cart")) == "[NOTE] Coupon: The coupon field takes one code only."
    written = memory.store.file.path.read_text(encoding="utf-8")
    assert '## Location ["shop", "cart"]: shop / cart' in written
    assert "\nThe coupon field takes one code only.\n" in written


def test_memory_without_langgraph_is_an_item(store, memory):
    memory.add_memory(5, "Hall", Memory("NOTE", "Rug", 1, "1", 0, "The rug can be moved.", "permanent"))
    memory.add_memory(5, "Hall", Memory("NOTE", "Sword", 1, "1", 0, "I left the sword here.", "ephemeral"))
    memory.add_memory("https://shop.test/cart", "Cart", Memory("NOTE", "Sum", 1, "1", 0, "It is rounded.", "core"))
    memory.invalidate_memory("https://shop.test/cart", "Sum", "it is exact")
    assert store.list_namespaces() == [("5",)]
    [found] = store.search(())
    assert (found.namespace, found.key, found.value) == (("5",), "Rug", {"text": "The rug can be moved."})
    store.put(("5",), "Rug", {"text": "The rug is nailed down."})
    assert memory.get_location_memory(5).splitlines()[0] == "[NOTE] Rug: The rug is nailed down."


def test_search_is_the_memorys_search(store):
    store.put(("docs",), "rug", {"text": "The rug hides a trap door."})
    store.put(("docs", "old"), "door", {"text": "The trap door is barred."})
    store.put(("other",), "door", {"text": "A trap door."})
    found = store.search(("docs",), query="what does the rug hide")
    assert [item.key for item in found] == ["rug", "door"]
    assert found[0].score > found[1].score > 0
    assert store.search(("docs",), query="umbrella") == []
    assert {item.key for item in store.search(("docs",), query="trap door")} == {"rug", "door"}
    assert len(store.search(("docs",), query="trap door", limit=1, offset=1)) == 1


def test_batch_reads_first_and_writes_once(store, memory):
    store.put(("a",), "k", {"n": 1})
    before = memory.store.journal.size()
    results = store.batch(
        [
            PutOp(("a",), "k", {"n": 2}),
            PutOp(("b",), "k", {"n": 3}),
            PutOp(("b",), "k", None),
            PutOp(("c",), "k", {"n": 4}),
            GetOp(("a",), "k"),
            ListNamespacesOp(),
        ]
    )
    assert [results[4].value, results[5]] == [{"n": 1}, [("a",)]]
    assert [(item.namespace, item.value) for item in store.search(())] == [(("a",), {"n": 2}), (("c",), {"n": 4})]
    records = list(memory.store.journal.records(start=before))
    assert [record.change.kind for record in records] == ["edited", "added"]


def test_event_loop_continues_while_the_file_is_locked(store, memory):
    async def put_while_locked() -> bool:
        locked, release = threading.Event(), threading.Event()

        def hold() -> None:
            with memory.store.guard:
                locked.set()
                release.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        locked.wait()
        put = asyncio.create_task(store.aput(("a",), "k", {"n": 1}))
        await asyncio.sleep(0)
        waits = not put.done()
        release.set()
        await put
        holder.join()
        return waits

    assert asyncio.run(put_while_locked())
    assert asyncio.run(store.aget(("a",), "k")).value == {"n": 1}


def test_pinned_memory_is_not_replaced(store, memory):
    store.put(("a",), "k", {"text": "It is blue."})
    memory.edit_memory("a", "k", Edit(pinned=True))
    for value in ({"text": "It is red."}, None):
        with pytest.raises(MemoryEditError, match="'k' at 'a' was pinned or edited by a person"):
            store.batch([PutOp(("b",), "k", {"n": 1}), PutOp(("a",), "k", value)])
    assert [item.value for item in store.search(())] == [{"text": "It is blue."}]


def test_two_stores_on_one_file_see_each_other(store, memory):
    store.put(("a",), "k", {"n": 1})
    with SimpleMemoryManager.open(memory.store.file.path) as other:
        MemoryBaseStore(other).put(("a",), "k", {"n": 2})
    assert store.get(("a",), "k").value == {"n": 2}


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("a", "")])
def test_invalid_namespace_is_refused_in_a_batch(store, namespace):
    for op in (PutOp(namespace, "k", {"n": 1}), GetOp(namespace, "k")):
        with pytest.raises(InvalidNamespaceError, match="(?i)namespace"):
            store.batch([op])
    assert store.search(()) == []


def test_value_that_is_not_json_is_refused(store):
    with pytest.raises(TypeError, match="datetime"):
        store.put(("a",), "k", {"at": datetime.now(UTC)})
    assert store.get(("a",), "k") is None


def test_unknown_operator_is_named(store):
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(ValueError, match=r"'\$like' is not a supported filter operator"):
        store.search(("a",), filter={"n": {"$like": 1}})


texts = st.text(max_size=8) | st.sampled_from(['"', '{"a": 1}', "{", "a  b", " a", "*a*", "# a", "1", "text", "\u00a0"])
labels = st.sampled_from(["a", "b", "a b", "-", "#", "7", "é"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
values = st.dictionaries(
    st.sampled_from(["text", "n", "other"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | texts,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=3,
    ),
    max_size=2,
)
keys = texts.filter(lambda key: key.strip())
puts = st.builds(PutOp, namespaces, keys, values | st.none(), ttl=st.none())


@given(st.lists(puts, max_size=8), st.integers(1, 3))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_store_contains_the_same_as_langgraphs(tmp_path_factory, ops, size):
    own = InMemoryStore()
    with SimpleMemoryManager.open(tmp_path_factory.mktemp("store") / "Memories.md") as memory:
        ours = MemoryBaseStore(memory)
        for start in range(0, len(ops), size):
            ours.batch(ops[start : start + size])
            own.batch(ops[start : start + size])
        for store in (ours, MemoryBaseStore(memory)):
            held = {(item.namespace, item.key): item.value for item in store.search((), limit=100)}
            assert held == {(item.namespace, item.key): item.value for item in own.search((), limit=100)}
            for namespace, key in {(op.namespace, op.key) for op in ops}:
                one, other = store.get(namespace, key), own.get(namespace, key)
                assert (one and one.value) == (other and other.value)


ITEMS = [
    (("a",), "1", {"n": 1, "colour": "red", "deep": {"x": 1, "list": [1, 2]}}),
    (("a", "b"), "2", {"n": 2, "colour": "blue"}),
    (("a", "b", "c"), "3", {"n": 3, "colour": "red"}),
    (("b", "c"), "4", {"n": 4.5, "deep": {"x": 2}}),
]


@pytest.mark.parametrize(
    "op",
    [
        *(SearchOp(prefix) for prefix in [(), ("a",), ("a", "b"), ("c",)]),
        *(SearchOp((), limit=limit, offset=offset) for limit, offset in [(1, 0), (2, 1), (10, 3), (10, 9)]),
        SearchOp((), filter={"colour": "red"}),
        SearchOp(("a",), filter={"colour": {"$ne": "red"}}),
        SearchOp((), filter={"n": {"$gt": 1, "$lte": 3}}),
        SearchOp((), filter={"n": {"$gte": 2, "$lt": 4.5}, "colour": {"$eq": "blue"}}),
        SearchOp((), filter={"deep": {"x": 1}}),
        SearchOp((), filter={"deep": {"list": [1, 2]}}),
        SearchOp((), filter={"deep": {"list": [1]}}),
        ListNamespacesOp(),
        ListNamespacesOp(max_depth=1),
        ListNamespacesOp(limit=1, offset=1),
        *(
            ListNamespacesOp(match_conditions=(MatchCondition(kind, path),))
            for kind in ("prefix", "suffix")
            for path in [("a",), ("b", "c"), ("*", "b"), ("*", "c"), ("a", "b", "c", "d")]
        ),
        ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("c",)))),
    ],
    ids=str,
)
def test_store_answers_like_langgraphs(store, op):
    own, answers = InMemoryStore(), []
    for each in (store, own):
        each.batch([PutOp(*item) for item in ITEMS])
        [answer] = each.batch([op])
        answers.append([getattr(item, "value", item) for item in answer])
    assert answers[0] == answers[1]


def test_expired_item_is_gone(store, memory):
    store.put(("a",), "k", {"n": 1})
    memory.update("k", "a", expires_at=PAST)
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []
    assert store.list_namespaces() == []


def expires_in_minutes(memory, title="k"):
    [located] = [each for each in memory.all_memories() if each.memory.title == title]
    expires_at = located.memory.expires_at
    return None if expires_at is None else (datetime.fromisoformat(expires_at) - datetime.now(UTC)).total_seconds() / 60


def test_put_resets_the_time_to_live(memory):
    store = MemoryBaseStore(memory, ttl={"default_ttl": 60})
    store.put(("a",), "k", {"n": 1})
    assert 59 < expires_in_minutes(memory) <= 60
    store.put(("a",), "k", {"n": 1}, ttl=10)
    assert 9 < expires_in_minutes(memory) <= 10
    store.put(("a",), "k", {"n": 1}, ttl=None)
    assert expires_in_minutes(memory) is None


@pytest.mark.parametrize(
    ("ttl", "refresh", "is_restarted"),
    [
        ({"refresh_on_read": True}, True, True),
        ({"refresh_on_read": True}, False, False),
        ({"refresh_on_read": False}, True, False),
        ({}, True, False),
        (None, True, False),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda store, refresh: [store.get(("a",), "k", refresh_ttl=refresh)],
        lambda store, refresh: store.search(("a",), query="red", filter={"colour": "red"}, refresh_ttl=refresh),
    ],
    ids=["get", "search"],
)
def test_read_resets_the_time_to_live_if_requested(memory, read, ttl, refresh, is_restarted):
    store = MemoryBaseStore(memory, ttl=ttl)
    store.put(("a",), "k", {"colour": "red"}, ttl=60)
    store.put(("a",), "other", {"colour": "blue"}, ttl=60)
    soon = datetime.now(UTC) + timedelta(minutes=30)
    for title in ("k", "other"):
        memory.update(title, "a", expires_at=soon)
    [item] = read(store, refresh)
    assert item.key == "k"
    assert (expires_in_minutes(memory) > 31) == is_restarted
    assert expires_in_minutes(memory, "other") < 31


def test_invalid_time_to_live_in_the_file_is_not_reset(memory):
    store = MemoryBaseStore(memory, ttl={"refresh_on_read": True})
    store.put(("a",), "k", {"n": 1}, ttl=60)
    memory.update("k", "a", metadata={"ttl_minutes": "soon"})
    assert store.get(("a",), "k").value == {"n": 1}


@pytest.mark.parametrize("ttl", [-1, float("nan"), float("inf"), 1e10])
def test_invalid_time_to_live_is_refused(store, ttl):
    with pytest.raises(ValueError, match=f"The time to live is {ttl} minutes; it must be from 0 to 1000000000"):
        store.put(("a",), "k", {"n": 1}, ttl=ttl)
    assert store.get(("a",), "k") is None


def test_sweep_deletes_expired_items(store):
    puts = [PutOp(("a",), key, {"n": 1}, ttl=ttl) for key, ttl in (("one", 0), ("two", 0), ("three", None))]
    store.batch(puts)
    assert store.sweep_ttl() == 2
    assert [item.key for item in store.search(())] == ["three"]
    assert store.sweep_ttl() == 0


def test_sweeper_runs_until_stopped(memory):
    store = MemoryBaseStore(memory, ttl={"sweep_interval_minutes": 0.001})
    store.put(("a",), "k", {"n": 1}, ttl=0)
    first, second = store.start_ttl_sweeper(), store.start_ttl_sweeper()
    while memory.store.lasting.count():
        assert not first.done()
    assert store.stop_ttl_sweeper()
    assert (first.result(), second.result()) == (None, None)
    again = store.start_ttl_sweeper(sweep_interval_minutes=60)
    assert again.cancel()
    assert store.stop_ttl_sweeper()
    assert store.stop_ttl_sweeper()


def test_sweeper_continues_after_an_error(memory, caplog):
    store = MemoryBaseStore(memory, ttl={"default_ttl": 1})
    path = memory.store.file.path
    store.put(("a",), "k", {"n": 1}, ttl=0)
    hidden = path.rename(path.with_name("hidden"))
    path.mkdir()
    store.start_ttl_sweeper(sweep_interval_minutes=0.001)
    while "expired items not deleted" not in caplog.messages:
        pass
    path.rmdir()
    hidden.rename(path)
    while memory.store.lasting.count():
        pass
    assert store.stop_ttl_sweeper()


def test_nothing_is_swept_without_configuration(store):
    assert store.start_ttl_sweeper().result() is None
    assert store.stop_ttl_sweeper()


def test_interval_must_be_positive(memory):
    store = MemoryBaseStore(memory, ttl={"sweep_interval_minutes": -1})
    with pytest.raises(ValueError, match="The interval is -1 minutes, but it must be positive"):
        store.start_ttl_sweeper()


quoted_texts = st.builds(
    lambda text, depth: text if depth == 0 else json.dumps(json.dumps(text)) if depth == 2 else json.dumps(text),
    st.sampled_from(["a", "5", "-3", "01", "a.b", "a.5", " ", "", "a\n", "\n.", "\x7f", 'x"', '"', '"a']) | st.text(),
    st.integers(0, 2),
)
elements = st.integers(-9, 9) | quoted_texts.filter(is_text_of_place)


@given(st.lists(quoted_texts.filter(lambda text: text and "." not in text), min_size=1, max_size=3).map(tuple))
def test_namespace_is_restored_from_its_place(namespace):
    assert namespace_of(place_of(namespace)) == namespace


@given(st.lists(elements, min_size=1, max_size=3).map(lambda path: checked_place(tuple(path))))
def test_place_is_restored_from_its_namespace(place):
    namespace = namespace_of(place)
    assert all(label and "." not in label for label in namespace)
    assert place_of(namespace) == place


@given(quoted_texts)
def test_key_and_title_are_restored_from_each_other(text):
    assert key_of_title(title_of_key(text)) == text
    if text and text == single_spaced(text):
        assert title_of_key(key_of_title(text)) == text

"""Tests of scopes: a scoped memory neither shows nor changes anything outside its scope."""

import asyncio
import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import Answers, remember
from tests.fixtures.memory import memory as plain_memory
from tests.fixtures.stores import empty_schema
from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.errors import ConfigurationError, MemoryEditError, MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.asynchronous import AsyncMemory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Thing
from zorkgpt.memory.retrieval import plain
from zorkgpt.memory.scope import PlaceScope, parse_scope
from zorkgpt.memory.storage.lasting import EVERY

ACME = ("acme", "user-7")
SCOPES = {"alpha": ACME, "bravo": ("acme", "user-70"), "nested": (*ACME, "notes"), "zulu": None}
"""The name of each tenant occurs in all of its texts. The last one has no scope."""
SEEN = {"alpha": {"alpha", "nested"}, "bravo": {"bravo"}, "nested": {"nested"}}
TENANTS = st.sampled_from(["alpha", "bravo", "nested"])
PLACES = st.sampled_from([5, "cart", ("a", "b"), ("a", 5), GAME])
KINDS = st.sampled_from(["core", "permanent", "ephemeral"])
SHARED = "The code of every door is 1234."
ALL = 10_000
SECRET = "hunter2"


def stored(name, place):
    return PlaceScope(SCOPES[name] or ()).absolute(place)


def everything(memory):
    """Return all memories, including superseded ones."""
    return [each for status in (None, "SUPERSEDED") for each in memory.find(status=status, limit=ALL)]


class ScopeMachine(RuleBasedStateMachine):
    """Three tenants of one memory, and an observer without a scope."""

    embeddings = None

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.address = self.new_address()
        self.number = 0
        self.observer = AgentMemory.open(self.address)
        self.synthesizer = Answers()
        self.tenants = {
            name: AgentMemory.open(
                self.address, embeddings=self.embeddings, synthesizer=self.synthesizer, scope=SCOPES[name]
            )
            for name in SEEN
        }
        for place in (5, "cart", ("acme", 5), ("acme", "user-7a"), GAME, Thing(7)):
            self.observer.remember(place, f"zulu {place}: a lever.", title="Lever")
            self.observer.remember(place, SHARED, title="Shared")

    def new_address(self):
        raise NotImplementedError

    def teardown(self):
        for memory in (*self.tenants.values(), self.observer):
            memory.close()
        shutil.rmtree(self.folder)

    def outside(self, name):
        """Return everything outside a tenant's scope: memories, journal, names and text between memories."""
        self.observer.refresh()
        scope, store = PlaceScope(SCOPES[name]), self.observer.store
        return (
            [(each, each.id) for each in everything(self.observer) if not scope.contains(each.location_id)],
            [record for record in store.journal.records() if not scope.contains(record.change.location_id)],
            [section.data.rstrip() for section in store.document.sections if not scope.contains(section.location_id)],
        )

    def foreign(self, name):
        """Return the ids of memories that a tenant must not see."""
        scope, found = PlaceScope(SCOPES[name]), set()
        for record in self.observer.store.journal.records():
            place = record.change.location_id
            if not scope.contains(place):
                found.add(record.change.memory.id)
        return found

    def call(self, name, method, *args, **kwargs):
        """Call a method for a tenant. Check what it returns, and that nothing outside changes."""
        before, foreign = self.outside(name), self.foreign(name)
        try:
            result = getattr(self.tenants[name], method)(*args, **kwargs)
            shown = repr(result)
        except (MemoryEditError, MemoryStoreError) as error:
            result, shown = None, str(error)
        given = repr((args, kwargs))
        hidden = {*SCOPES} - SEEN[name]
        assert not [word for word in hidden if word in shown and word not in given]
        assert not [each for each in re.findall(r"\b[0-9a-f]{16}\b", shown) if each in foreign and each not in given]
        assert self.outside(name) == before
        return result

    def some(self, name, data):
        """Return an id or title of any tenant."""
        own = everything(self.tenants[name])
        is_own = bool(own) and data.draw(st.booleans())
        each = data.draw(st.sampled_from(own if is_own else everything(self.observer)))
        return data.draw(st.sampled_from([each.id, each.memory.title]))

    @rule(name=TENANTS, place=PLACES, kind=KINDS, shared=st.booleans())
    def remember(self, name, place, kind, shared):
        self.number += 1
        text, title = f"{name} saw item {self.number} here.", f"{name} title {self.number}"
        if shared:
            text, title, kind = SHARED, "Shared", "permanent"
        key = self.call(name, "remember", place, text, title=title, persistence=kind, place_name=f"{name} room")
        memory = self.tenants[name]
        found = self.call(name, "get", key)
        assert (found.location_id, found.id, found.memory.text) == (place, key, text)
        assert key in {each.id for each in memory.find(place, limit=ALL)}
        prefix = place[:1] if isinstance(place, tuple) else place
        if isinstance(prefix, tuple | str):
            assert key in {each.id for each in memory.find(prefix=prefix, limit=ALL)}
        assert key in {each.located.id for each in memory.search(text, k=50)}
        assert self.call(name, "history", key)[-1].place == place
        assert text in memory.recall(place) or kind != "ephemeral"
        at = stored(name, place)
        self.observer.refresh()
        assert kind == "ephemeral" or self.observer.get(key, at).memory.text == text

    @rule(name=TENANTS, place=PLACES)
    def remember_many(self, name, place):
        self.number += 2
        items = [{"place": place, "text": f"{name} has {n} and {n}."} for n in (self.number, self.number + 1)]
        keys = self.call(name, "remember_many", items)
        assert [self.tenants[name].get(key).location_id for key in keys] == [place, place]

    @rule(name=TENANTS, place=PLACES, query=st.sampled_from([SHARED, "lever", "item", *SCOPES]))
    def read(self, name, place, query):
        self.call(name, "recall", place)
        self.call(name, "recall", place, format=repr)
        self.call(name, "search", query, k=50)
        self.call(name, "search", query, place=place, after="2020-01-01T00:00:00Z")
        self.call(name, "as_of", 1, 0)
        self.call(name, "find", after="2020-01-01T00:00:00Z", limit=ALL)
        for prefix in ("", "c", "acme", ("acme",), ("acme", "user-70"), ("a",), ("notes",)):
            self.call(name, "find", prefix=prefix, limit=ALL)

    @rule(name=TENANTS, data=st.data())
    def look_up(self, name, data):
        wanted = self.some(name, data)
        self.call(name, "get", wanted)
        self.call(name, "get", wanted, data.draw(PLACES))
        self.call(name, "history", wanted)

    @rule(name=TENANTS, data=st.data())
    def update(self, name, data):
        self.number += 1
        self.call(name, "update", self.some(name, data), text=f"Changed, {self.number}.")

    @rule(name=TENANTS, data=st.data())
    def supersede(self, name, data):
        self.number += 1
        self.call(name, "supersede", self.some(name, data), f"It is otherwise, {self.number}.")

    @rule(name=TENANTS, data=st.data(), place=st.none() | PLACES)
    def give_up(self, name, data, place):
        self.call(name, "invalidate", self.some(name, data), "It is wrong.", place)

    @rule(name=TENANTS, data=st.data())
    def forget(self, name, data):
        how = data.draw(st.sampled_from(["memory", "place", "prefix", "text"]))
        given = {
            "memory": lambda: self.some(name, data),
            "place": lambda: data.draw(PLACES),
            "prefix": lambda: data.draw(st.sampled_from([("a",), "c", ("acme",), ("notes",)])),
            "text": lambda: data.draw(st.sampled_from(["1234", "acme", "item", *SCOPES])),
        }[how]()
        self.call(name, "forget", **{how: given})
        if how in ("place", "prefix"):
            assert not self.tenants[name].find(**{how: given})

    @rule(
        name=TENANTS, place=PLACES.filter(lambda place: place is not GAME), where=st.sampled_from([None, "everywhere"])
    )
    def learn(self, name, place, where):
        self.number += 1
        title = f"{name} learned {self.number}"
        self.synthesizer.requests.clear()
        self.synthesizer.answers[:] = [remember(title, text=f"{title} by pulling.", status="TENTATIVE", place=where)]
        self.call(name, "learn", place, f"pull {self.number}", "It moved.", {"reward": 1, "place_after": "cart"})
        assert not [word for word in {*SCOPES} - SEEN[name] if word in repr(self.synthesizer.requests)]
        found = self.tenants[name].get(title)
        assert found is not None
        assert where is None or found.location_id is GAME

    @rule(name=TENANTS)
    def start_over(self, name):
        self.call(name, "new_episode")
        self.call(name, "refresh")

    @rule(name=TENANTS)
    def copy(self, name):
        path = self.folder / "copy.md"
        memory = self.tenants[name]
        self.call(name, "export", path)
        text = path.read_text()
        assert not [word for word in {*SCOPES} - SEEN[name] if word in text]
        assert "acme" not in text
        before = everything(self.tenants[name])
        assert self.call(name, "import_memories", path) in (0, None)
        assert everything(memory) == before
        with AgentMemory.open(":memory:") as fresh:
            lasting = [each for each in before if each.memory.persistence != "ephemeral"]
            if lasting:
                fresh.import_memories(path)
            assert {(each.location_id, each.id, each.memory.text) for each in everything(fresh)} == {
                (each.location_id, each.id, each.memory.text) for each in lasting
            }

    @invariant()
    def each_tenant_finds_what_is_stored_in_its_scope(self):
        self.observer.refresh()
        for name, memory in self.tenants.items():
            scope = PlaceScope(SCOPES[name])
            inside = [each for each in everything(self.observer) if scope.contains(each.location_id)]
            seen = [each for each in everything(memory) if each.memory.persistence != "ephemeral"]
            assert sorted(
                (repr(scope.absolute(each.location_id)), each.id, each.memory.text) for each in seen
            ) == sorted((repr(each.location_id), each.id, each.memory.text) for each in inside)


class MarkdownScopes(ScopeMachine):
    def new_address(self):
        return self.folder / "Memories.md"


class SqliteScopes(ScopeMachine):
    embeddings = HashingEmbeddings()

    def new_address(self):
        return self.folder / "memories.sqlite"


TestMarkdownScopes = MarkdownScopes.TestCase
TestMarkdownScopes.settings = settings(max_examples=5, stateful_step_count=15, deadline=None)
TestSqliteScopes = pytest.mark.slow(SqliteScopes.TestCase)
TestSqliteScopes.settings = settings(max_examples=10, stateful_step_count=15, deadline=None)


@pytest.mark.slow
def test_scopes_on_postgresql(postgres_server, postgres):
    class PostgresScopes(ScopeMachine):
        def new_address(self):
            return empty_schema(postgres_server)

    run_state_machine_as_test(PostgresScopes, settings=settings(max_examples=3, stateful_step_count=8, deadline=None))


def test_every_change_works_in_a_scope(home):
    with AgentMemory.open(home.address, scope=ACME) as memory:
        first = memory.remember("cart", "The code is SAVE5.", title="Code", metadata={"by": 1})
        assert memory.update(first, text="The code is SAVE6.", place="cart").location_id == "cart"
        second = memory.supersede("Code", "The code is SAVE7.", "cart")
        assert [each.kind for each in memory.history(first)] == ["added", "edited", "superseded"]
        memory.invalidate(second, "It has ended.")
        third = memory.remember(("cart", 2), "Two items.")
        assert memory.history(third)[-1].place == ("cart", 2)
        memory.remember(GAME, "Closed on Sundays.", persistence="ephemeral")
        assert memory.recall(7, format=plain) == memory.recall(GAME, format=plain) != ""
        assert memory.as_of(1, 0).keys() == {"cart", ("cart", 2), GAME}
        assert memory.forget(first) == 1
        assert memory.forget(prefix=("cart",)) == 2
        memory.new_episode()
        assert everything(memory) == []
    with AgentMemory.open(home.address) as memory:
        assert everything(memory) == []


@pytest.mark.parametrize(
    ("place", "key"), [(5, (*ACME, 5)), ("cart", (*ACME, "cart")), (("a", "b"), (*ACME, "a", "b")), (GAME, ACME)]
)
def test_place_is_stored_below_the_scope(tmp_path, place, key):
    path = tmp_path / "Memories.md"
    with AgentMemory.open(path, scope=ACME) as memory:
        id = memory.remember(place, "A lever.")
        assert everything(memory)[0].location_id == place
    with AgentMemory.open(path) as memory:
        assert [(each.location_id, each.id) for each in everything(memory)] == [(key, id)]


def test_scope_with_one_element_is_a_path(tmp_path):
    with AgentMemory.open(tmp_path / "m.sqlite", scope=("acme",)) as memory:
        memory.remember(GAME, "Closed on Sundays.")
        memory.remember("cart", "The code is SAVE5.")
        assert "Closed" in memory.recall("cart")
    with AgentMemory.open(tmp_path / "m.sqlite") as memory:
        assert [each.location_id for each in everything(memory)] == ["acme", ("acme", "cart")]


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.remember(Thing(7), "A lever."),
        lambda memory: memory.recall(Thing(7)),
        lambda memory: memory.find(Thing(7)),
        lambda memory: memory.get("Lever", Thing(7)),
        lambda memory: memory.history("Lever", Thing(7)),
        lambda memory: memory.forget(place=Thing(7)),
    ],
)
def test_thing_is_refused_in_a_scope(call):
    refused = pytest.raises(TypeError, match=r"thing 7 can't be a subject in the scope \('acme', 'user-7'\)")
    with AgentMemory.open(":memory:", scope=ACME) as memory, refused:
        call(memory)


@pytest.mark.parametrize(
    ("scope", "kind", "message"),
    [
        ("acme", TypeError, "The scope is 'acme', of the type str; it must be a tuple"),
        ((), ValueError, r"The scope is \(\), which is empty"),
        (("acme", None), TypeError, "has the element"),
        (("acme", " "), ValueError, "must not be blank"),
    ],
)
def test_invalid_scope_is_refused(tmp_path, scope, kind, message):
    with pytest.raises(kind, match=message):
        AgentMemory.open(tmp_path / "Memories.md", scope=scope)
    assert list(tmp_path.iterdir()) == []


def test_scope_is_read_from_a_json_array():
    assert parse_scope('["acme", 7]') == ("acme", 7)
    for text in ("acme", '"acme"', "[]", '["acme", null]'):
        with pytest.raises(ConfigurationError, match=r"it must be a JSON array of strings and integers"):
            parse_scope(text)


def test_import_into_a_scope_accepts_the_game_and_refuses_things(tmp_path):
    file = tmp_path / "rows.jsonl"
    with AgentMemory.open(":memory:", scope=ACME) as memory:
        file.write_text(json.dumps({"place": {"subject": "game"}, "text": "It is old."}))
        assert memory.import_memories(file) == 1
        assert [each.location_id for each in everything(memory)] == [GAME]
        file.write_text(json.dumps({"place": {"subject": "thing 5"}, "text": "It is new."}))
        with pytest.raises(MemoryStoreError, match="'It is new' can't be imported: thing 5 can't be a subject"):
            memory.import_memories(file)


def test_operations_on_the_whole_memory_are_refused_in_a_scope():
    with AgentMemory.open(":memory:", scope=ACME) as memory:
        memory.remember("cart", "The code is SAVE5.")
        store = memory.store
        for call in (
            lambda: store.revert_to(0, 1),
            lambda: store.claim_episode(1),
            lambda: store.claim_subject("zork"),
        ):
            with pytest.raises(MemoryStoreError, match="Open it without a scope"):
                call()
        for old, new in (((*ACME, "cart"), "cart"), ("cart", (*ACME, "cart"))):
            with (
                pytest.raises(MemoryStoreError, match='location "cart" is outside the scope'),
                store.transaction() as draft,
            ):
                draft.move(old, new)
        with store.transaction() as draft:
            assert draft.move((*ACME, "cart"), (*ACME, "basket")) == 1
        memory.remember("cart", "The code is SAVE5.")
        places = [place for place, _ in store.lasting.find(replace(EVERY, prefix=("acme",)), limit=1, offset=1)]
        assert places == [(*ACME, "cart")]
        assert len(store.lasting.find(replace(EVERY, prefix=("acme",)))) == 2
        assert [each.location_id for each in everything(memory)] == ["basket", "cart"]


def test_memory_of_a_game_has_no_scope(tmp_path):
    with pytest.raises(TypeError, match="A SimpleMemoryManager has no scope"):
        SimpleMemoryManager.open(tmp_path / "Memories.md", scope=ACME)


def test_langgraph_store_refuses_a_scoped_memory():
    with AgentMemory.open(":memory:", scope=ACME) as memory, pytest.raises(ValueError, match="has the scope"):
        MemoryBaseStore(memory)


def test_expired_memory_outside_the_scope_stays(tmp_path):
    path = tmp_path / "Memories.md"
    with AgentMemory.open(path) as memory:
        memory.remember("cart", "It has expired.", expires_at="2020-01-01T00:00:00Z")
        backup = path.read_bytes()
    with AgentMemory.open(path, scope=ACME) as memory:
        assert memory.refresh() == 0
    assert path.read_bytes() == backup


def test_forgetting_in_a_scope_keeps_the_backup_of_others(tmp_path):
    path, backup = tmp_path / "Memories.md", tmp_path / "Memories.md.backup"
    with AgentMemory.open(path) as memory:
        memory.remember("cart", f"The password is {SECRET}.", title="Password")
    with AgentMemory.open(path, scope=ACME) as memory:
        memory.remember("cart", f"The password is {SECRET}.", title="Password")
        memory.remember("cart", "Closed on Sundays.")
        assert memory.forget(text=SECRET) == 1
        assert memory.forget(text=SECRET) == 0
    assert (path.read_text().count(SECRET), backup.read_text().count(SECRET)) == (1, 1)


@pytest.mark.parametrize("name", ["Memories.md", "m.sqlite"])
def test_forgetting_in_a_scope_keeps_the_place_names_of_others(tmp_path, name):
    with SimpleMemoryManager.open(tmp_path / name) as memory:
        for place in (("acme", "user-70", 5), (*ACME, 5)):
            memory.add_memory(place, f"Room of {SECRET}", plain_memory())
    with AgentMemory.open(tmp_path / name, scope=ACME) as memory:
        memory.forget(text=SECRET)
    with SimpleMemoryManager.open(tmp_path / name) as memory:
        names = {place: heading.name for place, heading in memory.store.lasting.headings(memory.memory_cache).items()}
    assert names == {("acme", "user-70", 5): f"Room of {SECRET}", (*ACME, 5): "Room of [forgotten]"}


def test_judgment_is_not_reused_in_another_scope(tmp_path):
    counts = []
    for scope, place in ((None, (*ACME, 5)), (ACME, 5), (ACME, 5)):
        synthesizer = Answers()
        with AgentMemory.open(tmp_path / "m.sqlite", synthesizer=synthesizer, scope=scope) as memory:
            memory.learn(place, "pull lever", "It moved.", {"changed": True})
        counts.append(len(synthesizer.requests))
    assert counts == [1, 1, 0]


def test_asynchronous_memory_has_a_scope(tmp_path):
    async def use():
        async with await AsyncMemory.open(tmp_path / "Memories.md", scope=ACME) as memory:
            id = await memory.remember("cart", "The code is SAVE5.")
            return (await memory.get(id)).location_id

    assert asyncio.run(use()) == "cart"
    with AgentMemory.open(tmp_path / "Memories.md") as memory:
        assert [each.location_id for each in everything(memory)] == [(*ACME, "cart")]


def test_place_in_a_scope_stays_after_its_memories_are_invalidated():
    with AgentMemory.open(":memory:", scope=ACME) as memory:
        memory.invalidate(memory.remember(5, "The lever opens the gate."), "It does not.")
        places = memory.store.lasting.places
        assert (places(), places(believed=True)) == ([(*ACME, 5)], [])

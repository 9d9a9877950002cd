"""Tests of metadata and expiry."""

import sys
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager

ODD = {"user": 7, "note": 'a *(b)*, "c"  d\n\\e|', "tags": ["x", None, 1.5], "deep": {"a": {"b": True}}, "": "→"}
PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(home):
    return home.open()


def test_metadata_is_read_back(home, memory):
    memory.remember(5, "A lever.", title="Lever", metadata=ODD)
    assert memory.get("Lever").memory.metadata == ODD
    memory.close()
    assert home.open().get("Lever").memory.metadata == ODD


def test_find_by_metadata_place_and_kind(memory):
    first = memory.remember("shop/cart", "Pay by card.", metadata={"user": 7, "paid": True}, kind="rule")
    second = memory.remember("shop/list", "Pay by cash.", metadata={"user": 8})
    memory.remember(5, "Pay at once.", metadata={"user": "7"}, persistence="ephemeral")
    found = {
        "user 7": memory.find(metadata={"user": 7}),
        "shop": memory.find(prefix="shop/"),
        "place": memory.find("shop/list"),
        "rule": memory.find(kind="rule", metadata={"user": 7}),
        "nobody": memory.find(metadata={"user": 9}),
        "no value": memory.find(metadata={"none": None}),
        "page": memory.find(limit=1, offset=1),
        "none": memory.find(limit=0),
    }
    ids = {name: [located.id for located in its] for name, its in found.items()}
    assert ids.pop("page") == [first]
    assert ids == {
        "user 7": [first],
        "shop": [first, second],
        "place": [second],
        "rule": [first],
        "nobody": [],
        "no value": [],
        "none": [],
    }
    assert len(memory.find(limit=sys.maxsize, offset=1)) == 2
    assert len(memory.search("pay", sys.maxsize)) == 3
    assert [hit.located.id for hit in memory.search("pay", metadata={"user": 8})] == [second]
    assert [hit.located.id for hit in memory.search("pay", metadata={"user": 7, "paid": True})] == [first]


def test_filter_distinguishes_numbers_and_booleans(memory):
    values = [0, 1, 1.0, True]
    ids = [memory.remember(5, f"It is {value!r}.", metadata={"a": value}) for value in values]
    assert [[located.id for located in memory.find(metadata={"a": value})] for value in values] == [[id] for id in ids]


def test_update_replaces_metadata_and_superseding_keeps_it(memory):
    memory.remember(5, "A lever.", title="Lever", metadata={"user": 7}, expires_at=timedelta(days=1))
    until = memory.get("Lever").memory.expires_at
    changed = memory.update("Lever", metadata={"user": 8}).memory
    assert (changed.metadata, changed.expires_at) == ({"user": 8}, until)
    assert memory.update("Lever", expires_at="").memory.expires_at is None
    new = memory.supersede("Lever", "A long lever.")
    assert memory.get(new).memory.metadata == {"user": 8}


def test_repeated_fact_gets_new_metadata(memory):
    first = memory.remember(5, "A lever.", title="Lever", metadata={"user": 7})
    assert memory.remember(5, "A lever.", title="Lever", expires_at=timedelta(days=1)) == first
    known = memory.get(first).memory
    assert (known.metadata, known.observation_count) == ({"user": 7}, 1)
    assert known.expires_at > datetime.now(UTC).isoformat()
    memory.remember(5, "A lever.", title="Lever", metadata={})
    assert memory.get(first).memory.metadata == {}


@pytest.mark.parametrize("persistence", ["permanent", "ephemeral"])
def test_expired_memory_is_forgotten(home, memory, persistence):
    shop = memory.remember(5, "The shop is open.", persistence=persistence, expires_at=timedelta(days=1))
    memory.remember(5, "A lever.", title="Lever", expires_at=timedelta(days=1))
    assert "shop" in memory.recall(5)
    memory.update(shop, expires_at=PAST)
    assert "shop" not in memory.recall(5)
    assert [located.memory.text for located in memory.find()] == ["A lever."]
    assert memory.search("shop") == []
    assert [located.memory.text for located in home.open().find()] == ["A lever."]


@pytest.mark.parametrize("persistence", ["permanent", "ephemeral"])
def test_fact_learned_again_after_it_expired_is_kept(tmp_path, persistence):
    with SimpleMemoryManager(path=tmp_path / "Memories.md") as memory:
        memory.remember(5, "The shop is open.", persistence=persistence, expires_at=PAST)
        memory.remember(5, "The shop is open.", persistence=persistence)
        [located] = memory.find()
        assert (located.memory.expires_at, located.memory.observation_count) == (None, 1)


def test_edited_memory_does_not_expire(memory):
    memory.remember(5, "The shop is open.", title="Shop", expires_at=timedelta(days=1))
    memory.edit_memory(5, "Shop", Edit(pinned=True, expires_at="2020-01-01T00:00:00+00:00"))
    assert "shop" in memory.recall(5)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"metadata": [1]}, TypeError, "it must be a dict"),
        ({"metadata": {1: 2}}, TypeError, "it must be a dict"),
        ({"metadata": {"a": {1, 2}}}, ValueError, "must be those of JSON"),
        ({"metadata": {"a": float("nan")}}, ValueError, "must be those of JSON"),
        ({"metadata": {"a": 10**5000}}, ValueError, "The metadata is a dict with a number that is too long; .* JSON"),
        ({"metadata": {"a": reduce(lambda inner, _: [inner], range(100_000), 0)}}, ValueError, "more than 50 deep"),
        ({"metadata": {"a": reduce(lambda inner, _: [inner], range(50), 0)}}, ValueError, "more than 50 deep"),
        ({"metadata": {"a": "b" * 10_000}}, ValueError, "more than 10,000 bytes"),
        ({"expires_at": datetime(2030, 1, 1)}, ValueError, "say which time zone"),
        ({"expires_at": "tomorrow"}, ValueError, "it must be such as"),
        ({"expires_at": "9999-12-31T23:59:59-05:00"}, ValueError, "it must be such as"),
        ({"expires_at": timedelta.max}, ValueError, "it must be such as"),
        ({"expires_at": 3}, TypeError, "it must be a datetime"),
    ],
)
def test_unsupported_values_are_refused(memory, given, error, says):
    with pytest.raises(error, match=says):
        memory.remember(5, "A lever.", title="Lever", **given)
    assert memory.find() == []
    with pytest.raises(MemoryEditError):
        memory.update("Lever", text="B")


@pytest.mark.parametrize(
    ("name", "old", "broken"),
    [
        ("metadata", '{\\"user\\": 7}', "{user 7}"),
        ("expires_at", "2100-01-01T12:00:00.000000+00:00", "9999-12-31T23:59:59-05:00"),
    ],
)
def test_damaged_fields_are_kept_unchanged(tmp_path, name, old, broken):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as memory:
        memory.remember(5, "A lever.", title="Lever", metadata={"user": 7}, expires_at="2100-01-01T12:00:00Z")
    path.write_text(path.read_text("utf-8").replace(old, broken), "utf-8")
    with SimpleMemoryManager.open(path) as memory:
        assert not getattr(memory.get("Lever").memory, name)
        memory.update("Lever", text="A long lever.")
    assert broken in path.read_text("utf-8")

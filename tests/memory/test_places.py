"""Tests of place keys: whole numbers, texts and paths."""

import json
import logging
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.documents import added
from tests.fixtures.memory import FORGERIES, in_one_line, memories, memory, texts
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import GAME, Thing
from zorkgpt.memory.places import (
    LIMIT,
    checked_place,
    parse_place,
    path_of,
    place_from_json,
    place_order,
    place_to_json,
    render_place,
)
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.memory.upkeep.exchange import json_lines, read_memories

CART = "https://shop/cart"


def test_memories_of_several_sections_of_a_place_are_imported(home, tmp_path):
    source = tmp_path / "Mine.md"
    hall = "## Location 5: Hall\n\n**[NOTE] {} ** *(Ep1, T1)*\nIt is old.\n\n"
    source.write_text(hall.format("Lamp") + "## Location 6: Attic\n\n" + hall.format("Rope"))
    with home.open() as manager:
        assert manager.import_memories(source) == 2
        assert manager.get_location_memory(5)
        assert manager.add_memory(5, "Hall", memory("Sword"))
        assert [memory.title for memory in manager.memories_at(5)] == ["Lamp", "Rope", "Sword"]
        assert manager.invalidate_memory(5, "Rope", "It was cut.")
        cached = manager.memory_cache
    with home.open() as again:
        assert again.memory_cache == cached
        assert again.add_memory(5, "Hall", memory("Knife"))


def is_a_place(text: str) -> bool:
    try:
        checked_place(text)
    except ValueError:
        return False
    return True


place_texts = st.one_of(
    st.sampled_from(FORGERIES), st.sampled_from(["5", "-1", " 5", '"5"', "a: b", '["a", 7]']), texts
).filter(is_a_place)
elements = st.one_of(st.integers(1 - LIMIT, LIMIT - 1), place_texts)
places = st.one_of(elements, st.lists(elements, min_size=2, max_size=4).map(tuple))


@given(places | st.integers(0, LIMIT - 1).map(Thing) | st.just(GAME))
def test_key_is_read_back(key):
    written = render_place(key)
    read = parse_place(written)
    assert (type(read), read) == (type(key), key)
    assert len(written.splitlines()) == 1
    assert place_from_json(json.loads(json.dumps(place_to_json(key)))) == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cart", "The key is not JSON"),
        ("thing -1", "The key is not JSON"),
        ("1.5", "'1.5' is not an integer, a JSON string or a JSON array"),
        ('{"a": 1}', "is not an integer, a JSON string or a JSON array"),
        ('["a", true]', "has the element True, of the type bool"),
        ("[]", "an empty path"),
    ],
)
def test_invalid_key_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_place(text)


@given(st.lists(places, max_size=6), places)
def test_prefix_matches_leading_elements(keys, prefix):
    keys += [(*path_of(prefix), "below"), (prefix if isinstance(prefix, tuple) else (prefix,))]
    with AgentMemory.open(":memory:") as memory:
        for key in keys:
            memory.remember(key, "Something.")
        found = {each.location_id for each in memory.find(prefix=path_of(prefix))}
    wanted = path_of(prefix)
    assert found == {checked_place(key) for key in keys if path_of(key)[: len(wanted)] == wanted}


@given(place_texts)
def test_path_with_one_element_equals_the_element(text):
    assert checked_place((text,)) == text
    assert parse_place(json.dumps([text])) == text


def test_prefix_of_another_type_is_refused():
    with AgentMemory.open(":memory:") as memory:
        memory.remember("https://shop/cart", "Something.")
        memory.remember(("https://shop/cart", 7), "Something else.")
        assert [each.location_id for each in memory.find(prefix="https://shop/")] == ["https://shop/cart"]
        for prefix in (5, ["https://shop/cart"]):
            with pytest.raises(TypeError, match="The prefix is"):
                memory.find(prefix=prefix)


@given(st.lists(st.tuples(places, texts, memories()), max_size=4))
@example([(5, "a", memory("One")), ("5", "b", memory("Two"))])
def test_places_in_a_file_are_read_back(located):
    document = Document()
    expected: dict = {}
    for place, name, kept in located:
        document = added(document, place, name, kept)
        expected.setdefault(place, []).append(in_one_line(kept))
    read = parse(render(document))
    assert read.by_place() == expected
    assert list(read.problems()) == []
    order = [section.location_id for section in read.sections if section.location_id is not None]
    assert order == sorted(order, key=place_order)


def test_file_lists_numbers_before_quoted_texts(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    named = (
        (CART, "Cart"),
        (12, "Cellar"),
        (("acme", 7, "c]"), "Basket"),
        (("acme", "7"), "Desk"),
        (("acme", 70), "Shelf"),
        ("5", "Five"),
        (5, "Living Room"),
        ("a\u202eb", "Hidden"),
    )
    for place, name in named:
        assert manager.add_memory(place, name, memory())
    lines = (tmp_path / "Memories.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        "## Location 5: Living Room",
        "## Location 12: Cellar",
        '## Location "5": Five',
        '## Location "a\\u202eb": Hidden',
        '## Location "https://shop/cart": Cart',
        '## Location ["acme", 7, "c]"]: Basket',
        '## Location ["acme", 70]: Shelf',
        '## Location ["acme", "7"]: Desk',
    ]
    again = SimpleMemoryManager.open(tmp_path / "Memories.md")
    paths = [("acme", 7, "c]"), ("acme", 70), ("acme", "7")]
    assert [located.location_id for located in again.all_memories()] == [5, 12, "5", "a\u202eb", CART, *paths]


@pytest.mark.parametrize(
    "heading", ['## Location "": X', '## Location " ": X', '## Location "a\\u0000": X', '## Location "\\ud800": X']
)
def test_heading_with_an_invalid_key_is_kept(heading):
    data = f"# Location Memories\n\n{heading}\n".encode()
    document = parse(data)
    assert document.section_indexes == {}
    assert [problem.line for problem in document.problems()] == [3]
    assert render(document) == data


def test_unknown_place_is_empty(tmp_path):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    manager.add_memory(5, "Living Room", memory())
    assert manager.get_location_memory(5) != ""
    assert [manager.get_location_memory(place) for place in ("5", 6, CART)] == ["", "", ""]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (True, TypeError, "The place is True, of the type bool"),
        (5.0, TypeError, "The place is 5.0, of the type float"),
        (None, TypeError, "The place is None, of the type NoneType"),
        (["a"], TypeError, "of the type list"),
        ((), ValueError, "an empty path; it needs an element"),
        (("a", True), TypeError, "has the element True, of the type bool"),
        (("a", ("b",)), TypeError, "of the type tuple"),
        (("a", ""), ValueError, "a string must not be blank"),
        ((1, 10**18), ValueError, "at most 18 digits"),
        ("", ValueError, "The place is ''; a string must not be blank"),
        (" ", ValueError, "a string must not be blank"),
        ("a\nb", ValueError, r"control character '\\n'"),
        (10**18, ValueError, "at most 18 digits"),
    ],
)
def test_invalid_place_is_refused_by_every_method(tmp_path, key, error, message):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    doors = [
        lambda: manager.add_memory(key, "X", memory()),
        lambda: manager.add_memory(key, "X", memory(persistence="ephemeral")),
        lambda: manager.supersede_memory(key, "X", "Old", memory()),
        lambda: manager.invalidate_memory(key, "Old", "wrong"),
        lambda: manager.get_location_memory(key),
        lambda: manager.get_memory_breakdown(key),
        lambda: manager.get_visits(key),
    ]
    for door in doors:
        with pytest.raises(error, match=message):
            door()
    assert not (tmp_path / "Memories.md").exists()
    assert manager.all_memories() == []


def test_second_name_of_a_place_is_logged_once(tmp_path, caplog):
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    with caplog.at_level(logging.WARNING):
        for title, name in (("One", "Cart"), ("Two", "Basket"), ("Three", "Basket"), ("Four", "")):
            manager.add_memory(CART, name, memory(title))
    assert [record.getMessage() for record in caplog.records] == [
        "location \"https://shop/cart\" has the name 'Cart'; the other name 'Basket' is ignored"
    ]
    assert {located.location_name for located in manager.all_memories()} == {"Cart"}


def test_other_files_distinguish_texts_and_numbers(tmp_path):
    path = tmp_path / "Memories.md"
    state = SimpleNamespace(episode_id=2, turn_count=4, action_history=[], action_reasoning_history=[])
    manager = SimpleMemoryManager.open(path, game_state=state)
    path_place = ("acme", "user-7", 5)
    for place in (5, "5", path_place):
        manager.add_memory(place, f"Name of {place!r}", memory(f"Lasting of {place!r}"))
        manager.add_memory(place, f"Name of {place!r}", memory(f"Passing of {place!r}", "ephemeral"))
        manager.record_arrival(place, f"Name of {place!r}", "A room.")
        manager.record_action_outcome(place, f"Name of {place!r}", "wait", "Time passes.", {"turn": 4})
    assert set(manager.store.journal.lasting()) == {5, "5", path_place}
    assert set(manager.as_of(2, 4)) == {5, "5", path_place}
    assert [explanation.location_id for explanation in manager.explain("Lasting of '5'")] == ["5"]

    saved = json.loads(json.dumps(manager.snapshot()))
    resumed = SimpleMemoryManager.open(path, game_state=state)
    resumed.restore(saved)
    assert resumed.ephemeral_cache == manager.ephemeral_cache
    for place in ("5", path_place):
        assert resumed.get_visits(place) == manager.get_visits(place)
        assert resumed.is_first_visit(place) == manager.is_first_visit(place)

    (tmp_path / "all.json").write_text(json_lines(manager.all_memories()))
    assert [memory.location_id for memory in read_memories(tmp_path / "all.json")] == [
        5,
        5,
        "5",
        "5",
        path_place,
        path_place,
    ]


def test_returned_path_is_accepted():
    from zorkgpt.adapters.langgraph import MemoryBaseStore
    from zorkgpt.adapters.tools import MemoryTools

    with AgentMemory.open(":memory:") as memory:
        tools, store = MemoryTools(memory), MemoryBaseStore(memory)
        for place in (("acme.com", 7), '["acme.com", 7]', '["acme\\u002ecom", 7]'):
            memory.remember(place, f"A fact about {place!r}.", title="One")
        places = [json.loads(json.dumps(each["place"])) for each in tools.search("fact")]
        assert sorted(map(tools.recall, places)) == sorted(
            memory.recall(each.location_id) for each in memory.find(limit=3)
        )
        for namespace in store.list_namespaces():
            item = store.get(namespace, "One")
            store.put(namespace, "One", {"text": f"{item.value['text']} And more."})
        assert len(memory.find()) == 3
        assert all(each.memory.text.endswith("And more.") for each in memory.find())

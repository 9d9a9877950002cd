"""Tests of memory ids."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.documents import document_of
from tests.fixtures.memory import memory, plain_texts
from zorkgpt.errors import MemoryEditError, MemoryStoreError
from zorkgpt.memory.ids import id_of_title
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.upkeep.exchange import add_missing, json_lines, read_memories

CART = "https://shop/cart"


@pytest.fixture
def manager(home, state):
    return home.open(game_state=state)


def test_memories_with_the_same_title_have_different_ids(home, tmp_path):
    source = tmp_path / "Mine.md"
    lamp = "**[NOTE] Lamp** *(Ep1, T1)*\nIt is made of {}.\n\n"
    source.write_text("## Location 5: Hall\n\n" + lamp.format("brass") + lamp.format("iron"))
    with home.open() as manager:
        assert manager.import_memories(source) == 2
    with home.open() as again:
        found = {each.id: each.memory.text for each in again.all_memories()}
        assert list(found.values()) == ["It is made of brass.", "It is made of iron."]
        assert {id: again.get(id).memory.text for id in found} == found


def test_remember_returns_the_id_and_sets_defaults(manager, home):
    found = manager.remember(CART, "The voucher field takes one code only, and says so in small print below it.")
    assert found == id_of_title(CART, "The voucher field takes one code only, and")
    assert manager.get(found).memory == Memory(
        "NOTE",
        "The voucher field takes one code only, and",
        3,
        "12",
        None,
        "The voucher field takes one code only, and says so in small print below it.",
        "permanent",
    )
    assert found not in home.text()


def test_known_fact_keeps_its_id(manager):
    first = manager.remember(5, "The rug hides a trap door.", title="Rug")
    assert manager.remember(5, "The rug  hides a trap door.", title="rug", turn=14) == first
    assert manager.get(first).memory.observation_count == 2


def test_equal_titles_are_distinguished_by_id(manager, home):
    one = manager.remember(5, "The rug hides a trap door.", title="Rug")
    two = manager.remember(5, "Under the bed stands a lamp.", title="Rug")
    assert one != two
    assert f"**[NOTE - PERMANENT] Rug** *(Ep3, T12, id {two})*" in home.text()
    with pytest.raises(MemoryEditError, match=f"2 memories titled 'Rug'. Give an id: {one} at 5, {two} at 5"):
        manager.get("Rug")
    manager.forget(one)
    again = home.open()
    assert again.get("Rug").id == two
    assert again.get(two).memory.text == "Under the bed stands a lamp."


def test_equal_titles_in_an_old_file_have_different_ids(tmp_path):
    entry = "**[NOTE - PERMANENT] Rug** *(Ep1, T1, +0)*\n{}\n\n"
    content = "# Location Memories\n\n## Location 5: Hall\n\n" + entry.format("One.") + entry.format("Two.")
    (tmp_path / "Memories.md").write_text(content)
    manager = SimpleMemoryManager.open(tmp_path / "Memories.md")
    ids = [located.id for located in manager.all_memories()]
    assert ids == [id_of_title(5, "Rug"), id_of_title(5, "Rug", 2)]
    assert (tmp_path / "Memories.md").read_text() == content
    manager.update(ids[1], category="DANGER")
    manager.forget(ids[0])
    assert [located.id for located in SimpleMemoryManager.open(tmp_path / "Memories.md").all_memories()] == ids[1:]


def test_id_in_the_file_wins_over_a_derived_one(tmp_path):
    path, lamp = tmp_path / "Memories.md", id_of_title(5, "Lamp")
    new, old = "**[NOTE] Lamp** *(Ep1, T1)*\nIt is new.\n", f"**[NOTE] Old lamp** *(Ep1, T1, id {lamp})*\nIt is out.\n"
    path.write_text(f"## Location 5: Hall\n\n{new}\n{old}")
    with SimpleMemoryManager.open(path) as manager:
        titles = {each.id: each.memory.title for each in manager.all_memories()}
    assert titles == {id_of_title(5, "Lamp", 2): "Lamp", lamp: "Old lamp"}


# Two places and titles whose ids have the same first 8 digits.
ONE, TWO = ("acme", "user-128", "cart"), ("acme", "user-2541", "cart")
SHORT = "adffcd0f"


def test_short_id_of_two_memories_is_an_error_that_names_their_places(manager, home):
    one = manager.remember(ONE, "The coupon is expired.", title="Note 0")
    assert manager.get(SHORT).id == one
    two = manager.remember(TWO, "The coupon was refused.", title="Note 13")
    assert one != two
    assert {one[:8], two[:8]} == {SHORT}
    message = f"2 memories whose id begins with '{SHORT}'. Give an id: {one} at .*user-128.*, {two} at .*user-2541"
    for door in (manager.get, manager.forget, lambda id: manager.invalidate(id, "It is wrong")):
        with pytest.raises(MemoryEditError, match=message):
            door(SHORT)
    assert manager.get(SHORT, TWO).id == two
    assert manager.forget(SHORT, ONE) == 1
    for each in (manager, home.open()):
        assert [(located.location_id, located.id) for located in each.all_memories()] == [(TWO, two)]
        assert each.get(SHORT).id == two
        assert each.history(two)


def test_id_of_a_superseded_memory_is_not_that_of_a_current_one(manager):
    one = manager.remember(ONE, "The coupon is expired.", title="Note 0")
    manager.remember(TWO, "The coupon was refused.", title="Note 13")
    manager.invalidate(one, "It was renewed")
    with pytest.raises(MemoryEditError, match=f"2 memories whose id begins with '{SHORT}'"):
        manager.get(SHORT)


def test_moved_memory_keeps_its_id_for_itself(manager, home):
    moved = manager.remember(5, "The rug hides a trap door.", title="Rug")
    with manager.store.transaction() as draft:
        draft.move(5, CART)
    new = manager.remember(5, "There is another rug.", title="Rug")
    assert (new, moved) == (id_of_title(5, "Rug", 2), id_of_title(5, "Rug"))
    for each in (manager, home.open()):
        assert [each.get(id).location_id for id in (moved, new)] == [CART, 5]


def test_short_ids_in_an_old_file_are_extended(tmp_path):
    path = tmp_path / "Memories.md"
    entry = "**[NOTE - PERMANENT] Rug** *(Ep1, T1, id 0123abcd)*\nIt is {}.\n\n"
    path.write_text(f"## Location 5: Hall\n\n{entry.format('red')}## Location 6: Attic\n\n{entry.format('blue')}")
    before = path.read_bytes()
    with SimpleMemoryManager.open(path) as manager:
        ids = {each.id: each.memory.text for each in manager.all_memories()}
        assert list(ids.values()) == ["It is red.", "It is blue."]
        assert {(len(id), id[:8]) for id in ids} == {(16, "0123abcd")}
        assert manager.get("0123abcd", 6).memory.text == "It is blue."
        assert path.read_bytes() == before
        manager.update(manager.get("0123abcd", 5).id, title="Carpet")
    with SimpleMemoryManager.open(path) as again:
        assert {each.id: each.memory.text for each in again.all_memories()} == ids


@pytest.mark.parametrize("second", [5, 6])
def test_first_copy_of_an_entry_keeps_its_id(tmp_path, second):
    path, id = tmp_path / "Memories.md", "0123456789abcdef"
    entry = f"**[NOTE - PERMANENT] Rug** *(Ep1, T1, id {id})*\nIt is {{}}.\n\n"
    original = f"## Location 5: Hall\n\n{entry.format('red')}"
    path.write_text(original)
    with SimpleMemoryManager.open(path) as manager:
        assert manager.get(id).memory.text == "It is red."
        heading = "" if second == 5 else "## Location 6: Attic\n\n"
        path.write_text(original + heading + entry.format("blue"))
        ids = [id, id_of_title(second, "Rug", 2)]
        assert [each.id for each in manager.all_memories()] == ids
    with SimpleMemoryManager.open(path) as again:
        assert [each.id for each in again.all_memories()] == ids
        # What is written once doesn't depend on the first one any more.
        again.forget(id)
        assert [each.id for each in again.all_memories()] == ids[1:]
        path.write_text(path.read_text() + "\n## Location 7: Cave\n\n" + entry.format("red"))
        assert [each.id for each in again.all_memories()] == [ids[1], id]


def test_ids_depend_only_on_the_file(tmp_path):
    """A process that has read an earlier version of the file gets the same ids as one that has not."""
    path, rug = tmp_path / "Memories.md", id_of_title(5, "Rug")
    hall = "## Location 5: Hall\n\n**[NOTE - PERMANENT] Rug** *(Ep1, T1)*\nIt is red.\n\n"
    path.write_text(f"{hall}## Location 6: Attic\n\n**[NOTE - PERMANENT] Mat** *(Ep1, T1, id {rug})*\nIt is blue.\n")
    with SimpleMemoryManager.open(path) as manager:
        titles = {each.id: each.memory.title for each in manager.all_memories()}
        assert titles == {id_of_title(5, "Rug", 2): "Rug", rug: "Mat"}
        path.write_text(hall)
        assert [each.id for each in manager.all_memories()] == [rug]


def test_equal_titles_keep_their_ids_when_the_first_is_forgotten(tmp_path):
    path, entry = tmp_path / "Memories.md", "**[NOTE - PERMANENT] Rug** *(Ep1, T1)*\n{}\n\n"
    path.write_text(f"## Location 5: Hall\n\n{entry.format('One.')}{entry.format('Two.')}")
    with SimpleMemoryManager.open(path) as manager:
        first, second = (each.id for each in manager.all_memories())
        manager.forget(first)
    with SimpleMemoryManager.open(path) as again:
        assert [(each.id, each.memory.text) for each in again.all_memories()] == [(second, "Two.")]


def test_many_equal_titles_are_read_in_linear_time():
    """Reading them once took quadratic time."""
    entries = "".join(f"**[NOTE - PERMANENT] Rug** *(Ep1, T1, +0)*\n{number}\n\n" for number in range(20_000))
    document = parse(f"# Location Memories\n\n## Location 5: Hall\n\n{entries}".encode())
    assert len({memory.id for memory in document.memories(5)}) == 20_000


def test_id_survives_changes_of_title_text_and_place(manager, home):
    found = manager.remember(5, "The rug hides a trap door.", title="Rug")
    assert manager.update(found, title="Carpet", text="The carpet hides a trap door.").id == found
    assert manager.update("Carpet", pinned=True, category="PRICE").memory.title == "Carpet"
    with manager.store.transaction() as draft:
        draft.move(5, CART)
    again = home.open().get(found)
    assert (again.location_id, again.memory.text) == (CART, "The carpet hides a trap door.")
    assert manager.remember(CART, "Another rug.", title="Carpet") == id_of_title(CART, "Carpet", 1)


def test_restored_title_leaves_no_id_in_the_file(manager, home):
    found = manager.remember(5, "The rug hides a trap door.", title="Rug")
    before = home.text()
    manager.update(found, title="Carpet")
    assert f"id {found}" in home.text()
    manager.update(found, title="Rug")
    assert home.text() == before


@given(st.lists(st.tuples(st.sampled_from([5, "5", CART]), st.sampled_from(["A", "B"]), plain_texts), max_size=8))
def test_ids_are_unique_and_read_back(located):
    document = document_of(*((place, "", memory(title, text=text)) for place, title, text in located))
    written = {place: [memory.id for memory in kept] for place, kept in document.by_place().items()}
    read = parse(render(document)).by_place()
    assert {place: [memory.id for memory in kept] for place, kept in read.items()} == written
    every = [key for keys in written.values() for key in keys]
    assert len(every) == len(set(every)) == len(located)


def test_methods_accept_id_or_title(manager):
    old = manager.remember(5, "The gate is shut.", title="Gate", category="DANGER")
    new = manager.supersede(old, "The gate opens with the lever.")
    assert new != old
    assert (manager.get(new).memory.title, manager.get(new).memory.category) == ("Gate", "DANGER")
    assert manager.get(old).memory.superseded_by == "Gate"
    assert manager.get("Gate").id == new
    manager.invalidate("gate", "It opened by itself", turn=15)
    assert manager.get(new).memory.invalidation_reason == "It opened by itself"
    manager.forget(new)
    assert manager.get(new) is None
    assert [located.id for located in manager.all_memories()] == [old]


def test_ephemeral_memory_has_an_id(manager, home, state):
    lasting = manager.remember(5, "A rope hangs here.", title="Rope")
    passing = manager.remember(5, "I dropped the rope.", title="Rope", persistence="ephemeral")
    assert passing != lasting
    before = home.text()
    assert manager.update(passing, text="I dropped the rope and the lamp.").id == passing
    manager.invalidate(passing, "Somebody took it")
    resumed = home.open(game_state=state)
    resumed.restore(json.loads(json.dumps(manager.snapshot())))
    assert resumed.get(passing).memory.invalidation_reason == "Somebody took it"
    resumed.forget(passing)
    assert resumed.get(passing) is None
    assert home.text() == before


def test_impossible_changes_are_explained(manager):
    found = manager.remember(5, "The gate is shut.", title="Gate")
    manager.update(found, pinned=True)
    passing = manager.remember(5, "The bell rings.", persistence="ephemeral")
    doors = {
        "There is no memory with the id or title 'Nothing'": lambda: manager.forget("Nothing"),
        "There is no memory with the id or title 'Gate' at location 6": lambda: manager.update("Gate", 6, text="x"),
        "was not replaced: it is pinned": lambda: manager.supersede(found, "It is open."),
        "was not changed: it is pinned": lambda: manager.invalidate(found, "It is open"),
        "is ephemeral. Use `supersede` to keep it": lambda: manager.update(passing, persistence="core"),
        "must be one of core, permanent": lambda: manager.update(found, persistence="forever"),
    }
    for message, door in doors.items():
        with pytest.raises(MemoryEditError, match=message):
            door()
    manager.update(found, pinned=False, vetoed=True)
    with pytest.raises(MemoryEditError, match="a person has hidden 'Gate'"):
        manager.remember(5, "The gate is shut.", title="Gate")


@pytest.mark.parametrize("home", ["file"], indirect=True)
def test_failed_write_is_an_error(manager):
    manager.store.file.path.mkdir()
    with pytest.raises(MemoryStoreError, match="it is a folder"):
        manager.remember(5, "The gate is shut.")


def test_ids_survive_an_export(manager, tmp_path):
    found = manager.remember(5, "The gate is shut.", title="Gate")
    manager.update(found, title="Door")
    (tmp_path / "all.json").write_text(json_lines(manager.all_memories()))
    other = SimpleMemoryManager.open(tmp_path / "Other.md")
    read = read_memories(tmp_path / "all.json")
    with other.store.transaction() as draft:
        add_missing(draft, read)
    assert other.get(found).memory.title == "Door"


WRONG = [
    ({"text": 5}, TypeError, "The text is 5, of the type int"),
    ({"text": " "}, ValueError, "must not be blank"),
    ({"text": "a\x00b"}, ValueError, r"the control character '\\x00'"),
    ({"title": ""}, ValueError, "The title is ''"),
    ({"title": 7}, TypeError, "The title is 7, of the type int"),
    ({"category": "note"}, ValueError, "The category is 'note'; it must be a word in capitals"),
    ({"category": None}, TypeError, "The category of memory 'Gate' is None"),
    ({"persistence": "forever"}, ValueError, "Invalid persistence 'forever'"),
    ({"status": "MAYBE"}, ValueError, "is 'MAYBE'; it must be one of ACTIVE, TENTATIVE, SUPERSEDED"),
    ({"episode": 1.5}, TypeError, "The episode of memory 'Gate' is 1.5"),
    ({"score_change": "5"}, TypeError, "The score_change of memory 'Gate' is '5'; it must be an integer or None"),
    ({"score_change": -(10**18)}, ValueError, "is -10{18}; it must have at most 18 digits"),
    ({"place_name": 5}, TypeError, "The place's name is 5"),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_invalid_argument_is_named_and_nothing_is_stored(manager, given, error, message, home):
    with pytest.raises(error, match=message):
        manager.remember(**{"place": 5, "text": "The gate is shut.", "title": "Gate", **given})
    assert (manager.all_memories(), home.text()) == ([], "")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        *(wrong for wrong in WRONG if not {"text", "place_name", "title"} & wrong[0].keys()),
        ({"text": 5}, TypeError, "The text of memory 'Gate' is 5; it must be a string"),
        ({"title": " "}, ValueError, "The title is ' '; it must not be blank"),
        ({"turns": 5}, TypeError, "The turns of memory 'Gate' is 5"),
        ({"pinned": 1}, TypeError, "The pinned of memory 'Gate' is 1; it must be True or False"),
        ({"id": "mine"}, ValueError, "is 'mine'; it must be 16 hexadecimal digits"),
    ],
)
def test_memory_with_an_invalid_field_is_refused(manager, given, error, message, home):
    with pytest.raises(error, match=message):
        manager.add_memory(5, "Hall", replace(memory("Gate"), **given))
    assert (manager.all_memories(), home.text()) == ([], "")


def test_lasting_and_ephemeral_memories_have_different_ids(manager):
    ids = [
        manager.remember(5, "The gate is shut.", title="Gate"),
        manager.remember(5, "I oiled the gate.", title="Gate", persistence="ephemeral"),
        manager.remember(5, "The lever moves a rope.", title="Gate"),
    ]
    assert len(set(ids)) == 3
    assert [manager.get(each).memory.text for each in ids] == [
        "The gate is shut.",
        "I oiled the gate.",
        "The lever moves a rope.",
    ]

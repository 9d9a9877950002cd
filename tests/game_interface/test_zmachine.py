"""Tests of the view of a story's memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game_interface.core.grammar import read_language, verbs
from game_interface.core.zmachine import View, ZMachine, changes
from tests.fixtures.stories import bare_story, build
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough


@pytest.fixture(scope="module")
def zork(zork1):
    """Jericho, and the view of its memory."""
    from jericho import FrotzEnv

    env, machine = FrotzEnv(str(zork1), seed=ZORK1_SEED), ZMachine(zork1.read_bytes())
    return env, machine


def _view(zork) -> View:
    env, machine = zork
    return machine.view(env._get_ram().tobytes())


def test_tree_and_attributes_match_jericho(zork):
    env, _ = zork
    env.reset()
    for command in [None, *get_zork1_walkthrough()]:
        if command:
            env.step(command)
        view = _view(zork)
        assert view.global_value(1) == env.get_score()
        assert view.global_value(2) == env.get_moves()
        objects = [thing for thing in env.get_world_objects() if thing.num]
        for thing in objects:
            assert (view.parent(thing.num), view.child(thing.num)) == (thing.parent, thing.child)
            if thing.sibling and thing.parent:
                together = view.children(thing.parent)
                assert together[together.index(thing.num) + 1] == thing.sibling
        for thing in objects[::7]:
            assert view.attributes(thing.num) == {index for index, is_set in enumerate(thing.attr) if is_set}


def test_names_are_complete_where_jericho_omits_letters(zork):
    env, _ = zork
    env.reset()
    view = _view(zork)
    assert env.get_object(180).name == "West House"
    assert view.name(180) == "West of House"
    assert view.name(193) == "Living Room"


def test_dictionary_matches_jericho(zork):
    env, machine = zork
    assert [entry.text for entry in machine.dictionary] == [word.word for word in env.get_dictionary()]


def test_properties_match_jericho(zork):
    env, _ = zork
    env.reset()
    view = _view(zork)
    for thing in env.get_world_objects():
        if thing.num:
            assert list(view.properties(thing.num)) == [number for number in thing.properties if number]


def test_changes_between_two_views(zork):
    env, _ = zork
    env.reset()
    before = _view(zork)
    env.step("open mailbox")
    opened = changes(before, _view(zork))
    assert (160, 11, True) in opened.flipped
    before = _view(zork)
    env.step("take leaflet")
    assert (161, 160, 4) in changes(before, _view(zork)).moved


def test_fingerprint_ignores_the_order_of_things(zork):
    env, machine = zork
    env.reset()
    memory = env._get_ram().tobytes()
    view = machine.view(memory)
    at = view._entry(160) + machine.attribute_bytes + machine.link_size
    other = machine.view(memory[:at] + b"\7" + memory[at + 1 :])
    assert other.children(view.parent(160)) != view.children(view.parent(160))
    assert other.fingerprint() == view.fingerprint()
    moved = machine.view(memory[: at - 1] + b"\7" + memory[at:])
    assert moved.fingerprint() != view.fingerprint()


def test_invalid_object_reads_as_nothing(zork):
    view = _view(zork)
    for number in (0, -1, 251, 70_000):
        assert not view.exists(number)
        assert (view.parent(number), view.name(number), view.children(number), view.properties(number)) == (
            0,
            "",
            (),
            {},
        )
        assert view.attributes(number) == frozenset()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_memory_never_hangs_or_raises(data, bundled_story):
    machine = ZMachine(bundled_story.read_bytes())
    memory = bytearray(machine.story[: machine.header.static])
    for _ in range(data.draw(st.integers(1, 40))):
        memory[data.draw(st.integers(machine.table.start, len(memory) - 1))] = data.draw(st.integers(0, 255))
    view = machine.view(bytes(memory))
    for number in range(machine.object_count + 2):
        view.name(number), view.children(number), view.ancestors(number), view.attributes(number)
        view.properties(number)
    assert len(view.fingerprint()) == 16


def test_circular_tree_ends(bundled_story):
    machine = ZMachine(bundled_story.read_bytes())
    memory = bytearray(machine.story[: machine.header.static])
    for number, other in ((1, 2), (2, 1)):
        at = machine.first_entry + (number - 1) * machine.entry_size + machine.attribute_bytes
        memory[at : at + 6] = b"".join(link.to_bytes(2, "big") for link in (other, other, other))
    view = machine.view(bytes(memory))
    assert view.ancestors(1) == (2, 1)
    assert view.children(1) == (2, 1)


@pytest.mark.parametrize("version", [3, 5])
def test_truncated_tables_are_unknown(version, inform, tmp_path):
    story = build(inform, tmp_path, bare_story(version), version).read_bytes()
    cut_off, bare, end = bytearray(story), bytearray(story), len(story)
    # The grammar of one verb. The file contains only the first token of its first line, where the dictionary starts.
    cut_off[14:16], cut_off[8:10] = (end - 6).to_bytes(2, "big"), (end - 1).to_bytes(2, "big")
    cut_off[-6:] = (end - 4).to_bytes(2, "big") + b"\x09\x00\x00\x01"
    start = ZMachine(story).header.dictionary
    bare[start + 1 + story[start]] = 4 if version == 3 else 6
    for damaged in (cut_off, bare):
        machine = ZMachine(bytes(damaged))
        assert (verbs(machine), read_language(machine).verbs) == ((), {})


@pytest.mark.parametrize("version", [3, 4, 5, 7, 8])
def test_every_version_has_names_and_words(version, inform, tmp_path):
    machine = ZMachine(build(inform, tmp_path, bare_story(version), version).read_bytes())
    view = machine.view(machine.story[: machine.header.static])
    names = [view.name(number) for number in range(1, machine.object_count + 1)]
    assert names[-5:] == ["rooms", "Meadow", "Barn", "you", "straw hat"]
    assert [entry.text for entry in machine.dictionary] == ["hang", "look", "north", "south", "take"]


def test_custom_alphabets_and_unicode_are_read(inform, tmp_path):
    source = """
Zcharacter "abcdefghijklmnopqrstuvwxyz" "ABCDEFGHIJKLMNOPQRSTUVWXYZ" "0123456789!$&*():;.,<>-";
Zcharacter table + '@{41a}';
Object cafe "Caf@'e <Stra@sse> No. 9";
Object ship "@oeuvre @{41a} [x]";
[ Main; print (name) cafe, (name) ship; ];
"""
    story = build(inform, tmp_path, source, 5).read_bytes()
    # A surrogate is not a character and could not be saved.
    for code, shown in ((0x41A, "\N{CYRILLIC CAPITAL LETTER KA}"), (0xD801, "\N{REPLACEMENT CHARACTER}")):
        machine = ZMachine(story.replace(b"\x04\x1a", code.to_bytes(2, "big")))
        view = machine.view(machine.story[: machine.header.static])
        names = [view.name(number) for number in range(1, machine.object_count + 1)]
        assert names[-2:] == ["Café <Straße> No. 9", f"œuvre {shown} [x]"]

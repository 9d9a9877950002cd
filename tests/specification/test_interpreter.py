"""The interpreter, as the specification shows it."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures import own_stories
from tests.fixtures.walkthrough import (
    get_walkthrough_dark_sequence,
    get_walkthrough_slice,
    get_walkthrough_until_lamp,
    get_zork1_walkthrough,
    replay_walkthrough,
)

WEST_OF_HOUSE, LIVING_ROOM, BRASS_LANTERN = 180, 193, 164


def test_replay_visits_the_same_locations(zork1: Path):
    interface = JerichoInterface(rom_path=str(zork1))
    location_ids = []
    for action in get_walkthrough_slice(0, 20):
        interface.send_command(action)
        location_ids.append(interface.get_location_structured().num)

    interface2 = JerichoInterface(rom_path=str(zork1))
    replay_ids = []
    for action in get_walkthrough_slice(0, 20):
        interface2.send_command(action)
        replay_ids.append(interface2.get_location_structured().num)

    assert len(set(location_ids)) > 5
    assert location_ids == replay_ids


def test_walkthrough_scores_all_points_without_a_seed(zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        for action in get_zork1_walkthrough():
            interface.send_command(action)
        score, _ = interface.get_score()
        assert (score, interface.is_dead()) == (350, False)


def test_state_is_read_from_the_z_machine(zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        location = interface.get_location_structured()
        assert (location.num, location.name) == (WEST_OF_HOUSE, "West of House")
        assert [obj.name for obj in interface.get_visible_objects_in_location()] == ["door", "small mailbox"]
        assert interface.get_inventory_structured() == []
        assert interface.get_score() == (0, 0)
        assert {"take", "open", "read"} <= set(interface.get_valid_verbs())

        for action in get_walkthrough_until_lamp():
            interface.send_command(action)
        assert interface.get_location_structured().num == LIVING_ROOM
        (lamp,) = [obj for obj in interface.get_inventory_structured() if obj.num == BRASS_LANTERN]
        assert lamp.name == "brass lantern"
        assert interface.get_object_attributes(lamp)["takeable"]
        score, moves = interface.get_score()
        assert (score, moves) == (15, 13)


def test_location_is_known_in_the_dark(zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        replay_walkthrough(interface, get_walkthrough_until_lamp())
        steps = replay_walkthrough(interface, get_walkthrough_dark_sequence())
        assert [step.location_name for step in steps if "pitch black" in step.response] == ["Attic", "Cellar"]
        assert steps[-1].location_name == "East-West Passage"


def test_movement_is_detected_by_the_location_id(zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        before = interface.get_location_structured()
        interface.send_command("north")
        assert interface.get_location_structured().num != before.num


def test_state_can_be_saved_and_restored(zork1: Path):
    with JerichoInterface(rom_path=str(zork1)) as interface:
        saved = interface.save_state()
        interface.send_command("north")
        interface.restore_state(saved)
        assert interface.get_location_structured().num == WEST_OF_HOUSE


def test_death_is_reported_until_a_new_game():
    with JerichoInterface(rom_path=str(own_stories.compiled("perils"))) as interface:
        interface.send_command("take toadstool")
        assert not interface.is_dead()
        assert "You die of the poison." in interface.send_command("eat toadstool")
        assert interface.is_dead()
        assert interface.send_command("look") == "The game has ended. Start a new episode."
        assert interface.is_dead()
        interface.reset()
        assert not interface.is_dead()

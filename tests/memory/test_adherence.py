"""Tests of whether an action follows a memory, and whether the outcome matches."""

from dataclasses import replace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.credit import outcome_in_words, outcome_matches
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove

PLAIN = memory("Move the rug", category="SUCCESS", text="Move the rug: it hides a trap door.")
RUG = memory("Rug", category="DISCOVERY", text="It hides a trap door.", action="move rug")
NORTH = memory("Clearing", category="SUCCESS", text="A path.", action="north")
LOCKED = memory("Door", category="FAILURE", text="It is locked.", action="open door")
DEADLY = memory("Cliff", category="DANGER", text="You fall a long way.", action="jump off cliff")
NOTE = memory("Note", text="Dust.", action="move rug")

DIED = ZMachineContext(died=True, turn=7)
NOTHING = ZMachineContext(nothing_changed=True, turn=7)
UNSEEN = ZMachineContext(turn=7)
MOVED = ZMachineContext(location_changed=True, location_before=5, location_after=6, destination_name="Kitchen", turn=7)
TAKEN = ZMachineContext(inventory_changed=True, turn=7)
THIEF = ZMachineContext(turn=7, moved=(ObjectMove(9, "thief", 5, "Hall", 6, "Attic"),))
GATE = ZMachineContext(turn=7, changed=(AttributeChange(4, "iron gate", "open", True),))


@pytest.mark.parametrize(
    ("kept", "action", "followed"),
    [
        (RUG, "move rug", True),
        (RUG, "Move the rug", True),
        (RUG, "take rug", False),
        (RUG, "move trap door", False),
        (RUG, "look", False),
        (RUG, "", False),
        (PLAIN, "move rug", False),
        (NORTH, "n", True),
        (NORTH, "go north", True),
        (NORTH, "south", False),
        (memory("Lamp", category="SUCCESS", text="It glows.", action="turn on lamp"), "turn lamp on", False),
        (memory("Lamp", category="SUCCESS", text="It glows.", action="turn on lamp"), "turn off lamp", False),
        (memory("Lamp", category="SUCCESS", text="Taken.", action="take lamp"), "pick up the lamp", False),
        (memory("Lamp", category="SUCCESS", text="Taken.", action="take lamp"), "pick lamp", False),
        (memory("Lamp", category="SUCCESS", text="Taken.", action="take lamp"), "turn up lamp", False),
        (NORTH, "north door", False),
        (NORTH, "go", False),
    ],
)
def test_memory_is_followed_only_by_its_action(kept, action, followed):
    assert (outcome_matches(kept, action, replace(DIED, location_changed=True)) is not None) is followed


@pytest.mark.parametrize(
    ("kept", "action", "turn", "expected"),
    [
        (RUG, "move rug", GATE, True),
        (RUG, "move rug", NOTHING, False),
        (RUG, "move rug", DIED, False),
        (RUG, "move rug", UNSEEN, None),
        (RUG, "move rug", ZMachineContext(score_delta=5, turn=7), True),
        (NORTH, "north", MOVED, True),
        (NORTH, "north", NOTHING, False),
        (NORTH, "north", THIEF, False),
        (LOCKED, "open door", NOTHING, True),
        (LOCKED, "open door", DIED, True),
        (LOCKED, "open door", TAKEN, False),
        (LOCKED, "open door", UNSEEN, None),
        (DEADLY, "jump off cliff", DIED, True),
        (DEADLY, "jump off cliff", MOVED, False),
        (DEADLY, "jump off cliff", UNSEEN, None),
        (NOTE, "move rug", NOTHING, None),
    ],
)
def test_category_decides_without_a_known_outcome(kept, action, turn, expected):
    assert outcome_matches(kept, action, turn) is expected


OPEN = Claim(Relation.OPEN, 12, "trap door")
CLOSED = Claim(Relation.CLOSED, 12, "trap door")
WENT = ZMachineContext(turn=7, location_changed=True, location_after=6)


@pytest.mark.parametrize(
    ("outcome", "when", "action", "turn", "expected"),
    [
        ("to 6", (), "down", WENT, True),
        ("to 6", (), "Go down", WENT, True),
        ("to 7", (), "down", WENT, False),
        ("to 6", (), "down", NOTHING, False),
        ("nothing", (), "down", NOTHING, True),
        ("nothing", (), "down", WENT, False),
        ("changed", (), "down", WENT, True),
        ("changed", (), "down", NOTHING, False),
        ("changed", (), "down", DIED, None),
        ("changed", (), "down", UNSEEN, None),
        ("nothing", (), "down", UNSEEN, None),
        ("nothing", (), "down", GATE, False),
        ("to 5", (), "down", WENT, False),
        ("died", (), "down", DIED, True),
        ("died", (), "down", WENT, False),
        ("to 6", (), "up", WENT, None),
        ("to 6", (OPEN,), "down", NOTHING, None),
        ("to 6", (OPEN,), "down", replace(NOTHING, state=(CLOSED,)), None),
        ("to 6", (OPEN,), "down", replace(NOTHING, state=(OPEN,)), False),
    ],
)
def test_recorded_outcome_decides(outcome, when, action, turn, expected):
    """The text of the memory names another action, which is ignored."""
    kept = memory("Up does nothing", category="FAILURE", text="Going up does nothing.", action="down", outcome=outcome)
    assert outcome_matches(replace(kept, when=when), action, turn) is expected


def test_outcome_in_words():
    turn = ZMachineContext(
        turn=7,
        score_delta=5,
        location_changed=True,
        destination_name="Kitchen",
        moved=(
            replace(THIEF.moved[0], by_itself=True),
            *(ObjectMove(3, thing, 5, "Hall", 1, "you") for thing in ("lamp", "rope", "axe", "egg")),
        ),
        changed=(AttributeChange(4, "gate", "open", False), *(AttributeChange(5, "lamp", "lit", True),) * 3),
    )
    assert outcome_in_words(turn) == (
        "came to Kitchen; score +5; lamp: Hall → you; rope: Hall → you; axe: Hall → you; "
        "gate: not open; lamp: lit; lamp: lit"
    )
    assert [outcome_in_words(facts) for facts in (DIED, NOTHING, UNSEEN, TAKEN)] == [
        "died",
        "nothing changed",
        "no visible change",
        "inventory changed",
    ]

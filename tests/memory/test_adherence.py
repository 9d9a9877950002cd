"""When an action follows a memory, and what its outcome says of it."""

from dataclasses import replace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.credit.adherence import borne_out, mention, outcome_in_words
from zorkgpt.memory.models import AttributeChanged, ObjectMoved, ZMachineContext

RUG = memory("Rug hides something", category="DISCOVERY", text="Moving the rug reveals a trap door.")
LEVER = memory("Lever and gate", category="SUCCESS", text="Pulling the lever opens the gate.")
WINDOW = memory("Way in", category="SUCCESS", text="From here, `enter window` leads to the Kitchen.")
PATH = memory("Clearing", category="SUCCESS", text="A path leads north to the Clearing.")
RULED = memory("“north” leads on", category="SUCCESS", text="Leads to Hall.")
KEY = memory("Door", category="SUCCESS", text="Unlock the door with the brass key.")
LAMP = memory("Lamp", category="SUCCESS", text="Turning the lamp on gives light.")
LOCKED = memory("“open door” does nothing", category="FAILURE", text="It is locked.")
TRAP = memory("Trap", category="DANGER", text="Do not open the case: it explodes.")
DEADLY = memory("Jumping off the cliff is deadly", category="DANGER", text="You fall a long way.")
NOTE = memory("Note", text="Move the rug.")

DIED = ZMachineContext(died=True, turn=7)
NOTHING = ZMachineContext(nothing_changed=True, turn=7)
UNSEEN = ZMachineContext(turn=7)
MOVED = ZMachineContext(location_changed=True, location_before=5, location_after=6, destination_name="Kitchen", turn=7)
TAKEN = ZMachineContext(inventory_changed=True, turn=7)
THIEF = ZMachineContext(turn=7, moved=(ObjectMoved(9, "thief", 5, "Hall", 6, "Attic"),))
GATE = ZMachineContext(turn=7, changed=(AttributeChanged(4, "iron gate", "open", True),))


@pytest.mark.parametrize(
    ("kept", "action", "expected"),
    [
        (RUG, "move rug", "plain"),
        (RUG, "Move the rug", "plain"),
        (RUG, "reveal door", None),
        (RUG, "move trap door", None),
        (RUG, "take rug", None),
        (LEVER, "pull lever", "plain"),
        (LEVER, "open gate", None),
        (WINDOW, "enter window", "plain"),
        (PATH, "n", "plain"),
        (PATH, "go north", "plain"),
        (PATH, "walk north", "plain"),
        (PATH, "south", None),
        (RULED, "north", "plain"),
        (memory("Ways", category="SUCCESS", text="The path leads to the north."), "north", "plain"),
        (memory("Ways", category="SUCCESS", text="You can go to the north and on."), "north", "plain"),
        (memory("Ways", category="SUCCESS", text="It leads to North Street."), "north", None),
        (memory("Ways", category="SUCCESS", text="It leads to the north gate."), "north", None),
        (memory("Sword", category="DISCOVERY", text="A sword lies in the north corner."), "north", None),
        (KEY, "unlock door with key", "conditional"),
        (KEY, "unlock door with rusty key", None),
        (LAMP, "turn on lamp", "plain"),
        (LAMP, "turn lamp on", "plain"),
        (LAMP, "turn off lamp", None),
        (memory("Lamp", text="Take the lamp first."), "get lamp", "plain"),
        (memory("Lamp", text="Take the lamp first."), "pick up the lamp", "plain"),
        (memory("Two keys", text="Put the keys in the case."), "put key in case", "plain"),
        (memory("Two keys", text="Put the keys in the case."), "put case in key", None),
        (memory("Not so", category="SUCCESS", text="You can't move the rug."), "move rug", None),
        (LOCKED, "open door", "plain"),
        (TRAP, "open case", "plain"),
        (RUG, "look", None),
        (RUG, "wait", None),
        (RUG, "", None),
    ],
)
def test_a_memory_speaks_of_an_action_only_where_its_words_leave_no_doubt(kept, action, expected):
    assert mention(kept, action) == expected


@pytest.mark.parametrize(
    ("kept", "action", "turn", "expected"),
    [
        (RUG, "move rug", ZMachineContext(turn=7, moved=(ObjectMoved(3, "rug", 5, "Hall", 5, "Hall"),)), True),
        (RUG, "move rug", NOTHING, False),
        (RUG, "move rug", DIED, False),
        (RUG, "move rug", THIEF, None),
        (RUG, "move rug", UNSEEN, None),
        (RUG, "take rug", TAKEN, None),
        (LEVER, "pull lever", GATE, True),
        (PATH, "north", MOVED, True),
        (PATH, "north", NOTHING, False),
        (PATH, "north", THIEF, False),
        (KEY, "unlock door with key", NOTHING, None),
        (KEY, "unlock door with key", ZMachineContext(score_delta=5, turn=7), True),
        (LOCKED, "open door", NOTHING, True),
        (LOCKED, "open door", DIED, True),
        (LOCKED, "open door", TAKEN, False),
        (LOCKED, "open door", THIEF, None),
        (DEADLY, "jump off cliff", DIED, True),
        (DEADLY, "jump off cliff", MOVED, False),
        (TRAP, "open case", DIED, True),
        (TRAP, "open case", TAKEN, None),
        (NOTE, "move rug", NOTHING, None),
    ],
)
def test_the_outcome_speaks_for_or_against_a_memory_only_by_what_it_promises(kept, action, turn, expected):
    assert borne_out(kept, action, turn) is expected


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
        ("died", (), "down", DIED, True),
        ("died", (), "down", WENT, False),
        ("to 6", (), "up", WENT, None),
        ("to 6", (OPEN,), "down", NOTHING, None),
        ("to 6", (OPEN,), "down", replace(NOTHING, state=(CLOSED,)), None),
        ("to 6", (OPEN,), "down", replace(NOTHING, state=(OPEN,)), False),
    ],
)
def test_a_memory_that_says_its_action_and_outcome_is_held_to_these_alone(outcome, when, action, turn, expected):
    """Its sentence names another action, which is not what it is about."""
    kept = memory("Up does nothing", category="FAILURE", text="Going up does nothing.", action="down", outcome=outcome)
    assert borne_out(replace(kept, when=when), action, turn) is expected


def test_the_outcome_is_told_in_the_words_of_the_object_tree():
    turn = ZMachineContext(
        turn=7,
        score_delta=5,
        location_changed=True,
        destination_name="Kitchen",
        moved=(ObjectMoved(3, "lamp", 5, "Hall", 1, "you"),),
        changed=(AttributeChanged(4, "gate", "open", False),),
    )
    assert outcome_in_words(turn) == "came to Kitchen; score +5; lamp: Hall → you; gate: not open"
    assert [outcome_in_words(one) for one in (DIED, NOTHING, UNSEEN, TAKEN)] == [
        "died",
        "nothing changed",
        "nothing to see",
        "inventory changed",
    ]

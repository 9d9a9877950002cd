"""Tests of the benchmark of stale memories."""

import pytest

from benchmarks.stale import ARMS, GOAL_ROWS, play
from benchmarks.stale_judge import Judge
from zorkgpt.evals.truth import WorldSnapshot
from zorkgpt.memory.objects import PlacedObject

PORCH, VAULT = 1, 2
LAMP, BOX, COIN, KEY, OTHER_KEY, DOOR, TROLL, AXE, GHOST = range(10, 19)
NAMES = {
    LAMP: "brass lamp",
    BOX: "sea chest",
    COIN: "coin",
    KEY: "key",
    OTHER_KEY: "key",
    DOOR: "door",
    TROLL: "troll",
    AXE: "axe",
    GHOST: "ghost",
}


@pytest.fixture(scope="module")
def world():
    """The lamp is carried. The open chest with the coin, and one of two keys, are at the porch."""
    things = [
        PlacedObject(LAMP, "brass lamp", None, movable=True, states=("unlit",)),
        PlacedObject(BOX, "sea chest", PORCH, movable=True, states=("open",)),
        PlacedObject(COIN, "coin", PORCH, holder=BOX, movable=True),
        PlacedObject(KEY, "key", PORCH, movable=True),
        PlacedObject(OTHER_KEY, "key", VAULT, movable=True),
        PlacedObject(DOOR, "door", VAULT, states=("closed",)),
        PlacedObject(TROLL, "troll", None, movable=True),
        PlacedObject(AXE, "axe", VAULT, movable=True),
        PlacedObject(GHOST, "ghost", None),
    ]
    return WorldSnapshot({thing.number: thing for thing in things}, frozenset({LAMP}), dark=False)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("[DISCOVERY] First look: The brass lamp is here. [spawn]", {LAMP}),
        ("[DISCOVERY] First look: The brass lamp is here. [spawn] (now: brass lamp carried)", set()),
        ("[DISCOVERY] First look: The brass lamp is here. [spawn] (now: carried)", set()),
        ("[DISCOVERY] First look: The brass lamp is here. The axe is here. (now: brass lamp carried)", {AXE}),
        ("[DISCOVERY] First look: The coin is in the sea chest. (now: coin gone)", {COIN}),
        ("[DISCOVERY] First look: The coin is in the sea chest. (now: coin carried)", {COIN}),
        ("[DISCOVERY] First look: The troll is here. The axe is in the troll. (now: troll gone)", set()),
        ("[DISCOVERY] Starts here: Ghost. [spawn] (now: ghost gone)", set()),
        ("[DISCOVERY] Starts here: Door. [spawn] (now: door gone)", {DOOR}),
        ("[CORE] Starts here: brass lamp (unlit), sea chest (closed) and coin", {LAMP, BOX}),
        ("[CORE] In the sea chest: coin, brass lamp", {LAMP}),
        (
            "[CORE] Starts here: On the sea chest: coin (lit, open). Carried by the troll: axe, key.",
            {AXE, KEY, OTHER_KEY},
        ),
        ("[NOTE] Sea chest: closed", {BOX}),
        ("[NOTE] The key: The key is here; the door is open.", {DOOR}),
    ],
)
def test_false_line_is_stale(world, line, wrong):
    assert Judge(NAMES).judge(line, PORCH, world).wrong == wrong


@pytest.mark.parametrize(
    "line",
    [
        '[FAILURE] "open chest" does nothing: The game says: "The sea chest is closed."',
        "[NOTE] Chest: The sea chest is closed. (when the brass lamp is unlit)",
        "[NOTE] A sword: The sword is here.",
        "[SUCCESS] Took the brass lamp: You took the brass lamp here.",
    ],
)
def test_line_without_a_current_state_is_undecided(world, line):
    assert not Judge(NAMES).judge(line, PORCH, world).is_decided


@pytest.mark.slow
def test_ledger_keeps_memories_up_to_date():
    *guarded, classic = (play("lantern", arm, 20, 2)[0].total for arm in ARMS[: GOAL_ROWS + 1])

    for count in guarded:
        assert (count.stale, count.omitted) == (0, 0)
        assert count.correct == count.updates > 0
    assert classic.stale > 0


@pytest.mark.slow
def test_only_lifetimes_end_memories_that_the_restart_undid():
    arms = {arm.name: arm for arm in ARMS}
    kept, forgotten = (play("slackwater", arms[name], 60, 2)[0] for name in ("no lifetimes", "claims in fields"))
    assert [count.stale for count in kept.episodes] == [0, 7]
    assert [count.stale for count in forgotten.episodes] == [0, 0]

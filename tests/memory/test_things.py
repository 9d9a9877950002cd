"""Tests of the ledger of things: where they start, are seen last, and what the player did with them."""

import json
from dataclasses import replace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import Memory, MemoryKind, ZMachineContext
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState
from zorkgpt.memory.things import STARTS_HERE, ThingsLedger

HALL, ATTIC, CELLAR, YOU, BOX = 5, 6, 16, 1, 9


def took(origin=HALL, at=HALL, **more):
    move = ObjectMove(4, "sword", origin, "", YOU, "you", **more)
    return ZMachineContext(location_before=at, moved=(move,), inventory_after=("sword",))


def put(into=ATTIC, at=ATTIC):
    move = ObjectMove(4, "sword", YOU, "you", into, "box" if into == BOX else "")
    return ZMachineContext(location_before=at, moved=(move,), inventory_before=("sword",))


def strayed():
    return ZMachineContext(location_before=ATTIC, moved=(ObjectMove(4, "sword", HALL, "", ATTIC, "", by_itself=True),))


def ledger_after(*turns):
    things = ThingsLedger()
    for turn in turns:
        things.record(turn, turn.location_before)
    return things


def reloaded(things):
    """Return the ledger as it is after an interruption."""
    return ThingsLedger.restored(json.loads(json.dumps(things.snapshot())))


def opened(value=True, **more):
    return ZMachineContext(location_before=HALL, changed=(AttributeChange(9, "box", "open", value, **more),))


HERE = Claim(Relation.HERE, 4)
IN_BOX = Claim(Relation.IN, 4, other=BOX)


@pytest.mark.parametrize(
    ("turns", "place", "claim", "passing"),
    [
        ((took(), put()), ATTIC, HERE, True),
        ((took(), put()), HALL, HERE, False),
        ((took(), put(HALL, HALL)), HALL, HERE, False),
        ((took(), put(BOX, HALL)), HALL, HERE, False),
        ((took(), put(BOX, HALL)), HALL, IN_BOX, True),
        ((took(BOX), put(HALL, HALL)), HALL, HERE, True),
        ((took(BOX), put(HALL, HALL)), HALL, IN_BOX, False),
        ((took(BOX),), HALL, IN_BOX, False),
        ((took(BOX),), ATTIC, IN_BOX, True),
        ((took(),), ATTIC, Claim(Relation.CARRIED, 4), True),
        ((took(by_itself=True),), ATTIC, HERE, True),
        ((took(by_itself=True),), HALL, HERE, False),
        ((strayed(), took(origin=ATTIC, at=ATTIC)), ATTIC, HERE, True),
        ((strayed(), took(origin=ATTIC, at=ATTIC)), HALL, HERE, False),
        ((strayed(), took(origin=ATTIC, at=ATTIC), put(HALL, HALL)), HALL, HERE, False),
        ((opened(),), HALL, Claim(Relation.OPEN, BOX), True),
        ((opened(),), HALL, Claim(Relation.CLOSED, BOX), False),
        ((opened(), opened(False)), HALL, Claim(Relation.CLOSED, BOX), False),
        ((opened(by_itself=True),), HALL, Claim(Relation.OPEN, BOX), False),
        ((opened(),), HALL, Claim(Relation.HERE, BOX), False),
        ((replace(took(BOX), inventory_before=("sword",)),), HALL, Claim(Relation.CARRIED, 4), True),
        ((), HALL, HERE, False),
        ((took(), put()), ATTIC, Claim(Relation.LEADS, None, "west", 4), False),
    ],
)
def test_claim_is_temporary_if_the_player_caused_it(turns, place, claim, passing):
    things = ledger_after(*turns)
    assert things.temporary_claim(place, [claim]) == (claim if passing else None)


def claiming(*claims, persistence="permanent"):
    return memory("Sword", persistence, claims=claims)


@pytest.mark.parametrize(
    ("claims", "persistence", "place", "expected"),
    [
        ((IN_BOX, Claim(Relation.CLOSED, BOX)), "permanent", HALL, True),
        ((IN_BOX,), "ephemeral", HALL, False),
        ((IN_BOX, HERE), "permanent", HALL, False),
        ((HERE,), "permanent", ATTIC, False),
        # Things in reach confirm claims unless the player moved or changed them.
        ((Claim(Relation.HERE, 7),), "ephemeral", HALL, True),
        ((Claim(Relation.OPEN, BOX),), "ephemeral", HALL, False),
        ((), "permanent", HALL, False),
    ],
)
def test_memory_is_confirmed_by_current_or_earlier_state(claims, persistence, place, expected):
    things = ledger_after(took(BOX), put(), opened())
    assert things.confirms(place, claiming(*claims, persistence=persistence), [TROLL, BOX_HERE]) == expected


def test_ledger_continues_after_an_interruption():
    cat = ObjectMove(8, "cat", HALL, "", ATTIC, "", by_itself=True)
    things = ledger_after(took(), ZMachineContext(location_before=HALL, moved=(cat,)))
    resumed = reloaded(things)
    for ledger in (things, resumed):
        ledger.record(put(), ATTIC)
        assert ledger.temporary_claim(ATTIC, [Claim(Relation.HERE, 8)])
    assert things.snapshot() == resumed.snapshot()


def lost(number, name, origin=HALL, **more):
    return ZMachineContext(location_before=HALL, moved=(ObjectMove(number, name, origin, "", None, "nowhere", **more),))


def carried_box():
    move = ObjectMove(BOX, "box", HALL, "", YOU, "you")
    return ZMachineContext(location_before=HALL, moved=(move,), inventory_after=("box",))


def closed_itself(**more):
    change = AttributeChange(9, "box", "open", False, by_itself=True)
    return ZMachineContext(location_before=HALL, changed=(change,), **more)


def look(*things, in_full=False, **more):
    return ZMachineContext(location_before=HALL, things=things, all_in_sight=in_full, **more)


CLOSED = Claim(Relation.CLOSED, BOX)
BOX_HERE, SWORD_CARRIED = ThingState(BOX, "box", states=("open",)), ThingState(4, "sword", carried=True)
SWORD_HERE, SWORD_IN_BOX = ThingState(4, "sword"), ThingState(4, "sword", BOX, "box")
TROLL, AXE = ThingState(7, "troll", alive=True), ThingState(8, "axe", 7, "troll")
WALL = ThingState(11, "wall", fixed=True)


@pytest.mark.parametrize(
    ("turns", "claims", "now"),
    [
        ((took(), look(SWORD_CARRIED)), (HERE,), "sword carried"),
        ((took(BOX), look(SWORD_CARRIED)), (IN_BOX,), "sword carried"),
        ((took(), put()), (HERE,), "sword moved"),
        ((took(), put(HALL, HALL)), (HERE,), ""),
        ((took(), put(BOX, HALL)), (IN_BOX,), ""),
        ((lost(7, "troll"),), (Claim(Relation.HERE, 7),), "troll gone"),
        ((opened(),), (CLOSED,), "box open"),
        ((opened(), opened(False)), (CLOSED,), ""),
        ((look(BOX_HERE),), (CLOSED,), "box open"),
        ((look(BOX_HERE),), (CLOSED, Claim(Relation.LOCKED, BOX)), "box open"),
        ((took(), look(SWORD_CARRIED, BOX_HERE)), (HERE, CLOSED), "sword carried, box open"),
        ((took(), look(SWORD_CARRIED)), (HERE, CLOSED), "sword carried"),
        # A theft out of sight is noticed only where the player looks.
        ((took(), put(HALL, HALL), lost(4, "sword", by_itself=True)), (HERE,), ""),
        ((took(), put(HALL, HALL), lost(4, "sword", by_itself=True), look(WALL, in_full=True)), (HERE,), "sword gone"),
        ((look(SWORD_IN_BOX, BOX_HERE), look(BOX_HERE)), (IN_BOX,), ""),
        ((look(SWORD_CARRIED), look(BOX_HERE)), (HERE,), ""),
    ],
)
def test_last_seen_state_contradicts_claims(turns, claims, now):
    things = ledger_after(*turns)
    assert [ledger.contradicting_state(HALL, claims) for ledger in (things, reloaded(things))] == [now, now]


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ((), "Box (closed). In the box: sword. Carried by the troll: axe."),
        ((look(BOX_HERE),), "In the box: sword. Carried by the troll: axe."),
        ((look(BOX_HERE, SWORD_IN_BOX), took(BOX), look(BOX_HERE)), "Carried by the troll: axe."),
        ((look(BOX_HERE, SWORD_IN_BOX, TROLL, AXE),), None),
    ],
)
def test_starting_things_that_are_not_seen_are_listed(turns, text):
    things = ledger_after(look(TROLL), *(turns or (look(),)))
    claims = (Claim(Relation.HERE, BOX, "box"), CLOSED, replace(IN_BOX, name="sword", other_name="box"), *AXE.claims())
    words = things.described(claims)
    assert things.described((Claim(Relation.DARK), *claims)) == words
    entry = Memory("DISCOVERY", STARTS_HERE, 1, "1", 0, words, "core", kind=MemoryKind.LOCATION, claims=claims)
    left = things.unseen(entry)
    assert (left and left.text) == text
    assert things.unseen(replace(entry, pinned=True)).text == words


@pytest.mark.parametrize(
    ("turns", "claim"),
    [
        # Not handled and out of sight, so it may be anywhere.
        ((), HERE),
        ((lost(7, "troll", by_itself=True),), Claim(Relation.HERE, 7)),
        # Changes elsewhere that the player did not cause.
        ((took(), put(HALL, HALL), lost(4, "sword", HALL, by_itself=True)), HERE),
        ((opened(), closed_itself()), Claim(Relation.OPEN, BOX)),
        # It is in something that is carried.
        ((took(), put(BOX), carried_box()), Claim(Relation.CARRIED, 4)),
        ((took(), put()), Claim(Relation.LEADS, None, "west", 4)),
        ((took(), put()), Claim(Relation.DARK)),
    ],
)
def test_unseen_changes_contradict_nothing(turns, claim):
    assert ledger_after(*turns).contradicting_state(HALL, [claim]) == ""


@pytest.mark.parametrize(
    ("in_sight", "at_hand", "claims", "now"),
    [
        (HALL, (WALL,), (Claim(Relation.HERE, 4, "sword"),), "sword gone"),
        (HALL, (WALL,), (Claim(Relation.HERE, 4),), "gone"),
        # With several things, it would be unclear which one is meant.
        (HALL, (WALL,), (Claim(Relation.HERE, 4), Claim(Relation.HERE, 7)), ""),
        (HALL, (SWORD_CARRIED,), (HERE,), "sword carried"),
        (HALL, (BOX_HERE,), (BOX_HERE.claims()[0],), ""),
        # It may be in a closed container.
        (HALL, (WALL,), (IN_BOX,), ""),
        (ATTIC, (WALL,), (HERE,), ""),
        # In the dark, or without an object tree.
        (None, (WALL,), (HERE,), ""),
    ],
)
def test_missing_thing_is_gone_if_everything_is_in_sight(in_sight, at_hand, claims, now):
    things = ThingsLedger()
    things.record(look(*at_hand, in_full=in_sight is not None), in_sight or HALL)
    assert [ledger.contradicting_state(HALL, claims) for ledger in (things, reloaded(things))] == [now, now]


def starts(*turns, known=()):
    things = ledger_after(*turns)
    return things.described(things.start_claims(known))


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ((look(SWORD_HERE, BOX_HERE, in_full=True),), "Sword, box (open)."),
        ((look(TROLL, AXE, in_full=True),), "Troll. Carried by the troll: axe."),
        ((look(SWORD_CARRIED, WALL, in_full=True),), ""),
        # A moved thing does not start where it is now.
        ((look(SWORD_HERE, in_full=True, moved=put(HALL, HALL).moved),), ""),
        ((strayed(), look(SWORD_HERE, in_full=True)), ""),
        # On a later turn, only a revealed thing is new.
        ((look(BOX_HERE, in_full=True), look(BOX_HERE, SWORD_IN_BOX, in_full=True)), "In the box: sword."),
        ((look(BOX_HERE, in_full=True), look(BOX_HERE, SWORD_HERE, in_full=True)), ""),
        ((look(BOX_HERE, in_full=True), look(BOX_HERE, in_full=True)), ""),
    ],
)
def test_first_seen_unmoved_things_start_there(turns, text):
    assert starts(*turns) == text


def test_listed_things_are_limited_and_named():
    many = [ThingState(number, f"stone {number}") for number in range(100, 125)]
    named = ", ".join(f"stone {number}" for number in range(100, 119))
    assert starts(look(ThingState(99, ""), *many, in_full=True)) == f"{named.capitalize()}."


def test_starts_of_earlier_episodes_are_kept_unless_the_first_look_denies_them():
    known = (Claim(Relation.HERE, 4, "sword"), Claim(Relation.HERE, 7, "troll"), Claim(Relation.IN, 8, "axe", 9, "box"))
    assert starts(look(BOX_HERE, SWORD_HERE, in_full=True), known=known) == "Box (open), sword. In the box: axe."
    # In the dark, nothing is missed.
    assert starts(look(SWORD_CARRIED), known=known) == "Sword, troll. In the box: axe."
    # Taken before the first look of this episode, so it still starts here.
    assert starts(took(), look(SWORD_CARRIED, in_full=True), known=known[:1]) == "Sword."


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        ((took(), put()), {ATTIC: "Sword."}),
        ((took(), put(BOX, HALL)), {HALL: "In the box: sword."}),
        ((took(), put(HALL, HALL)), {}),
        ((took(),), {}),
        ((took(), put(), strayed()), {ATTIC: "Sword."}),
        ((took(), put(BOX, ATTIC), strayed()), {ATTIC: "In the box: sword."}),
        ((took(ATTIC, ATTIC), put(HALL, HALL), look(WALL, in_full=True)), {}),
    ],
)
def test_moved_things_are_listed_where_the_player_left_them(turns, left):
    things = ledger_after(*turns)
    for ledger in (things, reloaded(things)):
        assert {place: ledger.described(claims) for place, claims in ledger.now_here(lambda place: ()).items()} == left


def test_thing_in_a_closed_container_is_listed():
    box, axe = ThingState(BOX, "box", states=("closed",)), ThingState(8, "axe", BOX, "box", out_of_sight=True)
    closed = replace(put(BOX, HALL), things=(box, axe), all_in_sight=True)
    left = (ledger_after(took(), *turns).now_here(lambda place: ()) for turns in ((closed,), (closed, look(box))))
    for (claims,) in map(dict.values, left):
        assert IN_BOX in [replace(claim, name="", other_name="") for claim in claims]
    emptied = ledger_after(took(), closed, look(BOX_HERE)).now_here(lambda place: ())
    assert not [claim for claim in emptied[HALL] if claim.number == 4]


def test_new_things_are_listed_with_their_state():
    door = ThingState(12, "trap door", fixed=True, states=("closed",))
    shown = AttributeChange(12, "trap door", "concealed", False)
    found = replace(look(WALL, door, SWORD_HERE, in_full=True), changed=(shown,))
    things = ledger_after(look(WALL, SWORD_HERE, in_full=True), found)
    assert things.described(things.now_here(lambda place: (HERE,))[HALL]) == "Trap door (closed)."
    troll = ThingState(13, "troll", fixed=True, alive=True)
    assert HALL not in ledger_after(look(troll)).now_here(lambda place: ())


def test_nameless_thing_is_omitted_and_long_name_is_shortened():
    things = ledger_after(look(ThingState(14, ""), ThingState(15, "long " * 100)))
    (claims,) = things.now_here(lambda place: ()).values()
    assert things.described(claims).startswith("Long long")
    assert len(things.described(claims)) <= 81


def test_contents_of_a_carried_container_are_not_listed():
    things = ledger_after(took(), put(BOX, HALL), carried_box())
    assert things.now_here(lambda place: ()) == {}


TABLE, BOX_ON_TABLE = ThingState(14, "table"), replace(BOX_HERE, holder_number=14, holder="table", on_top=True)
ON_TABLE = Claim(Relation.ON, 4, other=14)


def test_circular_containment_has_no_place():
    box, bag = ThingState(BOX, "box", 10, "bag"), ThingState(10, "bag", BOX, "box")
    assert ledger_after(look(box), look(bag)).now_here(lambda _: ()) == {}
    assert list(ledger_after(look(box, ThingState(10, "bag"))).now_here(lambda _: ())) == [HALL]


@pytest.mark.parametrize(
    ("in_full", "place", "instead"), [(True, HALL, "light"), (False, HALL, ""), (True, ATTIC, ""), (True, HALL - 1, "")]
)
def test_fully_visible_place_is_not_dark(in_full, place, instead):
    dark = Claim(Relation.DARK)
    assert ledger_after(look(in_full=in_full)).correction(place, claiming(dark), dark) == instead


@pytest.mark.parametrize(
    ("turns", "place", "claim", "instead"),
    [
        ((look(SWORD_HERE),), ATTIC, HERE, "elsewhere"),
        ((look(SWORD_HERE),), HALL, HERE, ""),
        ((look(SWORD_HERE),), HALL, IN_BOX, "elsewhere"),
        # The contents of something here are here.
        ((look(TABLE, BOX_ON_TABLE, SWORD_IN_BOX),), HALL, HERE, ""),
        ((look(TABLE, BOX_ON_TABLE, SWORD_IN_BOX),), HALL, ON_TABLE, ""),
        ((look(TABLE, BOX_ON_TABLE, SWORD_IN_BOX),), ATTIC, HERE, "elsewhere"),
        # Scenery may belong to several places, and a creature may have followed.
        ((look(WALL),), ATTIC, Claim(Relation.HERE, 11), ""),
        ((look(TROLL),), ATTIC, Claim(Relation.HERE, 7), ""),
    ],
)
def test_unmoved_thing_is_where_it_was_last_seen(turns, place, claim, instead):
    things = ledger_after(
        *turns, replace(look(), location_before=CELLAR, things=(ThingState(15, "stair", fixed=True),))
    )
    for ledger in (things, reloaded(things)):
        assert ledger.correction(place, claiming(claim, persistence="ephemeral"), claim) == instead
        assert bool(ledger.contradicting_state(place, [replace(claim, name="sword")])) == bool(instead)


@pytest.mark.parametrize(
    ("turns", "state"),
    [
        ((), ""),
        ((took(),), ""),
        ((took(), put()), "sword put down"),
        ((took(), lost(4, "sword", YOU)), "sword gone"),
        ((look(SWORD_HERE),), ""),
    ],
)
def test_dropped_thing_is_not_carried(turns, state):
    claims = [Claim(Relation.HERE, 99), Claim(Relation.CARRIED, 4)]
    assert ledger_after(*turns).contradicting_state(HALL, claims) == state


@pytest.mark.parametrize(
    ("claim", "instead"),
    [
        (IN_BOX, "the sword is here"),
        (HERE, ""),
        (Claim(Relation.CARRIED, 4), "the sword is here"),
        (CLOSED, "open"),
        (Claim(Relation.OPEN, BOX), ""),
        (Claim(Relation.LIT, 4), "not lit"),
        (Claim(Relation.HERE, 12), "gone"),
    ],
)
def test_things_in_reach_refute_false_claims(claim, instead):
    things = ledger_after(look(SWORD_HERE, BOX_HERE, in_full=True))
    assert things.correction(HALL, claiming(claim, persistence="ephemeral"), claim) == instead
    # Nothing in reach is at another place.
    if claim in (IN_BOX, HERE):
        for place in (HALL - 1, HALL + 1):
            assert things.correction(place, claiming(claim, persistence="ephemeral"), claim) == "elsewhere"


def test_location_of_a_departed_creature_is_unknown():
    judge = ThingState(4, "judge", None, "", alive=True)
    leaves = ObjectMove(4, "judge", HALL, "", CELLAR, "Cellar")
    seen = ZMachineContext(location_before=HALL, things=(judge,), all_in_sight=True)
    things = ledger_after(seen, ZMachineContext(location_before=HALL, moved=(leaves,), all_in_sight=True))
    assert things.now_here(lambda place: ()) == {}


def test_taken_thing_started_where_the_player_is():
    things = ledger_after(ZMachineContext(location_before=HALL, all_in_sight=True))
    things.note_moves(replace(took(), location_before=None))
    assert things.temporary_claim(HALL, [HERE]) is None
    assert things.temporary_claim(ATTIC, [HERE]) == HERE


CHEST = ThingState(9, "chest", states=("open",), fixed=True)
COIN = ThingState(10, "coin", 9, "chest")
LAMP = ThingState(4, "lamp", states=("unlit",))
LIT = replace(LAMP, states=("lit",))
DOOR = ThingState(13, "door", fixed=True, states=("closed",))
WALL = ThingState(14, "wall", fixed=True)
ROPE = ThingState(15, "rope")
IN_HALL = (CHEST, COIN, ThingState(11, "troll", alive=True), ThingState(12, "axe", 11, "troll"), DOOR, WALL)
HALL_BEGAN = "Chest (open), troll, door (closed), lamp (unlit). In the chest: coin. Carried by the troll: axe."
ATTIC_BEGAN = "Door (closed), rope."

# Place after the turn, its contents, changes, things in reach, things that start there, and things that are now
# elsewhere than at the start.
WALK = [
    (HALL, (*IN_HALL, LAMP), {}, [4, 9, 10, 11, 12, 13, 14], HALL_BEGAN, {}),
    (
        HALL,
        (*IN_HALL, replace(LIT, carried=True)),
        {"moved": took().moved, "changed": (AttributeChange(4, "lamp", "on", True),)},
        [4, 9, 10, 11, 12, 13, 14],
        HALL_BEGAN,
        {},
    ),
    (ATTIC, (replace(LIT, carried=True), DOOR, ROPE), {"location_before": HALL}, [4, 13, 15], ATTIC_BEGAN, {}),
    (ATTIC, (LIT, DOOR, ROPE), {"moved": put().moved}, [4, 13, 15], ATTIC_BEGAN, {ATTIC: "Lamp (lit)."}),
    (
        HALL,
        (CHEST, DOOR, WALL),
        {"location_before": ATTIC, "moved": (ObjectMove(11, "troll", HALL, "", CELLAR, "", by_itself=True),)},
        [9, 13, 14],
        HALL_BEGAN,
        {ATTIC: "Lamp (lit)."},
    ),
    (
        HALL,
        (replace(CHEST, states=("closed",)), DOOR, WALL),
        {"changed": (AttributeChange(9, "chest", "open", False),)},
        [9, 13, 14],
        HALL_BEGAN,
        {ATTIC: "Lamp (lit)."},
    ),
    (CELLAR, (), {"location_before": HALL, "all_in_sight": False}, [], "", {ATTIC: "Lamp (lit)."}),
    (ATTIC, (LAMP, DOOR), {"location_before": CELLAR}, [4, 13], ATTIC_BEGAN, {ATTIC: "Lamp (unlit)."}),
]


def test_turn_in_the_dark_is_not_a_first_look():
    ledger = ThingsLedger()
    ledger.record(ZMachineContext(location_before=HALL, all_in_sight=True), HALL)
    assert ledger.is_first_look
    ledger.record(ZMachineContext(location_before=HALL), ATTIC)
    assert not ledger.is_first_look


def test_ledger_follows_a_walk():
    ledger, starts = ThingsLedger(), {}
    for place, there, changes, at_hand, began, now in WALK:
        ledger.record(
            ZMachineContext(**{"location_before": place, "things": there, "all_in_sight": True} | changes), place
        )
        starts[place] = ledger.start_claims(starts.get(place, ()))
        assert [thing.number for thing in ledger.things_at(place, ())] == at_hand
        assert ledger.described(starts[place]) == began
        found = ledger.now_here(lambda place: starts.get(place, ()))
        assert {place: ledger.described(claims) for place, claims in found.items()} == now
    assert [thing.number for thing in ledger.things_at(HALL, starts[HALL])] == [9, 10, 12, 13]
    assert reloaded(ledger) == ledger

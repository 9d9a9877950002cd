"""What the agent itself has moved and changed, and which claims are true by its doing only."""

import pytest

from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.models import ZMachineContext
from zorkgpt.memory.object_locations import HandledThings
from zorkgpt.memory.objects import AttributeChange, ObjectMove, ThingState

HALL, ATTIC, YOU, BOX = 5, 6, 1, 9


def took(origin=HALL, at=HALL, **more):
    move = ObjectMove(4, "sword", origin, "", YOU, "you", **more)
    return ZMachineContext(location_before=at, moved=(move,), inventory_after=("sword",))


def put(into=ATTIC, at=ATTIC):
    move = ObjectMove(4, "sword", YOU, "you", into, "")
    return ZMachineContext(location_before=at, moved=(move,), inventory_before=("sword",))


def strayed():
    return ZMachineContext(location_before=ATTIC, moved=(ObjectMove(4, "sword", HALL, "", ATTIC, "", by_itself=True),))


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
        ((), HALL, HERE, False),
        ((took(), put()), ATTIC, Claim(Relation.LEADS, None, "west", 4), False),
    ],
)
def test_a_claim_is_of_this_episode_where_only_its_doing_made_it_so(turns, place, claim, passing):
    things = HandledThings()
    for turn in turns:
        things.note(turn)
    assert things.of_this_episode(place, [claim]) == (claim if passing else None)


def test_what_was_so_before_is_known():
    things = HandledThings()
    for turn in (took(BOX), put(), opened()):
        things.note(turn)
    assert things.was_so_before(HALL, IN_BOX)
    assert things.was_so_before(HALL, Claim(Relation.CLOSED, BOX))
    assert not things.was_so_before(HALL, HERE)
    assert not things.was_so_before(ATTIC, HERE)
    assert (things.numbers(), things.moved()) == ({4, BOX}, {4})


def test_it_goes_on_after_an_interruption():
    things, resumed = HandledThings(), HandledThings()
    cat = ObjectMove(8, "cat", HALL, "", ATTIC, "", by_itself=True)
    for turn in (took(), ZMachineContext(location_before=HALL, moved=(cat,))):
        things.note(turn)
    resumed.restore(things.to_list(), strayed=[(number, origin) for number, origin in things.strayed()])
    for one in (things, resumed):
        one.note(put())
        assert one.of_this_episode(ATTIC, [Claim(Relation.HERE, 8)])
    assert things.to_list() == resumed.to_list()
    things.clear()
    assert 4 not in things


def lost(number, name, origin=HALL, **more):
    return ZMachineContext(location_before=HALL, moved=(ObjectMove(number, name, origin, "", None, "nowhere", **more),))


def closed_itself(**more):
    return ZMachineContext(changed=(AttributeChange(9, "box", "open", False, by_itself=True),), **more)


CLOSED = Claim(Relation.CLOSED, BOX)
BOX_HERE, SWORD_CARRIED = ThingState(BOX, "box", states=("open",)), ThingState(4, "sword", carried=True)


@pytest.mark.parametrize(
    ("turns", "at_hand", "claims", "now"),
    [
        ((took(),), (SWORD_CARRIED,), (HERE,), "sword carried"),
        ((took(BOX),), (SWORD_CARRIED,), (IN_BOX,), "sword carried"),
        ((took(), put()), (), (HERE,), "sword moved"),
        ((took(), put(HALL)), (), (HERE,), ""),
        ((took(), put(BOX)), (), (IN_BOX,), ""),
        ((lost(7, "troll"),), (), (Claim(Relation.HERE, 7),), "troll gone"),
        ((opened(),), (), (CLOSED,), "box open"),
        ((opened(), opened(False)), (), (CLOSED,), ""),
        ((), (BOX_HERE,), (CLOSED,), "box open"),
        ((), (BOX_HERE,), (CLOSED, Claim(Relation.LOCKED, BOX)), "box open"),
        ((took(),), (SWORD_CARRIED, BOX_HERE), (HERE, CLOSED), "sword carried, box open"),
        ((took(),), (SWORD_CARRIED,), (HERE, CLOSED), "sword carried"),
    ],
)
def test_what_is_so_instead_of_a_claim_is_told(turns, at_hand, claims, now):
    things, resumed = HandledThings(), HandledThings()
    for turn in turns:
        things.note(turn)
    things.see(at_hand)
    resumed.restore(things.to_list(), things.at_hand())
    assert [one.contradicting_state(HALL, claims) for one in (things, resumed)] == [now, now]


@pytest.mark.parametrize(
    ("turns", "claim"),
    [
        # Not handled and out of sight: it may be anywhere.
        ((), HERE),
        ((lost(7, "troll", by_itself=True),), Claim(Relation.HERE, 7)),
        # What becomes of a thing elsewhere, without the agent's doing.
        ((took(), put(), lost(4, "sword", ATTIC, by_itself=True)), HERE),
        ((opened(), closed_itself()), Claim(Relation.OPEN, BOX)),
        # A carried sack that is closed hides what is in it.
        ((took(), put(BOX)), Claim(Relation.CARRIED, 4)),
        ((took(), put()), Claim(Relation.LEADS, None, "west", 4)),
        ((took(), put()), Claim(Relation.DARK)),
    ],
)
def test_what_the_agent_cannot_have_seen_is_not_told(turns, claim):
    things = HandledThings()
    for turn in turns:
        things.note(turn)
    assert things.contradicting_state(HALL, [claim]) == ""


@pytest.mark.parametrize(
    ("in_sight", "at_hand", "claims", "now"),
    [
        (HALL, (), (Claim(Relation.HERE, 4, "sword"),), "sword gone"),
        (HALL, (), (Claim(Relation.HERE, 4),), "gone"),
        # In words for several things it would not be clear which one is meant.
        (HALL, (), (Claim(Relation.HERE, 4), Claim(Relation.HERE, 7)), ""),
        (HALL, (SWORD_CARRIED,), (HERE,), "sword carried"),
        (HALL, (BOX_HERE,), (BOX_HERE.claims()[0],), ""),
        # It may lie in something that is closed.
        (HALL, (), (IN_BOX,), ""),
        (ATTIC, (), (HERE,), ""),
        # In the dark, or without an object tree.
        (None, (), (HERE,), ""),
    ],
)
def test_what_is_missing_where_everything_is_in_sight_is_gone(in_sight, at_hand, claims, now):
    things, resumed = HandledThings(), HandledThings()
    things.see(at_hand, in_sight)
    resumed.restore(things.to_list(), things.at_hand(), things.in_sight)
    assert [one.contradicting_state(HALL, claims) for one in (things, resumed)] == [now, now]


def test_a_thing_that_stayed_behind_is_not_at_hand():
    things = HandledThings()
    things.see([ThingState(BOX, "box", states=("open",), left_behind=True)])
    assert things.contradicting_state(HALL, [CLOSED]) == ""

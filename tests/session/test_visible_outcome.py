"""Tests of the effects of a turn that the player could see."""

from game_interface.models import Item, Location, Observation, Transition
from session.outcome import visible_outcome
from zorkgpt.memory.objects import AttributeChange, ObjectMove

LAMP, SACK, LUNCH = Item(1, "brass lamp", 9), Item(2, "sack", 9), Item(3, "lunch", 9)
HALL = Location(5, "Hall")


def seen(*held: Item, score: int = 0, visible: tuple[Item, ...] = (), carried: tuple[Item, ...] | None = None):
    return Observation(HALL, held, held if carried is None else carried, visible, score, 1)


def test_score_inventory_and_states_are_listed():
    lit = AttributeChange(LAMP.num, LAMP.name, "on", True)
    step = Transition(seen(LAMP), "take sack", "Taken.", seen(LAMP, SACK, score=5), changed=(lit,))
    assert visible_outcome(step) == ("score +5", "got sack", "brass lamp: lit")
    stolen = Transition(seen(LAMP, SACK), "wait", "A thief!", seen(LAMP))
    assert visible_outcome(stolen) == ("lost sack",)
    inside = Item(3, "lunch", 2)
    put = Transition(seen(SACK, LUNCH), "put lunch in sack", "Done.", seen(SACK, carried=(SACK, inside)))
    assert visible_outcome(put) == ("lunch: now at sack",)


def test_named_scenery_is_listed_and_events_elsewhere_are_not():
    window, gate = Item(7, "kitchen window"), Item(8, "dam gate")
    opened = tuple(AttributeChange(item.num, item.name, "open", True) for item in (window, gate))
    thief = ObjectMove(4, "thief", 20, "Maze", 21, "Studio")
    step = Transition(seen(), "open window", "It opens.", seen(), moved=(thief,), changed=opened)
    assert visible_outcome(step) == ("kitchen window: open",)
    by_itself = AttributeChange(LAMP.num, LAMP.name, "on", False, by_itself=True)
    assert visible_outcome(Transition(seen(LAMP), "wait", "Time passes.", seen(LAMP), changed=(by_itself,))) == ()

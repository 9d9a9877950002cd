"""The objects of a world: their state, and what a turn changed in it."""

from dataclasses import dataclass

from zorkgpt.memory.claims import Claim, Relation


@dataclass(frozen=True, slots=True)
class ThingState:
    """An object that is present, with its holder and its state."""

    number: int
    name: str
    holder_number: int | None = None
    """The container, supporter or creature that holds it. None if the place or the player does, or if unknown."""
    holder: str = ""
    """The name of the holder."""
    on_top: bool = False
    """Whether it is on its holder, not in it."""
    carried: bool = False
    worn: bool = False
    fixed: bool = False
    """It can't be taken, as far as known."""
    alive: bool = False
    states: tuple[str, ...] = ()
    """Its known states: open or closed, locked or unlocked, lit or unlit."""
    out_of_sight: bool = False
    """It was present before the turn and hasn't moved, but the player no longer sees it: the player left the place, a
    container was closed, or it is dark."""

    def claims(self) -> tuple[Claim, ...]:
        """Return its whereabouts and states as claims, whereabouts first."""
        if self.carried:
            where = Claim(Relation.CARRIED, self.number, self.name)
        elif self.holder_number is not None:
            relation = Relation.ON if self.on_top else Relation.IN
            where = Claim(relation, self.number, self.name, self.holder_number, self.holder)
        else:
            where = Claim(Relation.HERE, self.number, self.name)
        return (where, *(Claim(Relation(state), self.number, self.name) for state in self.states))


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """An object anywhere in the world, with the location that it is in."""

    number: int
    name: str
    room: int | None
    """The location that contains it, directly or inside other objects. None if there is none."""
    room_name: str = ""
    holder: int | None = None
    """The number of its holder. None if the location itself holds it."""
    movable: bool = False
    """It is known to be takeable, or it is a creature. The location of any other object proves nothing, since a story
    may use one object for a thing that is visible from several locations."""
    states: tuple[str, ...] = ()
    """See `ThingState.states`."""


@dataclass(frozen=True, slots=True)
class ObjectMove:
    """A change of an object's parent in the object tree."""

    number: int
    name: str
    origin_number: int | None
    """The parent before the action. None if it had none."""
    origin: str
    destination_number: int | None
    """The parent now. None if it has none."""
    destination: str
    by_itself: bool = False
    """The action did not cause it: it would have happened anyway, or a creature roams elsewhere."""


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """A change of an object's attribute."""

    number: int
    name: str
    attribute: str
    """Its name if known ("open"), otherwise its number ("attribute 11")."""
    value: bool
    by_itself: bool = False
    """The action did not cause it, as in `ObjectMove`: a lamp burns down."""

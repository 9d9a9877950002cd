"""What the Z-machine says of one moment, and of the step between two: plain frozen values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A room, known by its object number; the name is for people."""

    num: int
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object that is carried or seen."""

    num: int
    name: str
    parent: int = 0
    """Object number of what holds it: the player, a container, the room; 0 for nothing."""


@dataclass(frozen=True, slots=True)
class ThingState:
    """Something at hand: what holds it and what state it is in."""

    item: Item
    holder: Item | None = None
    """None: nothing does, or that is not known."""
    on_top: bool = False
    """It lies on its holder, not in it."""
    carried: bool = False
    fixed: bool = False
    """It can't be taken, as far as the story tells."""
    alive: bool = False
    states: tuple[str, ...] = ()
    """Of "open", "closed", "locked", "unlocked", "lit", "unlit", those that are known of it."""


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """An object anywhere in the world, with the room that it is in."""

    item: Item
    room: Location | None
    """The room that it is in, through whatever holds it; None: it is in no room."""
    holder: int | None = None
    """Object number of its holder; None where the room itself holds it."""
    movable: bool = False
    """It is known to be takeable or alive."""
    states: tuple[str, ...] = ()
    """See `ThingState.states`."""


@dataclass(frozen=True, slots=True)
class ObjectMove:
    """An object changed its parent in the object tree."""

    item: Item
    """After the move."""
    origin: Item | None
    """What held it before; None: it was nowhere."""
    destination: Item | None
    """What holds it now; None: it is nowhere."""
    by_itself: bool = False
    """It would have come about without the action too, or can't be the player's doing: a creature roams elsewhere."""


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """An attribute of an object was set or cleared."""

    item: Item
    attribute: str
    """Its name where the story's numbering is known ("open"), else "attribute 11"."""
    value: bool
    by_itself: bool = False
    """As in `ObjectMove`: a lamp that burns down."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One moment of the game. None means that this story's memory does not tell."""

    location: Location | None
    """The room, also when the player sits in a vehicle or in the dark."""
    inventory: tuple[Item, ...] | None
    """What the player holds directly."""
    carried: tuple[Item, ...] | None
    """What is held, and what is inside it, but for what is shut away in a closed container."""
    visible: tuple[Item, ...] | None
    """In the room, in what is open there or transparent, and on supporters; never what the player holds."""
    score: int | None
    moves: int | None
    vehicle: Location | None = None
    dark: bool = False
    """Nothing can be seen here; off also where the story does not tell."""
    creatures: tuple[Item, ...] | None = None
    """What is alive of what is visible; None: the numbering of this story's attributes is not known."""
    circumstances: str = ""
    """A digest of what decides whether an action works here, beside the place: what is carried, the dark, the vehicle,
    and what at hand is open, locked or switched on."""


@dataclass(frozen=True, slots=True)
class Transition:
    """What one command did."""

    before: Observation
    action: str
    """As the player gave it."""
    response: str
    after: Observation
    moved: tuple[ObjectMove, ...] = ()
    """Objects that changed parent, the player and what is shut away in closed containers left out."""
    changed: tuple[AttributeChange, ...] = ()
    """Attributes that were set or cleared, the player's own and the game's bookkeeping (`visited`) left out."""
    unnamed_change: bool = False
    """No object above was moved or changed by the action, nor place, score or inventory, and yet it can't be said that
    nothing was: another part of the story's memory differs, chance decided, or it could not be found out."""
    died: bool = False
    """The player died on this turn; the game may go on."""
    died_anyway: bool = False
    """Doing nothing would have come to the same end, as far as can be told."""
    finished: bool = False
    """The game has ended, in whatever way."""
    victory: bool = False
    refused: str | None = None
    """Why the command never reached the interpreter; `response` holds the same text."""
    fault: str | None = None
    """What the interpreter did wrong (hung, died); the game was put back to `before`."""

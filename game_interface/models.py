"""What a game tells of its current state, and of the transition between two: frozen values."""

from dataclasses import dataclass

from zorkgpt.memory.objects import AttributeChange, ObjectMove


@dataclass(frozen=True, slots=True)
class Location:
    """A room, known by its object number; its name is for people."""

    num: int
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """An object."""

    num: int
    name: str
    parent: int = 0
    """Object number of its holder: the player, a container, the room; 0 if none or unknown."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the game. None means that the story does not tell."""

    location: Location | None
    """The room, also if the player is in a vehicle or in the dark."""
    inventory: tuple[Item, ...] | None
    """What the player holds directly."""
    carried: tuple[Item, ...] | None
    """What is held and everything inside it, except in closed containers."""
    visible: tuple[Item, ...] | None
    """In the room, in open or transparent containers and on supporters there; never what the player holds."""
    score: int | None
    moves: int | None
    vehicle: Location | None = None
    dark: bool = False
    """It is too dark to see; False also if the story does not tell."""
    creatures: tuple[Item, ...] | None = None
    """The visible objects that are alive; None: it is not known which are."""
    circumstances: str = ""
    """A digest of what decides, beside the location, whether an action works: what is carried, darkness, the vehicle,
    and which things at hand are open, locked or switched on."""
    question: str | None = None
    """The story awaits an answer or a key press instead of a command: its question as printed, "" if that can't be told
    apart from the rest of the text. None: it awaits an ordinary command, or does not tell."""

    @property
    def location_id(self) -> int | None:
        """The number of the room. None if unknown."""
        return self.location.num if self.location else None

    @property
    def location_name(self) -> str:
        """The name of the room. "" if unknown."""
        return self.location.name if self.location else ""


@dataclass(frozen=True, slots=True)
class Transition:
    """What one command did: the states before and after, and the changes between them."""

    before: Observation
    action: str
    """The command as the player gave it."""
    response: str
    after: Observation
    moved: tuple[ObjectMove, ...] = ()
    """Objects that changed parent, except the player and what is in closed containers."""
    changed: tuple[AttributeChange, ...] = ()
    """Attributes that were set or cleared, except the player's own and the story's bookkeeping (`visited`)."""
    unnamed_change: bool = False
    """The action changed no object above, nor location, score or inventory, and yet it may have had an effect: another
    part of the story's memory differs, chance decided, or it could not be determined."""
    fell_short: bool = False
    """The verb means a change that the story would show, such as opening or taking, and no such thing changed. Where
    something else did, that is neither a success nor a failure of the action."""
    died: bool = False
    """The player died on this turn; the game may go on."""
    died_anyway: bool = False
    """Doing nothing would have led to the same end, as far as is known."""
    finished: bool = False
    """The game is over, in whatever way."""
    victory: bool = False
    refused: str | None = None
    """Why the command was not played; `response` holds the same text."""
    fault: str | None = None
    """How the engine failed on the command (hung, died); the game was put back to `before`."""

    @property
    def is_answer(self) -> bool:
        """Whether the text was read as an answer or a key press: it says nothing about the same text as a command."""
        return self.before.question is not None

    @property
    def points(self) -> int:
        """The change of the score. 0 if the story has none."""
        before, after = self.before.score, self.after.score
        return 0 if before is None or after is None else after - before
